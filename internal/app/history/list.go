package history

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// page is how many entries are read at a time: short snapshots, small memory.
const page = 500

// Log is what history reads from; *eventstore.Store is one.
type Log interface {
	Head(ctx context.Context) (eventstore.Head, error)
	ReadAfter(ctx context.Context, position int64, limit int) ([]eventstore.Entry, error)
	ReadStream(ctx context.Context, stream ids.ID, fromVersion int64, limit int) ([]eventstore.Entry, error)
	Entry(ctx context.Context, event ids.ID) (eventstore.Entry, error)
	Changed() <-chan struct{}
}

// Filter chooses events. The zero value chooses all.
type Filter struct {
	Stream ids.ID // of one object alone
	Type   string // "table", "table.committed" or a full type
}

func (f Filter) matches(e *eventstore.Entry) bool {
	if !f.Stream.IsNil() && e.Stream != f.Stream {
		return false
	}
	return f.Type == "" || e.Type == f.Type || kind(e.Type) == f.Type || strings.HasPrefix(kind(e.Type), f.Type+".")
}

// Known reports whether any event could match the type, to tell a typing error
// from an empty log.
func (f Filter) Known() bool {
	if f.Type == "" {
		return true
	}
	for _, typ := range append(catalog.Types(), eventstore.EpochOpenedType, eventstore.RepairedType) {
		if f.matches(&eventstore.Entry{Record: eventstore.Record{Stream: f.Stream, Type: typ}}) {
			return true
		}
	}
	return false
}

// Printer writes events.
type Printer interface {
	Print(e *eventstore.Entry) error
	// Flush writes what is held back, e.g. to align columns.
	Flush() error
}

// List prints up to limit events, in order: those after the position, or the
// newest ones if after is nil.
func List(ctx context.Context, log Log, f Filter, after *int64, limit int, p Printer) error {
	var err error
	if after != nil {
		err = forward(ctx, log, f, *after, limit, p)
	} else {
		err = newest(ctx, log, f, limit, p)
	}
	if err != nil {
		return err
	}
	return p.Flush()
}

func forward(ctx context.Context, log Log, f Filter, after int64, limit int, p Printer) error {
	for limit > 0 {
		entries, err := read(ctx, log, f, after)
		if err != nil || len(entries) == 0 {
			return err
		}
		for i := range entries {
			after = entries[i].Position
			if !f.matches(&entries[i]) {
				continue
			}
			if err := p.Print(&entries[i]); err != nil {
				return err
			}
			if limit--; limit == 0 {
				return nil
			}
		}
	}
	return nil
}

// read returns the next entries after a position: of the stream if the filter
// names one, else of the log.
func read(ctx context.Context, log Log, f Filter, after int64) ([]eventstore.Entry, error) {
	if f.Stream.IsNil() {
		return log.ReadAfter(ctx, after, page)
	}
	// Versions and positions of one stream rise together.
	for version := int64(1); ; {
		entries, err := log.ReadStream(ctx, f.Stream, version, page)
		if err != nil || len(entries) == 0 {
			return nil, err
		}
		last := &entries[len(entries)-1]
		if last.Position > after {
			for entries[0].Position <= after {
				entries = entries[1:]
			}
			return entries, nil
		}
		version = last.Version + 1
	}
}

// newest walks back from the end in pages until it has enough.
func newest(ctx context.Context, log Log, f Filter, limit int, p Printer) error {
	if !f.Stream.IsNil() {
		// One stream is read forwards and its end kept.
		var last []eventstore.Entry
		collect := keep{limit: limit, list: &last}
		if err := forward(ctx, log, f, 0, 1<<62, collect); err != nil {
			return err
		}
		return printAll(last, p)
	}
	head, err := log.Head(ctx)
	if err != nil {
		return err
	}
	var found [][]eventstore.Entry
	for high, count := head.Size, 0; high > 0 && count < limit; {
		low := max(high-page, 0)
		entries, err := log.ReadAfter(ctx, low, int(high-low))
		if err != nil {
			return err
		}
		matching := entries[:0]
		for i := range entries {
			if f.matches(&entries[i]) {
				matching = append(matching, entries[i])
			}
		}
		found = append(found, matching[max(0, len(matching)-(limit-count)):])
		count += len(matching)
		high = low
	}
	for i := len(found) - 1; i >= 0; i-- {
		if err := printAll(found[i], p); err != nil {
			return err
		}
	}
	return nil
}

func printAll(entries []eventstore.Entry, p Printer) error {
	for i := range entries {
		if err := p.Print(&entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// keep remembers the last entries that it is given.
type keep struct {
	limit int
	list  *[]eventstore.Entry
}

// Print implements [Printer].
func (k keep) Print(e *eventstore.Entry) error {
	*k.list = append(*k.list, *e)
	if len(*k.list) > k.limit {
		*k.list = (*k.list)[1:]
	}
	return nil
}

// Flush implements [Printer].
func (keep) Flush() error { return nil }

// followPoll is how often the log is looked at when no notice comes (behind a
// pooler none does).
const followPoll = 250 * time.Millisecond

// Follow prints what comes after a position, or after now if after is nil,
// until ctx ends.
func Follow(ctx context.Context, log Log, f Filter, after *int64, p Printer) error {
	var position int64
	if after != nil {
		position = *after
	} else {
		head, err := log.Head(ctx)
		if err != nil {
			return err
		}
		position = head.Size
	}
	tick := time.NewTicker(followPoll)
	defer tick.Stop()
	for {
		changed := log.Changed()
		entries, err := log.ReadAfter(ctx, position, page)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range entries {
			position = entries[i].Position
			if f.matches(&entries[i]) {
				if err := p.Print(&entries[i]); err != nil {
					return err
				}
			}
		}
		if err := p.Flush(); err != nil {
			return err
		}
		if len(entries) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-tick.C:
		}
	}
}

// Table prints one line an event. Columns are aligned over each flush, or at
// every 200 lines, so that a long list needs little memory.
type Table struct {
	W      io.Writer
	rows   [][]string
	headed bool
}

// Print implements [Printer].
func (t *Table) Print(e *eventstore.Entry) error {
	d := describe(e)
	t.rows = append(t.rows, []string{
		fmt.Sprint(e.Position), e.Time.UTC().Format("2006-01-02 15:04:05.000"), actor(e.Actor), kind(e.Type), d.object, d.details,
	})
	if len(t.rows) >= 200 {
		return t.Flush()
	}
	return nil
}

// Flush implements [Printer].
func (t *Table) Flush() error {
	rows := t.rows
	t.rows = nil
	if !t.headed && len(rows) > 0 {
		rows = append([][]string{{"POSITION", "TIME (UTC)", "ACTOR", "EVENT", "OBJECT", "DETAILS"}}, rows...)
		t.headed = true
	}
	width := make([]int, 6)
	for _, row := range rows {
		for i, cell := range row[:5] {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			b.WriteString(cell)
			if i < 5 {
				b.WriteString(strings.Repeat(" ", width[i]-len([]rune(cell))+2))
			}
		}
		line := strings.TrimRight(b.String(), " ")
		b.Reset()
		if _, err := fmt.Fprintln(t.W, line); err != nil {
			return err
		}
	}
	return nil
}
