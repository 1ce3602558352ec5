package marked_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/icecore-catalog/icecore/internal/marked"
)

func TestOnlyWhatStandsBetweenTheMarkersIsRewritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	const page = "a\n<!-- x begin -->\nold\n<!-- x end -->\nb <!-- y begin -->\n"
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := marked.Write(path, "y", "new\n"); err == nil {
		t.Error("a marker was missing")
	}
	if err := marked.Write(path, "x", "new\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "a\n<!-- x begin -->\nnew\n<!-- x end -->\nb <!-- y begin -->\n"; string(got) != want {
		t.Errorf("%q", got)
	}
}
