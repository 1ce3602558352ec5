package ordering

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
)

//go:embed sql/schema.sql
var schemaSQL string

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	writers    = 32
	streams    = 2048 // each writer has its share, so that nobody loses a race
	slowPart   = 50   // one in so many commits is slow
	failPart   = 10   // one in so many slow commits is rolled back
	slowest    = 60 * time.Millisecond
	payload    = 500
	maxQuiet   = 5 * time.Second // a reader that hears nothing for so long has all it will get
	readerPoll = 2 * time.Millisecond
)

var newIDs = ids.NewV7(clock.System{})

// method is one way to order events.
type method interface {
	// create makes a stream at version 1 (0 where streams begin empty).
	create(ctx context.Context, stream ids.ID) error
	// commit moves a stream on by one event. A slow commit stays open after it
	// drew its number, and fails if told so.
	commit(ctx context.Context, stream ids.ID, version int64, slow time.Duration, fail bool) error
	// read returns what follows a cursor, and the new cursor.
	read(ctx context.Context, cursor int64) ([]delivered, int64, error)
	// run does what must run beside the commits until ctx ends.
	run(ctx context.Context) error
}

type delivered struct {
	stream  ids.ID
	version int64
}

// result is one line of the table.
type result struct {
	method     string
	snapshot   bool
	rate       float64
	acked      int
	lost       int
	outOfOrder int
	lags       []time.Duration
}

// TestOrdering is the comparison; it runs under ICECORE_BENCH alone, for it
// takes the machine for itself.
func TestOrdering(t *testing.T) {
	if os.Getenv("ICECORE_BENCH") == "" {
		t.Skip("set ICECORE_BENCH=1 to run the comparison")
	}
	seconds := 8
	if text := os.Getenv("ICECORE_BENCH_SECONDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("ICECORE_BENCH_SECONDS is %q, not a number of seconds", text)
		}
		seconds = n
	}
	var results []result
	for _, snapshot := range []bool{false, true} {
		for _, name := range []string{"naive cursor", "global lock", "sequencer"} {
			results = append(results, measure(t, name, snapshot, time.Duration(seconds)*time.Second))
		}
	}
	fmt.Println(table(results))
	for _, r := range results {
		if r.method != "naive cursor" && (r.lost != 0 || r.outOfOrder != 0) {
			t.Errorf("%s lost %d events and delivered %d out of order", r.method, r.lost, r.outOfOrder)
		}
	}
}

// The comparison itself works, and the sequencer loses nothing: a short run of
// it belongs to the tests.
func TestOrderingInShort(t *testing.T) {
	t.Parallel()
	r := measure(t, "sequencer", false, 500*time.Millisecond)
	if r.acked == 0 || r.lost != 0 || r.outOfOrder != 0 {
		t.Errorf("%+v", r)
	}
	if text := table([]result{r}); !strings.Contains(text, "| sequencer | no |") {
		t.Error(text)
	}
}

// measure runs one method on a database of its own.
func measure(t *testing.T, name string, snapshot bool, d time.Duration) result {
	t.Helper()
	var options []pgtest.Option
	if os.Getenv("ICECORE_BENCH") != "" {
		options = append(options, pgtest.OnDisk()) // with fsync, which is what commits wait for
	}
	db := pgtest.New(t, append(options, pgtest.Conns(writers+4))...)
	if _, err := db.Owner.Exec(t.Context(), schemaSQL); err != nil {
		t.Fatal(err)
	}
	m, err := open(t.Context(), name, db.App)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]ids.ID, streams)
	for i := range all {
		all[i] = newIDs.New()
	}
	if err := parallel(writers, func(w int) error {
		for i := w; i < streams; i += writers {
			if err := m.create(t.Context(), all[i]); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if snapshot {
		holdSnapshot(t, db)
	}

	beside, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if err := m.run(beside); err != nil {
			t.Error(err)
		}
	})
	f := &follower{method: m, last: map[ids.ID]int64{}, sent: map[delivered]time.Time{}, quiet: make(chan struct{})}
	group.Go(func() {
		if err := f.follow(beside); err != nil {
			t.Error(err)
		}
	})

	end := time.Now().Add(d)
	began := time.Now()
	var mu sync.Mutex
	acked := 0
	err = parallel(writers, func(w int) error {
		mine := 0
		defer func() {
			mu.Lock()
			acked += mine
			mu.Unlock()
		}()
		return write(t.Context(), m, f, all, w, end, &mine)
	})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	f.finish()
	<-f.quiet
	stop()
	group.Wait()
	return result{
		method: name, snapshot: snapshot, rate: float64(acked) / took.Seconds(), acked: acked,
		lost: f.missing(), outOfOrder: f.outOfOrder, lags: f.lags,
	}
}

// write is one client: it commits to its own streams until the end.
func write(ctx context.Context, m method, f *follower, all []ids.ID, w int, end time.Time, acked *int) error {
	versions := make([]int64, len(all))
	for time.Now().Before(end) {
		i := rand.IntN(len(all)/writers)*writers + w
		if versions[i] == 0 {
			versions[i] = 1
		}
		var slow time.Duration
		fail := false
		if rand.IntN(slowPart) == 0 {
			slow, fail = time.Duration(rand.Int64N(int64(slowest))), rand.IntN(failPart) == 0
		}
		err := m.commit(ctx, all[i], versions[i], slow, fail)
		if fail && errors.Is(err, errPlanned) {
			continue
		}
		if err != nil {
			return err
		}
		versions[i]++
		*acked++
		f.acknowledge(delivered{all[i], versions[i]})
	}
	return nil
}

var errPlanned = errors.New("rolled back by plan")

// holdSnapshot opens a transaction that sees the database as it is now, until
// the test ends.
func holdSnapshot(t *testing.T, db *pgtest.DB) {
	t.Helper()
	tx, err := db.Connect(t, pgtest.RoleApp).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRow(t.Context(), "SELECT count(*) FROM o.stream").Scan(&n); err != nil {
		t.Fatal(err)
	}
}

func parallel(n int, work func(i int) error) error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = work(i) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// follower reads as a consumer does and compares with what was acknowledged.
type follower struct {
	method method
	quiet  chan struct{}

	mu         sync.Mutex
	done       bool
	last       map[ids.ID]int64
	sent       map[delivered]time.Time // acknowledged, not yet delivered; zero: delivered before
	outOfOrder int
	lags       []time.Duration
}

func (f *follower) acknowledge(d delivered) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, early := f.sent[d]; early {
		delete(f.sent, d)
		f.lags = append(f.lags, 0)
		return
	}
	f.sent[d] = time.Now()
}

func (f *follower) finish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = true
}

// missing counts what was acknowledged and never delivered.
func (f *follower) missing() (n int) {
	for _, at := range f.sent {
		if !at.IsZero() {
			n++
		}
	}
	return n
}

func (f *follower) follow(ctx context.Context) error {
	defer close(f.quiet)
	var cursor int64
	heard := time.Now()
	for {
		page, next, err := f.method.read(ctx, cursor)
		if err != nil {
			return err
		}
		cursor = next
		f.deliver(page)
		if len(page) > 0 {
			heard = time.Now()
			continue
		}
		f.mu.Lock()
		over := f.done && (time.Since(heard) > maxQuiet || f.missing() == 0)
		f.mu.Unlock()
		if over {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(readerPoll):
		}
	}
}

func (f *follower) deliver(page []delivered) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	for _, d := range page {
		if d.version <= 1 {
			continue // of the creation
		}
		if d.version < f.last[d.stream] {
			f.outOfOrder++
		}
		f.last[d.stream] = max(f.last[d.stream], d.version)
		if at, known := f.sent[d]; known {
			f.lags = append(f.lags, now.Sub(at))
			delete(f.sent, d)
		} else {
			f.sent[d] = time.Time{}
		}
	}
}

// table prints the results in Markdown.
func table(results []result) string {
	var b strings.Builder
	b.WriteString("| method | old snapshot | commits/s | ratio | commit to reader p50 / p99 (ms) | acknowledged | lost | out of order |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, r := range results {
		snapshot := "no"
		if r.snapshot {
			snapshot = "yes"
		}
		slices.Sort(r.lags)
		fmt.Fprintf(&b, "| %s | %s | %.0f | %.2f | %s / %s | %d | %d | %d |\n", r.method, snapshot, r.rate,
			r.rate/results[0].rate, at(r.lags, 50), at(r.lags, 99), r.acked, r.lost, r.outOfOrder)
	}
	return b.String()
}

// at prints a percentile in milliseconds.
func at(lags []time.Duration, percent int) string {
	if len(lags) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", float64(lags[(len(lags)-1)*percent/100].Microseconds())/1000)
}

func open(ctx context.Context, name string, pool *pgxpool.Pool) (method, error) {
	switch name {
	case "naive cursor":
		return &plain{pool: pool, commitSQL: naiveCommitSQL, readSQL: naiveReadSQL}, nil
	case "global lock":
		return &plain{pool: pool, commitSQL: lockCommitSQL, readSQL: lockReadSQL}, nil
	default:
		return openSequenced(ctx, pool)
	}
}
