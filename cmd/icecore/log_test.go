package main

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

func TestLogShowsWhatHappened(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Durable())
	root := t.TempDir()
	settings := production(db, "ICECORE_FILE_ROOTS="+root)
	s := start(t, settings, "serve")
	follow := program(t, settings, "log", "follow", "--json", "--after", "0")
	lines := follows(t, follow)
	makeWarehouse(t, s, root)
	home := s.catalogPath(t, "w")
	if status := s.call(t, "POST", home+"/namespaces", `{"namespace":["a"],"properties":{"k":"v"}}`, nil); status != 200 {
		t.Fatalf("create namespace: %d", status)
	}

	var events []struct{ ID, Type, Sequence, Source string }
	for len(events) < 4 {
		select {
		case line, open := <-lines:
			if !open {
				t.Fatal("log follow ended")
			}
			var e struct{ ID, Type, Sequence, Source string }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			events = append(events, e)
		case <-time.After(deadline):
			t.Fatalf("log follow shows %v", events)
		}
	}
	last := events[3]
	if last.Type != "dev.icecore.namespace.created" || last.Sequence != "00000000000000000004" || !strings.HasPrefix(last.Source, "urn:icecore:") {
		t.Errorf("the last event is %+v", last)
	}
	if err := follow.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for range lines { // until it ends
	}
	if err := follow.Wait(); err != nil {
		t.Errorf("log follow: %v", err)
	}

	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"show", last.ID}, 0, "namespace a "},
		{[]string{"show", "4"}, 0, last.ID},
		{[]string{"show", "4", "--json"}, 0, `"sequence":"00000000000000000004"`},
		{[]string{"show", "5"}, exitFailure, "does not reach position 5"},
		{[]string{"show", "x"}, exitFailure, "neither a position nor the id"},
		{[]string{"list", "--type", "namespace"}, 0, "set k"},
		{[]string{"list", "--type", "nonsense"}, exitFailure, "no type of event"},
		{[]string{"list", "--stream", "nonsense"}, exitFailure, "no id of an object"},
		{[]string{"diff", "3", "4"}, 0, "+ namespace a"},
		{[]string{"diff", "3", "4", "--json"}, 0, `"created": true`},
		{[]string{"diff", "3", "9"}, exitFailure, "the log reaches position 4"},
		{[]string{"diff", "4", "3"}, exitFailure, "no range"},
		{[]string{"repair"}, 0, "the feed is running, at position 4"},
		{[]string{"repair", "--skip", "7", "--reason", "x"}, exitFailure, "not halted"},
		{[]string{"checkpoint"}, exitFailure, "there is no checkpoint"},
	} {
		r := icecore(t, settings, append([]string{"log"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.stdout+r.stderr, c.want) {
			t.Errorf("log %s: %d %s%s", strings.Join(c.args, " "), r.code, r.stdout, r.stderr)
		}
	}
}

func TestCheckpointIsSignedAndVerified(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Durable())
	made := icecore(t, nil, "log", "checkpoint-key", "example.org")
	key, _, _ := strings.Cut(made.stdout, "\n")
	if made.code != 0 || !strings.HasPrefix(key, "ICECORE_CHECKPOINT_KEY=PRIVATE+KEY+example.org+") {
		t.Fatalf("%d %s%s", made.code, made.stdout, made.stderr)
	}
	s := start(t, production(db), "serve")
	if status := s.call(t, "POST", "/management/v1/bootstrap", `{"accept-terms-of-use":true}`, nil); status != 204 {
		t.Fatalf("bootstrap: %d", status)
	}
	signed := icecore(t, production(db, key), "log", "checkpoint")
	if signed.code != 0 || !strings.HasPrefix(signed.stdout, "icecore/") || !strings.Contains(signed.stdout, "\n— example.org ") {
		t.Fatalf("%d %s%s", signed.code, signed.stdout, signed.stderr)
	}
	if r := icecore(t, production(db, key), "verify"); r.code != 0 || !strings.Contains(r.stdout, "1 checkpoints of known signers, 0 of others") {
		t.Errorf("with the key: %d %s%s", r.code, r.stdout, r.stderr)
	}
	if r := icecore(t, production(db), "verify"); r.code != 0 || !strings.Contains(r.stdout, "0 checkpoints of known signers, 1 of others") {
		t.Errorf("without it: %d %s%s", r.code, r.stdout, r.stderr)
	}
	if r := icecore(t, production(db, "ICECORE_CHECKPOINT_KEY=hunter2"), "serve"); r.code == 0 || strings.Contains(r.stderr, "hunter2") {
		t.Errorf("a malformed key: %d %s", r.code, r.stderr)
	}
}

func TestVerifyFindsATamperedReadModel(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Durable())
	s := start(t, production(db), "serve")
	if status := s.call(t, "POST", "/management/v1/bootstrap", `{"accept-terms-of-use":true}`, nil); status != 204 {
		t.Fatalf("bootstrap: %d", status)
	}
	if _, err := db.Owner.Exec(t.Context(), "UPDATE rm.project SET name = 'forged'"); err != nil {
		t.Fatal(err)
	}
	settings := production(db, "ICECORE_DATABASE_OWNER_URL="+db.URL(pgtest.RoleOwner))
	if r := icecore(t, settings, "verify"); r.code != exitFailure || !strings.Contains(r.stdout, "rm.project") && !strings.Contains(r.stdout, "forged") {
		t.Errorf("verify: %d %s%s", r.code, r.stdout, r.stderr)
	}
	if r := icecore(t, settings, "rebuild"); r.code != 0 {
		t.Errorf("rebuild: %d %s%s", r.code, r.stdout, r.stderr)
	}
	if r := icecore(t, settings, "verify"); r.code != 0 {
		t.Errorf("verify after the rebuild: %d %s%s", r.code, r.stdout, r.stderr)
	}
}

// follows starts a program and hands over its lines.
func follows(t *testing.T, cmd *exec.Cmd) <-chan string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			lines <- scan.Text()
		}
	}()
	return lines
}
