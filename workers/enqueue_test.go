package workers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/pgtest"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/queries"
)

var loadAll = queries.LoadOptions{Snapshots: "all"}

// countdown calls f at each look at the time.
type countdown struct {
	clock.Clock
	f func()
}

func (c countdown) Now() time.Time { c.f(); return c.Clock.Now() }

// A job is there exactly when a drop asked for one, and in its commit.
func TestOnlyDropsWithPurgeMakeJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	for _, name := range []string{"plain", "purged", "a", "b"} {
		w.table(name)
	}
	drop := func(name string, purge bool) {
		t.Helper()
		in := commands.DropTable{Warehouse: w.Warehouse, Table: kit.At("db", name), PurgeRequested: purge}
		if err := w.Commands.DropTable(t.Context(), w.Call(), in); err != nil {
			t.Fatal(err)
		}
	}
	drop("plain", false)
	if n := len(w.waiting()); n != 0 {
		t.Errorf("%d jobs for a plain drop", n)
	}
	drop("purged", true)
	if n := len(w.waiting()); n != 1 {
		t.Errorf("%d jobs for a purge", n)
	}
	in := commands.DropNamespace{Warehouse: w.Warehouse, Namespace: []string{"db"}, Recursive: true, PurgeRequested: true}
	if err := w.Commands.DropNamespace(t.Context(), w.Call(), in); err != nil {
		t.Fatal(err)
	}
	if n := len(w.waiting()); n != 3 {
		t.Errorf("%d jobs with a tree of two", n)
	}
	w.purgeAll()
	if files := w.left(); len(files) != 1 { // that of the plain drop
		t.Errorf("left %v", files)
	}
}

// The row is what River itself would insert.
func TestTheJobIsAsRiverInsertsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	w.dropPurge(w.table("t"))
	client, err := river.NewClient(riverpgxv5.New(w.Pool), &river.Config{Schema: schemaName})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Insert(t.Context(), PurgeArgs(w.waiting()[0]), &river.InsertOpts{Queue: queuePurge}); err != nil {
		t.Fatal(err)
	}
	rows, err := w.Pool.Query(t.Context(), `SELECT (to_jsonb(j) - 'id' - 'created_at' - 'scheduled_at')::text,
		created_at = scheduled_at OR scheduled_at <= clock_timestamp() FROM river.river_job j ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	var text string
	var due bool
	if _, err := pgx.ForEachRow(rows, []any{&text, &due}, func() error {
		texts = append(texts, text)
		if !due {
			t.Errorf("not due: %s", text)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(texts) != 2 || texts[0] != texts[1] {
		t.Errorf("ours %s, River's %s", texts[0], texts[1:])
	}
}

// The sweep makes the jobs that are missing, and no others.
func TestSweepMakesWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	for _, name := range []string{"a", "b", "c"} {
		w.dropPurge(w.table(name))
	}
	if n, err := sweep(t.Context(), w.Pool); n != 0 || err != nil {
		t.Errorf("%d made while all were there, %v", n, err)
	}
	// The kit's clock stands in the past.
	if waiting, oldest, err := (&Workers{config: w.config()}).Backlog(t.Context()); waiting != 3 || oldest < time.Hour || err != nil {
		t.Errorf("%d wait, %v, %v", waiting, oldest, err)
	}
	before := w.waiting()
	if _, err := w.Pool.Exec(t.Context(), "DELETE FROM river.river_job WHERE id = (SELECT min(id) FROM river.river_job)"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Pool.Exec(t.Context(), "UPDATE river.river_job SET state = 'discarded', finalized_at = now() WHERE id = (SELECT min(id) FROM river.river_job)"); err != nil {
		t.Fatal(err)
	}
	// One that used up its attempts is somebody's to look at.
	if n, err := sweep(t.Context(), w.Pool); n != 1 || err != nil {
		t.Errorf("%d made, %v", n, err)
	}
	for _, in := range before {
		if !slices.Contains(w.waiting(), in) {
			t.Errorf("no job for %v", in)
		}
	}
	w.purgeAll()
	if n, err := sweep(t.Context(), w.Pool); n != 0 || err != nil || len(w.left()) != 0 {
		t.Errorf("%d made after all was done, %v; left %v", n, err, w.left())
	}
}

// Our migration makes what River's own of the linked version make.
func TestTheSchemaIsRivers(t *testing.T) {
	t.Parallel()
	ours := pgtest.New(t)
	theirs := pgtest.New(t, pgtest.Empty())
	if _, err := theirs.Owner.Exec(t.Context(), "CREATE SCHEMA river"); err != nil {
		t.Fatal(err)
	}
	for _, db := range []*pgtest.DB{theirs, ours} {
		migrator, err := rivermigrate.New(riverpgxv5.New(db.Owner), &rivermigrate.Config{Schema: schemaName})
		if err != nil {
			t.Fatal(err)
		}
		result, err := migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
		if err != nil {
			t.Fatal(err)
		}
		if db == ours && len(result.Versions) > 0 {
			t.Errorf("River has %d migrations that ours does not know: take them over in a new one", len(result.Versions))
		}
	}
	look := func(db *pgtest.DB) []string {
		rows, err := db.Owner.Query(t.Context(), `
			SELECT 'column ' || table_name || '.' || column_name || ' ' || udt_name || ' ' || is_nullable || ' ' || coalesce(column_default, '-')
			  FROM information_schema.columns WHERE table_schema = 'river'
			UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'river' AND indexname NOT LIKE 'icecore\_%'
			UNION ALL SELECT 'constraint ' || conrelid::regclass::text || ' ' || conname || ' ' || pg_get_constraintdef(oid)
			  FROM pg_constraint WHERE connamespace = 'river'::regnamespace AND contype <> 'n'
			UNION ALL SELECT 'value ' || enumlabel || ' of ' || enumtypid::regtype FROM pg_enum WHERE enumtypid = 'river.river_job_state'::regtype
			UNION ALL SELECT 'table ' || relname || ' ' || relpersistence::text FROM pg_class WHERE relnamespace = 'river'::regnamespace AND relkind = 'r'
			ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for i := range list { // River made its first table twice
			list[i] = strings.Replace(list[i], "river_migration_pkey1", "river_migration_pkey", 1)
		}
		slices.Sort(list)
		return list
	}
	a, b := look(ours), look(theirs)
	for _, line := range a {
		if !slices.Contains(b, line) {
			t.Errorf("only ours: %s", line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			t.Errorf("only River's: %s", line)
		}
	}
}
