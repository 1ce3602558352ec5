package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

const eventsGuide = "../../docs/guides/consume-events.md"

// guide is the text of docs/guides/consume-events.md.
func guide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(eventsGuide)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// guideProgram writes a program of the guide into a folder, as it stands there.
func guideProgram(t *testing.T, name, dir string) string {
	t.Helper()
	_, rest, found := strings.Cut(guide(t), "<!-- program: "+name+" -->\n```")
	_, rest, _ = strings.Cut(rest, "\n")
	text, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("the guide has no program %s", name)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// guideCommands returns the lines of the guide that begin so, without comments.
func guideCommands(t *testing.T, begin string) [][]string {
	t.Helper()
	var list [][]string
	for _, line := range regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(begin)+`.*$`).FindAllString(guide(t), -1) {
		list = append(list, strings.Fields(line)[1:])
	}
	if len(list) == 0 {
		t.Fatalf("no line of the guide begins with %q", begin)
	}
	return list
}

// follower is a consumer of the guide that runs.
type follower struct {
	t       *testing.T
	name    string
	args    []string
	env     []string
	journal string
	cmd     *exec.Cmd
	ended   chan struct{}
	stderr  bytes.Buffer // read when it has ended
}

// begin starts the program, in a process group of its own.
func (f *follower) begin() {
	f.t.Helper()
	f.cmd = exec.CommandContext(context.WithoutCancel(f.t.Context()), f.args[0], f.args[1:]...)
	f.cmd.Env = append(append(os.Environ(), f.env...), "JOURNAL="+f.journal)
	f.cmd.Stderr = &f.stderr
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := f.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		defer close(ended)
		_ = cmd.Wait()
	}(f.cmd, f.ended)
	f.t.Cleanup(f.kill)
}

// kill ends it with SIGKILL, and what it started.
func (f *follower) kill() {
	_ = syscall.Kill(-f.cmd.Process.Pid, syscall.SIGKILL)
	<-f.ended
}

// lines are those of its journal; the last may be half.
func (f *follower) lines() []string {
	text, err := os.ReadFile(f.journal)
	if err != nil && !os.IsNotExist(err) {
		f.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// expect waits until the journal is what the log says, in its order.
func (f *follower) expect(want []string) {
	f.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(deadline); ; <-tick.C {
		got := f.lines()
		if strings.Join(got, "\n") == strings.Join(want, "\n") {
			return
		}
		select {
		case <-f.ended:
			f.t.Fatalf("%s has ended: %s", f.name, f.stderr.String())
		default:
		}
		if len(got) > len(want) || time.Now().After(until) {
			f.kill()
			f.t.Fatalf("%s wrote\n%s\nand the log is\n%s\n%s", f.name, strings.Join(got, "\n"), strings.Join(want, "\n"), f.stderr.String())
		}
	}
}

// guided is a server that the guide's commands work on.
type guided struct {
	*testing.T
	settings []string
	server   *running
	home     string
	nats     string // URL of a NATS; empty for none
	made     int
}

func newGuided(t *testing.T) *guided {
	t.Helper()
	db := pgtest.New(t, pgtest.Durable())
	root := pgtest.Dir(t)
	g := &guided{T: t, settings: production(db, "ICECORE_FILE_ROOTS="+root)}
	g.server = start(t, g.settings, "serve")
	makeWarehouse(t, g.server, root)
	g.home = g.server.catalogPath(t, "w")
	return g
}

// change makes n events.
func (g *guided) change(n int) {
	g.Helper()
	for range n {
		g.made++
		if status := g.server.call(g.T, "POST", g.home+"/namespaces", fmt.Sprintf(`{"namespace":["n%d"]}`, g.made), nil); status != 200 {
			g.Fatalf("create namespace: %d", status)
		}
	}
}

// log is the journal that a consumer of everything should have written. It asks
// again until all commits have a position.
func (g *guided) log() []string {
	g.Helper()
	r := icecore(g.T, g.settings, "log", "list", "--json", "--after", "0", "--limit", "10000")
	if r.code != 0 {
		g.Fatalf("log list: %s", r.stderr)
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(r.stdout), "\n") {
		var e struct{ ID, Type, Subject, Sequence string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			g.Fatal(err)
		}
		lines = append(lines, strings.Join([]string{strings.TrimLeft(e.Sequence, "0"), e.ID, e.Type, e.Subject}, " "))
	}
	return lines
}

// run is a command of the guide.
func (g *guided) run(args []string) string {
	g.Helper()
	for i := range args {
		if g.nats != "" {
			args[i] = strings.Replace(args[i], "nats://127.0.0.1:4222", g.nats, 1)
		}
		args[i] = strings.Replace(args[i], "4711", "3", 1)
	}
	r := icecore(g.T, g.settings, args...)
	if r.code != 0 {
		g.Fatalf("icecore %s: %d %s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// published waits until a destination has come to where the log ends now.
func (g *guided) published(name string) {
	g.Helper()
	end := int64(len(g.log()))
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(deadline); ; <-tick.C {
		var d struct{ Position int64 }
		if status := g.server.call(g.T, "GET", "/management/v1/destinations/"+name, "", &d); status != 200 {
			g.Fatalf("destination %s: %d", name, status)
		}
		if d.Position >= end {
			return
		}
		if time.Now().After(until) {
			g.Fatalf("at %d of %d\n%s\n%s", d.Position, end, g.run([]string{"destination", "show", name}), g.server.output())
		}
	}
}

// The guide's consumer in the shell sees every event of the log once, in order.
func TestGuideConsumerInTheShell(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("jq"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("the guide's consumer in the shell needs jq")
		}
		t.Skip("needs jq")
	}
	g := newGuided(t)
	g.change(3)

	dir := t.TempDir()
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "icecore"), []byte("#!/bin/sh\n"+asProgram+"=1 exec '"+program+"' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f := &follower{
		t: t, name: "the consumer in the shell", args: []string{"sh", guideProgram(t, "consumer.sh", dir)}, journal: filepath.Join(dir, "journal.txt"),
		env: append([]string{"PATH=" + dir + ":" + os.Getenv("PATH")}, g.settings...),
	}
	f.begin()
	f.expect(g.log())
	f.kill()
	g.change(3)
	f.begin()
	g.change(2)
	f.expect(g.log())
	f.kill()
	if f.stderr.Len() > 0 {
		t.Errorf("it found fault: %s", f.stderr.String())
	}
}
