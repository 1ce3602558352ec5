package ordering

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

var (
	//go:embed sql/naive_commit.sql
	naiveCommitSQL string
	//go:embed sql/naive_read.sql
	naiveReadSQL string
	//go:embed sql/lock_commit.sql
	lockCommitSQL string
	//go:embed sql/lock_read.sql
	lockReadSQL string
	//go:embed sql/slow_append.sql
	slowAppendSQL string
)

// body is a payload that does not compress to nothing.
func body() []byte {
	text := fmt.Appendf(nil, `{"updates":[`)
	for len(text) < payload-2 {
		text = fmt.Appendf(text, "%q,", newIDs.New())
	}
	return append(text[:len(text)-1], "]}"...)
}

// plain is a method that commits and reads by one statement.
type plain struct {
	pool               *pgxpool.Pool
	commitSQL, readSQL string
}

func (p *plain) create(ctx context.Context, stream ids.ID) error {
	_, err := p.pool.Exec(ctx, "INSERT INTO o.stream VALUES ($1, 1)", stream)
	return err
}

func (p *plain) commit(ctx context.Context, stream ids.ID, version int64, slow time.Duration, fail bool) error {
	if slow == 0 {
		_, err := p.pool.Exec(ctx, p.commitSQL, stream, version, body())
		return err
	}
	return slowly(ctx, p.pool, slow, fail, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, p.commitSQL, stream, version, body())
		return err
	})
}

// slowly keeps a transaction open after its statement.
func slowly(ctx context.Context, pool *pgxpool.Pool, slow time.Duration, fail bool, work func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if err := work(tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT pg_sleep($1)", slow.Seconds()); err != nil {
			return err
		}
		if fail {
			return errPlanned
		}
		return nil
	})
}

func (p *plain) read(ctx context.Context, cursor int64) ([]delivered, int64, error) {
	rows, err := p.pool.Query(ctx, p.readSQL, cursor)
	if err != nil {
		return nil, cursor, err
	}
	var page []delivered
	var d delivered
	var stream [16]byte
	_, err = pgx.ForEachRow(rows, []any{&cursor, &stream, &d.version}, func() error {
		d.stream = stream
		page = append(page, d)
		return nil
	})
	return page, cursor, err
}

func (p *plain) run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// sequenced is package eventstore.
type sequenced struct {
	pool  *pgxpool.Pool
	store *eventstore.Store
}

func openSequenced(ctx context.Context, pool *pgxpool.Pool) (method, error) {
	store, err := eventstore.New(ctx, eventstore.Config{Pool: pool, IDs: newIDs})
	return &sequenced{pool: pool, store: store}, err
}

func recordOf(stream ids.ID) eventstore.Record {
	return eventstore.Record{
		Stream: stream, StreamType: "table", Type: "dev.icecore.table.committed",
		DataSchema: "urn:icecore:events:table.committed:v1", Actor: stream, RequestID: stream, Data: body(),
	}
}

func (s *sequenced) create(ctx context.Context, stream ids.ID) error {
	_, err := s.store.Append(ctx, &eventstore.Commit{
		ID:      newIDs.New(),
		Streams: []eventstore.Stream{{ID: stream, Type: "table", Mode: eventstore.Created}},
		Records: []eventstore.Record{recordOf(stream)},
	})
	return err
}

func (s *sequenced) commit(ctx context.Context, stream ids.ID, version int64, slow time.Duration, fail bool) error {
	if slow > 0 {
		return slowly(ctx, s.pool, slow, fail, func(tx pgx.Tx) error { return slowAppend(ctx, tx, stream, version) })
	}
	_, err := s.store.Append(ctx, &eventstore.Commit{
		ID:      newIDs.New(),
		Streams: []eventstore.Stream{{ID: stream, Mode: eventstore.Advanced, Version: version}},
		Records: []eventstore.Record{recordOf(stream)},
	})
	return err
}

// slowAppend does an append's three row writes in a transaction of the caller.
func slowAppend(ctx context.Context, tx pgx.Tx, stream ids.ID, version int64) error {
	commit, event := newIDs.New(), newIDs.New()
	batch := &pgx.Batch{}
	batch.Queue("INSERT INTO es.commit VALUES ($1, 'committed', 0, clock_timestamp())", commit)
	batch.Queue("SELECT es.advance($1, $2, 1, NULL, NULL, $3, false, false, false, false, NULL)", stream, version, event)
	batch.Queue(slowAppendSQL, commit, event, stream, version+1, body())
	err := tx.SendBatch(ctx, batch).Close()
	if err != nil {
		return fmt.Errorf("slow append: %w", err)
	}
	return nil
}

func (s *sequenced) read(ctx context.Context, cursor int64) ([]delivered, int64, error) {
	entries, err := s.store.ReadAfter(ctx, cursor, 1000)
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, cursor, err
	}
	page := make([]delivered, len(entries))
	for i := range entries {
		page[i] = delivered{stream: entries[i].Stream, version: entries[i].Version}
		cursor = entries[i].Position
	}
	return page, cursor, nil
}

func (s *sequenced) run(ctx context.Context) error { return s.store.Sequencer().Run(ctx) }
