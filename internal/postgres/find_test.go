package postgres

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// install writes programs that say a version, as PostgreSQL's do.
func fakeInstallation(t *testing.T, dir, version string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"initdb":    "#!/bin/sh\nexit 0\n",
		"postgres":  "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + " (Made up)'\n",
		"pg_config": "#!/bin/sh\necho " + dir + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// publicDir is a temporary folder that every user may enter: for root, Find
// passes over what the server's user can't reach.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "icecore-find-*") //nolint:usetesting // t.TempDir is shut for others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// bare is a machine without anything.
func bare() *machine {
	return &machine{
		getenv:   func(string) string { return "" },
		lookPath: func(name string) (string, error) { return "", &exec.Error{Name: name, Err: exec.ErrNotFound} },
		pinned:   pinned,
	}
}

func (m *machine) onPath(dir string, names ...string) {
	before := m.lookPath
	m.lookPath = func(name string) (string, error) {
		for _, n := range names {
			if n == name {
				return filepath.Join(dir, name), nil
			}
		}
		return before(name)
	}
}

func TestFindLooksInOrder(t *testing.T) {
	t.Parallel()
	base := publicDir(t)
	at := func(dir, version string) string { return fakeInstallation(t, filepath.Join(base, dir), version) }
	given, env := at("given", "15.1"), at("env", "15.2")
	config, path := at("config", "15.3"), at("path", "17.9")
	old, newer, newest := at("lib/9/bin", "9.6.24"), at("lib/15/bin", "15.4"), at("lib/16/bin", "16rc1")
	_, _ = old, newer

	m := bare()
	m.globs = []string{filepath.Join(base, "lib/*/bin")}
	m.onPath(path, "initdb")
	m.onPath(config, "pg_config")
	m.getenv = func(name string) string {
		if name == "PG_BINDIR" {
			return env
		}
		return ""
	}
	for _, step := range []struct {
		name, major, want string
		before            func(o *FindOptions)
	}{
		{"the given folder", "", given, func(o *FindOptions) { o.Dir = given }},
		{"PG_BINDIR", "", env, func(*FindOptions) {}},
		{"pg_config", "", config, func(*FindOptions) { m.getenv = func(string) string { return "" } }},
		{"the newest installed", "", newest, func(*FindOptions) { m.lookPath = bare().lookPath; m.onPath(path, "initdb") }},
		{"the wished version", "15", newer, func(*FindOptions) {}},
		{"the PATH", "17", path, func(*FindOptions) {}},
	} {
		o := FindOptions{Major: step.major, NoDownload: true, Cache: filepath.Join(base, "cache"), machine: m}
		step.before(&o)
		got, err := Find(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got.Dir != step.want {
			t.Errorf("%s: found %s, not %s", step.name, got.Dir, step.want)
		}
	}
}

func TestFindRefusesAnExplicitFolderOfTheWrongVersion(t *testing.T) {
	t.Parallel()
	dir := fakeInstallation(t, publicDir(t), "14.2")
	for _, o := range []FindOptions{{Dir: dir}, {Dir: dir, Major: "14"}, {Dir: dir, Major: "15"}} {
		o.machine = bare()
		var notFound *NotFoundError
		if _, err := Find(t.Context(), o); !errors.As(err, &notFound) || !strings.Contains(err.Error(), "14.2") {
			t.Errorf("version 14.2 for wish %q: %v", o.Major, err)
		}
	}
	if _, err := Find(t.Context(), FindOptions{Dir: t.TempDir(), machine: bare()}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestFindTellsWhatToType(t *testing.T) {
	t.Parallel()
	_, err := Find(t.Context(), FindOptions{NoDownload: true, Cache: t.TempDir(), machine: bare()})
	var notFound *NotFoundError
	if !errors.As(err, &notFound) {
		t.Fatalf("nothing on the machine: %v", err)
	}
	for _, want := range []string{"apt-get install -y postgresql", "brew install postgresql@18", "dnf install -y postgresql-server", "PG_BINDIR", "15 or newer"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q:\n%v", want, err)
		}
	}
}

func TestMajor(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{"15.20": 15, "18beta1": 18, "9.6.24": 9, "": 0} {
		if got := (Binaries{Version: version}).Major(); got != want {
			t.Errorf("%q has major version %d", version, got)
		}
	}
}

func TestReachable(t *testing.T) {
	t.Parallel()
	base := publicDir(t)
	shut := filepath.Join(base, "shut")
	if err := os.Mkdir(shut, 0o700); err != nil {
		t.Fatal(err)
	}
	stranger := &account{name: "stranger", uid: 54321, gid: 54321}
	var unreachable *UnreachableError
	if err := reachable(filepath.Join(shut, "a", "b"), stranger); !errors.As(err, &unreachable) || unreachable.Barrier != shut {
		t.Errorf("below a closed folder: %v", err)
	}
	if err := reachable(filepath.Join(base, "a", "b"), stranger); err != nil {
		t.Errorf("below an open folder: %v", err)
	}
	if err := reachable(filepath.Join(shut, "a"), nil); err != nil {
		t.Errorf("one's own folder: %v", err)
	}
	if err := reachable(filepath.Join(shut, "a"), &account{uid: os.Getuid(), gid: 54321}); err != nil {
		t.Errorf("the owner's folder: %v", err)
	}
}
