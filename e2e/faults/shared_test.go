package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/faultproxy"
)

// aboard is how many commits share the flight; 0 for one of another kind.
func aboard(f faultproxy.Flight) int {
	for i, sql := range f.SQL {
		if !strings.Contains(sql, "es.append_shared(") || len(f.Arguments[i]) < 2 {
			continue
		}
		// The second argument is the array of commit ids: dimensions, flags,
		// type, then the length of the first dimension.
		if list := f.Arguments[i][1]; len(list) >= 16 {
			return int(list[14])<<8 | int(list[15])
		}
	}
	return 0
}

// burst lets each table commit once, all at the same moment, and returns the
// tables that heard of success and those that were told something else.
func burst(ctx context.Context, r *rest, books *load) (succeeded int, others map[string]int) {
	var group sync.WaitGroup
	for i, book := range books.ledgers {
		group.Go(func() { books.step(ctx, r, i, book) })
	}
	group.Wait()
	others = map[string]int{}
	for _, book := range books.ledgers {
		switch seq := book.sent; {
		case book.acknowledged[seq]:
			succeeded++
		case book.refused[seq]:
			others["refused"]++
		default:
			others["unknown"]++
		}
	}
	return succeeded, others
}

// TestSharedFlightIsLostOrLate is law 3 for commits of several tables that went
// in one transaction: each client hears the truth about its own commit, and
// those that were not aboard hear of success.
func TestSharedFlightIsLostOrLate(t *testing.T) {
	t.Parallel()
	const tables = 12
	r := newRig(t)
	r.env = append(r.env, "ICECORE_REQUEST_TIMEOUT=1s", "ICECORE_APPEND_TIMEOUT=2s", "ICECORE_BURN_TIMEOUT=1s")
	server := r.serve("") // the first of a rig shares commits
	server.rest.setUp(t, r.files, tables)
	books := newLoad(tables)
	for _, test := range []struct {
		fate    faultproxy.Fate
		release time.Duration // after the flight was caught
		after   bool          // after all clients were answered instead
		// allowed besides success; must says that all aboard hear it.
		allowed string
		must    bool
	}{
		{fate: faultproxy.CutBefore, allowed: "refused"},
		{fate: faultproxy.CutAfter},
		{fate: faultproxy.HoldFlight, after: true, allowed: "refused"},
		{fate: faultproxy.HoldFlight, release: 100 * time.Millisecond},
		{fate: faultproxy.HoldSync, after: true, allowed: "unknown", must: true},
		{fate: faultproxy.HoldSync, release: 2500 * time.Millisecond},
		{fate: faultproxy.HoldAnswer, after: true},
		{fate: faultproxy.HoldAnswer, release: 100 * time.Millisecond},
	} {
		name := fmt.Sprintf("%s, released %v", test.fate, test.release)
		var struck atomic.Int64
		r.proxy.SetPlan(func(f faultproxy.Flight) faultproxy.Fate {
			if n := aboard(f); n > 1 && struck.CompareAndSwap(0, int64(n)) {
				return test.fate
			}
			return faultproxy.Pass
		})
		answered, released := make(chan struct{}), make(chan struct{})
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
		succeeded, others := 0, map[string]int{}
		for n := 0; struck.Load() == 0; n++ {
			if n == 200 || len(others) > 0 {
				t.Fatalf("%s: no flight of several commits in %d rounds: %v", name, n, others)
			}
			succeeded, others = burst(t.Context(), server.rest, books)
		}
		close(answered)
		<-released
		t.Logf("%s: %d aboard, %d succeeded, others: %v", name, struck.Load(), succeeded, others)
		told := others[test.allowed]
		if succeeded+told != tables || told > int(struck.Load()) || test.must && told != int(struck.Load()) {
			t.Errorf("%s: %d aboard, %d of %d succeeded, others: %v", name, struck.Load(), succeeded, tables, others)
		}
		// The server goes on without a restart for each table, and the pointer
		// names a file. A released flight may still race the next commit.
		r.proxy.SetPlan(func(faultproxy.Flight) faultproxy.Fate { return faultproxy.Pass })
		for i, book := range books.ledgers {
			for try := 0; try == 0 || !book.acknowledged[book.sent]; try++ {
				if try == 6 {
					t.Fatalf("%s: no later commit to t%d gets through: %v", name, i, books.bad)
				}
				books.step(t.Context(), server.rest, i, book)
			}
			state, answer, err := server.rest.load(t.Context(), i)
			if err != nil || answer.status != http.StatusOK || state.seq != book.sent {
				t.Fatalf("%s: t%d shows %d, want %d: %d %v", name, i, state.seq, book.sent, answer.status, err)
			}
			if _, err := os.Stat(strings.TrimPrefix(state.location, "file://")); err != nil {
				t.Errorf("%s: the pointer's file of t%d is gone: %v", name, i, err)
			}
		}
	}
	books.check(t, r.events())
	r.verify()
}
