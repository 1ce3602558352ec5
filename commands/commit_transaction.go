package commands

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// CommitTransaction applies the changes of several tables: all of them, or
// none. All facts come from one snapshot; items that change nothing are held
// at the version they were checked at. The same table twice, in whatever
// spelling, is 400, and so is an empty list.
func (s *Service) CommitTransaction(ctx context.Context, call Call, in CommitTransaction) error {
	changes, lines, err := decodeChanges(&in)
	if err != nil {
		return err
	}
	_, err = once(ctx, s, call, func(ctx context.Context) (_ struct{}, appended bool, err error) {
		var all []*decided
		receipt, err := s.attempt(ctx, lines, func(ctx context.Context, t *try) error {
			all, err = s.decideAll(ctx, call, in.Warehouse, changes, t)
			return err
		})
		if err != nil {
			return struct{}{}, false, err
		}
		for _, d := range all {
			if d.next != nil {
				s.deps.Documents.Keep(d.path, d.state())
			}
		}
		return struct{}{}, len(receipt.Records) > 0, nil
	}, func(ctx context.Context, _ eventstore.Idempotency) (struct{}, error) {
		// Tables may be gone since; then the right is asked where they stood.
		facts, _, err := s.resolveAll(ctx, in.Warehouse, changes)
		if err != nil {
			return struct{}{}, err
		}
		for i, c := range changes {
			if !c.create && !isTable(&facts[i]) {
				continue
			}
			if err := s.authorize(ctx, call, c, &facts[i], ids.Nil); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	return err
}

func decodeChanges(in *CommitTransaction) (changes []*change, lines []string, err error) {
	switch n := len(in.Changes); {
	case n == 0:
		return nil, nil, badRequest("Invalid transaction: table-changes is empty")
	case n > eventstore.MaxRecords:
		return nil, nil, badRequest("Invalid transaction: %d table changes, at most %d are allowed", n, eventstore.MaxRecords)
	}
	for i := range in.Changes {
		c, err := decodeChange(in.Warehouse, &in.Changes[i])
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(lines, c.path) {
			return nil, nil, badRequest("Invalid transaction: table %s appears twice", dotted(c.table.Namespace, c.table.Name))
		}
		changes, lines = append(changes, c), append(lines, c.path)
	}
	return changes, lines, nil
}

func (s *Service) resolveAll(ctx context.Context, warehouse ids.ID, changes []*change) ([]projections.Facts, []*documents.Document, error) {
	queries, hints := make([]projections.Query, len(changes)), make([]*documents.Document, len(changes))
	for i, c := range changes {
		hints[i] = s.deps.Documents.Last(c.path)
		queries[i] = c.query(warehouse)
		queries[i].Hint = hintOf(hints[i])
	}
	facts, err := s.resolve(ctx, queries...)
	return facts, hints, err
}

// filesAtOnce is how many metadata files of one transaction are written side by
// side: each is a round trip to the store, or a flush of the disk.
const filesAtOnce = 8

// writeFiles writes the files of all tables that change.
func (s *Service) writeFiles(ctx context.Context, all []*decided, t *try) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(filesAtOnce)
	for _, d := range all {
		if d.next != nil {
			group.Go(func() error { return s.writeFile(ctx, d, t) })
		}
	}
	return group.Wait()
}

// decideAll decides every change before it writes any file.
func (s *Service) decideAll(ctx context.Context, call Call, warehouse ids.ID, changes []*change, t *try) ([]*decided, error) {
	facts, hints, err := s.resolveAll(ctx, warehouse, changes)
	if err != nil {
		return nil, err
	}
	for i, c := range changes {
		if err := s.authorize(ctx, call, c, &facts[i], ids.Nil); err != nil {
			return nil, err
		}
	}
	all := make([]*decided, len(changes))
	for i, c := range changes {
		if all[i], err = s.decide(ctx, c, &facts[i], hints[i]); err != nil {
			return nil, err
		}
	}
	if err := s.writeFiles(ctx, all, t); err != nil {
		return nil, err
	}
	commit := s.newCommit(&facts[0], s.claim(call, 204, ids.Nil, "", nil))
	for _, d := range all {
		if d.next != nil {
			if err := s.describe(call, d); err != nil {
				return nil, err
			}
			commit.Records = append(commit.Records, d.record)
			t.unconditional = t.unconditional || d.unconditional
		}
		for _, st := range d.streams() {
			if !slices.ContainsFunc(commit.Streams, func(o eventstore.Stream) bool { return o.ID == st.ID }) {
				commit.Streams = append(commit.Streams, st)
			}
		}
	}
	if len(commit.Records) == 0 {
		return all, nil // one snapshot showed that all requirements hold
	}
	t.refuse = changes[0].refuse
	t.commit = commit
	return all, nil
}
