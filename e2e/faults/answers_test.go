package faults_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/faultproxy"
)

// breakOnce gives the next append the fate and lets all later flights pass.
func breakOnce(p *faultproxy.Proxy, fate faultproxy.Fate) {
	var done atomic.Bool
	p.SetPlan(func(f faultproxy.Flight) faultproxy.Fate {
		if isAppend(f) && done.CompareAndSwap(false, true) {
			return fate
		}
		return faultproxy.Pass
	})
}

// TestCommitAnswerIsLostOrLate is law 3: whatever becomes of the answer to
// COMMIT, the client hears success or that the state is unknown, or a clean
// failure only if the commit did not happen and never will.
func TestCommitAnswerIsLostOrLate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.env = append(r.env, "ICECORE_REQUEST_TIMEOUT=1s", "ICECORE_APPEND_TIMEOUT=2s", "ICECORE_BURN_TIMEOUT=1s")
	server := r.serve("")
	server.rest.setUp(t, r.files, 1)
	books := newLoad(1)
	seq := 0
	for _, test := range []struct {
		fate faultproxy.Fate
		// release says when the held bytes are let go: after the client was
		// answered, or this long after they were caught.
		release time.Duration
		after   bool
		// allowed are the statuses that tell the truth.
		allowed []int
	}{
		{fate: faultproxy.CutBefore, allowed: []int{200, 503}},
		{fate: faultproxy.CutAfter, allowed: []int{200}},
		{fate: faultproxy.HoldFlight, after: true, allowed: []int{200, 503}},
		{fate: faultproxy.HoldFlight, release: 100 * time.Millisecond, allowed: []int{200}},
		{fate: faultproxy.HoldSync, after: true, allowed: []int{500}},
		{fate: faultproxy.HoldSync, release: 2500 * time.Millisecond, allowed: []int{200}},
		{fate: faultproxy.HoldAnswer, after: true, allowed: []int{200}},
		{fate: faultproxy.HoldAnswer, release: 100 * time.Millisecond, allowed: []int{200}},
	} {
		name := fmt.Sprintf("%s, released %v", test.fate, test.release)
		seq++
		breakOnce(r.proxy, test.fate)
		answered := make(chan struct{})
		released := make(chan struct{})
		go func() {
			defer close(released)
			<-r.proxy.Hits()
			if test.after {
				<-answered
			} else {
				<-time.After(test.release)
			}
			r.proxy.Release()
		}()
		books.step(t.Context(), server.rest, 0, books.ledgers[0])
		close(answered)
		<-released
		s := said{status: 500}
		switch book := books.ledgers[0]; {
		case book.acknowledged[seq]:
			s.status = 200
		case book.refused[seq]:
			s.status = 503
		}
		if !contains(test.allowed, s.status) {
			t.Errorf("%s: answered %d, want one of %v", name, s.status, test.allowed)
		}
		r.proxy.SetPlan(func(faultproxy.Flight) faultproxy.Fate { return faultproxy.Pass })
		// The server goes on without a restart, and the pointer names a file. A
		// released flight may still race the next commit, which asks for nothing
		// and so is told of a lost race.
		for try := 0; ; try++ {
			seq++
			books.step(t.Context(), server.rest, 0, books.ledgers[0])
			if books.ledgers[0].acknowledged[seq] {
				break
			}
			if try == 5 {
				t.Fatalf("%s: no later commit gets through: %v", name, books.bad)
			}
		}
		state, answer, err := server.rest.load(t.Context(), 0)
		if err != nil || answer.status != http.StatusOK || state.seq != seq {
			t.Fatalf("%s: load shows %d, want %d: %d %v", name, state.seq, seq, answer.status, err)
		}
		if _, err := os.Stat(strings.TrimPrefix(state.location, "file://")); err != nil {
			t.Errorf("%s: the pointer's file is gone: %v", name, err)
		}
	}
	books.check(t, r.events())
	r.verify()
}

func contains(list []int, n int) bool {
	for _, v := range list {
		if v == n {
			return true
		}
	}
	return false
}

// TestDatabaseAwayAndBack: clear errors while the database is gone, work as
// before once it is back, without a restart.
func TestDatabaseAwayAndBack(t *testing.T) {
	t.Parallel()
	away := 10 * time.Second
	if os.Getenv("ICECORE_LONG") == "" {
		away = 2 * time.Second
	}
	r := newRig(t)
	server := r.serve("")
	server.rest.setUp(t, r.files, 4)
	books := newLoad(4)
	books.start(t.Context(), server.rest)
	<-time.After(200 * time.Millisecond) // some load before the fault
	r.proxy.SetDown(true)
	refused := 0
	for end := time.Now().Add(away); time.Now().Before(end); {
		_, answer, err := server.rest.load(t.Context(), 0)
		if err != nil {
			t.Fatalf("a load while the database is away: %v", err)
		}
		if answer.status == http.StatusOK {
			t.Fatal("a load was answered from a cache while the database is away (law 4)")
		}
		if answer.status != http.StatusServiceUnavailable || answer.kind != "ServiceUnavailableException" {
			t.Fatalf("a load while the database is away: %d %s", answer.status, answer.body)
		}
		refused++
		<-time.After(20 * time.Millisecond)
	}
	r.proxy.SetDown(false)
	server.waitReady()
	<-time.After(200 * time.Millisecond) // some load after it
	books.halt()
	for i, book := range books.ledgers {
		if !book.acknowledged[book.sent] {
			t.Errorf("t%d: the last commit after the database came back was not acknowledged", i)
		}
	}
	t.Logf("%d loads were refused", refused)
	books.check(t, r.events())
	r.verify()
}

// TestDiskFull: a metadata file that can't be written is a clear error, the
// table stays as it was, and nothing half-written is left.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mountSmall(t, r.files, 1<<20)
	server := r.serve("")
	server.rest.setUp(t, r.files, 1)
	before := r.command("log", "list", "--json", "--limit", "1000")
	filler := filepath.Join(r.files, "filler")
	for size := 1 << 18; size > 0; size /= 2 { // leave less than one block
		for {
			f, err := os.OpenFile(filler, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			n, err := f.Write(make([]byte, size))
			_ = f.Close()
			if err != nil || n < size {
				break
			}
		}
	}
	answer, err := server.rest.setSeq(t.Context(), 0, 1)
	if err != nil || answer.status < 500 || answer.kind == "CommitStateUnknownException" {
		t.Fatalf("a commit on a full disk: %d %s %v", answer.status, answer.body, err)
	}
	if strings.Contains(string(answer.body), r.files) {
		t.Errorf("the answer shows the server's paths: %s", answer.body)
	}
	if after := r.command("log", "list", "--json", "--limit", "1000"); string(after) != string(before) {
		t.Error("the log changed")
	}
	state, _, err := server.rest.load(t.Context(), 0)
	if err != nil || state.seq != 0 {
		t.Fatalf("the table changed: %+v %v", state, err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Dir(strings.TrimPrefix(state.location, "file://")))
	if err != nil || len(files) != 1 {
		t.Errorf("%d files are left in the table's metadata folder, want the one of its creation (%v)", len(files), err)
	}
	answer, err = server.rest.setSeq(t.Context(), 0, 2)
	if err != nil || answer.status != http.StatusOK {
		t.Fatalf("a commit after room was made: %d %s %v", answer.status, answer.body, err)
	}
	r.verify()
}
