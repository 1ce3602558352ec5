package projections

import (
	"fmt"
	"slices"
	"strings"
)

// page merges the changes of many events, so that replay writes each row once
// and many rows in one statement.
type page struct {
	rows  map[rowKey]*rowState
	order map[*table][]*rowState
}

// rowKey is a table's row: its key columns as text.
type rowKey struct {
	table *table
	key   string
}

// rowState is what is left to do for a row.
type rowState struct {
	key     []any
	gone    bool           // an older row has to be deleted first
	row     []any          // a new row, behind its key
	updates map[string]any // changes of the older row
}

func newPage() *page { return &page{rows: map[rowKey]*rowState{}, order: map[*table][]*rowState{}} }

// keyText joins the key columns; ids have one length and only the last column
// may be text, so that no two keys are joined alike.
func keyText(key []any) string {
	var b strings.Builder
	for _, part := range key {
		if id, ok := part.([16]byte); ok {
			b.Write(id[:])
			continue
		}
		s, _ := textOf(part)
		b.WriteString(s)
	}
	return b.String()
}

// InconsistentError means that the events of the log contradict each other:
// one changes a row that no earlier one made, or makes one that is there.
type InconsistentError struct {
	Table, Key, Problem string
}

func (e *InconsistentError) Error() string {
	return fmt.Sprintf("the log contradicts itself: row %s of %s %s", e.Key, e.Table, e.Problem)
}

func inconsistent(t *table, key []any, problem string) error {
	parts := make([]string, len(key))
	for i, part := range key {
		parts[i], _ = textOf(part)
	}
	return &InconsistentError{Table: t.schema + "." + t.name, Key: strings.Join(parts, "/"), Problem: problem}
}

func (p *page) add(c *change) error {
	k := rowKey{c.table, keyText(c.key)}
	s := p.rows[k]
	if s == nil {
		s = &rowState{key: c.key}
		p.rows[k] = s
		p.order[c.table] = append(p.order[c.table], s)
	}
	switch c.action {
	case insertRow:
		if s.row != nil || s.updates != nil {
			return inconsistent(c.table, c.key, "is made twice")
		}
		s.row = slices.Clone(c.values)
	case updateRow:
		if s.row != nil {
			for i, name := range c.set {
				s.row[c.table.index(name)-c.table.keys] = c.values[i]
			}
			return nil
		}
		if s.gone {
			return inconsistent(c.table, c.key, "is changed after its end")
		}
		if s.updates == nil {
			s.updates = make(map[string]any, len(c.set))
		}
		for i, name := range c.set {
			s.updates[name] = c.values[i]
		}
	case deleteRow:
		switch {
		case s.row != nil:
			s.row = nil
		case s.gone:
			return inconsistent(c.table, c.key, "ends twice")
		default:
			s.gone, s.updates = true, nil
		}
	}
	return nil
}

func (p *page) addAll(changes []change) error {
	for i := range changes {
		if err := p.add(&changes[i]); err != nil {
			return err
		}
	}
	return nil
}

// deletes, inserts and updates of a table; updates are grouped by the columns
// that they set.
func (p *page) deletes(t *table) (list []*rowState) {
	for _, s := range p.order[t] {
		if s.gone {
			list = append(list, s)
		}
	}
	return list
}

func (p *page) inserts(t *table) (list []*rowState) {
	for _, s := range p.order[t] {
		if s.row != nil {
			list = append(list, s)
		}
	}
	return list
}

// updateGroup is a set of rows that change the same columns.
type updateGroup struct {
	set  []string
	rows []*rowState
}

func (p *page) updates(t *table) []*updateGroup {
	groups := map[string]*updateGroup{}
	var order []*updateGroup
	for _, s := range p.order[t] {
		if s.updates == nil {
			continue
		}
		set := make([]string, 0, len(s.updates))
		for _, c := range t.columns {
			if _, ok := s.updates[c.name]; ok {
				set = append(set, c.name)
			}
		}
		name := strings.Join(set, ",")
		g := groups[name]
		if g == nil {
			g = &updateGroup{set: set}
			groups[name] = g
			order = append(order, g)
		}
		g.rows = append(g.rows, s)
	}
	return order
}
