package workers

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/projections"
)

// keepFor has drops of the world's warehouse come back for so many seconds.
func (w *world) keepFor(seconds int64) {
	w.Helper()
	if _, err := w.Commands.UpdateWarehouseDeleteProfile(w.Context(), w.Call(), commands.UpdateWarehouseDeleteProfile{Warehouse: w.Warehouse, ExpirationSeconds: &seconds}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) dropTree(namespace string, purge bool) {
	w.Helper()
	in := commands.DropNamespace{Warehouse: w.Warehouse, Namespace: []string{namespace}, Recursive: true, PurgeRequested: purge}
	if err := w.Commands.DropNamespace(w.Context(), w.Call(), in); err != nil {
		w.Fatal(err)
	}
}

// expiries are what jobs are to end and when, in the order of their jobs.
func (w *world) expiries() (list []commands.Expiry, at []time.Time) {
	w.Helper()
	rows, err := w.Pool.Query(w.Context(), `SELECT (args->>'warehouse')::uuid, (args->>'object')::uuid, (args->>'drop')::uuid, scheduled_at
		FROM river.river_job WHERE kind = 'expire' AND state = 'scheduled' ORDER BY id`)
	if err != nil {
		w.Fatal(err)
	}
	var in commands.Expiry
	var when time.Time
	_, err = pgx.ForEachRow(rows, []any{(*[16]byte)(&in.Warehouse), (*[16]byte)(&in.Object), (*[16]byte)(&in.Drop), &when}, func() error {
		list, at = append(list, in), append(at, when.UTC())
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return list, at
}

// The job of an expiry is made in the commit of its drop, for later, and is what
// River itself would insert.
func TestASoftDropMakesTheJobOfItsExpiry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	w.keepFor(3600)
	tb := w.table("t")
	w.dropPurge(tb)
	list, at := w.expiries()
	if len(list) != 1 || list[0].Object != tb.ID || !at[0].Equal(kit.Now.Add(time.Hour).Truncate(time.Millisecond)) || len(w.waiting()) != 0 {
		t.Fatalf("expiries %v at %v, %d purges", list, at, len(w.waiting()))
	}
	client, err := river.NewClient(riverpgxv5.New(w.Pool), &river.Config{Schema: schemaName})
	if err != nil {
		t.Fatal(err)
	}
	// River takes a time in the past for now, and the kit's is.
	later := time.Now().Add(time.Hour)
	if _, err := client.Insert(t.Context(), ExpireArgs(list[0]), &river.InsertOpts{Queue: queueUpkeep, ScheduledAt: later}); err != nil {
		t.Fatal(err)
	}
	rows, err := w.Pool.Query(t.Context(), "SELECT (to_jsonb(j) - 'id' - 'created_at' - 'scheduled_at')::text FROM river.river_job j ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(texts) != 2 || texts[0] != texts[1] {
		t.Errorf("ours %s, River's %s, %v", texts[0], texts[1:], err)
	}
}

// Expiry and purge by running workers, of tables and of a tree: files go, those of
// others stay, and what does not want its files gone keeps them.
func TestWorkersExpireWhatIsDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	w.keepFor(3600)
	purged, kept, lives := w.table("purged"), w.table("kept"), w.table("lives")
	for _, tb := range []*table{purged, kept, lives} {
		w.fill(tb, 1, 0, "a.parquet")
	}
	before, others := w.below(kept), w.below(lives)
	w.dropPurge(purged)
	if err := w.Commands.DropTable(t.Context(), w.Call(), commands.DropTable{Warehouse: w.Warehouse, Table: kept.at()}); err != nil {
		t.Fatal(err)
	}
	w.Namespace("tree")
	inTree := w.Table("tree", "t")
	w.Table("tree", "u")
	w.dropTree("tree", true)
	// The time of the database is over long since; that of the catalog is not yet.
	list, _ := w.expiries()
	var notYet *commands.NotYetError
	if err := w.Commands.Expire(t.Context(), list[0]); len(list) != 3 || !errors.As(err, &notYet) {
		t.Fatalf("%d expiries, %v", len(list), err)
	}
	w.Clock.Advance(2 * time.Hour)
	defer w.run(w.config())()
	eventually(t, "the purges", func() bool { return w.jobs("completed") == 3 })
	w.requireGone(purged)
	eventually(t, "the expiry", func() bool { closed, _, _ := w.state(kept.ID); return closed })
	if closed, dropped, claims := w.state(kept.ID); !closed || dropped != 0 || claims != 0 || !slices.Equal(w.below(kept), before) {
		t.Errorf("closed %v, %d dropped, %d claims, left %v", closed, dropped, claims, w.below(kept))
	}
	if closed, dropped, claims := w.state(inTree.ID); !closed || dropped != 0 || claims != 0 {
		t.Errorf("of a tree: closed %v, %d dropped, %d claims", closed, dropped, claims)
	}
	if files := w.below(lives); !slices.Equal(files, others) {
		t.Errorf("of a living table are left %v", files)
	}
	if n := len(w.left()); n != len(before)+len(others) {
		t.Errorf("left %v", w.left())
	}
}

// After a restore or a rebuild every expiry still happens: the sweep makes the jobs
// anew from what the log says, once.
func TestEveryExpiryHappensAfterARebuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	w.keepFor(3600)
	tb := w.table("t")
	w.dropPurge(tb)
	w.Namespace("tree")
	w.Table("tree", "t")
	w.dropTree("tree", false)
	if n, err := sweep(t.Context(), w.Pool); n != 0 || err != nil {
		t.Errorf("%d made while all were there, %v", n, err)
	}
	list, at := w.expiries()
	w.Exec("DELETE FROM river.river_job")
	w.Sequence()
	report, err := projections.Rebuild(t.Context(), projections.RebuildConfig{Owner: w.DB.Owner, Log: w.Store})
	if err != nil || !report.OK() {
		t.Fatal(report.Findings, err)
	}
	for _, want := range []int64{2, 0} {
		if n, err := sweep(t.Context(), w.Pool); n != want || err != nil {
			t.Errorf("%d made instead of %d, %v", n, want, err)
		}
	}
	again, atAgain := w.expiries()
	for i := range list {
		if j := slices.Index(again, list[i]); j < 0 || !atAgain[j].Equal(at[i]) {
			t.Errorf("%v at %s is missing among %v", list[i], at[i], again)
		}
	}
	w.Clock.Advance(2 * time.Hour)
	for _, in := range again {
		if err := w.Commands.Expire(t.Context(), in); err != nil {
			t.Error(err)
		}
	}
	// And so does the purge that the expiry asked for.
	w.Exec("DELETE FROM river.river_job")
	if n, err := sweep(t.Context(), w.Pool); n != 1 || err != nil {
		t.Errorf("%d made, %v", n, err)
	}
	w.purgeAll()
	w.requireGone(tb)
}

// An undropped table loses nothing to a job that comes late, and one that was
// dropped again waits for its own.
func TestALateExpiryHarmsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	w.keepFor(0)
	tb := w.table("t")
	w.fill(tb, 1, 0, "a.parquet")
	before := w.below(tb)
	w.dropPurge(tb)
	in := commands.Undrop{Warehouse: w.Warehouse, Targets: []commands.UndropTarget{{Kind: catalog.EntityTable, Object: tb.ID}}}
	if err := w.Commands.Undrop(t.Context(), w.Call(), in); err != nil {
		t.Fatal(err)
	}
	w.keepFor(3600)
	w.dropPurge(tb)
	stop := w.run(w.config())
	eventually(t, "the late job", func() bool {
		var n int
		if err := w.Pool.QueryRow(t.Context(), "SELECT count(*) FROM river.river_job WHERE kind = 'expire' AND state = 'completed'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == 1
	})
	stop()
	if _, dropped, claims := w.state(tb.ID); dropped != 1 || claims != 1 || !slices.Equal(w.below(tb), before) {
		t.Errorf("%d dropped, %d claims, left %v", dropped, claims, w.below(tb))
	}
	if err := w.Commands.Undrop(t.Context(), w.Call(), in); err != nil {
		t.Error(err)
	}
}

// The objects of a tree share the event of their drop; each has a lease of its own.
func TestTheTablesOfATreeArePurgedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	w.keepFor(0)
	w.Namespace("tree")
	var tables []ids.ID
	for i := range 3 {
		tables = append(tables, w.Table("tree", fmt.Sprint("t", i)).ID)
	}
	w.dropTree("tree", true)
	list, _ := w.expiries()
	if err := w.Commands.Expire(t.Context(), list[0]); err != nil {
		t.Fatal(err)
	}
	waiting := w.waiting()
	var leases []*lease
	config := w.config()
	config.defaults()
	for _, in := range waiting {
		l, report, err := takeLease(t.Context(), &config, in)
		if err != nil || report != nil {
			t.Fatalf("%v: %v", in, err)
		}
		leases = append(leases, l)
	}
	for _, l := range leases {
		l.release(t.Context())
	}
	w.purgeAll()
	for _, id := range tables {
		if closed, dropped, claims := w.state(id); !closed || dropped != 0 || claims != 0 {
			t.Errorf("closed %v, %d dropped, %d claims", closed, dropped, claims)
		}
	}
	if len(waiting) != 3 || len(w.left()) != 0 {
		t.Errorf("%d purges, left %v", len(waiting), w.left())
	}
}
