package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// names is a small read model with the two kinds of constraint that order
// commits across streams: a unique name, and a parent that must exist.
type names struct{}

type named struct {
	Name   string `json:"name"`
	To     string `json:"to,omitempty"`
	Parent ids.ID `json:"parent"`
}

const namesSchema = `
CREATE SCHEMA t;
CREATE TABLE t.parent (id uuid PRIMARY KEY);
CREATE TABLE t.name (
	name text COLLATE "C" NOT NULL CONSTRAINT name_taken PRIMARY KEY,
	stream uuid NOT NULL,
	parent uuid CONSTRAINT parent_missing REFERENCES t.parent (id)
);
GRANT USAGE ON SCHEMA t TO icecore_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON t.parent, t.name TO icecore_app;`

// withNames opens a store whose commits keep the names.
func withNames(t testing.TB, options ...func(*Config)) *bundle {
	t.Helper()
	b := setup(t, append(options, func(c *Config) { c.Projectors = []Projector{names{}} })...)
	if _, err := b.db.Owner.Exec(t.Context(), namesSchema); err != nil {
		t.Fatal(err)
	}
	return b
}

// Project implements [Projector].
func (names) Project(c *Commit, w *Writes) error {
	for _, r := range c.Records {
		var n named
		if err := json.Unmarshal(r.Data, &n); err != nil {
			return err
		}
		insert := Write{Rank: RankNames, Key: n.Name, SQL: "INSERT INTO t.name (name, stream, parent) VALUES ($1, $2, $3)",
			Args: []any{n.Name, r.Stream, pgID(n.Parent)}, Rows: 1}
		remove := Write{Rank: RankNames, Key: n.Name, SQL: "DELETE FROM t.name WHERE name = $1 AND stream = $2",
			Args: []any{n.Name, r.Stream}, Rows: 1}
		switch verbOf(r) {
		case "created":
			w.Add(insert)
		case "dropped":
			w.Add(remove)
		case "renamed":
			w.Add(remove)
			insert.Key, insert.Args = n.To, []any{n.To, r.Stream, pgID(n.Parent)}
			w.Add(insert)
		case "parent-created":
			w.Add(Write{Rank: RankNames, SQL: "INSERT INTO t.parent VALUES ($1)", Args: []any{r.Stream}, Rows: 1})
		case "parent-dropped":
			w.Add(Write{Rank: RankNames, SQL: "DELETE FROM t.parent WHERE id = $1", Args: []any{r.Stream}, Rows: 1})
		}
	}
	return nil
}

func verbOf(r Record) string { return r.Type[len("dev.icecore.table."):] }

func namedRecord(stream ids.ID, verb string, n named) Record {
	r := record(stream, verb)
	data, err := json.Marshal(n)
	if err != nil {
		panic(err)
	}
	r.Data = data
	return r
}

func nameCreation(stream ids.ID, name string) *Commit {
	c := creation(stream)
	c.Streams[0].NextPointer = ""
	c.Records = []Record{namedRecord(stream, "created", named{Name: name})}
	return c
}

func nameDrop(stream ids.ID, version int64, name string) *Commit {
	return &Commit{
		ID:      testIDs.New(),
		Streams: []Stream{{ID: stream, Mode: Advanced, Version: version, Exclusive: true, Close: true}},
		Records: []Record{namedRecord(stream, "dropped", named{Name: name})},
	}
}

func nameRename(stream ids.ID, version int64, from, to string) *Commit {
	return &Commit{
		ID:      testIDs.New(),
		Streams: []Stream{{ID: stream, Mode: Advanced, Version: version}},
		Records: []Record{namedRecord(stream, "renamed", named{Name: from, To: to})},
	}
}

// holder reads who has a name, and its version.
func (b *bundle) holder(ctx context.Context, name string) (ids.ID, int64, error) {
	var stream pgtype.UUID
	var version int64
	err := b.db.App.QueryRow(ctx, "SELECT s.stream_id, s.version FROM t.name n JOIN es.stream s ON s.stream_id = n.stream WHERE n.name = $1", name).
		Scan(&stream, &version)
	if errors.Is(err, pgx.ErrNoRows) {
		return ids.Nil, 0, nil
	}
	return stream.Bytes, version, err
}

// replay folds the log in order of position and returns the first conflict:
// what a rebuild would meet.
func replay(log []Entry) error {
	held := map[string]ids.ID{}
	versions := map[ids.ID]int64{}
	parents := map[ids.ID]bool{}
	children := map[ids.ID]int{}
	var unit []Entry
	for i, e := range log {
		at := func(format string, args ...any) error {
			return fmt.Errorf("position %d, %s of %s: %s", e.Position, verbOf(e.Record), e.Stream, fmt.Sprintf(format, args...))
		}
		if e.Position != int64(i+1) {
			return at("position %d was due", i+1)
		}
		if len(unit) > 0 && (unit[0].CommitID != e.CommitID || e.CommitIndex != len(unit)) {
			return at("a commit of %d events was cut after %d", unit[0].CommitSize, len(unit))
		}
		if len(unit) == 0 && e.CommitIndex != 0 {
			return at("a commit begins with event %d", e.CommitIndex)
		}
		if unit = append(unit, e); len(unit) == e.CommitSize {
			unit = nil
		}
		if e.Version != versions[e.Stream]+1 {
			return at("version %d after %d", e.Version, versions[e.Stream])
		}
		versions[e.Stream] = e.Version
		var n named
		if err := json.Unmarshal(e.Data, &n); err != nil {
			return err
		}
		take := func(name string) error {
			if by, taken := held[name]; taken {
				return at("name %q is held by %s", name, by)
			}
			held[name] = e.Stream
			return nil
		}
		free := func(name string) error {
			if held[name] != e.Stream {
				return at("name %q is not its own", name)
			}
			delete(held, name)
			return nil
		}
		var err error
		switch verbOf(e.Record) {
		case "created":
			if !n.Parent.IsNil() && !parents[n.Parent] {
				return at("its parent %s is not there", n.Parent)
			}
			children[n.Parent]++
			err = take(n.Name)
		case "dropped":
			children[n.Parent]--
			err = free(n.Name)
		case "renamed":
			if err = free(n.Name); err == nil {
				err = take(n.To)
			}
		case "parent-created":
			parents[e.Stream] = true
		case "parent-dropped":
			if children[e.Stream] > 0 {
				return at("it has %d children", children[e.Stream])
			}
			delete(parents, e.Stream)
		}
		if err != nil {
			return err
		}
	}
	if len(unit) > 0 {
		return fmt.Errorf("the log ends inside commit %s", unit[0].CommitID)
	}
	return nil
}

// lost reports whether an append failed for one of the reasons that racing
// clients must expect. A deadlock is never one.
func lost(err error) bool {
	var (
		conflict   *ConflictError
		closed     *ClosedError
		constraint *ConstraintError
		busy       *BusyError
		pgErr      *pgconn.PgError
	)
	if errors.As(err, &pgErr) && pgErr.Code == "40P01" {
		return false
	}
	return errors.As(err, &conflict) || errors.As(err, &closed) || errors.As(err, &constraint) || errors.As(err, &busy)
}
