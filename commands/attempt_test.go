package commands_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/eventstore"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/storage"
)

// faultyLog stands between the commands and the real log: it may run something
// before an append, and answer something else than the truth after it.
type faultyLog struct {
	eventstore.Log
	mu     sync.Mutex
	before func(n int, c *eventstore.Commit) error // an error is the answer; the log is not asked
	after  func(n int, c *eventstore.Commit, err error) error
	n      int
}

func (l *faultyLog) Append(ctx context.Context, c *eventstore.Commit) (eventstore.Receipt, error) {
	l.mu.Lock()
	l.n++
	n, before, after := l.n, l.before, l.after
	l.mu.Unlock()
	if before != nil {
		if err := before(n, c); err != nil {
			return eventstore.Receipt{}, err
		}
	}
	receipt, err := l.Log.Append(ctx, c)
	if after != nil {
		if err := after(n, c, err); err != nil {
			return eventstore.Receipt{}, err
		}
	}
	return receipt, err
}

func (l *faultyLog) set(before func(int, *eventstore.Commit) error, after func(int, *eventstore.Commit, error) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n, l.before, l.after = 0, before, after
}

func (l *faultyLog) appends() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// faultyKit is a catalog with a table db.t, a faulty log, and a record of the
// pauses between tries, which take no time.
func faultyKit(t *testing.T) (*kit.Kit, *faultyLog, *[]time.Duration) {
	t.Helper()
	log, pauses := &faultyLog{}, &[]time.Duration{}
	k := kit.New(t, kit.Setup{Wrap: func(p *kit.Parts) {
		log.Log = p.Commands.Log
		p.Commands.Log = log
		p.Commands.Sleep = func(_ context.Context, d time.Duration) error {
			*pauses = append(*pauses, d)
			return nil
		}
	}})
	k.Namespace("db")
	k.Table("db", "t")
	return k, log, pauses
}

const setProperty = `[{"action":"set-properties","updates":{"mine":"1"}}]`

// uuidOf is a requirement that stays true whatever others commit.
func uuidOf(t *testing.T, k *kit.Kit) string {
	t.Helper()
	loaded, err := k.Load(kit.At("db", "t"), loadAll)
	if err != nil {
		t.Fatal(err)
	}
	return `[{"type":"assert-table-uuid","uuid":"` + loaded.ID.String() + `"}]`
}

func TestALostRaceIsAppliedToTheNewBase(t *testing.T) {
	t.Parallel()
	k, log, pauses := faultyKit(t)
	other := kit.New(t, kit.Setup{Share: k})
	requirement := uuidOf(t, k)
	log.set(func(n int, _ *eventstore.Commit) error {
		if n <= 2 { // two others are faster
			_, err := other.Commit(kit.At("db", "t"), "", fmt.Sprintf(`[{"action":"set-properties","updates":{"other%d":"1"}}]`, n))
			return err
		}
		return nil
	}, nil)
	got, err := k.Commit(kit.At("db", "t"), requirement, setProperty)
	if err != nil {
		t.Fatal(err)
	}
	properties := decodedOf(t, got)["properties"].(map[string]any)
	if properties["mine"] != "1" || properties["other1"] != "1" || properties["other2"] != "1" {
		t.Errorf("properties %v", properties)
	}
	if n := log.appends(); n != 3 || len(*pauses) != 2 {
		t.Errorf("%d appends, pauses %v", n, *pauses)
	}
	for i, pause := range *pauses {
		if limit := 20 * time.Millisecond << i; pause < limit/2 || pause >= limit {
			t.Errorf("pause %d took %s", i, pause)
		}
	}
	if files := kit.Files(t, k.Root); len(files) != 4 { // created, two others, one of ours
		t.Errorf("the losers' files are still there: %v", files)
	}
}

func TestOnlyAFailedRequirementOrTooManyTriesAreAConflict(t *testing.T) {
	t.Parallel()
	k, log, _ := faultyKit(t)
	other := kit.New(t, kit.Setup{Share: k})
	beaten := func(n int, _ *eventstore.Commit) error {
		_, err := other.Commit(kit.At("db", "t"), "", fmt.Sprintf(`[{"action":"set-properties","updates":{"other":"%d"}}]`, n))
		return err
	}
	requirement := uuidOf(t, k)
	log.set(beaten, nil)
	_, err := k.Commit(kit.At("db", "t"), requirement, setProperty)
	wantError(t, err, catalog.CommitFailed, "Commit failed: …")
	if n := log.appends(); n != 4 {
		t.Errorf("%d tries", n)
	}

	log.set(func(n int, c *eventstore.Commit) error {
		_, err := other.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(7, 0, 1))
		return err
	}, nil)
	_, err = k.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(8, 0, 1))
	wantError(t, err, catalog.CommitFailed, "Requirement failed: branch main was created concurrently")
	if n := log.appends(); n != 1 {
		t.Errorf("%d tries", n)
	}
	log.set(nil, nil)
	if files, want := len(kit.Files(t, k.Root)), 1+4+1; files != want {
		t.Errorf("%d files, want %d", files, want)
	}
}

func TestACommitWithoutRequirementsIsNeverRetried(t *testing.T) {
	t.Parallel()
	k, log, _ := faultyKit(t)
	other := kit.New(t, kit.Setup{Share: k})
	log.set(func(int, *eventstore.Commit) error {
		_, err := other.Commit(kit.At("db", "t"), "", `[{"action":"set-properties","updates":{"other":"1"}}]`)
		return err
	}, nil)
	_, err := k.Commit(kit.At("db", "t"), "", setProperty)
	wantError(t, err, catalog.CommitFailed, "Commit failed: …")
	log.set(func(int, *eventstore.Commit) error { return &eventstore.BusyError{Cause: errors.New("lock timeout")} }, nil)
	_, err = k.Commit(kit.At("db", "t"), "", setProperty)
	wantError(t, err, catalog.Unavailable, "The catalog is busy")
	if n := log.appends(); n != 1 {
		t.Errorf("%d tries", n)
	}
}

func TestWhatTheLogSaysDecidesTheAnswerAndTheFile(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		err   error
		kind  catalog.Kind
		tries int
		keeps bool // the written file
	}{
		"busy until the end":            {&eventstore.BusyError{Cause: errors.New("lock timeout")}, catalog.Unavailable, 4, false},
		"stale facts":                   {&eventstore.StaleError{}, catalog.Unavailable, 1, false},
		"an unknown fate":               {&eventstore.UnknownError{Cause: errors.New("no answer")}, catalog.CommitStateUnknown, 1, true},
		"something nobody has heard of": {errors.New("what"), catalog.CommitStateUnknown, 1, true},
		"a lost guard":                  {&eventstore.ConflictError{}, catalog.CommitFailed, 4, false},
		"a closed stream":               {&eventstore.ClosedError{}, catalog.CommitFailed, 4, false},
		"an unheard of constraint":      {&eventstore.ConstraintError{Constraint: "x"}, catalog.CommitFailed, 4, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, log, _ := faultyKit(t)
			requirement := uuidOf(t, k)
			log.set(func(int, *eventstore.Commit) error { return c.err }, nil)
			_, err := k.Commit(kit.At("db", "t"), requirement, setProperty)
			wantError(t, err, c.kind, "")
			if n := log.appends(); n != c.tries {
				t.Errorf("%d tries", n)
			}
			want := 1
			if c.keeps {
				want = 2
			}
			if files := kit.Files(t, k.Root); len(files) != want {
				t.Errorf("files %v", files)
			}
			log.set(nil, nil)
			if _, err := k.Commit(kit.At("db", "t"), requirement, setProperty); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// Law 3: the commit happened, the answer was lost and its fate could not be
// learnt. The client hears "unknown", the file stays, and the state is the new
// one.
func TestAnUnknownFateThatHappenedLosesNothing(t *testing.T) {
	t.Parallel()
	k, log, _ := faultyKit(t)
	log.set(nil, func(_ int, c *eventstore.Commit, err error) error {
		return &eventstore.UnknownError{CommitID: c.ID, Cause: err}
	})
	_, err := k.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1))
	wantError(t, err, catalog.CommitStateUnknown, "")
	_, err = k.Create("db", "u", "")
	wantError(t, err, catalog.CommitStateUnknown, "")
	log.set(nil, nil)
	loaded, err := k.Load(kit.At("db", "t"), loadAll)
	if err != nil || kit.Document(t, loaded.Document.Plain())["current-snapshot-id"] != float64(1) {
		t.Errorf("loaded %v", err)
	}
	if _, err := k.Load(kit.At("db", "u"), loadAll); err != nil {
		t.Error(err)
	}
	if again, err := k.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1)); err != nil || again.Pointer != loaded.Pointer {
		t.Errorf("the client's second try: %v", err)
	}
}

// A process that stood still between Resolve and append for longer than the
// deadline cannot commit: its file may be gone.
func TestAFrozenProcessCannotCommit(t *testing.T) {
	t.Parallel()
	k, log, _ := faultyKit(t)
	log.set(func(_ int, c *eventstore.Commit) error {
		c.ResolvedAt = c.ResolvedAt.Add(-eventstore.MaxCommitAge - time.Second)
		return nil
	}, nil)
	_, err := k.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1))
	wantError(t, err, catalog.Unavailable, "")
	if files := kit.Files(t, k.Root); len(files) != 1 {
		t.Errorf("files %v", files)
	}
}

// failingStores opens stores whose writes fail as told.
type failingStore struct {
	storage.Store
	err *error
}

type failingObjects struct {
	storage.Objects
	err *error
}

func (s failingStore) Scoped(claims []storage.Key) storage.Objects {
	return failingObjects{s.Store.Scoped(claims), s.err}
}

func (o failingObjects) Put(ctx context.Context, location string, data []byte) error {
	if *o.err != nil {
		return *o.err
	}
	return o.Objects.Put(ctx, location, data)
}

type failingOpener struct {
	stores *storage.Stores
	err    *error
}

func (o failingOpener) Open(ctx context.Context, p storage.Profile) (storage.Store, error) {
	store, err := o.stores.Open(ctx, p)
	return failingStore{store, o.err}, err
}

func TestADiskThatIsFullChangesNothing(t *testing.T) {
	t.Parallel()
	var putErr error
	k := kit.New(t, kit.Setup{Opener: func(s *storage.Stores) kit.Opener { return failingOpener{s, &putErr} }})
	k.Namespace("db")
	k.Table("db", "t")
	events := k.Events()
	putErr = &storage.Error{Op: "put", Location: "x", Kind: storage.ErrNoSpace}
	_, err := k.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1))
	wantError(t, err, catalog.Unavailable, "No space left in the warehouse's store")
	_, err = k.Create("db", "u", "")
	wantError(t, err, catalog.Unavailable, "No space left in the warehouse's store")
	if !slices.Equal(events, k.Events()) {
		t.Error("something was appended")
	}
	putErr = nil
	if _, err := k.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1)); err != nil {
		t.Error(err)
	}
}

func TestAMissingMetadataFileIsSaidSo(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	table := k.Table("db", "t")
	file := strings.TrimPrefix(table.Pointer, "file://")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_, err := k.Load(kit.At("db", "t"), loadAll)
	wantError(t, err, catalog.NotFound, "Failed to open input stream for file: "+table.Pointer)
	// Without purge the file is not needed to drop the table.
	if err := k.Commands.DropTable(t.Context(), k.Call(), commands.DropTable{Warehouse: k.Warehouse, Table: kit.At("db", "t")}); err != nil {
		t.Error(err)
	}
}

func TestManyWritersOfOneTableAllGetThrough(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	a.Namespace("db")
	a.Table("db", "t")
	const writers, each = 8, 4
	var wg sync.WaitGroup
	for w := range writers {
		k := []*kit.Kit{a, b}[w%2]
		wg.Go(func() {
			for i := range each {
				id := int64(w*each + i + 1)
				for {
					loaded, err := k.Load(kit.At("db", "t"), loadAll)
					if err != nil {
						t.Error(err)
						return
					}
					doc := kit.Document(t, loaded.Document.Plain())
					parent := int64(0)
					if v, ok := doc["current-snapshot-id"].(float64); ok && v > 0 {
						parent = int64(v)
					}
					_, err = k.Commit(kit.At("db", "t"), kit.Head(parent), kit.Append(id, parent, int64(doc["last-sequence-number"].(float64))+1))
					if err == nil {
						break
					}
					if catalog.KindOf(err) != catalog.CommitFailed {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	loaded, err := a.Load(kit.At("db", "t"), loadAll)
	if err != nil {
		t.Fatal(err)
	}
	doc := kit.Document(t, loaded.Document.Plain())
	if n := len(doc["snapshots"].([]any)); n != writers*each || doc["last-sequence-number"] != float64(writers*each) {
		t.Errorf("%d snapshots, sequence %v", n, doc["last-sequence-number"])
	}
	if files := kit.Files(t, a.Root); len(files) != 1+writers*each {
		t.Errorf("%d files: losers' files are still there", len(files))
	}
}
