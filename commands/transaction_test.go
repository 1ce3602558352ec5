package commands_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/eventstore"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/storage"
)

func transact(k *kit.Kit, changes ...commands.CommitTable) error {
	return k.Commands.CommitTransaction(k.Context(), k.Call(), commands.CommitTransaction{Warehouse: k.Warehouse, Changes: changes})
}

func current(t *testing.T, k *kit.Kit, name string) int64 {
	t.Helper()
	loaded, err := k.Load(kit.At("db", name), loadAll)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := kit.Document(t, loaded.Document.Plain())["current-snapshot-id"].(float64)
	return max(int64(id), 0)
}

func TestTransactionIsAllOrNothing(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	k.Table("db", "a")
	k.Table("db", "b")
	root := "file://" + k.Root
	good := k.Change(kit.At("db", "a"), kit.Head(0), kit.Append(1, 0, 1))
	events, files := k.Events(), kit.Files(t, k.Root)
	cases := map[string]struct {
		changes []commands.CommitTable
		kind    catalog.Kind
		text    string
	}{
		"no change":                          {nil, catalog.BadRequest, ""},
		"a missing table":                    {[]commands.CommitTable{good, k.Change(kit.At("db", "x"), "", "")}, catalog.NoSuchTable, "Table does not exist: db.x"},
		"a failed requirement":               {[]commands.CommitTable{good, k.Change(kit.At("db", "b"), kit.Head(7), "")}, catalog.CommitFailed, "Requirement failed: …"},
		"a bad update":                       {[]commands.CommitTable{good, k.Change(kit.At("db", "b"), "", `[{"action":"set-current-schema","schema-id":7}]`)}, catalog.Validation, ""},
		"the same table twice":               {[]commands.CommitTable{good, k.Change(kit.At("db", "a"), "", "")}, catalog.BadRequest, "Invalid transaction: table db.a appears twice"},
		"the same table in another spelling": {[]commands.CommitTable{good, k.Change(kit.At("DB", "A"), "", "")}, catalog.BadRequest, "Invalid transaction: table DB.A appears twice"},
		"an existing table to create":        {[]commands.CommitTable{good, k.Change(kit.At("db", "b"), assertCreate, creation(root+"/b", k.IDs.New().String()))}, catalog.CommitFailed, "Requirement failed: table already exists"},
		"two tables at one place": {[]commands.CommitTable{
			k.Change(kit.At("db", "c"), assertCreate, creation(root+"/c", k.IDs.New().String())),
			k.Change(kit.At("db", "d"), assertCreate, creation(root+"/c/d", k.IDs.New().String())),
		}, catalog.BadRequest, overlaps},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := transact(k, c.changes...)
			if c.kind == catalog.Validation {
				if kind := catalog.KindOf(err); kind != catalog.Validation && kind != catalog.BadRequest && kind != catalog.IllegalArgument {
					t.Errorf("error %v", err)
				}
				return
			}
			wantError(t, err, c.kind, c.text)
		})
	}
	if !slices.Equal(events, k.Events()) || !slices.Equal(files, kit.Files(t, k.Root)) {
		t.Error("refused transactions left something behind")
	}

	if err := transact(k, good,
		k.Change(kit.At("db", "b"), kit.Head(0), `[]`),
		k.Change(kit.At("db", "c"), assertCreate, creation(root+"/c", k.IDs.New().String())),
		k.Change(kit.At("db", "d"), assertCreate, creation(root+"/d", k.IDs.New().String())),
	); err != nil {
		t.Fatal(err)
	}
	if current(t, k, "a") != 1 || current(t, k, "b") != 0 || current(t, k, "c") != 0 {
		t.Error("the transaction made another state")
	}
	if made := k.Events()[len(events):]; !slices.Equal(made, []string{"dev.icecore.table.committed", "dev.icecore.table.created", "dev.icecore.table.created"}) {
		t.Errorf("events %v", made)
	}
	var commits int
	if err := k.Pool.QueryRow(t.Context(), "SELECT count(DISTINCT commit_id) FROM es.event WHERE commit_size = 3").Scan(&commits); err != nil || commits != 1 {
		t.Errorf("%d commits, %v", commits, err)
	}
}

func TestTransactionOfNothingWritesNothing(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	k.Table("db", "a")
	events := k.Events()
	if err := transact(k, k.Change(kit.At("db", "a"), kit.Head(0), "")); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(events, k.Events()) {
		t.Error("something was appended")
	}
}

// An item that only asserts is held at the version it was checked at: when it
// changes before the append, the whole set is decided anew.
func TestAnAssertedTableCannotChangeMeanwhile(t *testing.T) {
	t.Parallel()
	k, log, _ := faultyKit(t)
	other := kit.New(t, kit.Setup{Share: k})
	k.Table("db", "u")
	log.set(func(n int, _ *eventstore.Commit) error {
		if n > 1 {
			return nil
		}
		_, err := other.Commit(kit.At("db", "u"), kit.Head(0), kit.Append(9, 0, 1))
		return err
	}, nil)
	err := transact(k, k.Change(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1)), k.Change(kit.At("db", "u"), kit.Head(0), ""))
	wantError(t, err, catalog.CommitFailed, "Requirement failed: branch main was created concurrently")
	if current(t, k, "t") != 0 {
		t.Error("the other item was committed")
	}
	if files := kit.Files(t, k.Root); len(files) != 3 {
		t.Errorf("files %v", files)
	}
}

// Transactions over the same tables in every order neither deadlock nor lose
// an increment.
func TestTransactionsOverTheSameTablesRace(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	a.Namespace("db")
	names := []string{"a", "b", "c"}
	for _, name := range names {
		a.Table("db", name)
	}
	const writers, each = 6, 3
	var wg sync.WaitGroup
	for w := range writers {
		k := []*kit.Kit{a, b}[w%2]
		wg.Go(func() {
			order := slices.Clone(names)
			if w%3 == 0 {
				slices.Reverse(order)
			}
			for i := range each {
				id := int64(w*each + i + 1)
				for {
					var changes []commands.CommitTable
					for _, name := range order {
						loaded, err := k.Load(kit.At("db", name), loadAll)
						if err != nil {
							t.Error(err)
							return
						}
						doc := kit.Document(t, loaded.Document.Plain())
						parent := int64(0)
						if v, ok := doc["current-snapshot-id"].(float64); ok && v > 0 {
							parent = int64(v)
						}
						changes = append(changes, k.Change(kit.At("db", name), kit.Head(parent), kit.Append(id, parent, int64(doc["last-sequence-number"].(float64))+1)))
					}
					err := transact(k, changes...)
					if err == nil {
						break
					}
					var e *catalog.Error
					if !errors.As(err, &e) || e.Kind != catalog.CommitFailed {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	for _, name := range names {
		loaded, err := a.Load(kit.At("db", name), loadAll)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(kit.Document(t, loaded.Document.Plain())["snapshots"].([]any)); n != writers*each {
			t.Errorf("table %s has %d snapshots", name, n)
		}
	}
	var split int
	if err := a.Pool.QueryRow(t.Context(),
		"SELECT count(*) FROM (SELECT commit_id FROM es.event WHERE commit_size = 3 GROUP BY commit_id HAVING count(*) <> 3) x").Scan(&split); err != nil || split != 0 {
		t.Errorf("%d commits were split, %v", split, err)
	}
}

func TestTransactionSizeIsBounded(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	changes := make([]commands.CommitTable, eventstore.MaxRecords+1)
	for i := range changes {
		changes[i] = k.Change(kit.At("db", fmt.Sprint("t", i)), "", "")
	}
	wantError(t, transact(k, changes...), catalog.BadRequest, "")
}

// meetingStore lets no Put end before so many of them are under way.
type meetingStore struct {
	storage.Store
	meet *meeting
}

type meeting struct {
	left atomic.Int64
	all  chan struct{}
}

type meetingObjects struct {
	storage.Objects
	meet *meeting
}

func (s meetingStore) Scoped(claims []storage.Key) storage.Objects {
	return meetingObjects{s.Store.Scoped(claims), s.meet}
}

func (o meetingObjects) Put(ctx context.Context, location string, data []byte) error {
	if o.meet.left.Add(-1) == 0 {
		close(o.meet.all)
	}
	select {
	case <-o.meet.all:
	case <-ctx.Done():
		return ctx.Err()
	}
	return o.Objects.Put(ctx, location, data)
}

type meetingOpener struct {
	stores *storage.Stores
	meet   *meeting
}

func (o meetingOpener) Open(ctx context.Context, p storage.Profile) (storage.Store, error) {
	store, err := o.stores.Open(ctx, p)
	return meetingStore{store, o.meet}, err
}

// Each file is a round trip to the store: a transaction pays for one of them,
// not for one a table.
func TestFilesOfATransactionAreWrittenTogether(t *testing.T) {
	t.Parallel()
	meet := &meeting{all: make(chan struct{})}
	close(meet.all)
	k := kit.New(t, kit.Setup{Opener: func(s *storage.Stores) kit.Opener { return meetingOpener{s, meet} }})
	k.Namespace("db")
	var changes []commands.CommitTable
	for _, name := range []string{"a", "b", "c", "d"} {
		k.Table("db", name)
		changes = append(changes, k.Change(kit.At("db", name), kit.Head(0), kit.Append(1, 0, 1)))
	}
	meet.all = make(chan struct{})
	meet.left.Store(int64(len(changes)))
	ctx, cancel := context.WithTimeout(k.Context(), 20*time.Second)
	defer cancel()
	if err := k.Commands.CommitTransaction(ctx, k.Call(), commands.CommitTransaction{Warehouse: k.Warehouse, Changes: changes}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		if current(t, k, name) != 1 {
			t.Errorf("%s was not committed", name)
		}
	}
}
