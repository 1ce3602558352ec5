package projections

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// action is what an event does to a row.
type action int

const (
	insertRow action = iota
	updateRow
	deleteRow
)

// change is one row change of a derived table, as data: inline projection
// turns it into a statement, replay merges it with others.
type change struct {
	table  *table
	action action
	key    []any    // values of the key columns
	set    []string // updateRow: names of the changed columns
	values []any    // insertRow: all other columns in order; updateRow: as set
	order  string   // place among the writes of the same rank, compared bytewise
}

// textRange is a value of rm.location_range, half-open.
type textRange struct{ lower, upper string }

// claimRange is the range of all keys at and below a canonical location key, in
// the form of [scattered] keys: '0' is the byte behind '/'.
func claimRange(key string) textRange {
	root := scattered(key)
	return textRange{root + "/", root + "0"}
}

// scattered is a canonical location key, without its last slash, whose every part
// is replaced by the SHA-256 cut to 12 bytes, in hexadecimal digits. One key
// begins with the parts of another exactly if its scattered form does, but keys
// that are claimed in order (names, ids that begin with the time) don't come in
// order: the tree of the claims' constraint is as deep as its input is sorted
// (ADR 0017). rm.scattered in migration 0016 is the same; the form is frozen,
// for it is stored.
func scattered(key string) string {
	parts := strings.Split(key[:len(key)-1], "/")
	for i, part := range parts {
		sum := sha256.Sum256([]byte(part))
		parts[i] = hex.EncodeToString(sum[:12])
	}
	return strings.Join(parts, "/")
}

// uuid returns the value of an id for a statement; Nil is NULL.
func uuid(id ids.ID) any {
	if id.IsNil() {
		return nil
	}
	return [16]byte(id)
}

func uuids(list []ids.ID) [][16]byte {
	out := make([][16]byte, len(list))
	for i, id := range list {
		out[i] = id
	}
	return out
}

// orderKey joins parts so that their bytewise order is kept: no part but the
// last may vary in length.
func orderKey(name string, idList ...ids.ID) string {
	var b strings.Builder
	for _, id := range idList {
		b.Write(id[:])
	}
	b.WriteString(name)
	return b.String()
}

// Ranks in the lock order of a commit. Rows that go are removed first: a
// commit owns their streams already, so that these writes wait for nobody, and
// what comes can take their names and locations.
const (
	rankVacant    = eventstore.RankNames - 10
	rankGone      = eventstore.RankNames - 9
	rankGoneBelow = rankGone + 1         // namespaces, after all that stood in them
	rankNamesBase = eventstore.RankNames // plus the table's rank: parents first
	rankMarks     = eventstore.RankModels + 1
)

func (c *change) rank() eventstore.Rank {
	switch {
	case c.action == deleteRow && c.table == namespaceTable:
		return rankGoneBelow
	case c.action == deleteRow:
		return rankGone
	case c.table == claimTable:
		return eventstore.RankLocations
	case c.table == droppedTable, c.table == droppedNamespaceTable:
		return eventstore.RankModels
	case c.table == cleanUpTable:
		return rankCleanUps
	case c.table == projectTable && c.action == updateRow:
		return rankMarks
	}
	return rankNamesBase + eventstore.Rank(c.table.rank)
}

// write is the statement of a change.
func (c *change) write() eventstore.Write {
	w := eventstore.Write{Rank: c.rank(), Key: c.order, Rows: 1}
	switch {
	case c.table == claimTable && c.action == insertRow:
		covers := c.values[0].(textRange)
		w.SQL = "SELECT rm.claim($1, $2, $3, $4, $5, $6, $7, $8)"
		w.Args = []any{c.key[0], c.key[1], c.key[2], c.key[3], covers.lower, covers.upper, c.values[1], c.values[2]}
		w.Rows = -1 // it raises by itself
	case c.action == insertRow:
		w.SQL = insertSQL(c.table)
		w.Args = append(append(make([]any, 0, len(c.table.columns)), c.key...), c.values...)
		w.Rows = -1 // one row or an error
	case c.action == updateRow:
		w.SQL = updateSQL(c.table, c.set)
		w.Args = append(append(make([]any, 0, len(c.key)+len(c.values)), c.key...), c.values...)
	default:
		w.SQL = deleteSQL(c.table)
		w.Args = c.key
	}
	return w
}

// vacate refuses a namespace's end, other than with all that is in it, while
// something can come back into it. It changes no row: replay has no use for it.
func vacate(r *eventstore.Record) eventstore.Write {
	return eventstore.Write{
		Rank: rankVacant, Key: string(r.Stream[:]), SQL: "SELECT rm.vacate($1, $2, $3)", Rows: -1,
		Args: []any{uuid(r.Warehouse), uuid(catalog.MainBranch), uuid(r.Stream)},
	}
}

// The three statements of a table follow from its registry entry, so that no
// column can be forgotten in one of them.

func insertSQL(t *table) string {
	var b strings.Builder
	b.WriteString("INSERT INTO " + t.schema + "." + t.name + " (")
	for i, c := range t.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.name)
	}
	b.WriteString(") VALUES (")
	for i := range t.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("$" + strconv.Itoa(i+1))
	}
	return b.String() + ")"
}

func updateSQL(t *table, set []string) string {
	var b strings.Builder
	b.WriteString("UPDATE " + t.schema + "." + t.name + " SET ")
	for i, name := range set {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s = $%d", name, t.keys+i+1)
	}
	return b.String() + whereKey(t)
}

func deleteSQL(t *table) string { return "DELETE FROM " + t.schema + "." + t.name + whereKey(t) }

// whereKey finds a row by its key. Where the primary key begins with the object,
// the columns before it are only compared: while statistics are young, the planner
// takes an index that begins with them for as good, and reads the whole warehouse
// for each row (see the note on keys in migration 0003).
func whereKey(t *table) string {
	var b strings.Builder
	b.WriteString(" WHERE ")
	for i, c := range t.columns[:t.keys] {
		if i > 0 {
			b.WriteString(" AND ")
		}
		is := "="
		if t.byObject && i < t.keys-1 {
			is = "IS NOT DISTINCT FROM"
		}
		fmt.Fprintf(&b, "%s %s $%d", c.name, is, i+1)
	}
	return b.String()
}

// Inline returns the projectors that [eventstore.Log] runs in every commit.
func Inline() []eventstore.Projector { return []eventstore.Projector{inline{}, cursors{}, mustStay{}} }

// inline keeps all inline read models: each payload is decoded once.
type inline struct{}

// Project implements [eventstore.Projector].
func (inline) Project(c *eventstore.Commit, w *eventstore.Writes) error {
	for i := range c.Records {
		record := &c.Records[i]
		if catalog.EntityOf(record.Type) == catalog.EntityLog {
			continue
		}
		event, err := catalog.Decode(record.Type, record.DataSchema, record.Data)
		if err != nil {
			return fmt.Errorf("project record %d: %w", i, err)
		}
		changes, err := derive(record, event)
		if err != nil {
			return fmt.Errorf("project record %d, %s: %w", i, record.Type, err)
		}
		for j := range changes {
			w.Add(changes[j].write())
		}
		if dropped, ok := event.(*catalog.NamespaceDropped); ok && !dropped.Recursive {
			w.Add(vacate(record))
		}
	}
	return nil
}
