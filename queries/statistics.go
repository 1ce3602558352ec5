package queries

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

//go:embed sql/warehouse_statistics.sql
var warehouseStatisticsSQL string

// WarehouseHour is what a warehouse held at the last change in an hour.
type WarehouseHour struct {
	Until         time.Time // end of the hour
	Tables, Views int64
	UpdatedAt     time.Time
}

// WarehouseStatistics tells how many tables and views a warehouse held, hour by
// hour, newest first; hours without a change have no row. It follows the log,
// and may be some seconds behind.
func (s *Service) WarehouseStatistics(ctx context.Context, actor authz.Actor, warehouse ids.ID, page Page) (hours []WarehouseHour, next string, err error) {
	f, err := s.resolve(ctx, projections.Query{Warehouse: warehouse})
	if err != nil {
		return nil, "", err
	}
	if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Warehouse(f), authz.WarehouseGetMetadata, noSuchWarehouse()); err != nil {
		return nil, "", err
	}
	if !f.Warehouse.Exists {
		return nil, "", noSuchWarehouse()
	}
	l := listing{name: "warehouse-statistics", actor: actor, of: warehouse}
	size, after, err := s.opened(l, page)
	if err != nil {
		return nil, "", err
	}
	var before any
	if after != "" {
		at, err := time.Parse(time.RFC3339, after)
		if err != nil {
			return nil, "", &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid page token", Cause: err}
		}
		before = at
	}
	if hours, err = s.deps.Lists.hours(ctx, warehouse, before, size+1); err != nil {
		return nil, "", unavailable(err)
	}
	if len(hours) > size {
		hours = hours[:size]
		next = s.tokens.seal(hours[size-1].Until.Format(time.RFC3339), bind(actor, l.name, warehouse))
	}
	return hours, next, nil
}

func (l Lists) hours(ctx context.Context, warehouse ids.ID, before any, limit int) ([]WarehouseHour, error) {
	rows, err := l.db.Query(ctx, warehouseStatisticsSQL, [16]byte(warehouse), before, limit)
	return collect(rows, err, func(row pgx.CollectableRow) (h WarehouseHour, err error) {
		err = row.Scan(&h.Until, &h.Tables, &h.Views, &h.UpdatedAt)
		h.Until, h.UpdatedAt = h.Until.UTC(), h.UpdatedAt.UTC()
		return h, err
	})
}
