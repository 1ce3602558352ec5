package storage_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/storage"
)

func TestProfileWireForm(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{
		`{"type":"file","root":"file:///srv/wh"}`,
		`{"root":"/srv/wh/","type":"file"}`,
		`{"type":"file","root":"file:/srv//wh"}`,
	} {
		var p storage.Profile
		if err := json.Unmarshal([]byte(wire), &p); err != nil {
			t.Fatalf("%s: %v", wire, err)
		}
		out, err := json.Marshal(p)
		if err != nil || string(out) != `{"type":"file","root":"file:///srv/wh"}` {
			t.Errorf("%s is printed as %s, %v", wire, out, err)
		}
		if p.Type() != "file" || p.Root().String() != "file:///srv/wh" || p.IsZero() {
			t.Errorf("%s: type %q, root %q", wire, p.Type(), p.Root())
		}
	}
	if _, err := json.Marshal(storage.Profile{}); err == nil {
		t.Error("the zero profile has a wire form")
	}
}

func TestProfileErrorsNameTheMember(t *testing.T) {
	t.Parallel()
	for wire, want := range map[string]string{
		``:                                  "not well-formed JSON",
		`[]`:                                "must be a JSON object",
		`{"root":"/x"}`:                     `"type" is missing`,
		`{"type":"gcs"}`:                    `type "gcs" is not supported`,
		`{"type":"file"}`:                   `"root" is missing`,
		`{"type":"file","root":""}`:         `"root" is missing`,
		`{"type":"file","root":"x"}`:        "root: storage: parse x: invalid location: it is not an absolute path",
		`{"type":"file","root":"/"}`:        "whole file system",
		`{"type":"file","root":"/a?b"}`:     "'?' or '#'",
		`{"type":"file","root":"s3://b/x"}`: `scheme "s3"`,
		`{"type":"file","root":"/x","bucket":"b"}`:   `unknown field "bucket"`,
		`{"type":"file","root":7}`:                   `storage profile: "root" must be a string`,
		`{"type":["file"]}`:                          `storage profile: "type" must be a string`,
		`["file"]`:                                   `storage profile: it must be a JSON object`,
		`7`:                                          `storage profile: it must be a JSON object`,
		`{"type":"file","root":"/x"}{}`:              `storage profile: it is not well-formed JSON`,
		`{"type":"file"`:                             `storage profile: it is not well-formed JSON`,
		`{"type":"file","root":"/x"} {}`:             "not well-formed JSON",
		`{"type":"file","root":["/x"]}`:              `"root" must be a string`,
		`{"type":"file","root":"file:///x/../../y"}`: `segment ".."`,
	} {
		_, err := storage.ParseProfile([]byte(wire))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", wire, err, want)
		}
	}
}

func profile(t testing.TB, root string) storage.Profile {
	t.Helper()
	p, err := storage.FileProfile(root)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var someID = ids.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")

func TestDefaultTableLocation(t *testing.T) {
	t.Parallel()
	p := profile(t, "/wh")
	for name, want := range map[string]string{
		"orders":                 "orders-",
		"Orders_2024.v2":         "Orders_2024.v2-",
		"a/b":                    "a_b-",
		"../../etc/passwd":       "etc_passwd-",
		"..":                     "",
		"_hidden":                "hidden-",
		".hidden":                "hidden-",
		"a  b??c":                "a_b_c-",
		"a_b":                    "a_b-",
		"雪":                      "",
		"t雪雪x":                   "t_x-",
		"100%":                   "100-",
		"%2e%2e%2f":              "2e_2e_2f-",
		"":                       "",
		"a\x00b\n":               "a_b-",
		"'; DROP TABLE t":        "DROP_TABLE_t-",
		strings.Repeat("n", 255): strings.Repeat("n", 64) + "-",
	} {
		if got := p.DefaultTableLocation("", name, someID); got != "file:///wh/"+want+someID.String() {
			t.Errorf("%q lives at %q", name, got)
		}
	}
	if got := p.DefaultTableLocation("file:///wh/ns/", "t", someID); got != "file:///wh/ns/t-"+someID.String() {
		t.Errorf("the namespace's location is not used: %q", got)
	}
	if got := p.DefaultNamespaceLocation([]string{"A", "b/c", "雪", "..", "d"}); got != "file:///wh/A/b_c/d" {
		t.Errorf("DefaultNamespaceLocation gives %q", got)
	}
}

func TestGeneratedLocationsAreClaimableAndPlain(t *testing.T) {
	t.Parallel()
	p := profile(t, "/wh")
	plain := regexp.MustCompile(`^file:///wh(/[A-Za-z0-9-][A-Za-z0-9._-]*)+$`)
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.SliceOf(rapid.String()).Draw(t, "levels")
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[./_%a-]{0,80}`)).Draw(t, "name")
		text := p.DefaultTableLocation(p.DefaultNamespaceLocation(levels), name, someID)
		l, err := storage.ParseLocation(text)
		if err != nil || l.String() != text {
			t.Fatalf("%q is read as %q, %v", text, l, err)
		}
		if err := l.Claimable(); err != nil {
			t.Fatal(err)
		}
		if !plain.MatchString(text) || !strings.HasSuffix(text, someID.String()) {
			t.Fatalf("%q is not plain", text)
		}
	})
}

func TestRootsAreChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/file", "x")
	for _, root := range []string{"", "relative", dir + "/none", dir + "/file", "/", "s3://b"} {
		if _, err := storage.NewStores(storage.Config{FileRoots: []string{root}}); err == nil {
			t.Errorf("the root %q is accepted", root)
		}
	}
}

func TestOpenRefusesRootsThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mkdir(t, dir+"/allowed/inner")
	mkdir(t, dir+"/other")
	symlink(t, dir+"/other", dir+"/allowed/out")
	symlink(t, "../other/x", dir+"/allowed/out2")
	symlink(t, "inner", dir+"/allowed/in")
	symlink(t, "loop", dir+"/allowed/loop")
	stores, err := storage.NewStores(storage.Config{FileRoots: []string{dir + "/allowed"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{dir, dir + "/other", dir + "/allowedx", dir + "/allowed/out", dir + "/allowed/out/deeper", dir + "/allowed/out2", dir + "/allowed/loop"} {
		if _, err := stores.Open(t.Context(), profile(t, root)); !errors.Is(err, storage.ErrOutside) {
			t.Errorf("a warehouse at %s: error %v, want ErrOutside", root, err)
		}
		if report := stores.Validate(t.Context(), profile(t, root)); !errors.Is(report.Err(), storage.ErrOutside) {
			t.Errorf("validation of %s: %v", root, report)
		}
	}
	for _, root := range []string{dir + "/allowed", dir + "/allowed/inner", dir + "/allowed/in/deeper"} {
		if _, err := stores.Open(t.Context(), profile(t, root)); err != nil {
			t.Errorf("a warehouse at %s: %v", root, err)
		}
	}
	if _, err := stores.Open(t.Context(), storage.Profile{}); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("the zero profile: %v", err)
	}
	none, err := storage.NewStores(storage.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Open(t.Context(), profile(t, dir)); !errors.Is(err, storage.ErrOutside) {
		t.Errorf("without configured roots: %v", err)
	}
}
