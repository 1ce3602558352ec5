package wire_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

func TestSegmentIsDecodedOnceByFormRules(t *testing.T) {
	t.Parallel()
	for escaped, want := range map[string]string{
		"plain":         "plain",
		"a+b":           "a b",
		"a%20b":         "a b",
		"a%2Bb":         "a+b",
		"a%2fb":         "a/b",
		"foo%252Fbar":   "foo%2Fbar",
		"%25":           "%",
		"..":            "..",
		"%2E%2E":        "..",
		"%22%27":        `"'`,
		"%C3%BCn%C3%A9": "üné",
		"a%0Ab":         "a\nb",
		"":              "",
		"a%1Fb":         "a\x1fb",
	} {
		got, err := wire.DecodeSegment(escaped)
		if err != nil || got != want {
			t.Errorf("DecodeSegment(%q) = %q, %v; want %q", escaped, got, err, want)
		}
	}
}

func TestSegmentThatIsNoTextIsBadRequest(t *testing.T) {
	t.Parallel()
	for _, escaped := range []string{"%", "%zz", "%2", "a%00b", "%ff", "%C3", "%ED%A0%80"} {
		if _, err := wire.DecodeSegment(escaped); err == nil || catalog.KindOf(err) != catalog.BadRequest {
			t.Errorf("DecodeSegment(%q): %v, want a BadRequest", escaped, err)
		}
	}
}

func TestNamespaceIsSplitBeforeItIsDecoded(t *testing.T) {
	t.Parallel()
	for segment, want := range map[string][]string{
		"a":               {"a"},
		"a%1Fb":           {"a", "b"},
		"a%1fb%1Fc":       {"a", "b", "c"},
		"a.b":             {"a.b"},
		"a%2Eb":           {"a.b"},
		"a%251Fb":         {"a%1Fb"},
		"a%25%1Fb":        {"a%", "b"},
		"a+b%1Fc%2Fd":     {"a b", "c/d"},
		"%1F":             {"", ""},
		"":                {""},
		"a%1F%31F":        {"a", "1F"},
		"%e2%82%ac%1f%2B": {"€", "+"},
	} {
		got, err := wire.DecodeNamespace(segment)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("DecodeNamespace(%q) = %q, %v; want %q", segment, got, err, want)
		}
	}
}

// Every client's way of writing a namespace leads to the same levels.
func TestNamespaceSpellingsOfClientsAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.StringOfN(rapid.RuneFrom([]rune("ab./% +\"'\\?#&=;%FüЖ\n")), 1, 12, 255)
		levels := rapid.SliceOfN(level, 1, 4).Draw(t, "levels")
		form := make([]string, len(levels))    // Java
		percent := make([]string, len(levels)) // PyIceberg, DuckDB
		for i, l := range levels {
			form[i] = url.QueryEscape(l)
			percent[i] = strings.ReplaceAll(url.QueryEscape(l), "+", "%20")
		}
		for _, segment := range []string{
			strings.Join(form, "%1F"), strings.Join(form, "%1f"),
			strings.Join(percent, "%1F"), strings.Join(percent, "%1f"),
		} {
			got, err := wire.DecodeNamespace(segment)
			if err != nil || !slices.Equal(got, levels) {
				t.Fatalf("DecodeNamespace(%q) = %q, %v; want %q", segment, got, err, levels)
			}
		}
		joined := strings.Join(levels, "\x1f")
		got, _, err := wire.DecodeParent(joined)
		if err != nil || !slices.Equal(got, levels) {
			t.Fatalf("DecodeParent(%q) = %q, %v", joined, got, err)
		}
		// PyIceberg: each level quoted, joined, and quoted again by its HTTP stack.
		_, again, err := wire.DecodeParent(strings.Join(percent, "\x1f"))
		if err != nil || again != nil && !slices.Equal(again, levels) {
			t.Fatalf("DecodeParent second reading = %q, %v; want %q", again, err, levels)
		}
		if again == nil && !slices.Equal(percent, levels) {
			t.Fatalf("no second reading of %q", percent)
		}
	})
}

func TestParentHasASecondReadingOnlyWhereItDiffers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value         string
		levels, again []string
	}{
		{"", nil, nil},
		{"a", []string{"a"}, nil},
		{"a\x1fb", []string{"a", "b"}, nil},
		{"a%2Fb\x1fc", []string{"a%2Fb", "c"}, []string{"a/b", "c"}},
		{"a%1Fb", []string{"a%1Fb"}, []string{"a", "b"}},
		{"a+b%20c", []string{"a+b%20c"}, []string{"a+b c"}},
		{"100%", []string{"100%"}, nil},
		{"a%00", []string{"a%00"}, nil},
	} {
		levels, again, err := wire.DecodeParent(c.value)
		if err != nil || !slices.Equal(levels, c.levels) || !slices.Equal(again, c.again) {
			t.Errorf("DecodeParent(%q) = %q, %q, %v; want %q, %q", c.value, levels, again, err, c.levels, c.again)
		}
	}
	if _, _, err := wire.DecodeParent("a\x00"); catalog.KindOf(err) != catalog.BadRequest {
		t.Errorf("NUL in parent: %v, want a BadRequest", err)
	}
}

func TestEscapedPathKeepsWhatWasSent(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"/a%2Fb/c":              "/a%2Fb/c",
		"/a%2fb//c/../d?x=%zz":  "/a%2fb//c/../d",
		"/a%2Fb/\xc3\xa9":       "/a%2Fb/%C3%A9", // net/url would give up %2F here
		"/a\"b|c":               "/a%22b%7Cc",
		"http://host/a%2Fb?q":   "/a%2Fb",
		"http://host?q=/x":      "/",
		"/x:y@z,(1)+[2]~*'!$&=": "/x:y@z,(1)+[2]~*'!$&=",
		"/a#b":                  "/a%23b",
	} {
		r := &http.Request{RequestURI: target, URL: &url.URL{}}
		got, err := wire.EscapedPath(r)
		if err != nil || got != want {
			t.Errorf("EscapedPath(%q) = %q, %v; want %q", target, got, err, want)
		}
	}
	for _, target := range []string{"/%", "/%2", "/%g0", "/a%zz/b"} {
		r := &http.Request{RequestURI: target, URL: &url.URL{}}
		if _, err := wire.EscapedPath(r); catalog.KindOf(err) != catalog.BadRequest || err == nil {
			t.Errorf("EscapedPath(%q): %v, want a BadRequest", target, err)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/a", "/a%1Fb/c+d", "/%25%31%46", "/\xff", "//", "/a%", "/%00", "/é%2F"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		escaped, err := wire.EscapedPath(&http.Request{RequestURI: "/" + target, URL: &url.URL{}})
		if err != nil {
			return
		}
		path, err := url.PathUnescape(escaped)
		if err != nil {
			t.Fatalf("EscapedPath(%q) = %q, which does not decode: %v", target, escaped, err)
		}
		// net/url takes the result as it is, so mux routes on it.
		if got := (&url.URL{Path: path, RawPath: escaped}).EscapedPath(); got != escaped {
			t.Fatalf("net/url changes %q into %q", escaped, got)
		}
		if strings.Count(escaped, "/") != strings.Count("/"+strings.SplitN(target, "?", 2)[0], "/") {
			t.Fatalf("EscapedPath(%q) = %q has other segments", target, escaped)
		}
		for _, segment := range strings.Split(escaped, "/") {
			levels, err := wire.DecodeNamespace(segment)
			if err != nil {
				continue
			}
			for _, level := range levels {
				if !utf8.ValidString(level) || strings.ContainsRune(level, 0) {
					t.Fatalf("DecodeNamespace(%q) holds %q", segment, level)
				}
				back, err := wire.DecodeSegment(url.QueryEscape(level))
				if err != nil || back != level {
					t.Fatalf("level %q does not survive its escaping: %q, %v", level, back, err)
				}
			}
		}
	})
}

func TestPrefixIsAWarehouseID(t *testing.T) {
	t.Parallel()
	const id = "0190a000-0000-7000-8000-00000000000f"
	for prefix, want := range map[string]catalog.Kind{
		id:                                     0,
		strings.ToUpper(id):                    0,
		"demo":                                 catalog.NoSuchWarehouse,
		"00000000-0000-0000-0000-000000000000": catalog.NoSuchWarehouse,
		"%zz":                                  catalog.BadRequest,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetPathValue("prefix", prefix)
		got, err := wire.Warehouse(r)
		if want == 0 && (err != nil || got.String() != id) {
			t.Errorf("Warehouse(%q) = %v, %v", prefix, got, err)
		}
		if want != 0 && (err == nil || catalog.KindOf(err) != want) {
			t.Errorf("Warehouse(%q): %v, want kind %v", prefix, err, want)
		}
	}
}

// Java looks up "files" of table "t" as table "t" in the empty namespace.
func TestEmptyNamesAreMissingNotMalformed(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"", "t"}, {"a%1F", "t"}, {"a", ""}} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetPathValue("namespace", c[0])
		r.SetPathValue("table", c[1])
		if _, _, err := wire.Table(r); err == nil || catalog.KindOf(err) != catalog.NoSuchTable {
			t.Errorf("Table(%q): %v, want NoSuchTable", c, err)
		}
		r.SetPathValue("view", c[1])
		if _, _, err := wire.View(r); err == nil || catalog.KindOf(err) != catalog.NoSuchView {
			t.Errorf("View(%q): %v, want NoSuchView", c, err)
		}
		if c[1] == "" {
			continue
		}
		if _, err := wire.Namespace(r); err == nil || catalog.KindOf(err) != catalog.NoSuchNamespace {
			t.Errorf("Namespace(%q): %v, want NoSuchNamespace", c[0], err)
		}
	}
}
