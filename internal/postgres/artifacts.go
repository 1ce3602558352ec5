package postgres

import (
	"fmt"
	"runtime"
	"strings"
)

// An artifact is one published archive of PostgreSQL binaries.
type artifact struct {
	// version is the version of the archive, as its publisher writes it.
	version string
	// platform is the publisher's name for operating system and processor.
	platform string
	// sha256 is the digest of the jar, in hexadecimal.
	sha256 string
}

// The pinned archives: io.zonky.test.postgres:embedded-postgres-binaries-*,
// under the PostgreSQL licence, built by zonky from the unchanged sources. The
// digests are part of this program on purpose: a checksum that is fetched from
// where the archive comes from proves nothing.
var artifacts = map[string][]artifact{
	"18": {
		{"18.6.0", "linux-amd64", "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1"},
		{"18.6.0", "linux-arm64v8", "5f54e016723afa6213925a8acb939bac52944b1d348f65c7a20f0cd2928c31be"},
		{"18.6.0", "darwin-amd64", "690941008aac9ee360820fde9bb7870a4f3dcac5e9e2f9e45e42333a436ad0f9"},
		{"18.6.0", "darwin-arm64v8", "8f6ed6f38195b50a40712ada8b2a12060b6193c1a6977a6eb5cff053bb5a1b89"},
	},
	"15": {
		{"15.19.0", "linux-amd64", "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f"},
		{"15.19.0", "linux-arm64v8", "95baf4bd4af31b91b3050118df59388ed0064756b556b850669e0300aa7b9911"},
		{"15.19.0", "darwin-amd64", "11d0a55e26f4c74c6ea6c72c5e4e6ac959b29a06cc6da5e5ac8162f9fd9f8055"},
		{"15.19.0", "darwin-arm64v8", "9bfc44d3f50298bb14fa125da4b67a36f382f8134ab2fc95349b72bcd5ec4e87"},
	},
}

// DefaultMajor is the major version that is downloaded when none is wished for.
const DefaultMajor = "18"

// defaultMirror is Maven Central.
const defaultMirror = "https://repo1.maven.org/maven2"

// pinned returns the archive for a major version and a platform of the Go
// toolchain's naming.
func pinned(major, goos, goarch string) (artifact, error) {
	if major == "" {
		major = DefaultMajor
	}
	if goarch == "arm64" {
		goarch = "arm64v8"
	}
	for _, a := range artifacts[major] {
		if a.platform == goos+"-"+goarch {
			return a, nil
		}
	}
	return artifact{}, fmt.Errorf("no PostgreSQL %s archive is known for %s-%s", major, goos, goarch)
}

// path is where the jar stands in a repository of Maven's layout.
func (a artifact) path() string {
	name := "embedded-postgres-binaries-" + a.platform
	return strings.Join([]string{"io/zonky/test/postgres", name, a.version, name + "-" + a.version + ".jar"}, "/")
}

// folder is the name of the unpacked tree in the cache.
func (a artifact) folder() string { return "postgres-" + a.version + "-" + a.platform }

// Coordinates names the archive of a major version for this machine as Maven
// does, group:artifact:version: for people behind a company's mirror, whose
// Maven knows the way. A jar in Maven's local repository is found by [Find].
func Coordinates(major string) (string, error) {
	a, err := pinned(major, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return "", err
	}
	return "io.zonky.test.postgres:embedded-postgres-binaries-" + a.platform + ":" + a.version, nil
}
