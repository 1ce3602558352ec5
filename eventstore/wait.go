package eventstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// WaitFor waits until all events have positions and returns them in the order
// of the ids. A log that is halted ends the wait with [HaltedError], unless
// the events came before.
func (s *Store) WaitFor(ctx context.Context, events ...ids.ID) ([]int64, error) {
	args := make([]pgtype.UUID, len(events))
	for i, id := range events {
		args[i] = pgID(id)
	}
	for {
		changed := s.Changed()
		positions, err := s.positions(ctx, events, args)
		if err != nil || positions != nil {
			return positions, err
		}
		head, err := s.Head(ctx)
		if err != nil {
			return nil, err
		}
		if head.Halted != nil {
			// They may have come between the two looks.
			if positions, err = s.positions(ctx, events, args); err != nil || positions != nil {
				return positions, err
			}
			return nil, head.Halted
		}
		if err := s.pause(ctx, changed); err != nil {
			return nil, fmt.Errorf("wait for the position of %d events: %w", len(events), err)
		}
	}
}

// WaitForReceipt waits for the positions of a commit's records.
func (s *Store) WaitForReceipt(ctx context.Context, r Receipt) ([]int64, error) {
	events := make([]ids.ID, len(r.Records))
	for i := range r.Records {
		events[i] = r.Records[i].ID
	}
	return s.WaitFor(ctx, events...)
}

// positions returns nil while one of the events has none.
func (s *Store) positions(ctx context.Context, events []ids.ID, args []pgtype.UUID) ([]int64, error) {
	rows, err := s.readPool.Query(ctx, sqlPositions, args)
	if err != nil {
		return nil, fmt.Errorf("read positions: %w", err)
	}
	defer rows.Close()
	found := make(map[ids.ID]int64, len(events))
	for rows.Next() {
		var id pgtype.UUID
		var position int64
		if err := rows.Scan(&id, &position); err != nil {
			return nil, fmt.Errorf("read positions: %w", err)
		}
		found[id.Bytes] = position
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read positions: %w", err)
	}
	positions := make([]int64, len(events))
	for i, id := range events {
		position, ok := found[id]
		if !ok {
			return nil, nil
		}
		positions[i] = position
	}
	return positions, nil
}

// pause waits for news of the log, at most one poll interval.
func (s *Store) pause(ctx context.Context, changed <-chan struct{}) error {
	timer := time.NewTimer(s.pollInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
	case <-timer.C:
	}
	return nil
}

// Listen passes on the notices of other instances' sequencers to
// [Store.Changed] and [Store.WaitFor] until ctx ends, and then returns nil. It
// reconnects by itself. Behind a pooler in transaction mode it hears nothing;
// the polls still work.
func (s *Store) Listen(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := s.listenOnce(ctx); err != nil && ctx.Err() == nil {
			s.logger.Warn("the listener of the log lost its connection", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}

func (s *Store) listenOnce(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	if _, err := conn.Exec(ctx, "LISTEN "+Channel); err != nil {
		return err
	}
	s.broadcast() // whatever was missed
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
		s.broadcast()
	}
}
