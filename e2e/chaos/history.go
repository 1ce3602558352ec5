package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/postgres"
)

// logPage bounds one statement that reads the log.
const logPage = 20_000

const logSQL = `
SELECT l.position, l.epoch, l.event_id, l.stream_id, l.version, e.type, e.request_id, e.commit_id,
       encode(e.data_sha256, 'hex'), e.type LIKE '%.dropped' AND e.data IS NOT NULL AND
           coalesce(convert_from(e.data, 'UTF8')::jsonb ->> 'expires-at-ms', convert_from(e.data, 'UTF8')::jsonb -> 'soft' ->> 'expires-at-ms') IS NOT NULL
  FROM es.log_entry l JOIN es.event e ON e.append_seq = l.append_seq AND e.ordinal = l.ordinal
 WHERE l.position > $1 AND l.position <= $2
 ORDER BY l.position`

// readLog reads what the checks look at of the whole log.
func readLog(ctx context.Context, database *postgres.Server) (list []logged, err error) {
	conn, err := database.Connect(ctx, postgres.AppRole, postgres.DefaultDatabase)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for {
		rows, err := conn.Query(ctx, logSQL, len(list), len(list)+logPage)
		if err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		page, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e logged, err error) {
			var request pgtype.UUID
			err = row.Scan(&e.Position, &e.Epoch, (*[16]byte)(&e.ID), (*[16]byte)(&e.Stream), &e.Version, &e.Type, &request, (*[16]byte)(&e.Commit), &e.Digest, &e.Expires)
			e.Request = ids.ID(request.Bytes)
			return e, err
		})
		if err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		if len(page) == 0 {
			return list, nil
		}
		list = append(list, page...)
	}
}

// settle waits until every commit has its position and no job is under way that
// could append more.
func (r *rig) settle(ctx context.Context) error {
	conn, err := r.database.Connect(ctx, postgres.SuperRole, postgres.DefaultDatabase)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var pending, jobs, dropped, size, last int64
	var calm int
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end) && ctx.Err() == nil; pause(ctx, 250*time.Millisecond) {
		if err := conn.QueryRow(ctx, settledSQL).Scan(&pending, &dropped, &jobs, &size); err != nil {
			return fmt.Errorf("wait for the rest: %w", err)
		}
		if pending == 0 && dropped == 0 && size == last {
			if calm++; calm == 4 {
				return nil
			}
			continue
		}
		calm, last = 0, size
	}
	return fmt.Errorf("after ten minutes %d commits wait for their position, and %d dropped objects for their end (%d jobs)", pending, dropped, jobs)
}

const settledSQL = `
SELECT (SELECT count(*) FROM es.event e WHERE NOT EXISTS (SELECT FROM es.log_entry l WHERE l.event_id = e.event_id)),
       (SELECT count(*) FROM rm.dropped WHERE purge_requested OR expires_at IS NOT NULL),
       (SELECT count(*) FROM river.river_job WHERE state IN ('available', 'running', 'retryable', 'scheduled')),
       (SELECT size FROM es.log_head)`
