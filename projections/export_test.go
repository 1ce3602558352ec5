package projections

import (
	"context"
	"runtime"
	"slices"
)

// Waiting returns how many calls stand in the resolver's queue.
func Waiting(r *SharedResolver) int {
	runtime.Gosched()
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiting)
}

// ReplayAll replays the log into empty tables and returns how many events it
// were.
func ReplayAll(ctx context.Context, c CheckConfig) (int64, error) {
	c.defaults()
	s, err := newShadow(ctx, c.Pool, derivedTables(), false)
	if err != nil {
		return 0, err
	}
	defer s.drop(ctx)
	r := &replayer{log: c.Log, shadow: s, guards: true, pageSize: c.PageSize}
	err = r.catchUp(ctx, nil, 0)
	return r.position, err
}

// WriteStatements returns the statements that inline projectors can queue.
func WriteStatements() []string {
	list := []string{"SELECT rm.claim($1, $2, $3, $4, $5, $6, $7, $8)"}
	for _, t := range derivedTables() {
		if t.inline {
			list = append(list, insertSQL(t), deleteSQL(t))
		}
	}
	return append(list,
		updateSQL(namespaceTable, []string{"properties", "stream_version"}),
		updateSQL(tabularTable, []string{"namespace_id", "name", "name_fold1", "stream_version"}),
		updateSQL(tabularTable, []string{"table_uuid", "stream_version"}),
		updateSQL(projectTable, []string{"authz_mark"}),
	)
}

// ReplayKeyed replays the log into tables that have their unique keys from the
// start, as the last events of a rebuild meet them.
func ReplayKeyed(ctx context.Context, c CheckConfig) (int64, error) {
	c.defaults()
	tables := derivedTables()
	own := slices.DeleteFunc(slices.Clone(tables), func(t *table) bool { return !t.inline })
	s, err := newShadow(ctx, c.Pool, tables, true)
	if err != nil {
		return 0, err
	}
	defer s.drop(ctx)
	if err := s.dress(ctx, own); err != nil {
		return 0, err
	}
	r := &replayer{log: c.Log, shadow: s, guards: true, pageSize: c.PageSize}
	err = r.catchUp(ctx, nil, 0)
	return r.position, err
}
