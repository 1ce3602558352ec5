package documents_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
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

// noise is a document that packing makes no smaller.
func noise(n, size int) *documents.Document {
	random := rand.NewChaCha8([32]byte{0: byte(n)})
	bytes := make([]byte, size)
	_, _ = random.Read(bytes)
	return documents.New(id(n), id(1000+n), fmt.Sprint("p", n), bytes)
}

func TestCacheForgetsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	c := documents.NewCache(10_100)
	for n := range 4 {
		c.Put(fmt.Sprint("path", n), noise(n, 2_000))
	}
	if c.Last("path0") == nil { // used: now the latest
		t.Fatal("forgotten too early")
	}
	for n := 4; n < 6; n++ {
		c.Put(fmt.Sprint("path", n), noise(n, 2_000))
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

// TestCacheFoldsBeforeItForgets: what was not used for longest is packed, and
// is as it was when somebody asks.
func TestCacheFoldsBeforeItForgets(t *testing.T) {
	t.Parallel()
	const size, count = 5_000, 100
	c := documents.NewCache(count * 1_000)
	for n := range count {
		c.Put(fmt.Sprint("path", n), doc(n, size))
	}
	bytes, n := c.Size()
	if n != count || bytes > count*1_000 {
		t.Fatalf("%d bytes in %d documents", bytes, n)
	}
	for n := range count {
		d := c.Last(fmt.Sprint("path", n))
		if d == nil {
			t.Fatalf("document %d is gone", n)
		}
		if got := d.Plain(); string(got) != strings.Repeat("x", size) {
			t.Fatalf("document %d has become %d bytes", n, len(got))
		}
		if bytes, _ := c.Size(); bytes > count*1_000 {
			t.Fatalf("%d bytes", bytes)
		}
	}
	for n := count; n < 3*count; n++ { // even folded ones don't fit
		c.Put(fmt.Sprint("path", n), doc(n, size))
	}
	if bytes, n := c.Size(); bytes > count*1_000 || n < count || n == 3*count {
		t.Errorf("%d bytes in %d documents", bytes, n)
	}
	if c.Last("path0") != nil || c.Last(fmt.Sprint("path", 3*count-1)) == nil {
		t.Error("the first is kept, or the last is not")
	}
}

// TestCacheIsSafeForAll has everything done to few documents at once.
func TestCacheIsSafeForAll(t *testing.T) {
	t.Parallel()
	c := documents.NewCache(20_000)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for range 2_000 {
				n := random.IntN(20)
				path := fmt.Sprint("path", n)
				d := c.Last(path)
				if d == nil {
					d = c.Put(path, doc(n, 3_000))
				}
				switch random.IntN(3) {
				case 0:
					if len(d.Plain()) != 3_000 {
						t.Error("the document is another")
					}
				case 1:
					if p, err := d.Packed(); err != nil || p.Length != 3_000 {
						t.Error("the packed document is another", err)
					}
				case 2:
					c.Get(path, d.Object, d.Mark)
				}
			}
		})
	}
	group.Wait()
	if bytes, n := c.Size(); bytes > 20_000 || n == 0 {
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
