package logfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"

	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/logfile"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

func received(t *testing.T, data []byte) (list []publishertest.Received) {
	t.Helper()
	for line := range bytes.Lines(data) {
		var event cloudevents.Event
		if !bytes.HasSuffix(line, []byte("\n")) || event.UnmarshalJSON(line) != nil {
			t.Fatalf("no event: %q", line)
		}
		list = append(list, publishertest.Received{Event: event})
	}
	return list
}

// read returns what stands in a file and those that were renamed before it.
func read(t *testing.T, folder string) (list []publishertest.Received) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "events.jsonl*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(names, func(a, b string) int { // the one without a suffix is the last
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, received(t, data)...)
	}
	return list
}

func open(folder string, most int64) publishers.Transport {
	return logfile.New(logfile.Options{Settings: logfile.Settings{File: "events.jsonl", MaxFileBytes: most}, Folder: folder})
}

func TestAFileIsADestination(t *testing.T) {
	t.Parallel()
	for _, most := range []int64{1 << 30, 4096} { // the second renames at nearly every batch
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			publishertest.Run(t, func(t *testing.T) publishertest.Harness {
				folder := t.TempDir()
				return publishertest.Harness{
					Open: func(*testing.T) publishers.Transport { return open(folder, most) },
					Read: func(t *testing.T) []publishertest.Received { return read(t, folder) },
				}
			})
		})
	}
}

func TestTheStandardOutputIsADestination(t *testing.T) {
	t.Parallel()
	publishertest.Run(t, func(*testing.T) publishertest.Harness {
		var out bytes.Buffer
		lines := logfile.Lines(&out)
		return publishertest.Harness{
			Open: func(*testing.T) publishers.Transport { return logfile.New(logfile.Options{Stdout: lines}) },
			Read: func(t *testing.T) []publishertest.Received { return received(t, out.Bytes()) },
		}
	})
}

// A crash leaves a part of a line, or of a batch; the rest comes behind what is whole.
func TestAnUnfinishedLineIsCutOff(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	log := publishertest.NewLog(t)
	p := open(folder, 1<<30)
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := append(log.Append(3), log.AppendLarge(300_000))
	if err := p.Publish("x", publishertest.Messages(t, t.Context(), first, "")...); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, "events.jsonl")
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"specversion":"1.0","id":"` + strings.Repeat("x", 100_000)); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if err := p.Publish("x", publishertest.Messages(t, t.Context(), log.Append(1), first[3].ID.String())...); !errors.Is(err, publishers.ErrMismatch) {
		t.Errorf("behind another's line: %v", err)
	}
	p = open(folder, 1<<30)
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if last, ok, err := p.Last(t.Context()); err != nil || !ok || last.Event != first[3].ID {
		t.Errorf("%+v, %v, %v", last, ok, err)
	}
	if err := p.Publish("x", publishertest.Messages(t, t.Context(), log.Append(2), first[3].ID.String())...); err != nil {
		t.Fatal(err)
	}
	if got := read(t, folder); len(got) != 6 {
		t.Errorf("%d lines", len(got))
	}

	if err := os.WriteFile(name, []byte("somebody else's\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(folder, 1<<30).Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "no event of a log") {
		t.Errorf("a file of somebody else: %v", err)
	}
	if err := open("", 1).Prepare(t.Context()); err == nil {
		t.Error("a file without a folder")
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                    "",
		"target=stdout":                       "",
		"target=file":                         "setting file is required",
		"target=file file=a.jsonl":            "",
		"target=file file=../a":               "setting file is the plain name",
		"target=file file=a/b":                "setting file is the plain name",
		"file=a":                              "setting file needs target=file",
		"target=syslog":                       "setting target is one of",
		"target=file file=a max-file-bytes=1": "setting max-file-bytes is a number",
		"max-message-bytes=100000":            "",
		"path=x":                              "unknown setting",
	} {
		settings := map[string]string{}
		for _, pair := range strings.Fields(text) {
			key, value, _ := strings.Cut(pair, "=")
			settings[key] = value
		}
		if _, err := logfile.ParseSettings(settings); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
