package history

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
)

var update = flag.Bool("update", false, "rewrite golden files")

// book is a log in memory.
type book []eventstore.Entry

func (b book) Head(context.Context) (eventstore.Head, error) {
	return eventstore.Head{Size: int64(len(b))}, nil
}

func (b book) ReadAfter(_ context.Context, position int64, limit int) ([]eventstore.Entry, error) {
	rest := b[min(int(position), len(b)):]
	return append([]eventstore.Entry(nil), rest[:min(limit, len(rest))]...), nil
}

func (b book) ReadStream(_ context.Context, stream ids.ID, from int64, limit int) ([]eventstore.Entry, error) {
	var list []eventstore.Entry
	for _, e := range b {
		if e.Stream == stream && e.Version >= from && len(list) < limit {
			list = append(list, e)
		}
	}
	return list, nil
}

func (b book) Entry(context.Context, ids.ID) (eventstore.Entry, error) {
	return eventstore.Entry{}, eventstore.ErrNotSequenced
}

func (b book) Changed() <-chan struct{} { return nil }

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// id makes an id that is the same in each run.
func id(n byte) ids.ID {
	i := ids.MustParse("01950000-0000-7000-8000-000000000000")
	i[15] = n
	return i
}

// write adds an event of a stream.
func (b *book) write(t *testing.T, stream byte, e catalog.Event) {
	t.Helper()
	typ, schema, data, err := catalog.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	version := int64(1)
	for _, old := range *b {
		if old.Stream == id(stream) {
			version++
		}
	}
	position := int64(len(*b) + 1)
	*b = append(*b, eventstore.Entry{
		Record: eventstore.Record{
			ID: id(byte(100 + position)), Stream: id(stream), StreamType: string(catalog.EntityOf(typ)), Version: version, Type: typ,
			DataSchema: schema, Time: start.Add(time.Duration(position) * time.Second), Actor: authz.Anonymous.ID, RequestID: id(99),
			CommitID: id(byte(200)), CommitSize: 1, Data: data,
		},
		Position: position, Epoch: 1, LogTime: start.Add(time.Duration(position)*time.Second + 4*time.Millisecond),
	})
}

func file(n int) catalog.MetadataFile {
	return catalog.MetadataFile{MetadataLocation: fmt.Sprintf("file:///w/t/metadata/%05d.metadata.json", n), Size: 100, Format: 2}
}

// life is a log with the life of a namespace and two tables.
func life(t *testing.T) book {
	t.Helper()
	var b book
	name := catalog.TableName{NamespaceID: id(1), Namespace: catalog.Namespace{"sales", "eu.west"}, Name: "orders"}
	b.write(t, 1, &catalog.NamespaceCreated{Namespace: name.Namespace, Properties: json.RawMessage(`{"owner":"x"}`)})
	b.write(t, 2, &catalog.TableCreated{
		TableName: name, TableUUID: id(2), Location: "file:///w/t", MetadataFile: file(0), NowMS: 1,
		Request: json.RawMessage(`{"name":"orders","schema":{"type":"struct","fields":[{"id":1,"name":"id","type":"long"},{"id":2,"name":"tags","type":{"type":"list"}}]},"properties":{"a":"1"}}`),
		Claims:  []string{"file:/w/t/"},
	})
	b.write(t, 2, &catalog.TableCommitted{
		TableName: name, TableUUID: id(2), Previous: file(0).MetadataLocation, MetadataFile: file(1), NowMS: 2,
		Requirements: json.RawMessage(`[]`),
		Updates:      json.RawMessage(`[{"action":"add-snapshot","snapshot":{}},{"action":"set-snapshot-ref","ref-name":"main"},{"action":"set-properties","updates":{"b":"2"}},{"action":"remove-properties","removals":["a"]}]`),
		Snapshots:    []catalog.Snapshot{{ID: 77, TimestampMS: 2, Operation: "append", Summary: json.RawMessage(`{"added-records":"3"}`)}},
	})
	b.write(t, 1, &catalog.NamespacePropertiesUpdated{
		Namespace: name.Namespace, Updated: json.RawMessage(`{"owner":"y\u001b[31m"}`), Removed: []string{"tier"}, Properties: json.RawMessage(`{}`),
	})
	renamed := name
	renamed.Name = "orders 2"
	b.write(t, 2, &catalog.TableRenamed{TableUUID: id(2), From: name, To: renamed})
	b.write(t, 2, &catalog.TableDropped{TableName: renamed, TableUUID: id(2), MetadataLocation: file(1).MetadataLocation, PurgeRequested: true})
	return b
}

// viewLife is a log with the life of two views.
func viewLife(t *testing.T) book {
	t.Helper()
	var b book
	name := catalog.ViewName{NamespaceID: id(1), Namespace: catalog.Namespace{"sales"}, Name: "report"}
	at := func(n, version int) catalog.ViewFile {
		f := file(n)
		f.Format = 1
		return catalog.ViewFile{MetadataFile: f, CurrentVersion: version}
	}
	b.write(t, 3, &catalog.ViewCreated{
		ViewName: name, ViewUUID: id(3), Location: "file:///w/t", ViewFile: at(0, 1), NowMS: 1,
		Request: json.RawMessage(`{"name":"report","schema":{"type":"struct","fields":[{"id":1,"name":"id","type":"long"}]},"view-version":{},"properties":{"a":"1"}}`),
		Claims:  []string{"file:/w/t/"},
	})
	b.write(t, 3, &catalog.ViewCommitted{
		ViewName: name, ViewUUID: id(3), Previous: file(0).MetadataLocation, ViewFile: at(1, 2), NowMS: 2, Requirements: json.RawMessage(`[]`),
		Updates: json.RawMessage(`[{"action":"add-view-version","view-version":{}},{"action":"set-current-view-version","view-version-id":-1},{"action":"set-properties","updates":{"b":"2"}}]`),
	})
	renamed := name
	renamed.Name = "report 2"
	b.write(t, 3, &catalog.ViewRenamed{ViewUUID: id(3), From: name, To: renamed})
	b.write(t, 3, &catalog.ViewDropped{ViewName: renamed, ViewUUID: id(3), MetadataLocation: file(1).MetadataLocation})
	b.write(t, 4, &catalog.ViewRegistered{ViewName: name, ViewUUID: id(3), Location: "file:///w/t", ViewFile: at(1, 2)})
	return b
}

func TestViewsAreShown(t *testing.T) {
	t.Parallel()
	golden(t, "list_views.txt", func(b *strings.Builder) error {
		return List(t.Context(), viewLife(t), Filter{}, nil, 50, &Table{W: b})
	})
	golden(t, "diff_views.txt", func(b *strings.Builder) error {
		objects, err := Diff(t.Context(), viewLife(t), Filter{}, 0, 5)
		if err != nil {
			return err
		}
		return WriteDiff(b, objects)
	})
}

func TestListing(t *testing.T) {
	t.Parallel()
	golden(t, "list.txt", func(b *strings.Builder) error {
		return List(t.Context(), life(t), Filter{}, nil, 50, &Table{W: b})
	})
}

func TestDiffing(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name     string
		from, to int64
	}{{"diff_life.txt", 0, 6}, {"diff_commit.txt", 2, 5}} {
		golden(t, r.name, func(b *strings.Builder) error {
			objects, err := Diff(t.Context(), life(t), Filter{}, r.from, r.to)
			if err != nil {
				return err
			}
			return WriteDiff(b, objects)
		})
	}
}

func TestShowing(t *testing.T) {
	t.Parallel()
	golden(t, "show.txt", func(b *strings.Builder) error { return Show(b, &life(t)[2]) })
}

func TestTextOfTenantsCannotDriveATerminal(t *testing.T) {
	t.Parallel()
	var b book
	b.write(t, 1, &catalog.NamespaceCreated{Namespace: catalog.Namespace{"a"}, Properties: json.RawMessage(`{"x\u001b[2J\n":"v\u001b[31m\u202e"}`)})
	var out strings.Builder
	if err := List(t.Context(), b, Filter{}, nil, 1, &Table{W: &out}); err != nil {
		t.Fatal(err)
	}
	if err := Show(&out, &b[0]); err != nil {
		t.Fatal(err)
	}
	objects, err := Diff(t.Context(), b, Filter{}, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteDiff(&out, objects); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u202e") {
		t.Errorf("an escape got through: %q", out.String())
	}
}

// numbered is a log of n events of alternating tables 2 and 3.
func numbered(t *testing.T, n int) book {
	t.Helper()
	var b book
	for i := range n {
		b.write(t, byte(2+i%2), &catalog.NamespaceDropped{Namespace: catalog.Namespace{"n"}})
	}
	return b
}

func TestListTakesTheNewestOrThoseAfterAPosition(t *testing.T) {
	t.Parallel()
	log := numbered(t, 1300) // more than two pages
	position := func(p int64) *int64 { return &p }
	for _, c := range []struct {
		name   string
		filter Filter
		after  *int64
		limit  int
		first  int64
		count  int
	}{
		{"newest", Filter{}, nil, 5, 1296, 5},
		{"newest over pages", Filter{}, nil, 700, 601, 700},
		{"newest of all", Filter{}, nil, 9999, 1, 1300},
		{"newest of a stream", Filter{Stream: id(3)}, nil, 3, 1296, 3},
		{"after", Filter{}, position(10), 3, 11, 3},
		{"after the end", Filter{}, position(1300), 3, 0, 0},
		{"after, of a stream", Filter{Stream: id(2)}, position(1200), 9999, 1201, 50},
		{"of a type", Filter{Type: "namespace"}, position(0), 2, 1, 2},
		{"of another type", Filter{Type: "table"}, nil, 2, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []eventstore.Entry
			if err := List(t.Context(), log, c.filter, c.after, c.limit, keep{limit: 1 << 30, list: &got}); err != nil {
				t.Fatal(err)
			}
			if len(got) != c.count || c.count > 0 && got[0].Position != c.first {
				t.Fatalf("got %d events, want %d from %d", len(got), c.count, c.first)
			}
			for i := 1; i < len(got); i++ {
				if got[i].Position <= got[i-1].Position {
					t.Fatalf("position %d follows %d", got[i].Position, got[i-1].Position)
				}
			}
		})
	}
}

func TestTypesAreCheckedBeforeTheLogIsRead(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]bool{
		"": true, "table": true, "table.committed": true, "dev.icecore.table.committed": true, "log": true, "tabel": false, "table.comm": false,
	} {
		if got := (Filter{Type: typ, Stream: id(9)}).Known(); got != want {
			t.Errorf("%q: %v", typ, got)
		}
	}
}

func TestLinesKeepTheDataByteForByte(t *testing.T) {
	t.Parallel()
	b := life(t)
	var out strings.Builder
	lines := Lines{W: &out, Source: "urn:icecore:" + ids.NewV7(clock.System{}).New().String()}
	for i := range b {
		if err := lines.Print(&b[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
		if !strings.Contains(line, string(b[i].Data)) {
			t.Errorf("line %d does not hold its data: %s", i, line)
		}
	}
}

// golden compares what f writes with a file of testdata.
func golden(t *testing.T, name string, f func(*strings.Builder) error) {
	t.Helper()
	var b strings.Builder
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s differs; -update rewrites it\n%s", path, b.String())
	}
}
