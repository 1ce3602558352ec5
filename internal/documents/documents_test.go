package documents_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/projections/document"
	"github.com/icecore-catalog/icecore/storage"
)

func id(n int) ids.ID { return ids.ID{6: 0x70, 8: 0x80, 14: byte(n >> 8), 15: byte(n)} }

func doc(n, size int) *documents.Document {
	return documents.New(id(n), id(1000+n), fmt.Sprint("p", n), []byte(strings.Repeat("x", size)))
}

func TestCacheForgetsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	c := documents.NewCache(10_100)
	for n := range 4 {
		c.Put(fmt.Sprint("path", n), doc(n, 2_000))
	}
	if c.Last("path0") == nil { // used: now the latest
		t.Fatal("forgotten too early")
	}
	for n := 4; n < 6; n++ {
		c.Put(fmt.Sprint("path", n), doc(n, 2_000))
	}
	for n, kept := range []bool{true, false, false, true, true, true} {
		if got := c.Last(fmt.Sprint("path", n)) != nil; got != kept {
			t.Errorf("document %d is kept: %v", n, got)
		}
		if got := c.Get("", id(n), id(1000+n)) != nil; got != kept {
			t.Errorf("document %d is found by its mark: %v", n, got)
		}
	}
	if bytes, n := c.Size(); bytes > 10_100 || n != 4 {
		t.Errorf("%d bytes in %d documents", bytes, n)
	}
}

func TestCacheKeepsOneDocumentThatIsLargerThanItself(t *testing.T) {
	t.Parallel()
	c := documents.NewCache(1_000)
	c.Put("a", doc(1, 10))
	c.Put("b", doc(2, 100_000))
	if c.Last("b") == nil || c.Last("a") != nil {
		t.Error("the newest was not kept alone")
	}
}

func TestCacheCountsWhatDocumentsGrowBy(t *testing.T) {
	t.Parallel()
	c := documents.NewCache(1 << 20)
	d := c.Put("a", doc(1, 10_000))
	before, _ := c.Size()
	p, err := d.Packed()
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := c.Size(); after != before+int64(len(p.Deflate)) {
		t.Errorf("grew from %d to %d by %d", before, after, len(p.Deflate))
	}
	if again, _ := d.Packed(); again != p {
		t.Error("packed twice")
	}
}

func TestThePathLeadsToTheLatest(t *testing.T) {
	t.Parallel()
	c := documents.NewCache(0)
	first := c.Put("a", doc(1, 10))
	second := c.Put("a", doc(2, 10))
	if c.Last("a") != second || c.Get("", id(1), id(1001)) != first {
		t.Error("the path leads elsewhere, or the older document is gone")
	}
	if c.Put("", documents.New(id(1), id(1001), "p", []byte("other"))) != first {
		t.Error("a second document took the place of the first")
	}
	if c.Get("", id(1), id(7)) != nil {
		t.Error("another mark finds it")
	}
}

func TestPathsOfOneNameMeet(t *testing.T) {
	t.Parallel()
	if documents.Path(id(1), []string{"A", "b"}, "T") != documents.Path(id(1), []string{"a", "B"}, "t") {
		t.Error("two spellings do not meet")
	}
	seen := map[string]bool{}
	for _, path := range []string{
		documents.Path(id(1), []string{"a"}, "b"), documents.Path(id(2), []string{"a"}, "b"), documents.Path(id(1), []string{"a", "b"}, ""),
		documents.Path(id(1), nil, "ab"), documents.Path(id(1), []string{"ab"}, ""),
	} {
		if seen[path] {
			t.Errorf("%q stands for two things", path)
		}
		seen[path] = true
	}
}

func facts(n int, packed *document.Packed) *projections.TabularFacts {
	return &projections.TabularFacts{Exists: true, ID: id(n), Mark: id(1000 + n), Fresh: true, Pointer: "file:///a.metadata.json", Document: packed}
}

func TestColdDocumentsAreReadOnce(t *testing.T) {
	t.Parallel()
	c := documents.NewCache(0)
	var reads atomic.Int64
	var wg sync.WaitGroup
	release := make(chan struct{})
	for range 16 {
		wg.Go(func() {
			d, _, err := c.Load(t.Context(), "a", facts(1, nil), func(context.Context, string) ([]byte, error) {
				reads.Add(1)
				<-release
				return []byte("{}"), nil
			})
			if err != nil || string(d.Plain()) != "{}" {
				t.Error(err)
			}
		})
	}
	close(release)
	wg.Wait()
	if n := reads.Load(); n != 1 {
		// Latecomers find it in the cache; nobody reads it again.
		t.Errorf("read %d times", n)
	}
}

func TestAReaderThatGivesUpDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := documents.NewCache(0)
		release := make(chan struct{})
		read := func(ctx context.Context, _ string) ([]byte, error) {
			select {
			case <-release:
				return []byte("{}"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		impatient, cancel := context.WithCancel(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { _, _, err := c.Load(impatient, "a", facts(1, nil), read); first <- err }()
		synctest.Wait()
		go func() { _, _, err := c.Load(t.Context(), "a", facts(1, nil), read); second <- err }()
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("first: %v", err)
		}
		close(release)
		if err := <-second; err != nil {
			t.Errorf("second: %v", err)
		}
	})
}

func TestATornStoredFormIsReadFromTheStore(t *testing.T) {
	t.Parallel()
	c := documents.NewCache(0)
	p, err := document.Pack([]byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	read := func(context.Context, string) ([]byte, error) { return []byte(`{"b":2}`), nil }
	if d, cold, err := c.Load(t.Context(), "a", facts(1, &p), read); err != nil || cold || string(d.Plain()) != `{"a":1}` {
		t.Errorf("%v, %v", cold, err)
	}
	torn := p
	torn.CRC32++
	if d, cold, err := c.Load(t.Context(), "b", facts(2, &torn), read); err != nil || !cold || string(d.Plain()) != `{"b":2}` {
		t.Errorf("%v, %v", cold, err)
	}
}

func TestFailuresHaveTheirStatus(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		kind catalog.Kind
	}{
		"gone":      {t.Context(), &storage.Error{Kind: storage.ErrNotFound}, catalog.NotFound},
		"away":      {t.Context(), errors.New("connection refused"), catalog.Unavailable},
		"cancelled": {cancelled, context.Canceled, catalog.Unavailable},
	} {
		if kind := catalog.KindOf(documents.Failure(c.ctx, "file:///x", c.err)); kind != c.kind {
			t.Errorf("%s: kind %d", name, kind)
		}
	}
}

func TestSaverSavesTheLatestAndLetsTooLargeOnesGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		saved := map[ids.ID][]ids.ID{}
		hold := make(chan struct{})
		s := documents.NewSaver(func(_ context.Context, object, mark ids.ID, _ *document.Packed) error {
			<-hold
			mu.Lock()
			defer mu.Unlock()
			saved[object] = append(saved[object], mark)
			return errors.New("noticed and forgotten")
		}, slog.New(slog.DiscardHandler))
		s.Add(doc(1, 10)) // is being saved
		synctest.Wait()
		s.Add(documents.New(id(2), id(21), "p", []byte("a")))
		s.Add(documents.New(id(2), id(22), "p", []byte("b")))
		s.Add(doc(3, 3<<20))
		close(hold)
		s.Close(t.Context())
		s.Add(doc(4, 10)) // too late
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(saved) != 2 || len(saved[id(1)]) != 1 || len(saved[id(2)]) != 1 || saved[id(2)][0] != id(22) {
			t.Errorf("saved %v", saved)
		}
	})
}

func TestETagsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, v := range []struct {
		pointer string
		documents.Variant
	}{
		{"a", documents.Variant{Snapshots: "all"}}, {"b", documents.Variant{Snapshots: "all"}}, {"a", documents.Variant{Snapshots: "refs"}},
		{"a", documents.Variant{Snapshots: "all", Warehouse: id(1)}}, {"a", documents.Variant{Snapshots: "all", Delegation: "vended r"}},
		{"aa", documents.Variant{Snapshots: "ll"}},
	} {
		tag := documents.ETag(v.pointer, v.Variant)
		if seen[tag] || !strings.HasPrefix(tag, `W/"`) || !strings.HasSuffix(tag, `"`) {
			t.Errorf("%+v has the tag %s", v, tag)
		}
		seen[tag] = true
	}
}
