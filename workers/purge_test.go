package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/iceberg/manifest/manifesttest"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/documents"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

func TestPurgeDeletesAllThatIsTheTablesOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	other := w.table("other")
	w.fill(other, 1, 0, "kept.parquet")
	tb := w.table("t")
	w.fill(tb, 1, 0, "a.parquet", "b c.parquet")
	w.fill(tb, 2, 1, "d.parquet", tb.location("data/a.parquet"))
	w.put(tb, "data/never-committed.parquet", []byte("x"))
	w.put(tb, "metadata/orphan.avro", []byte("x"))
	kept := w.below(other)

	w.dropPurge(tb)
	if files := w.below(tb); len(files) != 12 { // 3 documents, 2 lists, 2 manifests, 3 data files, 2 others
		t.Errorf("deleted before any job ran, or never there: %v", files)
	}
	w.purgeAll()
	w.requireGone(tb)
	if _, err := os.Stat(tb.folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the table's folder: %v", err)
	}
	if files := w.below(other); !slices.Equal(files, kept) {
		t.Errorf("of the other table %v is left", files)
	}
	started, purged := w.event(catalog.TypeTablePurgeStarted), w.event(catalog.TypeTablePurged)
	if started["everything"] != true || started["keeps-data"] != false || len(started["outside"].([]any)) != 0 || started["outside-more"] != false {
		t.Errorf("started %v", started)
	}
	if purged["deleted"].(float64) < 12 || len(purged["unreadable"].([]any)) != 0 || len(purged["claims-released"].([]any)) != 1 {
		t.Errorf("purged %v", purged)
	}
	// The place is free, and a repetition finds nothing to do.
	if _, err := w.Create("db", "t", `,"location":"`+tb.location("")+`"`); err != nil {
		t.Errorf("a new table at the place: %v", err)
	}
	w.purgeAll()
	if len(w.left()) != len(kept)+1 {
		t.Errorf("left %v", w.left())
	}
}

// Law 5: metadata is client data and may name anything.
func TestPurgeTouchesNothingThatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	victim := w.table("victim")
	w.fill(victim, 1, 0, "secret.parquet")
	before := w.below(victim)
	tb := w.table("mallory")
	beside := filepath.Join(filepath.Dir(w.Root), "beside")
	if err := os.MkdirAll(beside, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(beside, "x"), tb.folder + "2/prefix.parquet", filepath.Join(w.Root, "loose")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Links planted below the claim: to a folder, to a file, to the root.
	w.put(tb, "data/own.parquet", []byte("x"))
	for link, target := range map[string]string{"data/folder": victim.folder, "data/file": filepath.Join(victim.folder, "data/secret.parquet"), "data/up": w.Root} {
		if err := os.Symlink(target, filepath.Join(tb.folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	foreign := []string{
		victim.location("data/secret.parquet"),
		strings.TrimPrefix(victim.location("metadata/m1.avro"), "file://"),
		"FILE:/" + strings.TrimPrefix(victim.location("metadata/snap-1.avro"), "file:///"),
		victim.Pointer,
		"file://" + filepath.Join(w.Root, "loose"),
		tb.location("") + "2/prefix.parquet",
		"file://" + filepath.Join(beside, "x"),
		tb.location("data/folder/data/secret.parquet"),
		tb.location("data/up") + strings.TrimPrefix(victim.location("data/secret.parquet"), "file://"+w.Root),
		"file:///etc/passwd",
		"s3://bucket/key",
		"hdfs:///a",
		tb.location("data") + "/../../" + filepath.Base(victim.folder) + "/data/secret.parquet",
		"not a location",
	}
	w.snapshot(tb, 1, 0, w.put(tb, "metadata/l1.avro", manifesttest.List(w.put(tb, "metadata/m1.avro", manifesttest.Manifest(foreign...)))))
	// Foreign manifests are not even read.
	w.snapshot(tb, 2, 1, w.put(tb, "metadata/l2.avro", manifesttest.List(victim.location("metadata/m1.avro"), "s3://bucket/m.avro", "file:///etc/passwd")))
	// A foreign manifest list, and a foreign file among the statistics.
	w.snapshot(tb, 3, 2, victim.location("metadata/snap-1.avro"))
	made, err := w.Commit(tb.at(), `[]`, `[{"action":"set-statistics","snapshot-id":3,"statistics":{"snapshot-id":3,"statistics-path":"`+
		victim.location("data/secret.parquet")+`","file-size-in-bytes":1,"file-footer-size-in-bytes":1,"blob-metadata":[]}}]`)
	if err != nil {
		t.Fatal(err)
	}
	tb.Table = made

	w.dropPurge(tb)
	w.purgeAll()
	w.requireGone(tb)
	if files := w.below(victim); !slices.Equal(files, before) {
		t.Fatalf("of the victim's files %v are left", files)
	}
	if _, err := w.Load(victim.at(), loadAll); err != nil {
		t.Errorf("the victim: %v", err)
	}
	for _, file := range []string{filepath.Join(beside, "x"), tb.folder + "2/prefix.parquet", filepath.Join(w.Root, "loose")} {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("a neighbour's file: %v", err)
		}
	}
	var outside []string
	for _, o := range w.event(catalog.TypeTablePurgeStarted)["outside"].([]any) {
		outside = append(outside, o.(string))
	}
	for _, want := range append(foreign, "s3://bucket/m.avro", victim.location("metadata/snap-1.avro")) {
		if !slices.Contains(outside, want) {
			t.Errorf("not reported: %s", want)
		}
	}
}

// A table whose metadata lies apart owns two places, and both are cleared; a
// place that it owned before is not.
func TestPurgeClearsAllClaimsAndNoOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	first := tb.folder
	w.fill(tb, 1, 0, "before.parquet")
	moved := filepath.Join(w.Root, "moved")
	apart := filepath.Join(w.Root, "apart")
	made, err := w.Commit(tb.at(), `[]`, `[{"action":"set-location","location":"file://`+moved+`"},`+
		`{"action":"set-properties","updates":{"write.metadata.path":"file://`+apart+`"}}]`)
	if err != nil {
		t.Fatal(err)
	}
	tb.Table, tb.folder = made, moved
	w.fill(tb, 2, 1, "after.parquet")
	left := kit.Files(t, first)
	w.dropPurge(tb)
	w.purgeAll()
	w.requireGone(tb)
	for _, folder := range []string{moved, apart} {
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", folder, err)
		}
	}
	if files := kit.Files(t, first); !slices.Equal(files, left) || len(left) < 4 {
		t.Errorf("of %v in the place that it left, %v is there", left, files)
	}
	if got := w.event(catalog.TypeTablePurgeStarted); len(got["outside"].([]any)) == 0 {
		t.Error("what it left is not reported")
	}
}

// What was registered from elsewhere loses what its metadata reaches below its
// claims, and nothing else that lies there.
func TestPurgeOfARegisteredTableKeepsTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	w.fill(tb, 1, 0, "a.parquet")
	if _, err := w.Commands.UnregisterTable(t.Context(), w.Call(), commands.UnregisterTable{Warehouse: w.Warehouse, Table: tb.at()}); err != nil {
		t.Fatal(err)
	}
	back, err := w.Commands.RegisterTable(t.Context(), w.Call(), commands.RegisterTable{
		Warehouse: w.Warehouse, Namespace: []string{"db"}, Name: "t", MetadataLocation: tb.Pointer,
	})
	if err != nil {
		t.Fatal(err)
	}
	tb.Table = back
	w.fill(tb, 2, 1, "b.parquet")
	w.put(tb, "data/somebodys.parquet", []byte("x"))
	w.put(tb, "metadata/somebodys.avro", []byte("x"))
	w.dropPurge(tb)
	w.purgeAll()
	if files := w.below(tb); !slices.Equal(files, []string{"data/somebodys.parquet", "metadata/somebodys.avro"}) {
		t.Errorf("left %v", files)
	}
	if got := w.event(catalog.TypeTablePurgeStarted)["everything"]; got != false {
		t.Errorf("everything is to go: %v", got)
	}
	if closed, dropped, claims := w.state(back.ID); !closed || dropped != 0 || claims != 0 {
		t.Errorf("closed %v, %d dropped, %d claims", closed, dropped, claims)
	}
}

// An overwrite brings a state from elsewhere: what lies there is not all ours.
func TestPurgeAfterAnOverwriteKeepsTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	w.fill(tb, 1, 0, "a.parquet")
	over, err := w.Commands.RegisterTable(t.Context(), w.Call(), commands.RegisterTable{
		Warehouse: w.Warehouse, Namespace: []string{"db"}, Name: "t", MetadataLocation: tb.Pointer, Overwrite: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	tb.Table = over
	w.put(tb, "data/somebodys.parquet", []byte("x"))
	w.dropPurge(tb)
	w.purgeAll()
	if files := w.below(tb); !slices.Equal(files, []string{"data/somebodys.parquet"}) {
		t.Errorf("left %v", files)
	}
}

// gc.enabled=false keeps the data files, for others may read them, and what
// nobody can vouch for; the metadata goes, as with Iceberg's own purge.
func TestPurgeHonoursGCEnabled(t *testing.T) {
	t.Parallel()
	for value, keeps := range map[string]bool{"false": true, "no": true, "TRUE": false} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kit.Setup{})
			tb := w.table("t")
			w.fill(tb, 1, 0, "a.parquet")
			made, err := w.Commit(tb.at(), `[]`, `[{"action":"set-properties","updates":{"gc.enabled":"`+value+`"}}]`)
			if err != nil {
				t.Fatal(err)
			}
			tb.Table = made
			w.put(tb, "data/b.parquet", []byte("x"))
			w.dropPurge(tb)
			w.purgeAll()
			want := []string(nil)
			if keeps {
				want = []string{"data/a.parquet", "data/b.parquet"}
			}
			if files := w.below(tb); !slices.Equal(files, want) {
				t.Errorf("left %v", files)
			}
			if got := w.event(catalog.TypeTablePurgeStarted)["keeps-data"]; got != keeps {
				t.Errorf("keeps-data is %v", got)
			}
		})
	}
}

// What cannot be read is reported, and does not stop the rest.
func TestPurgeGoesOnBehindWhatItCannotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	good := w.put(tb, "metadata/good.avro", manifesttest.Manifest(w.put(tb, "data/a.parquet", nil)))
	bad := w.put(tb, "metadata/bad.avro", []byte("no manifest"))
	gone := tb.location("metadata/gone.avro")
	w.snapshot(tb, 1, 0, w.put(tb, "metadata/l1.avro", manifesttest.List(gone, bad, good)))
	w.snapshot(tb, 2, 1, w.put(tb, "metadata/l2.avro", []byte("no list")))
	w.snapshot(tb, 3, 2, tb.location("metadata/l3-gone.avro"))
	w.dropPurge(tb)
	w.purgeAll()
	w.requireGone(tb)
	if got := w.event(catalog.TypeTablePurged)["unreadable"].([]any); len(got) != 2 || got[0] != bad || got[1] != tb.location("metadata/l2.avro") {
		t.Errorf("unreadable: %v", got)
	}
}

// What cannot be read may have said gc.enabled=false: all is kept, and told.
func TestPurgeOfATableWhoseMetadataIsGone(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(string) error{
		"gone":    os.Remove,
		"damaged": func(file string) error { return os.WriteFile(file, []byte(`{"format-version":`), 0o644) },
		"of another shape": func(file string) error {
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			return os.WriteFile(file, []byte(strings.Replace(string(data), `"metadata-log":[`, `"metadata-log":[7,`, 1)), 0o644)
		},
		"too large": func(file string) error { return os.Truncate(file, documents.MaxFile+1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kit.Setup{Damaged: true})
			tb := w.table("t")
			w.fill(tb, 1, 0, "a.parquet")
			if err := spoil(strings.TrimPrefix(tb.Pointer, "file://")); err != nil {
				t.Fatal(err)
			}
			before := w.below(tb)
			w.dropPurge(tb)
			w.purgeAll()
			if files := w.below(tb); !slices.Equal(files, before) {
				t.Errorf("left %v of %v", files, before)
			}
			started, purged := w.event(catalog.TypeTablePurgeStarted), w.event(catalog.TypeTablePurged)
			if started["keeps-data"] != true || started["outside-more"] != true {
				t.Errorf("started %v", started)
			}
			if got := purged["unreadable"].([]any); len(got) != 1 || got[0] != tb.Pointer || purged["deleted"].(float64) != 0 {
				t.Errorf("purged %v", purged)
			}
			if closed, dropped, claims := w.state(tb.ID); !closed || dropped != 0 || claims != 0 {
				t.Errorf("closed %v, %d dropped, %d claims", closed, dropped, claims)
			}
		})
	}
}

func TestPurgeOfAView(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	request := json.RawMessage(`{"name":"v","schema":` + kit.Schema + `,"properties":{},"view-version":{"version-id":1,"timestamp-ms":1,"schema-id":0,` +
		`"summary":{"engine-name":"test"},"default-namespace":["db"],"representations":[{"type":"sql","sql":"SELECT 1","dialect":"spark"}]}}`)
	if _, err := w.Commands.CreateView(t.Context(), w.Call(), commands.CreateView{Warehouse: w.Warehouse, Namespace: []string{"db"}, Request: request}); err != nil {
		t.Fatal(err)
	}
	if len(w.left()) != 1 {
		t.Fatalf("files %v", w.left())
	}
	drop := commands.DropView{Warehouse: w.Warehouse, View: kit.At("db", "v"), PurgeRequested: true}
	if err := w.Commands.DropView(t.Context(), w.Call(), drop); err != nil {
		t.Fatal(err)
	}
	w.purgeAll()
	if files := w.left(); len(files) != 0 {
		t.Errorf("left %v", files)
	}
	if got := w.event(catalog.TypeViewPurged); got["name"] != "v" || len(got["claims-released"].([]any)) != 1 {
		t.Errorf("purged %v", got)
	}
}

// A run that ends anywhere leaves what the next one needs: a few deletions are
// all that each run is granted.
func TestPurgeIsResumedWhereverItEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	w.fill(tb, 1, 0, "a.parquet", "b.parquet")
	w.fill(tb, 2, 1, "c.parquet", tb.location("data/a.parquet"), "s3://elsewhere/x")
	w.dropPurge(tb)
	w.purgeInPieces(tb)
	w.requireGone(tb)
	if n := w.count(catalog.TypeTablePurgeStarted); n != 1 {
		t.Errorf("%d starts", n)
	}
}

// What was announced holds, though the metadata that said so is gone: the run
// that deletes it may be the last but one.
func TestAResumedPurgeKeepsTheDataThatItWasToKeep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	w.fill(tb, 1, 0, "a.parquet")
	made, err := w.Commit(tb.at(), `[]`, `[{"action":"set-properties","updates":{"gc.enabled":"false"}}]`)
	if err != nil {
		t.Fatal(err)
	}
	tb.Table = made
	w.dropPurge(tb)
	w.purgeInPieces(tb)
	if files := w.below(tb); !slices.Equal(files, []string{"data/a.parquet"}) {
		t.Errorf("left %v", files)
	}

	again := w.table("again")
	w.fill(again, 1, 0, "a.parquet")
	w.dropPurge(again)
	in := w.waiting()[1]
	if err := w.Commands.StartPurge(t.Context(), in, catalog.PurgeStarted{Everything: true, KeepsData: true}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(strings.TrimPrefix(again.Pointer, "file://")); err != nil {
		t.Fatal(err)
	}
	if err := w.purger().purge(t.Context(), in, nil); err != nil {
		t.Fatal(err)
	}
	if files := w.below(again); !slices.Contains(files, "data/a.parquet") {
		t.Errorf("left %v", files)
	}
}

// purgeInPieces runs the purge of a table until one run comes to its end; each
// is broken off at its second or third deletion, or right behind it.
func (w *world) purgeInPieces(tb *table) {
	w.Helper()
	in := w.waiting()[0]
	for runs := range 200 {
		ctx, cancel := context.WithCancel(w.Context())
		p, steps := w.purger(), 0
		p.pace = newPace(countdown{clock.System{}, func() {
			if steps++; steps > 1+runs%2 {
				cancel()
			}
		}}, 1_000_000)
		err := p.purge(ctx, in, nil)
		cancel()
		if err == nil {
			return
		}
		if !errors.Is(err, context.Canceled) {
			w.Fatal(err)
		}
		if started, gone := w.count(catalog.TypeTablePurgeStarted), w.count(catalog.TypeTablePurged); started != 1 || gone != 0 {
			w.Fatalf("%d starts, %d ends", started, gone)
		}
	}
	w.Fatal("it never ends")
}

// Two runs at once end well, too.
func TestTwoRunsOfOnePurge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	other := newWorld(t, kit.Setup{Share: w.Kit})
	for range 5 {
		tb := w.table("t")
		w.fill(tb, 1, 0, "a.parquet", "b.parquet", "c.parquet")
		w.fill(tb, 2, 1, "d.parquet")
		w.dropPurge(tb)
		jobs := w.waiting()
		in := jobs[len(jobs)-1]
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i, k := range []*world{w, other} {
			wg.Go(func() {
				if errs[i] = k.purger().purge(t.Context(), in, nil); errors.Is(errs[i], errLost) {
					errs[i] = nil // it makes way
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		w.requireGone(tb)
	}
	if n, m := w.count(catalog.TypeTablePurgeStarted), w.count(catalog.TypeTablePurged); n != 5 || m != 5 {
		t.Errorf("%d starts, %d ends", n, m)
	}
}

func (w *world) count(typ string) (n int) {
	for _, e := range w.Events() {
		if e == typ {
			n++
		}
	}
	return n
}

func TestAnAdoptedTableIsNotPurged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	w.fill(tb, 1, 0, "a.parquet")
	before := w.below(tb)
	w.dropPurge(tb)
	if _, err := w.Commands.RegisterTable(t.Context(), w.Call(), commands.RegisterTable{
		Warehouse: w.Warehouse, Namespace: []string{"db"}, Name: "t", MetadataLocation: tb.Pointer,
	}); err != nil {
		t.Fatal(err)
	}
	w.purgeAll()
	if files := w.below(tb); !slices.Equal(files, before) {
		t.Errorf("left %v", files)
	}
}

func TestAReportIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	var many []string
	for i := range catalog.MaxReported + 10 {
		many = append(many, fmt.Sprintf("s3://elsewhere/%s/%d", strings.Repeat("x", i%50), i))
	}
	w.fill(tb, 1, 0, append(many, "s3://x/"+strings.Repeat("y", 5000))...)
	w.dropPurge(tb)
	w.purgeAll()
	w.requireGone(tb)
	got := w.event(catalog.TypeTablePurgeStarted)
	if n := len(got["outside"].([]any)); n > catalog.MaxReported || n < 500 || got["outside-more"] != true {
		t.Errorf("%d reported, more: %v", n, got["outside-more"])
	}
}

// refusingLog is a log that takes no start of a purge while it refuses.
type refusingLog struct {
	eventstore.Log
	refuses *atomic.Bool
}

func (l refusingLog) Append(ctx context.Context, c *eventstore.Commit) (eventstore.Receipt, error) {
	if l.refuses.Load() && c.Records[0].Type == catalog.TypeTablePurgeStarted {
		return eventstore.Receipt{}, &eventstore.BusyError{Cause: errors.New("away")}
	}
	return l.Log.Append(ctx, c)
}

// No file is touched before the log holds that the purge started.
func TestNothingIsDeletedBeforeTheStartIsKept(t *testing.T) {
	t.Parallel()
	var refuses atomic.Bool
	refuses.Store(true)
	w := newWorld(t, kit.Setup{Wrap: func(p *kit.Parts) {
		p.Commands.Log = refusingLog{p.Commands.Log, &refuses}
		p.Commands.Sleep = func(context.Context, time.Duration) error { return nil }
	}})
	tb := w.table("t")
	w.fill(tb, 1, 0, "a.parquet")
	before := w.below(tb)
	w.dropPurge(tb)
	if err := w.purger().purge(t.Context(), w.waiting()[0], nil); err == nil {
		t.Fatal("a purge without a start comes to its end")
	}
	if files := w.below(tb); !slices.Equal(files, before) {
		t.Errorf("left %v of %v", files, before)
	}
	refuses.Store(false)
	w.purgeAll()
	w.requireGone(tb)
}
