package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/e2e/kafka"
)

// pythonClient is what the guide has its readers install, at the version that is
// tested.
const pythonClient = "confluent-kafka==2.16.1"

// python returns an interpreter with the client, in an environment of its own in
// the user's cache.
func python(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(cache, "icecore", "venv-"+pythonClient)
	interpreter := filepath.Join(home, "bin", "python")
	if exec.CommandContext(t.Context(), interpreter, "-c", "import confluent_kafka").Run() == nil {
		return interpreter
	}
	for _, args := range [][]string{{"python3", "-m", "venv", "--clear", home}, {interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", pythonClient}} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return interpreter
}

// The guide's consumer in Python sees every event of the log once, in order, of a
// real broker: across kills of its own, replays, and a kill of the broker.
func TestGuideConsumerInPython(t *testing.T) {
	if os.Getenv("ICECORE_KAFKA") == "" {
		t.Skip("needs a JDK, Maven and Python: ./task e2e:kafka")
	}
	if name, _, _ := strings.Cut(pythonClient, "=="); !strings.Contains(guide(t), "`pip install "+name+"`") {
		t.Errorf("the guide does not say to install %s", name)
	}
	broker, err := kafka.Start(t.Context(), kafka.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the broker's output ends:\n%s", broker.Output())
		}
		_ = broker.Kill()
	})
	g := newGuided(t)
	g.change(5)
	add := guideCommands(t, "icecore destination add lake-k ")[0]
	for i := range add {
		add[i] = strings.Replace(add[i], "127.0.0.1:9092", broker.Addr(), 1)
	}
	g.run(add)
	g.published("lake-k")

	dir := t.TempDir()
	f := &follower{
		t: t, name: "the consumer in Python", args: []string{python(t), guideProgram(t, "consumer.py", dir)},
		env: []string{"BROKERS=" + broker.Addr()}, journal: filepath.Join(dir, "journal.txt"),
	}
	f.begin()
	f.expect(g.log())
	f.kill()
	g.change(3)
	f.begin()
	g.change(3)
	f.expect(g.log())
	g.run([]string{"destination", "replay", "--from", "beginning", "--to", "lake-k"})
	g.change(1)
	f.expect(g.log())
	if err := broker.Kill(); err != nil {
		t.Fatal(err)
	}
	g.change(2)
	if err := broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.change(1)
	f.expect(g.log())
	f.kill()
	for line := range strings.SplitSeq(strings.TrimSpace(f.stderr.String()), "\n") {
		if strings.HasPrefix(line, "gap:") || strings.HasPrefix(line, "late:") {
			t.Errorf("it found fault: %s", line)
		}
	}
}
