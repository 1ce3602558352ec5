package archtest

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the committed dependency list")

// header explains the committed list to whoever meets it in a diff.
const header = `# Every package outside the standard library that is linked into bin/icecore
# (linux/amd64, CGO_ENABLED=0). A change here is a decision: say in the commit
# what a new dependency replaces. Written by ./task gen, held by internal/archtest.
`

func TestBinaryDependencies(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, p := range goList(t, "-deps", "./cmd/icecore") {
		if p.Error != nil {
			t.Fatalf("%s: %s", p.ImportPath, p.Error.Err)
		}
		for bad, why := range neverLinked {
			if within(p.ImportPath, bad) {
				t.Errorf("the binary links %s: %s", p.ImportPath, why)
			}
		}
		if !p.Standard {
			lines = append(lines, p.ImportPath)
		}
	}
	slices.Sort(lines)
	got := header + strings.Join(lines, "\n") + "\n"
	file := filepath.Join(root(t), "cmd", "icecore", "depaware.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; ./task gen writes it", err)
	}
	if got == string(want) {
		return
	}
	was := strings.Split(string(want), "\n")
	for _, l := range lines {
		if !slices.Contains(was, l) {
			t.Errorf("+ %s", l)
		}
	}
	for _, l := range was {
		if !strings.HasPrefix(l, "#") && l != "" && !slices.Contains(lines, l) {
			t.Errorf("- %s", l)
		}
	}
	t.Errorf("the binary's dependencies differ from %s: ./task gen, and say in the commit why", file)
}
