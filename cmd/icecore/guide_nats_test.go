package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/icecore-catalog/icecore/internal/nats/natstest"
)

// The guide's consumer in Go sees every event of the log once, in order: across
// kills of its own and of the server, replays, and a message that is gone, of
// which it tells.
func TestGuideConsumerInGo(t *testing.T) {
	t.Parallel()
	g := newGuided(t)
	g.nats = natstest.Start(t, "").URL()
	dir := t.TempDir()
	program := filepath.Join(dir, "consumer")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, guideProgram(t, "consumer.go", dir))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the guide's program: %v\n%s", err, out)
	}
	g.change(5)
	g.run(guideCommands(t, "icecore destination add lake ")[0])
	f := &follower{t: t, name: "the consumer in Go", args: []string{program}, env: []string{"NATS_URL=" + g.nats}, journal: filepath.Join(dir, "journal.txt")}
	stream := g.stream()
	f.begin()
	f.expect(g.log())

	for range 2 {
		f.kill()
		g.change(3)
		f.begin()
		g.change(3)
		f.expect(g.log())
	}
	replays := guideCommands(t, "icecore destination replay")
	if len(replays) != 3 {
		t.Fatalf("%d replays in the guide", len(replays))
	}
	for _, replay := range replays {
		g.run(replay)
		g.change(1)
		f.expect(g.log())
	}
	f.kill()
	if f.stderr.Len() > 0 {
		t.Errorf("it found fault: %s", f.stderr.String())
	}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(g.log()); info.State.Msgs < uint64(2*n) {
		t.Errorf("%d messages for %d events: the replays published nothing", info.State.Msgs, n)
	}
	if list := g.run(guideCommands(t, "icecore destination list")[0]); !strings.Contains(list, "lake") || !strings.Contains(list, "running") {
		t.Errorf("list: %s", list)
	}

	// Somebody deletes a message: whoever begins anew is told.
	if err := stream.DeleteMsg(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteConsumer(t.Context(), "journal"); err != nil {
		t.Fatal(err)
	}
	anew := &follower{t: t, name: "a new consumer", args: f.args, env: f.env, journal: filepath.Join(dir, "anew.txt")}
	anew.begin()
	all := g.log()
	late := append(append(append([]string{}, all[:3]...), all[4:]...), all[3]) // a replay brings it
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(deadline); len(anew.lines()) < len(all) && time.Now().Before(until); <-tick.C {
	}
	anew.kill()
	if told := anew.stderr.String(); !strings.Contains(told, "gap: nothing between 3 and 5") || !strings.Contains(told, "late: 4 came after") {
		t.Errorf("told %q of\n%s\nwhere it should be like\n%s", told, strings.Join(anew.lines(), "\n"), strings.Join(late, "\n"))
	}
}

// stream waits for the stream that the destination makes.
func (g *guided) stream() jetstream.Stream {
	g.Helper()
	nc, err := nats.Connect(g.nats)
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		g.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(deadline); ; <-tick.C {
		stream, err := js.Stream(g.Context(), "icecore")
		if err == nil {
			return stream
		}
		if time.Now().After(until) {
			g.Fatalf("the stream is not there: %v\n%s\n%s", err, g.run([]string{"destination", "show", "lake"}), g.server.output())
		}
	}
}
