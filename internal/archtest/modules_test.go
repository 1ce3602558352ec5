package archtest

import (
	"encoding/json"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

// A module inside the repository that builds on the house (engine suites with
// large dependencies of their own) has to know each version that the house
// needs; else its build asks for "updates to go.mod", and only where it is run.
func TestNestedModulesFollowTheHouse(t *testing.T) {
	t.Parallel()
	house := requirements(t, filepath.Join(root(t), "go.mod"))
	found := 0
	for _, file := range nestedModules(t) {
		nested := requirements(t, file)
		if _, builds := nested[Module]; !builds {
			continue
		}
		found++
		for module, version := range nested {
			if need, shared := house[module]; shared && semver.Compare(version, need) < 0 {
				t.Errorf("%s has %s %s, the house needs %s: run `go list -mod=mod -deps -test ./...` beside it", file, module, version, need)
			}
		}
	}
	if found == 0 {
		t.Fatal("no nested module builds on the house: this test looks at the wrong place")
	}
}

func nestedModules(t *testing.T) []string {
	t.Helper()
	dir := root(t)
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != dir && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.Name() == "go.mod" && filepath.Dir(path) != dir:
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// requirements reads the versions by module that a go.mod file asks for.
func requirements(t *testing.T, file string) map[string]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	versions := make(map[string]string, len(mod.Require))
	for _, r := range mod.Require {
		versions[r.Path] = r.Version
	}
	return versions
}
