package faults_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// kills is how many processes a run kills: 50 in the suite of its own
// (./task e2e:faults), a few in the quick one.
func kills(t *testing.T) int {
	text := os.Getenv("ICECORE_FAULTS_KILLS")
	if text == "" {
		return 4
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// seed is printed, so that a failing run can be repeated in its choices.
func seed(t *testing.T) *rand.Rand {
	n := rand.Uint64()
	if text := os.Getenv("ICECORE_FAULTS_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		n = given
	}
	t.Logf("ICECORE_FAULTS_SEED=%d", n)
	return rand.New(rand.NewPCG(n, 1))
}

// TestKillAtAnyMoment: SIGKILL of icecore or of all of PostgreSQL at random
// moments under load. After each restart the catalog works; at the end every
// acknowledged commit is there once and nothing was invented.
func TestKillAtAnyMoment(t *testing.T) {
	t.Parallel()
	const tables = 6
	r, random := newRig(t), seed(t)
	server := r.serve("")
	server.rest.setUp(t, r.files, tables)
	books := newLoad(tables)
	for n := range kills(t) {
		books.start(t.Context(), server.rest)
		<-time.After(time.Duration(random.IntN(250)) * time.Millisecond) // the random moment
		if victim := random.IntN(3); victim == 0 {
			if err := r.database.Kill9(); err != nil {
				t.Fatal(err)
			}
			books.halt()
			if err := r.database.Restart(t.Context()); err != nil {
				t.Fatalf("kill %d: PostgreSQL does not come back: %v", n, err)
			}
			server.waitReady() // the same process goes on
		} else {
			server.signal(syscall.SIGKILL)
			books.halt()
			server.kill()
			server = r.serve(server.addr)
			server.rest.prefix = previousPrefix(t, server)
		}
		for i, book := range books.ledgers {
			state, answer, err := server.rest.load(t.Context(), i)
			if err != nil || answer.status != 200 {
				t.Fatalf("kill %d: load t%d: %d %s %v", n, i, answer.status, answer.body, err)
			}
			if newest := book.newest(); state.seq < newest || state.seq > book.sent {
				t.Fatalf("kill %d: t%d shows commit %d; acknowledged %d, sent %d", n, i, state.seq, newest, book.sent)
			}
		}
	}
	books.check(t, r.events())
	r.verify()
}

// newest is the highest acknowledged number.
func (b *ledger) newest() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n := b.sent; n > 0; n-- {
		if b.acknowledged[n] {
			return n
		}
	}
	return 0
}

func previousPrefix(t *testing.T, i *instance) string {
	t.Helper()
	i.rest.connect(t)
	return i.rest.prefix
}

// TestFrozenServerIsReplaced: two instances, one of them stopped by SIGSTOP at
// random moments, also while it sequences: the other goes on, and the frozen
// one does no harm when it wakes.
func TestFrozenServerIsReplaced(t *testing.T) {
	t.Parallel()
	const tables = 4
	rounds := max(2, kills(t)/5)
	r, random := newRig(t), seed(t)
	one, two := r.serve(""), r.serve("")
	one.rest.setUp(t, r.files, 2*tables)
	two.rest.connect(t)
	books := newLoad(2 * tables)
	left, right := &load{ledgers: books.ledgers[:tables]}, &load{ledgers: books.ledgers[tables:]}
	for range rounds {
		left.start(t.Context(), one.rest)
		right.startFrom(t.Context(), two.rest, tables)
		<-time.After(time.Duration(50+random.IntN(200)) * time.Millisecond)
		one.signal(syscall.SIGSTOP)
		before := right.total()
		for deadline := time.Now().Add(20 * time.Second); right.total() < before+20; {
			if time.Now().After(deadline) {
				t.Fatal("the other instance does not get on while one is frozen")
			}
			<-time.After(10 * time.Millisecond)
		}
		// The feed must go on too: the frozen holder of the head is replaced.
		r.command("log", "list", "--limit", "1")
		one.signal(syscall.SIGCONT)
		left.halt()
		right.halt()
	}
	books.bad = append(left.bad, right.bad...)
	books.check(t, r.events())
	r.verify()
}
