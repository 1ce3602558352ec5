package main

import (
	_ "embed" // the list of skips
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

type state string

const (
	passed      state = "passed"
	failedState state = "failed"
	skipped     state = "skipped"
)

// testCase is the outcome of one test.
type testCase struct {
	class, name string // without packages and parameter types
	state       state
	why         string // the message of a failure or a skip, on one line
}

func (c testCase) id() string { return c.class + "#" + c.name }

// readReports reads the JUnit reports of a folder. The suite's tests stand in
// the report of the engine that ran them.
func readReports(folder string) ([]testCase, error) {
	files, err := filepath.Glob(filepath.Join(folder, "TEST-junit-*.xml"))
	if err != nil {
		return nil, err
	}
	var cases []testCase
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		some, err := parseReport(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		cases = append(cases, some...)
	}
	slices.SortFunc(cases, func(a, b testCase) int { return strings.Compare(a.id(), b.id()) })
	for i := 1; i < len(cases); i++ {
		if cases[i].id() == cases[i-1].id() {
			return nil, fmt.Errorf("%s is reported twice", cases[i].id())
		}
	}
	return cases, nil
}

func parseReport(text []byte) ([]testCase, error) {
	type outcome struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	var suite struct {
		Cases []struct {
			Name    string   `xml:"name,attr"`
			Class   string   `xml:"classname,attr"`
			Failure *outcome `xml:"failure"`
			Error   *outcome `xml:"error"`
			Skipped *outcome `xml:"skipped"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(text, &suite); err != nil {
		return nil, err
	}
	var cases []testCase
	for _, c := range suite.Cases {
		t := testCase{class: c.Class[strings.LastIndexByte(c.Class, '.')+1:], name: testName(c.Name), state: passed}
		for _, o := range []struct {
			*outcome
			state state
		}{{c.Failure, failedState}, {c.Error, failedState}, {c.Skipped, skipped}} {
			if o.outcome == nil {
				continue
			}
			why := o.Message
			if why == "" {
				why = o.Text
			}
			t.state, t.why = o.state, clip(strings.Join(strings.Fields(why), " "), 300)
			break
		}
		cases = append(cases, t)
	}
	return cases, nil
}

// testName drops the parameter types: testCreate(Path) is testCreate, and
// testFormat(int)[2] is testFormat[2].
func testName(name string) string {
	start, end := strings.IndexByte(name, '('), strings.LastIndexByte(name, ')')
	if start < 0 || end < start {
		return name
	}
	return name[:start] + name[end+1:]
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

func count(cases []testCase) map[state]int {
	n := map[state]int{}
	for _, c := range cases {
		n[c.state]++
	}
	return n
}

func failed(cases []testCase) []string {
	var lines []string
	for _, c := range cases {
		if c.state == failedState {
			lines = append(lines, fmt.Sprintf("failed: %s: %s", c.id(), c.why))
		}
	}
	return lines
}

//go:embed skips.txt
var skipList string

// skipReasons says for each test that is expected to be skipped why it is.
type skipReasons map[string]string

// parseSkips reads lines of a test's id, blanks and the reason.
func parseSkips(text string) (skipReasons, error) {
	skips := skipReasons{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		id, reason, _ := strings.Cut(line, " ")
		reason = strings.TrimSpace(reason)
		switch {
		case strings.Count(id, "#") != 1 || reason == "":
			return nil, fmt.Errorf("skips.txt:%d: wanted Class#test and a reason", i+1)
		case skips[id] != "":
			return nil, fmt.Errorf("skips.txt:%d: %s is listed twice", i+1, id)
		}
		skips[id] = reason
	}
	if len(skips) == 0 {
		return nil, errors.New("skips.txt is empty")
	}
	return skips, nil
}

// compare tells the difference between the skipped tests and the list, within
// the classes that were run.
func (s skipReasons) compare(cases []testCase) []string {
	var lines []string
	classes := map[string]bool{}
	was := map[string]bool{}
	for _, c := range cases {
		classes[c.class] = true
		if c.state == skipped {
			was[c.id()] = true
			if s[c.id()] == "" {
				lines = append(lines, fmt.Sprintf("skipped, but not listed in skips.txt: %s: %s", c.id(), c.why))
			}
		}
	}
	for id := range s {
		if class, _, _ := strings.Cut(id, "#"); classes[class] && !was[id] {
			lines = append(lines, "listed in skips.txt, but not skipped: "+id)
		}
	}
	slices.Sort(lines)
	return lines
}
