package projections

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

//go:embed sql/queues.sql
var queuesSQL string

// Queues returns what a warehouse or a project wants of its queues of tasks.
func (d Details) Queues(ctx context.Context, owner ids.ID) (catalog.Queues, error) {
	rows, err := d.db.Query(ctx, queuesSQL, [16]byte(owner))
	if err != nil {
		return nil, fmt.Errorf("read the settings of queues: %w", err)
	}
	text, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read the settings of queues: %w", err)
	}
	return catalog.ParseQueues([]byte(text))
}

// deriveQueues is derive for the settings of queues.
func deriveQueues(r *eventstore.Record, event catalog.Event) (list []change, known bool) {
	switch e := event.(type) {
	case *catalog.WarehouseQueueConfigured:
		return warehouseChange(r, catalog.FoldName(e.Name), []string{"queues"}, string(e.Queues)), true
	case *catalog.ProjectQueueConfigured:
		return []change{{
			table: projectTable, action: updateRow, key: []any{uuid(r.Stream)}, order: orderKey("", r.Stream),
			set: []string{"queues", "stream_version"}, values: []any{string(e.Queues), r.Version},
		}}, true
	}
	return nil, false
}
