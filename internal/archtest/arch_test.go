package archtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestImportsFollowTheMatrix(t *testing.T) {
	t.Parallel()
	for _, p := range own(t) {
		from := room(p.ImportPath)
		if from == "" {
			t.Errorf("%s is in no room: add it to the matrix in matrix.go, with what it may import and why", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if !within(imp, Module) {
				continue
			}
			to := room(imp)
			if isTestKit(imp) && !isTestKit(p.ImportPath) && from != "bench" {
				t.Errorf("%s imports %s: a test kit never ships", p.ImportPath, imp)
			}
			if _, ok := allowed(from, to); !ok {
				t.Errorf("%s imports %s: no edge %s → %s\n%s", p.ImportPath, imp, from, to, edgesOf(from))
			}
		}
	}
}

// isTestKit reports whether a package serves tests alone: by its room, or as a
// conformance suite beside the port that it tests (authz/authztest…).
func isTestKit(pkg string) bool {
	return slices.Contains(testKits, room(pkg)) || strings.HasSuffix(pkg, "test") && !strings.HasSuffix(pkg, "/archtest")
}

// edgesOf prints what a room may import, with the reasons.
func edgesOf(from string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s may import:\n", from)
	for _, e := range matrix[from] {
		fmt.Fprintf(&b, "    %-20s %s\n", e.to, e.why)
	}
	for to, why := range commons {
		fmt.Fprintf(&b, "    %-20s %s (everyone may)\n", to, why)
	}
	return b.String()
}

func TestMatrixHasReasonsAndNoCycle(t *testing.T) {
	t.Parallel()
	for from, edges := range matrix {
		for _, e := range edges {
			if e.why == "" {
				t.Errorf("%s → %s has no reason", from, e.to)
			}
			if e.to == "*" {
				continue
			}
			if slices.ContainsFunc(matrix[e.to], func(b edge) bool { return b.to == from }) {
				t.Errorf("%s → %s and back", from, e.to)
			}
			if slices.Contains([]string{"httpapi", "workers", "internal/app", "cmd"}, e.to) && from != "internal/app" && from != "cmd" {
				t.Errorf("%s → %s: nobody imports the edge of the house", from, e.to)
			}
		}
	}
}

func TestThirdPartiesHaveOneDoor(t *testing.T) {
	t.Parallel()
	for _, d := range doors {
		for _, r := range d.rooms {
			if r.why == "" {
				t.Errorf("%s has a door to %s without a reason", d.module, r.to)
			}
		}
	}
	for _, p := range own(t) {
		if r := room(p.ImportPath); r == "e2e" || r == "bench" || isTestKit(p.ImportPath) {
			continue // they never ship
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, Module), "/")
		for _, imp := range p.Imports {
			first, _, _ := strings.Cut(imp, "/")
			if within(imp, Module) || !strings.Contains(first, ".") {
				continue // ours, or the standard library
			}
			i := slices.IndexFunc(doors, func(d door) bool { return within(imp, d.module) })
			if i < 0 {
				t.Errorf("%s imports %s, which has no door: name the one room for it in doors, with what it is for", p.ImportPath, imp)
				continue
			}
			if !slices.ContainsFunc(doors[i].rooms, func(r edge) bool { return r.to == "*" || within(rel, r.to) }) {
				t.Errorf("%s imports %s, whose doors are %v", p.ImportPath, imp, doors[i].rooms)
			}
		}
	}
}

func TestPureRoomsUseTheStandardLibraryAlone(t *testing.T) {
	t.Parallel()
	forbidden := []string{"net", "net/http", "os", "os/exec", "database/sql", "math/rand", "math/rand/v2", "log", "log/slog"}
	for _, p := range own(t) {
		if !pure[room(p.ImportPath)] || strings.HasSuffix(p.ImportPath, "/internal/gen") || p.Name == "main" {
			continue
		}
		for _, imp := range p.Imports {
			if slices.Contains(forbidden, imp) {
				t.Errorf("%s imports %s: %s is pure", p.ImportPath, imp, room(p.ImportPath))
			}
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	for _, p := range own(t) {
		if strings.HasSuffix(p.Name, "_test") || len(p.Doc) == 0 && onlyTests(t, p.Dir) {
			continue
		}
		if len(p.Doc) < 40 {
			t.Errorf("%s: the package comment is missing or says nothing (%q)", p.ImportPath, p.Doc)
		}
	}
}

func onlyTests(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return !slices.ContainsFunc(files, func(f string) bool { return !strings.HasSuffix(f, "_test.go") })
}

// maxLines is where a file wants to be two (design 2).
const maxLines = 600

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func TestNoFileOutgrowsItsReader(t *testing.T) {
	t.Parallel()
	dir := root(t)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); path != dir && (strings.HasPrefix(n, ".") || n == "bin" || n == "testdata" || n == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(path); ext != ".go" && ext != ".py" && ext != ".sh" {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if n := bytes.Count(src, []byte("\n")); n > maxLines && !generated.Match(src) {
			rel, _ := filepath.Rel(dir, path)
			t.Errorf("%s has %d lines; %d is where a file wants to be two", rel, n, maxLines)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
