package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// pkg is what `go list -json` tells about one package.
type pkg struct {
	ImportPath   string
	Name         string
	Doc          string
	Dir          string
	Standard     bool
	ForTest      string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Module       *struct{ Path string }
	Error        *struct{ Err string }
}

// root is the repository's folder: tests run in the folder of their package.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// goList runs `go list -e -json args` for the platform that releases are
// checked on, so that every machine sees the same files.
func goList(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-json"}, args...)...)
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	var list []pkg
	for dec := json.NewDecoder(&out); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

var (
	ownOnce sync.Once
	ownList []pkg
)

// own lists the packages of the module, once for all tests.
func own(t *testing.T) []pkg {
	t.Helper()
	ownOnce.Do(func() { ownList = goList(t, "./...") })
	if len(ownList) == 0 {
		t.Fatal("go list found no package")
	}
	return ownList
}
