package storagetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/icecore-catalog/icecore/storage"
)

// Harness is one store to test.
type Harness struct {
	// Store is open, empty below its root, and used by nobody else.
	Store storage.Store
	// RacyPutIfAbsent says that the store cannot promise one winner among
	// concurrent PutIfAbsent of one name.
	RacyPutIfAbsent bool
}

// Run runs the suite; each test gets a store of its own.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"PutThenGetGivesTheSameBytes", putThenGet},
		{"PutReplaces", putReplaces},
		{"PutIfAbsentKeepsWhatIsThere", putIfAbsent},
		{"PutIfAbsentHasOneWinner", putIfAbsentRace},
		{"MissingObjectsAreErrNotFound", missing},
		{"GetRefusesMoreThanTheLimit", limits},
		{"StatTellsSizeAndTime", stat},
		{"DeleteIsIdempotent", deletes},
		{"ListIsOrderedAndResumable", lists},
		{"ListStaysBelowItsFolder", listSiblings},
		{"ListSurvivesDeletionsBetweenPages", listWhileDeleting},
		{"LargeObjects", large},
		{"OddNames", oddNames},
		{"ConcurrentPutsNeverMix", concurrentPuts},
		{"ReadYourWritesAcrossTasks", readYourWrites},
		{"SpellingsOfOnePlaceAreOne", spellings},
		{"KeysOfPlaces", keys},
		{"OutsideTheRootIsRefused", outside},
		{"ScopeRefusesWhatIsNotClaimed", scope},
		{"ScopeWithoutClaimsRefusesAll", scopeEmpty},
		{"PruneLeavesObjectsAlone", prune},
		{"CancelledContextDoesNothing", cancelled},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t))
		})
	}
}

func (h Harness) at(path string) string { return h.Store.Profile().Root().String() + "/" + path }

func put(t *testing.T, o storage.Objects, location, data string) {
	t.Helper()
	if err := o.Put(t.Context(), location, []byte(data)); err != nil {
		t.Fatalf("Put(%q): %v", location, err)
	}
}

func wantObject(t *testing.T, o storage.Objects, location, data string) {
	t.Helper()
	got, err := o.Get(t.Context(), location, 1<<20)
	if err != nil || string(got) != data {
		t.Fatalf("Get(%q) = %q, %v, want %q", location, got, err, data)
	}
}

func wantError(t *testing.T, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("%s: error %v, want %v", what, err, kind)
	}
}

func locations(infos []storage.Info) []string {
	out := make([]string, len(infos))
	for i, info := range infos {
		out[i] = info.Location
	}
	return out
}

func wantList(t *testing.T, o storage.Objects, prefix string, want ...string) {
	t.Helper()
	infos, err := o.List(t.Context(), prefix, "", 1000)
	if err != nil {
		t.Fatalf("List(%q): %v", prefix, err)
	}
	if got := locations(infos); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("List(%q):\n%s\nwant:\n%s", prefix, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func putThenGet(t *testing.T, h Harness) {
	for _, data := range []string{"", "x", strings.Repeat("snow\x00", 100_000)} {
		location := h.at(fmt.Sprintf("a/b/c/%d.json", len(data)))
		put(t, h.Store, location, data)
		wantObject(t, h.Store, location, data)
	}
}

func putReplaces(t *testing.T, h Harness) {
	put(t, h.Store, h.at("a"), "long first content")
	put(t, h.Store, h.at("a"), "second")
	wantObject(t, h.Store, h.at("a"), "second")
	wantList(t, h.Store, h.at("")[:len(h.at(""))-1], h.at("a"))
}

func putIfAbsent(t *testing.T, h Harness) {
	if err := h.Store.PutIfAbsent(t.Context(), h.at("d/a"), []byte("first")); err != nil {
		t.Fatal(err)
	}
	err := h.Store.PutIfAbsent(t.Context(), h.at("d/a"), []byte("second"))
	wantError(t, "second PutIfAbsent", err, storage.ErrExists)
	wantObject(t, h.Store, h.at("d/a"), "first")
	wantList(t, h.Store, h.at("d"), h.at("d/a"))
}

func putIfAbsentRace(t *testing.T, h Harness) {
	if h.RacyPutIfAbsent {
		t.Log("the store does not promise this")
		return
	}
	const writers = 16
	var won []string
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			data := fmt.Sprintf("writer %d", i)
			switch err := h.Store.PutIfAbsent(t.Context(), h.at("race/a"), []byte(data)); {
			case err == nil:
				mu.Lock()
				won = append(won, data)
				mu.Unlock()
			case !errors.Is(err, storage.ErrExists):
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	group.Wait()
	if len(won) != 1 {
		t.Fatalf("%d writers won: %v", len(won), won)
	}
	wantObject(t, h.Store, h.at("race/a"), won[0])
	wantList(t, h.Store, h.at("race"), h.at("race/a"))
}

func missing(t *testing.T, h Harness) {
	put(t, h.Store, h.at("folder/a"), "x")
	for _, path := range []string{"none", "no/such/folder", "folder", "folder/a/below", "folder/" + strings.Repeat("n", 300)} {
		_, err := h.Store.Get(t.Context(), h.at(path), 10)
		wantError(t, "Get "+path, err, storage.ErrNotFound)
		var details *storage.Error
		if !errors.As(err, &details) || details.Location != h.at(path) {
			t.Errorf("Get %s: the error %v does not carry the location", path, err)
		}
		_, err = h.Store.Stat(t.Context(), h.at(path))
		wantError(t, "Stat "+path, err, storage.ErrNotFound)
	}
	wantList(t, h.Store, h.at("none"))
}

func limits(t *testing.T, h Harness) {
	put(t, h.Store, h.at("ten"), "0123456789")
	for limit, ok := range map[int64]bool{0: false, 9: false, 10: true, 11: true} {
		_, err := h.Store.Get(t.Context(), h.at("ten"), limit)
		if ok && err != nil {
			t.Errorf("limit %d: %v", limit, err)
		}
		if !ok {
			wantError(t, fmt.Sprintf("limit %d", limit), err, storage.ErrTooLarge)
		}
	}
	if _, err := h.Store.List(t.Context(), h.at("x"), "", 0); err == nil {
		t.Error("a list with limit 0 is not refused")
	}
}

func stat(t *testing.T, h Harness) {
	put(t, h.Store, h.at("d/first"), "12345")
	put(t, h.Store, h.at("d/second"), "")
	first, err := h.Store.Stat(t.Context(), h.at("d/first"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := h.Store.Stat(t.Context(), h.at("d/second"))
	if err != nil {
		t.Fatal(err)
	}
	if first.Location != h.at("d/first") || first.Size != 5 || second.Size != 0 {
		t.Errorf("Stat gives %+v and %+v", first, second)
	}
	if first.ModTime.IsZero() || second.ModTime.Before(first.ModTime) {
		t.Errorf("what was written first has the time %v, the other %v", first.ModTime, second.ModTime)
	}
	infos, err := h.Store.List(t.Context(), h.at("d"), "", 10)
	if err != nil || len(infos) != 2 || infos[0] != first || infos[1] != second {
		t.Errorf("List gives %+v, %v, Stat %+v and %+v", infos, err, first, second)
	}
}

func deletes(t *testing.T, h Harness) {
	put(t, h.Store, h.at("d/a"), "x")
	put(t, h.Store, h.at("d/b"), "x")
	for range 2 {
		if err := h.Store.Delete(t.Context(), h.at("d/a")); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"none/at/all", "d/b/below", "d", "d/" + strings.Repeat("n", 300)} {
		if err := h.Store.Delete(t.Context(), h.at(path)); err != nil {
			t.Errorf("Delete of the missing %s: %v", path, err)
		}
	}
	_, err := h.Store.Get(t.Context(), h.at("d/a"), 10)
	wantError(t, "Get after Delete", err, storage.ErrNotFound)
	wantList(t, h.Store, h.at("d"), h.at("d/b"))
	put(t, h.Store, h.at("d/a"), "again")
	wantObject(t, h.Store, h.at("d/a"), "again")
}

func large(t *testing.T, h Harness) {
	const size = 64 << 20
	block := make([]byte, 1<<20)
	if _, err := rand.Read(block); err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat(block, size>>20)
	if err := h.Store.Put(t.Context(), h.at("large"), data); err != nil {
		t.Fatal(err)
	}
	got, err := h.Store.Get(t.Context(), h.at("large"), size)
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d bytes came back, %v", len(got), err)
	}
	_, err = h.Store.Get(t.Context(), h.at("large"), size-1)
	wantError(t, "limit one too low", err, storage.ErrTooLarge)
}

func oddNames(t *testing.T, h Harness) {
	names := []string{
		"with space", " leading", "trailing ", "per%cent", "per%20cent", "%2F", "%2e%2e", "plus+plus", "a?b=c", "a#b", "a;b", "a:b", "a=b/c=d",
		`quote'"`, `back\slash`, "dot.", ".hidden", "..twodots", "...", "_under", "caf\u00e9", "cafe\u0301", "雪", "❄️", "tab\ttab", "new\nline",
		"~", "-dash", "*", "$HOME", "a|b", "<>", "&", strings.Repeat("n", 255), "UPPER", "upper",
	}
	for _, name := range names {
		put(t, h.Store, h.at("odd/"+name), name)
	}
	for _, name := range names {
		wantObject(t, h.Store, h.at("odd/"+name), name)
	}
	infos, err := h.Store.List(t.Context(), h.at("odd"), "", 1000)
	if err != nil || len(infos) != len(names) {
		t.Fatalf("%d of %d names listed, %v", len(infos), len(names), err)
	}
	for i, info := range infos {
		if i > 0 && infos[i-1].Location >= info.Location {
			t.Errorf("%q is listed before %q", infos[i-1].Location, info.Location)
		}
		if err := h.Store.Delete(t.Context(), info.Location); err != nil {
			t.Errorf("Delete(%q): %v", info.Location, err)
		}
	}
	wantList(t, h.Store, h.at("odd"))
}

func concurrentPuts(t *testing.T, h Harness) {
	const writers, rounds = 8, 10
	content := func(i int) []byte { return bytes.Repeat([]byte("abcdefgh"[i:i+1]), 10_000*(i+1)) }
	put(t, h.Store, h.at("d/one"), string(content(0)))
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			for range rounds {
				if err := h.Store.Put(t.Context(), h.at("d/one"), content(i)); err != nil {
					t.Errorf("writer %d: %v", i, err)
				}
				got, err := h.Store.Get(t.Context(), h.at("d/one"), 1<<20)
				if err != nil || len(got) == 0 || !bytes.Equal(got, content(int(got[0]-'a'))) {
					t.Errorf("a reader met %d mixed bytes, %v", len(got), err)
				}
			}
		})
	}
	group.Wait()
	wantListOne(t, h)
}

func wantListOne(t *testing.T, h Harness) {
	t.Helper()
	wantList(t, h.Store, h.at("d"), h.at("d/one"))
}

func readYourWrites(t *testing.T, h Harness) {
	const tasks = 16
	var group sync.WaitGroup
	for i := range tasks {
		group.Go(func() {
			location := h.at(fmt.Sprintf("shared/new/folder/%02d/x", i))
			if err := h.Store.Put(t.Context(), location, []byte("x")); err != nil {
				t.Errorf("Put: %v", err)
				return
			}
			if _, err := h.Store.Get(t.Context(), location, 1); err != nil {
				t.Errorf("Get after Put: %v", err)
			}
			infos, err := h.Store.List(t.Context(), h.at(fmt.Sprintf("shared/new/folder/%02d", i)), "", 10)
			if err != nil || len(infos) != 1 {
				t.Errorf("List after Put: %v, %v", infos, err)
			}
		})
	}
	group.Wait()
	infos, err := h.Store.List(t.Context(), h.at("shared"), "", 1000)
	if err != nil || len(infos) != tasks {
		t.Fatalf("%d of %d objects listed, %v", len(infos), tasks, err)
	}
}

func cancelled(t *testing.T, h Harness) {
	put(t, h.Store, h.at("d/one"), "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Store.Get(ctx, h.at("d/one"), 10)
	wantError(t, "Get", err, context.Canceled)
	_, err = h.Store.List(ctx, h.at("d"), "", 10)
	wantError(t, "List", err, context.Canceled)
	wantError(t, "Put", h.Store.Put(ctx, h.at("d/two"), nil), context.Canceled)
	wantError(t, "Delete", h.Store.Delete(ctx, h.at("d/one")), context.Canceled)
	wantListOne(t, h)
}
