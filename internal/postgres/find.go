package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
)

// Binaries is one installation of PostgreSQL.
type Binaries struct {
	// Dir is the folder with initdb, postgres and perhaps more tools.
	Dir string
	// Version is what `postgres --version` says after the name, such as "15.20"
	// or "18beta1".
	Version string
	// Source tells in a few words where the binaries were found.
	Source string
}

// Major is the major version, such as 15.
func (b Binaries) Major() int {
	n := 0
	for _, r := range b.Version {
		if r < '0' || r > '9' {
			break
		}
		n = n*10 + int(r-'0')
	}
	return n
}

// Tool returns the path of one of PostgreSQL's programs, or an error that
// matches [exec.ErrNotFound]: downloaded binaries have only initdb, pg_ctl and
// postgres.
func (b Binaries) Tool(name string) (string, error) {
	path := filepath.Join(b.Dir, name)
	if !executable(path) {
		return "", fmt.Errorf("%s: not in %s: %w", name, b.Dir, exec.ErrNotFound)
	}
	return path, nil
}

// FindOptions says where to look. The zero value is what `icecore dev` does.
type FindOptions struct {
	// Dir, if set, is the only folder looked at.
	Dir string
	// Major is the wished major version, such as "15"; empty means any from
	// [MinimumMajor] on.
	Major string
	// Cache is the folder that keeps downloaded binaries; empty means
	// [DefaultCache].
	Cache string
	// NoDownload forbids the download.
	NoDownload bool
	// Mirror is the base of a repository with Maven's layout: an http or https
	// URL, or a folder. Empty means Maven Central.
	Mirror string
	// Announce is told, in one line, before a download begins. May be nil.
	Announce func(line string)

	// machine replaces what the machine offers; for tests.
	machine *machine
}

// machine is what Find asks the machine about.
type machine struct {
	getenv   func(string) string
	lookPath func(string) (string, error)
	globs    []string
	mavenDir string
	pinned   func(major, goos, goarch string) (artifact, error)
}

// MinimumMajor is the oldest supported major version of PostgreSQL.
const MinimumMajor = 15

// NotFoundError says that no usable PostgreSQL was found and why none was
// downloaded. Its text tells the user what to type.
type NotFoundError struct {
	// Major is the version wished for, or empty.
	Major string
	// Looked lists the places that were looked at, in order.
	Looked []string
	// Cause is why the download failed or did not happen.
	Cause error
}

func (e *NotFoundError) Error() string {
	var b strings.Builder
	b.WriteString("no usable PostgreSQL")
	if e.Major != "" {
		b.WriteString(" " + e.Major)
	}
	fmt.Fprintf(&b, " (%d or newer is needed)", MinimumMajor)
	if len(e.Looked) > 0 {
		b.WriteString("; looked at " + strings.Join(e.Looked, ", "))
	}
	if e.Cause != nil {
		b.WriteString("; " + e.Cause.Error())
	}
	version := e.Major
	if version == "" {
		version = DefaultMajor
	}
	fmt.Fprintf(&b, `. Give it a database (--database-url or DATABASE_URL), or a folder with initdb and postgres (PG_BINDIR), or install it:
  Debian, Ubuntu:  apt-get install -y postgresql
  macOS:           brew install postgresql@%s
  Fedora, RHEL:    dnf install -y postgresql-server`, version)
	return b.String()
}

func (e *NotFoundError) Unwrap() error { return e.Cause }

// errNoDownload is the cause when the caller forbade the download.
var errNoDownload = errors.New("a download was not allowed")

// DefaultCache is the folder that keeps downloaded binaries: the user's cache
// folder, or /var/cache/icecore for root, whose home the server's unprivileged
// user can't enter.
func DefaultCache() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/icecore", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	return filepath.Join(dir, "icecore"), nil
}

// Find returns PostgreSQL binaries: from the given folder or $PG_BINDIR; those
// that pg_config names; the newest in the usual places; the initdb on the PATH;
// an earlier download; a new download. A place that holds another version than
// the wished one, or one that is too old, is passed over, except the folder
// that was named explicitly, where it is an error.
func Find(ctx context.Context, o FindOptions) (Binaries, error) {
	m := o.machine
	if m == nil {
		m = thisMachine()
	}
	for _, named := range []struct{ dir, source string }{{o.Dir, "the given folder"}, {m.getenv("PG_BINDIR"), "PG_BINDIR"}} {
		if named.dir == "" {
			continue
		}
		b, err := inspect(ctx, named.dir, named.source)
		if err != nil {
			return Binaries{}, err
		}
		if !b.suits(o.Major) {
			return Binaries{}, &NotFoundError{Major: o.Major, Cause: fmt.Errorf("%s (%s) is version %s", named.dir, named.source, b.Version)}
		}
		return b, nil
	}
	looked := []string{}
	for _, c := range m.candidates(ctx) {
		looked = append(looked, c.dir)
		b, err := inspect(ctx, c.dir, c.source)
		if ctx.Err() != nil {
			return Binaries{}, ctx.Err()
		}
		if err != nil || !b.suits(o.Major) || reachable(b.Dir, serverUser()) != nil {
			continue
		}
		return b, nil
	}
	b, err := o.cachedOrFetched(ctx, m)
	if err != nil {
		return Binaries{}, &NotFoundError{Major: o.Major, Looked: looked, Cause: err}
	}
	return b, nil
}

func (b Binaries) suits(major string) bool {
	return b.Major() >= MinimumMajor && (major == "" || strconv.Itoa(b.Major()) == major)
}

func thisMachine() *machine {
	m := &machine{
		getenv:   os.Getenv,
		lookPath: exec.LookPath,
		pinned:   pinned,
		globs: []string{
			"/usr/lib/postgresql/*/bin",
			"/opt/homebrew/opt/postgresql@*/bin",
			"/usr/local/opt/postgresql@*/bin",
			"/usr/pgsql-*/bin",
		},
	}
	if home, err := os.UserHomeDir(); err == nil {
		m.mavenDir = filepath.Join(home, ".m2", "repository")
	}
	return m
}

type candidate struct{ dir, source string }

func (m *machine) candidates(ctx context.Context) []candidate {
	var found []candidate
	if path, err := m.lookPath("pg_config"); err == nil {
		if out, err := exec.CommandContext(ctx, path, "--bindir").Output(); err == nil {
			found = append(found, candidate{strings.TrimSpace(string(out)), "pg_config"})
		}
	}
	for _, glob := range m.globs {
		dirs, _ := filepath.Glob(glob)
		sort.Slice(dirs, func(i, j int) bool { return numberIn(dirs[i]) > numberIn(dirs[j]) })
		for _, dir := range dirs {
			found = append(found, candidate{dir, "installed"})
		}
	}
	if path, err := m.lookPath("initdb"); err == nil {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
		found = append(found, candidate{filepath.Dir(path), "PATH"})
	}
	return found
}

// numberIn is the last number in a path: the version in a folder's name.
func numberIn(path string) int {
	end := strings.LastIndexAny(path, "0123456789") + 1
	start := end
	for start > 0 && path[start-1] >= '0' && path[start-1] <= '9' {
		start--
	}
	n, _ := strconv.Atoi(path[start:end])
	return n
}

// inspect checks that a folder holds what a server needs and asks its version.
func inspect(ctx context.Context, dir, source string) (Binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Binaries{}, fmt.Errorf("look at %s: %w", dir, err)
	}
	b := Binaries{Dir: dir, Source: source}
	if _, err := b.Tool("initdb"); err != nil {
		return Binaries{}, err
	}
	server, err := b.Tool("postgres")
	if err != nil {
		return Binaries{}, err
	}
	out, err := exec.CommandContext(ctx, server, "--version").Output()
	if err != nil {
		return Binaries{}, fmt.Errorf("%s --version: %w", server, err)
	}
	// "postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)"
	fields := strings.Fields(string(out))
	if len(fields) < 3 {
		return Binaries{}, fmt.Errorf("%s --version says %q", server, out)
	}
	b.Version = fields[2]
	return b, nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || runtime.GOOS == "windows")
}
