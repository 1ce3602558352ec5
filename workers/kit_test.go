package workers

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/iceberg/manifest/manifesttest"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// world is a catalog whose drops make jobs.
type world struct{ *kit.Kit }

func newWorld(t *testing.T, setup kit.Setup) *world {
	t.Helper()
	setup.Projectors = []eventstore.Projector{Enqueuer{}}
	w := &world{kit.New(t, setup)}
	if setup.Share == nil {
		w.Namespace("db")
	}
	return w
}

// config is that of workers on the world, quick and without a pace.
func (w *world) config() Config {
	return Config{
		Pool: w.Pool, Commands: w.Commands, Documents: w.Library, Clock: clock.System{}, PurgeRate: 1_000_000,
		poll: 20 * time.Millisecond, slice: 10 * time.Second, lease: 3 * time.Second, rest: -time.Minute,
	}
}

// purger is the worker without its client.
func (w *world) purger() *purger {
	c := w.config()
	c.defaults()
	return &purger{config: c, pace: newPace(c.Clock, c.PurgeRate)}
}

// purgeAll runs what waits, without a client.
func (w *world) purgeAll() {
	w.Helper()
	for _, in := range w.waiting() {
		if err := w.purger().purge(w.Context(), in, nil); err != nil {
			w.Fatal(err)
		}
	}
}

// waiting are the purges that jobs ask for, in the order of their jobs.
func (w *world) waiting() (list []commands.Purge) {
	w.Helper()
	rows, err := w.Pool.Query(w.Context(), "SELECT args::text FROM river.river_job WHERE kind = 'purge' ORDER BY id")
	if err != nil {
		w.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		var args PurgeArgs
		if err := rows.Scan(&text); err != nil {
			w.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			w.Fatal(err)
		}
		list = append(list, commands.Purge(args))
	}
	if err := rows.Err(); err != nil {
		w.Fatal(err)
	}
	return list
}

// table is a table with its folder.
type table struct {
	commands.Table
	name   string
	folder string // path in the file system
}

func (tb *table) at() commands.Identifier { return kit.At("db", tb.name) }

func (tb *table) location(path string) string { return "file://" + filepath.Join(tb.folder, path) }

func (w *world) table(name string) *table {
	w.Helper()
	made := w.Table("db", name)
	location := kit.Document(w, made.Document)["location"].(string)
	return &table{Table: made, name: name, folder: strings.TrimPrefix(location, "file://")}
}

// put writes a file of a table and returns its location.
func (w *world) put(tb *table, path string, data []byte) string {
	w.Helper()
	file := filepath.Join(tb.folder, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		w.Fatal(err)
	}
	return "file://" + file
}

// snapshot commits a snapshot whose manifest list stands at a location.
func (w *world) snapshot(tb *table, id, parent int64, list string) {
	w.Helper()
	updates := kit.Append(id, parent, id)
	updates = strings.Replace(updates, fmt.Sprintf("file:///nowhere/%d.avro", id), list, 1)
	made, err := w.Commit(tb.at(), kit.Head(parent), updates)
	if err != nil {
		w.Fatal(err)
	}
	tb.Table = made
}

// fill gives a table a snapshot of files: each is a data file of the table that
// is written, or, with a scheme, a location to be named only.
func (w *world) fill(tb *table, id, parent int64, files ...string) {
	w.Helper()
	for i, f := range files {
		if !strings.Contains(f, ":") {
			files[i] = w.put(tb, "data/"+f, []byte("data"))
		}
	}
	manifest := w.put(tb, fmt.Sprintf("metadata/m%d.avro", id), manifesttest.Manifest(files...))
	w.snapshot(tb, id, parent, w.put(tb, fmt.Sprintf("metadata/snap-%d.avro", id), manifesttest.List(manifest)))
}

func (w *world) dropPurge(tb *table) {
	w.Helper()
	if err := w.Commands.DropTable(w.Context(), w.Call(), commands.DropTable{Warehouse: w.Warehouse, Table: tb.at(), PurgeRequested: true}); err != nil {
		w.Fatal(err)
	}
}

// left are the files below the warehouse's root.
func (w *world) left() []string {
	w.Helper()
	files := kit.Files(w, w.Root)
	slices.Sort(files)
	return files
}

// below are the files of a table that are left, relative to its folder.
func (w *world) below(tb *table) []string {
	w.Helper()
	if _, err := os.Stat(tb.folder); err != nil {
		return nil
	}
	files := kit.Files(w, tb.folder)
	slices.Sort(files)
	return files
}

// event returns the payload of the last event of a type.
func (w *world) event(typ string) map[string]any {
	w.Helper()
	var data []byte
	if err := w.Pool.QueryRow(w.Context(), "SELECT data FROM es.event WHERE type = $1 ORDER BY append_seq DESC LIMIT 1", typ).Scan(&data); err != nil {
		w.Fatalf("%s: %v", typ, err)
	}
	return kit.Document(w, data)
}

func (w *world) state(object ids.ID) (closed bool, dropped, claims int) {
	w.Helper()
	err := w.Pool.QueryRow(w.Context(), `SELECT closed, (SELECT count(*) FROM rm.dropped WHERE object_id = $1),
		(SELECT count(*) FROM rm.location_claim WHERE object_id = $1) FROM es.stream WHERE stream_id = $1`, [16]byte(object)).Scan(&closed, &dropped, &claims)
	if err != nil {
		w.Fatal(err)
	}
	return closed, dropped, claims
}

// requireGone holds what a purged object leaves: nothing.
func (w *world) requireGone(tb *table) {
	w.Helper()
	if files := w.below(tb); len(files) > 0 {
		w.Errorf("left of %s: %v", tb.name, files)
	}
	if closed, dropped, claims := w.state(tb.ID); !closed || dropped != 0 || claims != 0 {
		w.Errorf("%s: closed %v, %d dropped, %d claims", tb.name, closed, dropped, claims)
	}
}

// logs are lines that tests look for.
type logs struct {
	mu    sync.Mutex
	lines strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

func (l *logs) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logs) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.lines.String(), text)
}

// sequence gives positions to all that was appended.
func (w *world) sequence() {
	w.Helper()
	q := w.Store.Sequencer()
	defer q.Close()
	for {
		worked, err := q.RunOnce(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		if !worked {
			return
		}
	}
}
