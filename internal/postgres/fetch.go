package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// maxJar bounds a download; the largest pinned archive has 72 MB.
const maxJar = 256 << 20

// fetchTimeout bounds a whole download.
const fetchTimeout = 15 * time.Minute

// ChecksumError says that an archive is not the pinned one: damaged on the way,
// cut short, or not what it claims to be.
type ChecksumError struct {
	// From is the URL or path of the archive.
	From string
	// Want and Got are SHA-256 digests in hexadecimal.
	Want, Got string
}

func (e *ChecksumError) Error() string {
	return fmt.Sprintf("%s has SHA-256 %s, not %s; it was thrown away", e.From, e.Got, e.Want)
}

func (o FindOptions) cachedOrFetched(ctx context.Context, m *machine) (Binaries, error) {
	a, err := m.pinned(o.Major, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return Binaries{}, err
	}
	cache := o.Cache
	if cache == "" {
		if cache, err = DefaultCache(); err != nil {
			return Binaries{}, err
		}
	}
	if cache, err = filepath.Abs(cache); err != nil {
		return Binaries{}, fmt.Errorf("find the cache folder: %w", err)
	}
	tree := filepath.Join(cache, a.folder())
	if b, err := inspect(ctx, filepath.Join(tree, "bin"), "the cache"); err == nil {
		return b, nil
	}
	source := "download"
	jar := filepath.Join(m.mavenDir, filepath.FromSlash(a.path()))
	if m.mavenDir != "" && regular(jar) {
		// A jar that Maven fetched earlier needs no network; it is checked like
		// any other.
		source = "the local Maven repository"
	} else {
		if o.NoDownload {
			return Binaries{}, errNoDownload
		}
		jar = ""
	}
	if err := install(ctx, o, a, jar, cache, tree); err != nil {
		return Binaries{}, fmt.Errorf("get PostgreSQL %s: %w", a.version, err)
	}
	return inspect(ctx, filepath.Join(tree, "bin"), source)
}

func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// install puts the archive's tree at its final name. A jar of "" means to fetch
// it first.
func install(ctx context.Context, o FindOptions, a artifact, jar, cache, tree string) error {
	if err := os.MkdirAll(cache, 0o755); err != nil { //nolint:gosec // the server's user must enter it
		return err
	}
	work, err := os.MkdirTemp(cache, ".unpack-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if jar == "" {
		if jar, err = o.fetch(ctx, a, work); err != nil {
			return err
		}
	} else if err := checkFile(jar, a.sha256); err != nil {
		if o.NoDownload {
			return err
		}
		if jar, err = o.fetch(ctx, a, work); err != nil {
			return err
		}
	}
	unpacked := filepath.Join(work, "tree")
	if err := unpackJar(ctx, jar, unpacked); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		if err := reachable(tree, serverUser()); err != nil {
			return err
		}
	}
	if err := os.Rename(unpacked, tree); err != nil {
		// Another process may have been quicker: its tree is as good as ours.
		if errors.Is(err, fs.ErrExist) || isDir(tree) {
			return nil
		}
		return err
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// fetch brings the archive into dir, checked, and returns its path.
func (o FindOptions) fetch(ctx context.Context, a artifact, dir string) (string, error) {
	mirror := o.Mirror
	if mirror == "" {
		mirror = defaultMirror
	}
	base, err := url.Parse(mirror)
	if err != nil {
		return "", fmt.Errorf("the mirror %q is not a URL: %w", mirror, err)
	}
	switch base.Scheme {
	case "http", "https":
	case "", "file":
		jar := filepath.Join(filepath.FromSlash(base.Path), filepath.FromSlash(a.path()))
		return jar, checkFile(jar, a.sha256)
	default:
		return "", fmt.Errorf("the mirror %q is neither http, https nor a folder", mirror)
	}
	from := strings.TrimRight(mirror, "/") + "/" + a.path()
	if o.Announce != nil {
		o.Announce(fmt.Sprintf("Downloading PostgreSQL %s for %s from %s (once)", a.version, a.platform, base.Redacted()))
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s answered %s", req.URL.Redacted(), resp.Status)
	}
	jar := filepath.Join(dir, "postgres.jar")
	file, err := os.OpenFile(jar, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	digest := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, digest), io.LimitReader(resp.Body, maxJar+1))
	if err != nil {
		return "", fmt.Errorf("GET %s broke off after %d bytes: %w", req.URL.Redacted(), n, err)
	}
	if n > maxJar {
		return "", fmt.Errorf("GET %s sent more than %d bytes", req.URL.Redacted(), maxJar)
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != a.sha256 {
		return "", &ChecksumError{From: req.URL.Redacted(), Want: a.sha256, Got: got}
	}
	return jar, file.Close()
}

func checkFile(path, want string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return err
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != want {
		return &ChecksumError{From: path, Want: want, Got: got}
	}
	return nil
}
