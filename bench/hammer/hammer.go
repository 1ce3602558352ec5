package hammer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options say where to hammer, how hard and for how long.
type Options struct {
	URI       string        // base URI without /v1, e.g. http://127.0.0.1:8181/catalog
	Warehouse string        // as for GET /v1/config; may be empty
	Token     string        // bearer token; empty sends none
	Workers   int           // concurrent requests
	Tables    int           // tables made for the run
	Duration  time.Duration // of the measured part
	Mix       Mix
	Seed      uint64 // of the choice of tables and operations; printed by the caller
	Keep      bool   // leave the namespace and tables behind
	Namespace string // made for the run; empty chooses a fresh name
}

// Operation is one kind of request.
type Operation string

// The operations that a mix may hold.
const (
	Load        Operation = "load"        // GET table
	NotModified Operation = "notmodified" // GET table with the newest ETag
	Commit      Operation = "commit"      // set a property
	List        Operation = "list"        // GET tables
)

// Mix gives each operation its weight.
type Mix map[Operation]int

// ParseMix reads "load=80,commit=20".
func ParseMix(text string) (Mix, error) {
	mix := Mix{}
	for part := range strings.SplitSeq(text, ",") {
		name, weight, ok := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.Atoi(weight)
		if !ok || err != nil || n < 0 {
			return nil, fmt.Errorf("mix: %q is not operation=weight", part)
		}
		switch op := Operation(name); op {
		case Load, NotModified, Commit, List:
			mix[op] += n
		default:
			return nil, fmt.Errorf("mix: unknown operation %q (load, notmodified, commit, list)", name)
		}
	}
	if mix.total() == 0 {
		return nil, errors.New("mix: all weights are zero")
	}
	return mix, nil
}

func (m Mix) total() int {
	sum := 0
	for _, w := range m {
		sum += w
	}
	return sum
}

func (m Mix) pick(r *rand.Rand) Operation {
	n := r.IntN(m.total())
	for _, op := range []Operation{Load, NotModified, Commit, List} {
		if n < m[op] {
			return op
		}
		n -= m[op]
	}
	return Load
}

// Figures are what one operation came to.
type Figures struct {
	Operation Operation `json:"operation"`
	Requests  int       `json:"requests"`
	PerSecond float64   `json:"per-second"`
	P50Micros int64     `json:"p50-us"`
	P99Micros int64     `json:"p99-us"`
	Errors    int       `json:"errors"`  // answers that are no success, and broken connections
	Wrong     int       `json:"wrong"`   // successes that say something false
	Unknown   int       `json:"unknown"` // commits whose fate the server could not tell
}

// Report is the outcome of a run.
type Report struct {
	Figures  []Figures     `json:"figures"`
	Elapsed  time.Duration `json:"elapsed-ns"`
	Examples []string      `json:"examples"` // the first few errors and wrong answers
	Lost     int           `json:"lost"`     // acknowledged commits that are not there at the end
	Phantoms int           `json:"phantoms"` // commits there at the end that nobody sent, or that were refused
}

// Clean reports whether every answer was right and nothing was lost.
func (r Report) Clean() bool {
	for _, f := range r.Figures {
		if f.Wrong > 0 {
			return false
		}
	}
	return r.Lost == 0 && r.Phantoms == 0
}

// table is one table under load. acknowledged is the highest number that the
// server acknowledged, sent the highest that was ever sent.
type table struct {
	name         string
	acknowledged atomic.Int64
	sent         atomic.Int64
	tagged       atomic.Pointer[tagged]
	refused      refusals
	writing      sync.Mutex
}

// tagged is a state with the tag that a load gave it: a 304 to the tag says
// that the table stands at that number.
type tagged struct {
	etag string
	seq  int64
}

// refusals are the numbers of commits that the server refused cleanly: they did
// not happen, so no later state may show one.
type refusals struct {
	mu      sync.Mutex
	numbers map[int64]bool
}

func (r *refusals) add(seq int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.numbers == nil {
		r.numbers = map[int64]bool{}
	}
	r.numbers[seq] = true
}

func (r *refusals) has(seq int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.numbers[seq]
}

type sample struct {
	op   Operation
	took time.Duration
	err  error
}

// wrongError marks an answer that claims success and is false.
type wrongError struct{ text string }

func (e *wrongError) Error() string { return e.text }

// unknownError marks a commit whose fate is not known.
type unknownError struct{ cause error }

func (e *unknownError) Error() string { return "unknown: " + e.cause.Error() }

// Run makes the tables, hammers them, checks every answer, and at the end
// loads each table once more. Progress lines go to progress.
func Run(ctx context.Context, o Options, progress io.Writer) (Report, error) {
	c, err := connect(ctx, o)
	if err != nil {
		return Report{}, err
	}
	if o.Namespace == "" {
		o.Namespace = fmt.Sprintf("hammer_%08x", rand.Uint32())
	}
	tables, err := setUp(ctx, c, o)
	if err != nil {
		return Report{}, err
	}
	fmt.Fprintf(progress, "%d tables in %s, %d workers for %s\n", o.Tables, o.Namespace, o.Workers, o.Duration)
	start := time.Now()
	samples := drive(ctx, c, o, tables)
	report := summarize(samples, time.Since(start))
	if err := settle(ctx, c, o, tables, &report); err != nil {
		return report, err
	}
	if o.Keep {
		return report, nil
	}
	return report, tearDown(ctx, c, o, tables)
}

func drive(ctx context.Context, c *client, o Options, tables []*table) []sample {
	var group sync.WaitGroup
	all := make([][]sample, o.Workers)
	end := time.Now().Add(o.Duration)
	for w := range o.Workers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(o.Seed, uint64(w)))
			for ctx.Err() == nil && time.Now().Before(end) {
				op := o.Mix.pick(random)
				t := tables[random.IntN(len(tables))]
				if op == Commit {
					t = own(tables, w, o.Workers, random)
				}
				before := time.Now()
				err := perform(ctx, c, o, op, t, len(tables))
				if ctx.Err() != nil {
					return
				}
				all[w] = append(all[w], sample{op, time.Since(before), err})
			}
		})
	}
	group.Wait()
	return slices.Concat(all...)
}

// own picks a table that this worker alone writes, if there are enough.
func own(tables []*table, worker, workers int, random *rand.Rand) *table {
	if len(tables) < workers {
		return tables[worker%len(tables)]
	}
	mine := (len(tables)-worker-1)/workers + 1
	return tables[worker+workers*random.IntN(mine)]
}

func perform(ctx context.Context, c *client, o Options, op Operation, t *table, count int) error {
	switch op {
	case Commit:
		return commit(ctx, c, o, t)
	case List:
		names, err := c.list(ctx, o.Namespace)
		if err == nil && names != count {
			return &wrongError{fmt.Sprintf("list shows %d of %d tables", names, count)}
		}
		return err
	case NotModified:
		return load(ctx, c, o, t, t.tagged.Load())
	default:
		return load(ctx, c, o, t, nil)
	}
}

// load asks for the table, or whether it still is as known (nil: nothing is).
func load(ctx context.Context, c *client, o Options, t *table, known *tagged) error {
	floor := t.acknowledged.Load()
	var etag *string
	if known != nil {
		etag = &known.etag
	}
	got, err := c.load(ctx, o.Namespace, t.name, etag)
	if err != nil {
		return err
	}
	ceiling := t.sent.Load()
	if got.notModified {
		if known == nil {
			return &wrongError{t.name + ": 304 to a load without a tag"}
		}
		if known.seq < floor {
			return &wrongError{fmt.Sprintf("%s: 304 to the tag of commit %d, acknowledged before it was sent: %d", t.name, known.seq, floor)}
		}
		return nil
	}
	if got.etag != "" {
		t.tagged.Store(&tagged{got.etag, got.seq})
	}
	if got.seq < floor || got.seq > ceiling {
		return &wrongError{fmt.Sprintf("%s: load shows commit %d, acknowledged before it was sent: %d, ever sent: %d", t.name, got.seq, floor, ceiling)}
	}
	if t.refused.has(got.seq) {
		return &wrongError{fmt.Sprintf("%s: load shows commit %d, which was refused", t.name, got.seq)}
	}
	return nil
}

func commit(ctx context.Context, c *client, o Options, t *table) error {
	t.writing.Lock() // one writer a table, also when there are fewer tables than workers
	defer t.writing.Unlock()
	next := t.sent.Add(1)
	got, err := c.commit(ctx, o.Namespace, t.name, next)
	if err != nil {
		var unknown *unknownError
		var wrong *wrongError
		if !errors.As(err, &unknown) && !errors.As(err, &wrong) {
			t.refused.add(next)
		}
		return err
	}
	if got != next {
		return &wrongError{fmt.Sprintf("%s: commit %d was acknowledged with state %d", t.name, next, got)}
	}
	t.acknowledged.Store(next)
	return nil
}

func summarize(samples []sample, elapsed time.Duration) Report {
	report := Report{Elapsed: elapsed}
	for _, op := range []Operation{Load, NotModified, Commit, List} {
		f := Figures{Operation: op}
		var times []time.Duration
		for _, s := range samples {
			if s.op != op {
				continue
			}
			var wrong *wrongError
			var unknown *unknownError
			switch {
			case s.err == nil:
				times = append(times, s.took)
				continue
			case errors.As(s.err, &wrong):
				f.Wrong++
			case errors.As(s.err, &unknown):
				f.Unknown++
			default:
				f.Errors++
			}
			if len(report.Examples) < 10 {
				report.Examples = append(report.Examples, fmt.Sprintf("%s: %v", op, s.err))
			}
		}
		if len(times)+f.Errors+f.Wrong+f.Unknown == 0 {
			continue
		}
		slices.Sort(times)
		if f.Requests = len(times); f.Requests > 0 {
			f.P50Micros = times[f.Requests/2].Microseconds()
			f.P99Micros = times[min(f.Requests-1, f.Requests*99/100)].Microseconds()
		}
		f.PerSecond = float64(f.Requests) / elapsed.Seconds()
		report.Figures = append(report.Figures, f)
	}
	return report
}

// settle loads each table once more: what was acknowledged must be there, and
// nothing that was never sent or was refused.
func settle(ctx context.Context, c *client, o Options, tables []*table, report *Report) error {
	for _, t := range tables {
		got, err := c.load(ctx, o.Namespace, t.name, nil)
		if err != nil {
			return fmt.Errorf("final load of %s: %w", t.name, err)
		}
		if got.seq < t.acknowledged.Load() {
			report.Lost++
		}
		if got.seq > t.sent.Load() || t.refused.has(got.seq) {
			report.Phantoms++
		}
	}
	return nil
}

func setUp(ctx context.Context, c *client, o Options) ([]*table, error) {
	if err := c.createNamespace(ctx, o.Namespace); err != nil {
		return nil, err
	}
	tables := make([]*table, o.Tables)
	err := each(o.Workers, o.Tables, func(i int) error {
		tables[i] = &table{name: fmt.Sprintf("t%06d", i)}
		return c.createTable(ctx, o.Namespace, tables[i].name)
	})
	return tables, err
}

func tearDown(ctx context.Context, c *client, o Options, tables []*table) error {
	if err := each(o.Workers, len(tables), func(i int) error { return c.dropTable(ctx, o.Namespace, tables[i].name) }); err != nil {
		return err
	}
	return c.dropNamespace(ctx, o.Namespace)
}

// each runs do for 0 to n-1 on the given number of goroutines and returns the
// first error.
func each(workers, n int, do func(i int) error) error {
	var group sync.WaitGroup
	var next atomic.Int64
	var once sync.Once
	var first error
	for range max(1, workers) {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(i); err != nil {
					once.Do(func() { first = err })
					return
				}
			}
		})
	}
	group.Wait()
	return first
}
