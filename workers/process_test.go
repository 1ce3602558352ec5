package workers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// The test binary, started again with these variables, is a worker of its own
// process, which a test can kill.
const (
	helperURL  = "ICECORE_TEST_WORKER"
	helperRoot = "ICECORE_TEST_WORKER_ROOT"
	helperDoes = "ICECORE_TEST_WORKER_DOES" // "chores": takes part in the election
)

func TestMain(m *testing.M) {
	if url := os.Getenv(helperURL); url != "" {
		if err := helper(url, os.Getenv(helperRoot)); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	pgtest.Main(m)
}

// helper works slowly until its input ends.
func helper(url, root string) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	source := ids.NewV7(clock.System{})
	store, err := eventstore.New(ctx, eventstore.Config{Pool: pool, Clock: clock.System{}, IDs: source, Projectors: append(projections.Inline(), Enqueuer{})})
	if err != nil {
		return err
	}
	stores, err := storage.NewStores(storage.Config{FileRoots: []string{root}})
	if err != nil {
		return err
	}
	library := documents.NewLibrary(documents.Options{Opener: stores})
	service := commands.New(commands.Deps{
		Log: store, Idempotency: store, Resolver: projections.NewResolver(pool, projections.Options{}), Claims: projections.NewClaims(pool),
		Details: projections.NewDetails(pool), Profiles: stores, Documents: library, Authorizer: allowall.Authorizer{}, Clock: clock.System{}, IDs: source,
	})
	c := Config{
		Pool: pool, Commands: service, Documents: library, Clock: clock.System{}, PurgeRate: 100,
		poll: 10 * time.Millisecond, slice: 20 * time.Second, lease: 3 * time.Second, follows: true,
	}
	if os.Getenv(helperDoes) == "chores" {
		c.follows, c.dead = false, 2*time.Second
		c.Chores = []Chore{{Name: "only-one", Every: 200 * time.Millisecond, Do: onlyOne(pool)}}
	}
	w, err := New(c)
	if err != nil {
		return err
	}
	fmt.Println("running")
	return w.Run(ctx)
}

// startHelper starts a worker as a process of its own.
func startHelper(t *testing.T, w *world) *exec.Cmd {
	t.Helper()
	cmd, _ := startProcess(t, w)
	return cmd
}

// startProcess starts one and returns what it prints after it runs.
func startProcess(t *testing.T, w *world, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), helperURL+"="+w.DB.URL(pgtest.RoleApp), helperRoot+"="+filepath.Dir(w.Root))
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "running" {
		t.Fatalf("the helper said %q", lines.Text())
	}
	return cmd, lines
}

// eventually waits for a condition that another goroutine or process brings
// about.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for !condition() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited for %s", what)
		}
	}
}

// run runs workers beside a test until stop is called.
func (w *world) run(c Config) (stop func()) {
	w.Helper()
	workers, err := New(c)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan error, 1)
	go func() { done <- workers.Run(ctx) }()
	return func() {
		w.Helper()
		cancel()
		if err := <-done; err != nil {
			w.Error(err)
		}
	}
}

func TestWorkersPurgeWhatIsDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	stop := w.run(w.config())
	defer stop()
	for _, name := range []string{"a", "b", "c"} {
		tb := w.table(name)
		w.fill(tb, 1, 0, "x.parquet")
		w.dropPurge(tb)
		eventually(t, "the purge", func() bool { _, dropped, _ := w.state(tb.ID); return dropped == 0 })
		w.requireGone(tb)
	}
	if waiting, oldest, err := (&Workers{config: w.config()}).Backlog(t.Context()); waiting != 0 || oldest != 0 || err != nil {
		t.Errorf("%d wait, %v, %v", waiting, oldest, err)
	}
	eventually(t, "the jobs' end", func() bool { return w.jobs("completed") == 3 })
}

func (w *world) jobs(state string) (n int) {
	w.Helper()
	if err := w.Pool.QueryRow(w.Context(), "SELECT count(*) FROM river.river_job WHERE kind = 'purge' AND state::text = $1", state).Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

// A job makes way when its time is over, and is taken up again, and no attempt is
// spent.
func TestALongPurgeMakesWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	for i := range 150 {
		w.put(tb, fmt.Sprintf("data/%03d.parquet", i), nil)
	}
	w.dropPurge(tb)
	c := w.config()
	c.PurgeRate, c.slice = 200, 250*time.Millisecond
	defer w.run(c)()
	eventually(t, "the purge", func() bool { return w.jobs("completed") == 1 })
	w.requireGone(tb)
	var attempt, snoozes, done, total int
	err := w.Pool.QueryRow(t.Context(), "SELECT attempt, coalesce((metadata->>'snoozes')::int, 0), (metadata->'progress'->>'done')::int, (metadata->'progress'->>'total')::int FROM river.river_job WHERE kind = 'purge'").Scan(&attempt, &snoozes, &done, &total)
	if done < 150 || total == 0 { // over all slices; what the metadata reaches is known beforehand
		t.Errorf("%d of %d files", done, total)
	}
	if err != nil || attempt > 1 || snoozes < 1 {
		t.Errorf("attempt %d after %d snoozes, %v", attempt, snoozes, err)
	}
}

// A worker that is killed in the middle of a purge leaves a job that another one
// takes up, and files that it finds.
func TestPurgeSurvivesKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	files := make([]string, 200)
	for i := range files {
		files[i] = fmt.Sprintf("%03d.parquet", i)
	}
	w.fill(tb, 1, 0, files...)
	all := len(w.below(tb))
	w.dropPurge(tb)
	helper := startHelper(t, w)
	eventually(t, "half of the purge", func() bool { return len(w.below(tb)) < all-60 })
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = helper.Wait() // it says that it was killed
	left := w.below(tb)
	if len(left) == 0 || !slices.ContainsFunc(left, func(f string) bool { return strings.HasSuffix(tb.Pointer, f) }) {
		t.Fatalf("left %v", left)
	}
	if n, m := w.count(catalog.TypeTablePurgeStarted), w.count(catalog.TypeTablePurged); n != 1 || m != 0 || w.jobs("running") != 1 {
		t.Errorf("%d starts, %d ends, %d jobs run", n, m, w.jobs("running"))
	}
	c := w.config()
	c.dead = 300 * time.Millisecond
	defer w.run(c)()
	eventually(t, "the purge", func() bool { _, dropped, _ := w.state(tb.ID); return dropped == 0 })
	w.requireGone(tb)
	if n, m := w.count(catalog.TypeTablePurgeStarted), w.count(catalog.TypeTablePurged); n != 1 || m != 1 {
		t.Errorf("%d starts, %d ends", n, m)
	}
}

// A store that is away fails a job, and it is tried again.
func TestAFailedPurgeIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	w.fill(tb, 1, 0, "a.parquet")
	w.dropPurge(tb)
	// The warehouse's root is replaced by a link: everything is refused.
	if err := os.Rename(w.Root, w.Root+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(w.Root+".away", w.Root); err != nil {
		t.Fatal(err)
	}
	defer w.run(w.config())()
	eventually(t, "a failure", func() bool { return w.jobs("retryable") == 1 })
	if n := w.count(catalog.TypeTablePurgeStarted); n != 0 {
		t.Errorf("%d starts", n)
	}
	if err := os.Remove(w.Root); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(w.Root+".away", w.Root); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the purge", func() bool { _, dropped, _ := w.state(tb.ID); return dropped == 0 })
	w.requireGone(tb)
}
