package publishers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretsAreFilesOfTheFolderAndNothingElse(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	dir := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(outside, "not yours")
	write(filepath.Join(dir, "plain"), "s3cret\n")
	write(filepath.Join(dir, "empty"), "")
	write(filepath.Join(dir, "huge"), strings.Repeat("x", maxSecretBytes+1))
	// As Kubernetes mounts them.
	if err := os.Mkdir(filepath.Join(dir, "..2026"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(dir, "..2026", "mounted"), "k8s")
	link("..2026", "..data")
	link("..data/mounted", "mounted")
	link(outside, "escape")
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}

	secrets := FolderSecrets(dir)
	for name, want := range map[string]string{"plain": "s3cret\n", "mounted": "k8s"} {
		if got, err := secrets(name); err != nil || string(got) != want {
			t.Errorf("%q = %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{
		"", ".", "..", "missing", "empty", "huge", "escape", "folder", "../outside", "/etc/passwd", "..2026/mounted", "..data", `a\b`, "a b", "a\x00", "a\nb",
		strings.Repeat("n", 256),
	} {
		got, err := secrets(name)
		if !errors.Is(err, ErrSecret) || got != nil {
			t.Errorf("%q = %q, %v; want ErrSecret", name, got, err)
		}
		if err != nil && strings.Contains(err.Error(), dir) {
			t.Errorf("%q: the error tells the folder: %v", name, err)
		}
	}
	if _, err := FolderSecrets("")("plain"); !errors.Is(err, ErrSecret) {
		t.Errorf("without a folder: %v, want ErrSecret", err)
	}
	if _, err := FolderSecrets(filepath.Join(dir, "none"))("plain"); !errors.Is(err, ErrSecret) {
		t.Errorf("with a folder that is not there: %v, want ErrSecret", err)
	}
	write(filepath.Join(dir, "plain"), "replaced")
	if got, err := secrets("plain"); err != nil || string(got) != "replaced" {
		t.Errorf("after it was replaced: %q, %v", got, err)
	}
}
