package storage_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/icecore-catalog/icecore/storage"
)

func TestParseLocationAcceptsTheSpellingsOfEngines(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ spelling, canonical string }{
		{"/srv/wh/t", "file:///srv/wh/t"},
		{"file:/srv/wh/t", "file:///srv/wh/t"},
		{"file:///srv/wh/t", "file:///srv/wh/t"},
		{"file://localhost/srv/wh/t", "file:///srv/wh/t"},
		{"FILE://LocalHost/srv/wh/t", "file:///srv/wh/t"},
		{"file:////srv//wh///t//", "file:///srv/wh/t"},
		{"/srv/wh/t/", "file:///srv/wh/t"},
		{"/T/t", "file:///T/t"},
		{"/a b/c", "file:///a b/c"},
		{"/a%20b", "file:///a%20b"},
		{"/100%", "file:///100%"},
		{"/..%2f..%2Fetc", "file:///..%2f..%2Fetc"},
		{"/%2e%2e/x", "file:///%2e%2e/x"},
		{"/a?b#c;d", "file:///a?b#c;d"},
		{"file:///a?b/../c", ""},
		{"/a+b", "file:///a+b"},
		{"/雪/é", "file:///雪/é"},
		{`/a\b`, `file:///a\b`},
		{"/s3://bucket/x", "file:///s3:/bucket/x"},
		{"/.hidden/..x/...", "file:///.hidden/..x/..."},
		{"", ""},
		{"/", ""},
		{"///", ""},
		{"file:", ""},
		{"file:///", ""},
		{"file://", ""},
		{"file://localhost", ""},
		{"file://otherhost/x", ""},
		{"file://otherhost", ""},
		{"file:x", ""},
		{"x/y", ""},
		{"./x", ""},
		{"~/x", ""},
		{" /x", ""},
		{"s3://bucket/x", ""},
		{"C:/x", ""},
		{"/a/../b", ""},
		{"/a/..", ""},
		{"/./a", ""},
		{"/a/.", ""},
		{"file:///../x", ""},
		{"file://../x", ""},
		{"/a\x00b", ""},
	} {
		l, err := storage.ParseLocation(test.spelling)
		switch {
		case test.canonical == "" && !errors.Is(err, storage.ErrInvalid):
			t.Errorf("%q gives %q, %v, want ErrInvalid", test.spelling, l, err)
		case test.canonical != "" && (err != nil || l.String() != test.canonical || l.Spelling() != test.spelling):
			t.Errorf("%q gives %q, %v, want %q", test.spelling, l, err, test.canonical)
		}
	}
}

func TestClaimableRefusesWhatEnginesReadDifferently(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		location string
		ok       bool
	}{
		{"/wh/t", true},
		{"/wh/a b", true},
		{"/wh/é 雪 +'\"\\", true},
		{"/wh/100%", true},
		{"/wh/a%20b", true},
		{"/wh/" + strings.Repeat("n/", 500) + "n", true},
		{"/wh/" + strings.Repeat("n/", 512) + "n", false},
		{"/wh/a?b", false},
		{"/wh/a#b", false},
		{"/wh/%2e%2e/t", false},
		{"/wh/a%2Fb", false},
		{"/wh/a%5cb", false},
		{"/wh/a%00", false},
		{"/wh/a\nb", false},
		{"/wh/a\x7f", false},
		{"/wh/a\xff", false},
	} {
		l, err := storage.ParseLocation(test.location)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Claimable(); (err == nil) != test.ok || err != nil && !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("Claimable(%q) = %v, want ok %v", test.location, err, test.ok)
		}
	}
	if (storage.Location{}).Claimable() == nil {
		t.Error("the zero location is claimable")
	}
}

func TestWithinIsNotAPrefixOfText(t *testing.T) {
	t.Parallel()
	parse := func(s string) storage.Location {
		l, err := storage.ParseLocation(s)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, test := range []struct {
		inner, outer string
		want         bool
	}{
		{"/wh/t1", "/wh/t1", true},
		{"file:/wh/t1/x", "file:///wh/t1/", true},
		{"/wh/t1x", "/wh/t1", false},
		{"/wh", "/wh/t1", false},
		{"/WH/t1", "/wh", false},
	} {
		if got := parse(test.inner).Within(parse(test.outer)); got != test.want {
			t.Errorf("%s within %s: %v", test.inner, test.outer, got)
		}
	}
}

func TestParseKeyRefusesWhatIsNotCanonical(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "/", "file", "file/", "file//a", "file//a//b/", "file//../b/", "file//a/./", "//a/", "file//a\x00/"} {
		if k, err := storage.ParseKey(s); err == nil {
			t.Errorf("ParseKey(%q) = %q", s, k)
		}
	}
	for _, s := range []string{"file//a/", "file//a/b/", "s3:host/bucket/", "s3:host/bucket/a/"} {
		if k, err := storage.ParseKey(s); err != nil || k.String() != s {
			t.Errorf("ParseKey(%q) = %q, %v", s, k, err)
		}
	}
	if lo, hi := storage.Key("file//a/").Range(); lo != "file//a/" || hi != "file//a0" {
		t.Errorf("the range is %q to %q", lo, hi)
	}
	if storage.Key("").Contains("file//a/") {
		t.Error("the empty key contains others")
	}
}

func segment() *rapid.Generator[string] {
	return rapid.StringMatching(`[a-c0./ -]{1,3}`)
}

func TestRangesOverlapExactlyIfKeysDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (storage.Key, bool) {
			k, err := storage.ParseKey("file//" + strings.Join(rapid.SliceOfN(segment(), 1, 4).Draw(t, label), "/") + "/")
			return k, err == nil
		}
		a, okA := draw("a")
		b, okB := draw("b")
		if !okA || !okB {
			return
		}
		loA, hiA := a.Range()
		loB, hiB := b.Range()
		if byRange := loA < hiB && loB < hiA; byRange != a.Overlaps(b) {
			t.Fatalf("%q and %q overlap by range %v, by Overlaps %v", a, b, byRange, a.Overlaps(b))
		}
	})
}

func FuzzParseLocation(f *testing.F) {
	for _, seed := range []string{"", "/a", "file:/a", "file:///a/../b", "file://localhost//a/", "file://h/a", "/%2e%2e/", "s3://b/k", "/a\x00", "file:///a?b#c", "/a/./b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spelling string) {
		l, err := storage.ParseLocation(spelling)
		if err != nil {
			if !errors.Is(err, storage.ErrInvalid) || !l.IsZero() {
				t.Fatalf("%q gives %q, %v", spelling, l, err)
			}
			return
		}
		path, ok := strings.CutPrefix(l.String(), "file:///")
		if !ok || path != l.Path() {
			t.Fatalf("%q gives %q with the path %q", spelling, l, l.Path())
		}
		for s := range strings.SplitSeq(path, "/") {
			if s == "" || s == "." || s == ".." || strings.ContainsRune(s, 0) {
				t.Fatalf("%q gives %q", spelling, l)
			}
		}
		again, err := storage.ParseLocation(l.String())
		if err != nil || again.String() != l.String() || !again.Within(l) || !l.Within(again) {
			t.Fatalf("%q gives %q, which gives %q, %v", spelling, l, again, err)
		}
	})
}
