package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const report = `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="JUnit Jupiter" tests="5">
<properties><property name="x" value="y"/></properties>
<testcase name="testCreate()" classname="org.apache.iceberg.rest.KitTests" time="0.1"><system-out><![CDATA[x]]></system-out></testcase>
<testcase name="testFormat(int)[2]" classname="org.apache.iceberg.rest.KitTests"><failure message="wanted&#10;  that" type="T"><![CDATA[trace]]></failure></testcase>
<testcase name="testFile(Path)" classname="org.apache.iceberg.rest.KitTests"><error type="T"><![CDATA[no message]]></error></testcase>
<testcase name="testDots()" classname="org.apache.iceberg.rest.KitTests"><skipped><![CDATA[Assumption failed: dots]]></skipped></testcase>
<testcase name="plain" classname="KitTests"/>
</testsuite>`

func TestReportsGiveEachTestOneOutcome(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("TEST-junit-jupiter.xml", report)
	write("TEST-junit-platform-suite.xml", `<testsuite tests="0"></testsuite>`)
	cases, err := readReports(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := []testCase{
		{"KitTests", "plain", passed, ""},
		{"KitTests", "testCreate", passed, ""},
		{"KitTests", "testDots", skipped, "Assumption failed: dots"},
		{"KitTests", "testFile", failedState, "no message"},
		{"KitTests", "testFormat[2]", failedState, "wanted that"},
	}
	if !slices.Equal(cases, want) {
		t.Errorf("%+v", cases)
	}
	if n := count(cases); n[passed] != 2 || n[failedState] != 2 || n[skipped] != 1 {
		t.Error(n)
	}
	if lines := failed(cases); len(lines) != 2 || lines[1] != "failed: KitTests#testFormat[2]: wanted that" {
		t.Error(lines)
	}
	write("TEST-junit-vintage.xml", report)
	if _, err := readReports(folder); err == nil {
		t.Error("a test that is reported twice passes for one")
	}
	write("TEST-junit-vintage.xml", "<testsuite>")
	if _, err := readReports(folder); err == nil {
		t.Error("a report that was cut passes")
	}
}

func TestSkipsAreComparedBothWays(t *testing.T) {
	t.Parallel()
	skips, err := parseSkips("# why\n\nA#one   not meant to exist\nA#two  disabled\nB#three  of a class that did not run\n")
	if err != nil || len(skips) != 3 || skips["A#one"] != "not meant to exist" {
		t.Fatal(skips, err)
	}
	for _, c := range []struct {
		name string
		one  state
		two  state
		more []testCase
		want int
	}{
		{name: "as listed", one: skipped, two: skipped},
		{name: "one vanished", one: passed, two: skipped, want: 1},
		{name: "one failed instead", one: failedState, two: skipped, want: 1},
		{name: "a new one", one: skipped, two: skipped, more: []testCase{{"A", "new", skipped, "x"}}, want: 1},
		{name: "both ways", one: passed, two: skipped, more: []testCase{{"A", "new", skipped, "x"}}, want: 2},
		{name: "a passed one beside", one: skipped, two: skipped, more: []testCase{{"A", "new", passed, ""}}},
	} {
		cases := append([]testCase{{"A", "one", c.one, ""}, {"A", "two", c.two, ""}}, c.more...)
		if got := skips.compare(cases); len(got) != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if got := skips.compare([]testCase{{"A", "one", skipped, ""}}); len(got) != 1 {
		t.Errorf("a listed test that is no longer there: %q", got)
	}
	for _, text := range []string{"", "# only this", "A#one", "one  reason", "A#one x\nA#one y"} {
		if _, err := parseSkips(text); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}

func TestTheCommittedListOfSkipsIsReadable(t *testing.T) {
	t.Parallel()
	skips, err := parseSkips(skipList)
	if err != nil {
		t.Fatal(err)
	}
	for id := range skips {
		class, _, _ := strings.Cut(id, "#")
		if !slices.Contains([]string{"RESTCompatibilityKitCatalogTests", "RESTCompatibilityKitViewCatalogTests", "ExtendedCatalogTests"}, class) {
			t.Errorf("%s names a class that no run has", id)
		}
	}
}

func TestPageHasEveryTestOfEveryRun(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- e2e:rck begin -->", "<!-- e2e:rck end -->"
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("before\n"+begin+"\nold\n"+end+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	results := []result{
		{runs[0], []testCase{{"RESTCompatibilityKitCatalogTests", "a", passed, ""}, {"RESTCompatibilityKitViewCatalogTests", "b", failedState, "why"}}},
		{runs[1], []testCase{{"ExtendedCatalogTests", "a", skipped, ""}}},
	}
	if err := writePage(path, results, skipReasons{"X#y": "because"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"before\n" + begin + "\n", "| suite | 1 | 1 | 0 |\n", "| extended | 0 | 0 | 1 |\n", "| `X#y` | because |\n",
		"| tables | `a` | passed | skipped |\n", "| views | `b` | **failed** | – |\n", end + "\nafter\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "old") {
		t.Error("the old part is still there")
	}
	if err := os.WriteFile(path, []byte("no markers"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writePage(path, results, nil); err == nil {
		t.Error("a page without markers passes")
	}
}

func TestFoldersOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	foreign := filepath.Join(root, kitFolders[2])
	if err := os.MkdirAll(filepath.Join(foreign, "precious"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := claimFolders(root); err == nil || !strings.Contains(err.Error(), "in the way") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(foreign, "precious")); err != nil {
		t.Error("somebody's folder was removed:", err)
	}
	if _, err := os.Stat(filepath.Join(root, kitFolders[0])); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a folder that was made before the refusal is left:", err)
	}
	if err := os.RemoveAll(foreign); err != nil {
		t.Fatal(err)
	}

	f, err := claimFolders(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claimFolders(root); err == nil || !strings.Contains(err.Error(), "going on") {
		t.Errorf("two runs at once: %v", err)
	}
	// A run that died left its folders, with what the kit wrote.
	for _, path := range f.paths {
		if err := os.WriteFile(filepath.Join(path, marker), []byte("2147483647\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(f.paths[0], "tbl", "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if f, err = claimFolders(root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(f.paths[0], "tbl")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("files of a dead run are left:", err)
	}
	if err := f.remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

func TestLocationsOutsideTheFoldersAreToldOf(t *testing.T) {
	t.Parallel()
	f := &folders{paths: []string{"/tmp/ns"}}
	for _, c := range []struct {
		location string
		ok       bool
	}{{"file:///tmp/ns/t", true}, {"", true}, {"file:///tmp/ns2/t", false}, {"file:///tmp/other", false}} {
		event := fmt.Sprintf(`{"subject":"table/1","data":{"location":%q}}`+"\n", c.location)
		if err := checkLocations([]byte(event), f); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.location, err)
		}
	}
}

func TestProxyTakesTurnsAndChangesNothing(t *testing.T) {
	t.Parallel()
	type seen struct{ instance, request, body, header string }
	got := make(chan seen, 1)
	var addrs []string
	for i := range 2 {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got <- seen{fmt.Sprint(i), r.Method + " " + r.RequestURI, string(body), r.Header.Get("If-None-Match")}
			w.Header()["ETag"] = []string{`W/"x"`}
			w.WriteHeader(http.StatusNotModified)
		}))
		t.Cleanup(server.Close)
		addrs = append(addrs, server.Listener.Addr().String())
	}
	p, err := startProxy(t.Context(), addrs)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	const path = "/catalog/v1/w/namespaces/a%1Fb%2Fc+d/tables/%2e%2E?purgeRequested=True&x=%zz;y"
	for i := range 4 {
		// Over a plain socket: Go's client would not show how a header is spelled.
		conn, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nIf-None-Match: W/\"x\"\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody", path)
		answer, err := io.ReadAll(conn)
		_ = conn.Close()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(answer), "HTTP/1.1 304 ") || !strings.Contains(string(answer), "\r\nETag: W/\"x\"\r\n") {
			t.Errorf("%q", answer)
		}
		if s := <-got; s != (seen{fmt.Sprint(i % 2), "POST " + path, "body", `W/"x"`}) {
			t.Errorf("%d: %+v", i, s)
		}
	}
	if by, total := p.shares(); total != 4 || by[0] != 2 || by[1] != 2 {
		t.Error(by, total)
	}
	if err := (&theCatalog{proxy: p}).evenly(); err != nil {
		t.Error(err)
	}
	p.served[0].Add(20)
	if err := (&theCatalog{proxy: p}).evenly(); err == nil {
		t.Error("an instance without requests passes")
	}
}

func TestJavaVersions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`openjdk version "17.0.15" 2025-04-15`: 17, `java version "1.8.0_402"`: 8, `openjdk version "25" 2025-09-16`: 25, "sh: not found": 0,
	} {
		if got := javaMajor(text); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
}
