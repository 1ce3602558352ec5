package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// Lines prints events as CloudEvents in JSON, one a line, with their data byte
// for byte as stored.
type Lines struct {
	W      io.Writer
	Source string // "urn:icecore:<server id>"
}

// Print implements [Printer].
func (l *Lines) Print(e *eventstore.Entry) error {
	event, err := eventstore.ToCloudEvent(*e, l.Source)
	if err != nil {
		return err
	}
	line, err := event.MarshalJSON()
	if err != nil {
		return fmt.Errorf("print event %s: %w", e.ID, err)
	}
	if bytes.IndexByte(line, '\n') >= 0 {
		// Only data that a client formatted can hold one; a line must be a line.
		var b bytes.Buffer
		if err := json.Compact(&b, line); err != nil {
			return fmt.Errorf("print event %s: %w", e.ID, err)
		}
		line = b.Bytes()
	}
	_, err = l.W.Write(append(line, '\n'))
	return err
}

// Flush implements [Printer].
func (*Lines) Flush() error { return nil }

// Show prints one event for a person: what the log knows of it, then its data.
func Show(w io.Writer, e *eventstore.Entry) error {
	d := describe(e)
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-11s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("position", "%d of epoch %d", e.Position, e.Epoch)
	line("event", "%s %s", kind(e.Type), e.ID)
	line("object", "%s %s %s, version %d", e.StreamType, d.object, e.Stream, e.Version)
	if d.details != "" {
		line("what", "%s", d.details)
	}
	line("time", "%s, in the log %s", e.Time.UTC().Format("2006-01-02 15:04:05.000000 UTC"), e.LogTime.UTC().Format("15:04:05.000000"))
	line("actor", "%s %s", actor(e.Actor), e.Actor)
	line("request", "%s", orDash(e.RequestID))
	if !e.Causation.IsNil() {
		line("caused by", "%s", e.Causation)
	}
	line("commit", "%s, %d of %d", e.CommitID, e.CommitIndex+1, e.CommitSize)
	if !e.Warehouse.IsNil() {
		line("warehouse", "%s", e.Warehouse)
	}
	if !e.Project.IsNil() {
		line("project", "%s", e.Project)
	}
	if e.TraceParent != "" {
		line("trace", "%s", small(e.TraceParent, 60))
	}
	line("leaf", "%x", e.Leaf)
	line("schema", "%s", e.DataSchema)
	if e.Erased {
		b.WriteString("data        erased; its hash is part of the leaf and stands\n")
	} else {
		b.WriteString("data\n")
		b.Write(indented(e.Data))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func orDash(id ids.ID) string {
	if id.IsNil() {
		return "-"
	}
	return id.String()
}

// indented formats JSON for reading and escapes what a terminal would obey.
func indented(data []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return []byte(small(string(data), len(data)))
	}
	return []byte(strings.Map(func(r rune) rune {
		if r != '\n' && !printable(string(r)) {
			return '�'
		}
		return r
	}, b.String()))
}
