package commands_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/authz/authztest"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/eventstore"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// keyedCommands is every mutation, as a function of its call. Each answers
// what a replay must answer again.
func keyedCommands(k *kit.Kit) []struct {
	name string
	run  func(commands.Call) (string, error)
} {
	table := func(t commands.Table, err error) (string, error) {
		return t.ID.String() + t.Pointer + string(t.Document) + t.ETag, err
	}
	at := kit.At("db", "t")
	return []struct {
		name string
		run  func(commands.Call) (string, error)
	}{
		{"create namespace", func(c commands.Call) (string, error) {
			n, err := k.Commands.CreateNamespace(k.Context(), c, commands.CreateNamespace{Warehouse: k.Warehouse, Namespace: []string{"db"}, Properties: map[string]string{"a": "b"}})
			return fmt.Sprint(n.ID, n.Levels, string(n.Properties)), err
		}},
		{"update namespace", func(c commands.Call) (string, error) {
			p, err := k.Commands.UpdateNamespaceProperties(k.Context(), c, commands.UpdateNamespaceProperties{
				Warehouse: k.Warehouse, Namespace: []string{"db"}, Removals: []string{"a", "x"}, Updates: map[string]string{"c": "d"},
			})
			return fmt.Sprint(p), err
		}},
		{"create table", func(c commands.Call) (string, error) {
			return table(k.Commands.CreateTable(k.Context(), c, commands.CreateTable{Warehouse: k.Warehouse, Namespace: []string{"db"}, Request: kit.Request("t", "")}))
		}},
		{"create table by commit", func(c commands.Call) (string, error) {
			return table(k.Commands.CommitTable(k.Context(), c, k.Change(kit.At("db", "c"), assertCreate, creation("file://"+k.Root+"/c", "5d4c6a8e-0000-4000-8000-000000000001"))))
		}},
		{"commit", func(c commands.Call) (string, error) {
			return table(k.Commands.CommitTable(k.Context(), c, k.Change(at, kit.Head(0), kit.Append(1, 0, 1))))
		}},
		{"commit without requirements", func(c commands.Call) (string, error) {
			return table(k.Commands.CommitTable(k.Context(), c, k.Change(at, "", kit.Append(2, 1, 2))))
		}},
		{"transaction", func(c commands.Call) (string, error) {
			return "", k.Commands.CommitTransaction(k.Context(), c, commands.CommitTransaction{Warehouse: k.Warehouse, Changes: []commands.CommitTable{
				k.Change(at, kit.Head(2), kit.Append(3, 2, 3)), k.Change(kit.At("db", "c"), kit.Head(0), kit.Append(4, 0, 1)),
			}})
		}},
		{"rename", func(c commands.Call) (string, error) {
			return "", k.Commands.RenameTable(k.Context(), c, commands.RenameTable{Warehouse: k.Warehouse, Source: kit.At("db", "c"), Destination: kit.At("db", "r")})
		}},
		{"drop table", func(c commands.Call) (string, error) {
			return "", k.Commands.DropTable(k.Context(), c, commands.DropTable{Warehouse: k.Warehouse, Table: kit.At("db", "r")})
		}},
	}
}

func TestAReplayRepeatsTheOutcomeOnce(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	for i, c := range keyedCommands(k) {
		call := k.Keyed(k.IDs.New(), byte(i))
		first, err := c.run(call)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		events, files := k.Events(), kit.Files(t, k.Root)
		for range 2 {
			if again, err := c.run(call); err != nil || again != first {
				t.Errorf("%s: replayed as %s, %v; was %s", c.name, again, err, first)
			}
		}
		other := call
		key := *call.Idempotency
		key.Digest[1] = 1
		other.Idempotency = &key
		_, err = c.run(other)
		wantError(t, err, catalog.Unprocessable, "The Idempotency-Key was used for another request")
		key.Digest[1], key.Operation = 0, "another"
		_, err = c.run(other)
		wantError(t, err, catalog.Unprocessable, "")
		if !slices.Equal(events, k.Events()) || !slices.Equal(files, kit.Files(t, k.Root)) {
			t.Errorf("%s: replays left something behind", c.name)
		}
	}
}

func TestTwinsRaceToOneOutcome(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	ofA, ofB := keyedCommands(a), keyedCommands(b)
	for i := range ofA {
		call := a.Keyed(a.IDs.New(), byte(i))
		events := len(a.Events())
		answers, errs := make([]string, 6), make([]error, 6)
		var wg sync.WaitGroup
		for n := range answers {
			run := ofA[i].run
			if n%2 == 1 {
				run = ofB[i].run
			}
			wg.Go(func() { answers[n], errs[n] = run(call) })
		}
		wg.Wait()
		for n := range answers {
			if errs[n] != nil || answers[n] != answers[0] {
				t.Errorf("%s: twin %d got %s, %v", ofA[i].name, n, answers[n], errs[n])
			}
		}
		made := len(a.Events()) - events
		if want := map[bool]int{true: 2, false: 1}[ofA[i].name == "transaction"]; made != want {
			t.Errorf("%s: %d events", ofA[i].name, made)
		}
	}
}

func TestFinalFailuresAreRepeatedOthersAreNot(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	create := func(call commands.Call) error {
		_, err := k.Commands.CreateTable(t.Context(), call, commands.CreateTable{Warehouse: k.Warehouse, Namespace: []string{"db"}, Request: kit.Request("t", "")})
		return err
	}
	final := k.Keyed(k.IDs.New(), 1)
	wantError(t, create(final), catalog.NoSuchNamespace, "Namespace does not exist: db")
	k.Namespace("db")
	wantError(t, create(final), catalog.NoSuchNamespace, "Namespace does not exist: db")
	k.Table("db", "t")

	conflict := k.Keyed(k.IDs.New(), 2)
	commit := func() error {
		_, err := k.Commands.CommitTable(t.Context(), conflict, k.Change(kit.At("db", "t"), kit.Head(1), kit.Append(2, 1, 2)))
		return err
	}
	wantError(t, commit(), catalog.CommitFailed, "")
	if _, err := k.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1)); err != nil {
		t.Fatal(err)
	}
	if err := commit(); err != nil {
		t.Errorf("a failed requirement was kept: %v", err)
	}
}

func TestAReplayAsksForTheRightsAgain(t *testing.T) {
	t.Parallel()
	refuse := false
	recorder := &authztest.Recorder{Authorizer: allowall.Authorizer{}, Refuse: func(authztest.Asked) bool { return refuse }}
	k := kit.New(t, kit.Setup{Authorizer: recorder})
	for i, c := range keyedCommands(k) {
		call := k.Keyed(k.IDs.New(), byte(i))
		if _, err := c.run(call); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		refuse = true
		if answer, err := c.run(call); err == nil {
			t.Errorf("%s: replayed without rights: %s", c.name, answer)
		}
		refuse = false
		if _, err := c.run(call); err != nil {
			t.Errorf("%s: a refusal was kept: %v", c.name, err)
		}
	}
}

func TestAReplayAfterTheDropAnswersFromThePast(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	create := k.Keyed(k.IDs.New(), 1)
	in := commands.CreateTable{Warehouse: k.Warehouse, Namespace: []string{"db"}, Request: kit.Request("t", "")}
	created, err := k.Commands.CreateTable(t.Context(), create, in)
	if err != nil {
		t.Fatal(err)
	}
	commit := k.Keyed(k.IDs.New(), 2)
	change := k.Change(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1))
	committed, err := k.Commands.CommitTable(t.Context(), commit, change)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Commands.DropTable(t.Context(), k.Call(), commands.DropTable{Warehouse: k.Warehouse, Table: kit.At("db", "t")}); err != nil {
		t.Fatal(err)
	}
	events := len(k.Events())
	again, err := k.Commands.CommitTable(t.Context(), commit, change)
	if err != nil || again.Pointer != committed.Pointer || string(again.Document) != string(committed.Document) {
		t.Errorf("the commit is replayed as %s, %v", again.Pointer, err)
	}
	// A key that met its end once stays there: the table is not made again.
	again, err = k.Commands.CreateTable(t.Context(), create, in)
	if err != nil || again.ID != created.ID || again.Pointer != created.Pointer {
		t.Errorf("the create is replayed as %s, %v", again.Pointer, err)
	}
	if n := len(k.Events()); n != events {
		t.Errorf("%d events", n-events)
	}
}

func TestKeysOfDifferentCallersNeverMeet(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	mine := k.Keyed(k.IDs.New(), 1)
	theirs := mine
	theirs.Actor = authz.Actor{ID: k.IDs.New()}
	if _, err := k.Commands.CreateNamespace(t.Context(), mine, commands.CreateNamespace{Warehouse: k.Warehouse, Namespace: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Commands.CreateNamespace(t.Context(), theirs, commands.CreateNamespace{Warehouse: k.Warehouse, Namespace: []string{"b"}}); err != nil {
		t.Error(err)
	}
}

func TestKeysOfFailuresThatMayPassAreFree(t *testing.T) {
	t.Parallel()
	k, log, _ := faultyKit(t)
	call := k.Keyed(k.IDs.New(), 1)
	commit := func() error {
		_, err := k.Commands.CommitTable(t.Context(), call, k.Change(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1)))
		return err
	}
	log.set(func(int, *eventstore.Commit) error { return &eventstore.BusyError{Cause: errors.New("away")} }, nil)
	wantError(t, commit(), catalog.Unavailable, "")
	log.set(nil, func(int, *eventstore.Commit, error) error { return &eventstore.UnknownError{} })
	wantError(t, commit(), catalog.CommitStateUnknown, "")
	log.set(nil, nil)
	events := len(k.Events())
	if err := commit(); err != nil {
		t.Errorf("the retry of a commit that had happened: %v", err)
	}
	if n := len(k.Events()); n != events {
		t.Errorf("it was made twice: %d events", n-events)
	}
}
