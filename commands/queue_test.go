package commands

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/icecore-catalog/icecore/internal/clock"
)

func TestQueueServesInOrderOfArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(clock.System{})
		leave, err := q.enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var served []int
		for i := range 20 {
			go func() {
				leave, err := q.enter(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				served = append(served, i)
				mu.Unlock()
				leave(false)
			}()
			synctest.Wait() // the next one comes when this one stands in line
		}
		leave(false)
		synctest.Wait()
		if !slices.IsSorted(served) || len(served) != 20 {
			t.Errorf("served in the order %v", served)
		}
		if n := q.size(); n != 0 {
			t.Errorf("%d keys are still remembered", n)
		}
	})
}

func TestQueueKeepsObjectsApart(t *testing.T) {
	t.Parallel()
	q := newQueue(clock.System{})
	leaveA, err := q.enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	leaveB, err := q.enter(t.Context(), "b") // would hang if "a" stood in the way
	if err != nil {
		t.Fatal(err)
	}
	leaveB(false)
	leaveA(false)
}

func TestQueueGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(clock.System{})
		leave, err := q.enter(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := q.enter(ctx, "a", "b")
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
		// What it had taken before is free again.
		leaveA, err := q.enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		leaveA(false)
		leave(false)
		if n := q.size(); n != 0 {
			t.Errorf("%d keys are still remembered", n)
		}
	})
}

func TestQueueTakesSeveralKeysWithoutDeadlock(t *testing.T) {
	t.Parallel()
	q := newQueue(clock.System{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				keys := []string{"a", "b", "c", "a"}
				if i%2 == 0 {
					slices.Reverse(keys)
				}
				leave, err := q.enter(t.Context(), keys...)
				if err != nil {
					t.Error(err)
					return
				}
				leave(false)
			}
		})
	}
	wg.Wait()
}

// arrive has a goroutine enter "a" and report; it leaves when told, refused or
// not.
type arrival struct {
	entered atomic.Bool
	leave   chan bool
}

func arrive(t *testing.T, q *queue) *arrival {
	t.Helper()
	a := &arrival{leave: make(chan bool)}
	go func() {
		leave, err := q.enter(t.Context(), "a")
		if err != nil {
			t.Error(err)
			return
		}
		a.entered.Store(true)
		leave(<-a.leave)
	}()
	synctest.Wait()
	return a
}

func (a *arrival) in() bool { return a.entered.Load() }

func (a *arrival) leaves(refused bool) {
	a.leave <- refused
	synctest.Wait()
}

// A hot table: whoever was refused comes back before the others, who are as
// stale as he was.
func TestQueueSavesTheTurnForWhoWasRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(clock.System{})
		winner := arrive(t, q)
		one, two := arrive(t, q), arrive(t, q)
		winner.leaves(false)
		if !one.in() || two.in() {
			t.Fatal("the first in line is not served")
		}
		one.leaves(true)
		if two.in() {
			t.Fatal("the next was served before the refused one could come back")
		}
		time.Sleep(3 * time.Millisecond)
		back := arrive(t, q)
		if !back.in() || two.in() {
			t.Fatal("the refused writer does not go first")
		}
		other := arrive(t, q)
		back.leaves(false)
		if !two.in() || other.in() {
			t.Fatal("the line does not go on in its order")
		}
		two.leaves(false)
		other.leaves(false)
		if n := q.size(); n != 0 {
			t.Errorf("%d keys are still remembered", n)
		}
	})
}

// A client that does not come back costs the line a moment, and clients that
// never do cost it nothing for long.
func TestQueueLosesPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(clock.System{})
		const writers = 60
		first := arrive(t, q)
		var line []*arrival
		for range writers {
			line = append(line, arrive(t, q))
		}
		began := time.Now()
		first.leaves(false)
		for i, a := range line {
			for !a.in() {
				time.Sleep(time.Millisecond)
				synctest.Wait()
			}
			if i > 0 && line[i-1].in() && time.Since(began) > time.Second {
				t.Fatalf("writer %d waits for %v", i, time.Since(began))
			}
			a.leaves(true)
		}
		if waited := time.Since(began); waited > 300*time.Millisecond || waited < firstPatience {
			t.Errorf("%d refused writers that did not come back cost %v", writers, waited)
		}
		if n := q.size(); n != 0 {
			t.Errorf("%d keys are still remembered", n)
		}
	})
}

// The moment fits what returns have taken.
func TestQueueLearnsHowLongReturnsTake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(clock.System{})
		holder := arrive(t, q)
		waiting := arrive(t, q) // somebody to be polite before
		for range 20 {
			holder.leaves(true)
			time.Sleep(200 * time.Microsecond)
			back := arrive(t, q)
			if !back.in() {
				t.Fatal("came too late")
			}
			next := arrive(t, q)
			back.leaves(false)
			holder, waiting = waiting, next
		}
		q.mu.Lock()
		patience := q.lanes["a"].patience
		q.mu.Unlock()
		if patience > 2*minPatience {
			t.Errorf("the line waits %v for returns of 0.2 ms", patience)
		}
		holder.leaves(false)
		waiting.leaves(false)
	})
}

// A saved turn is nobody's: who gives up in line leaves nothing behind.
func TestQueueGivesUpWhileTheTurnIsSaved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(clock.System{})
		holder := arrive(t, q)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := q.enter(ctx, "a")
			failed <- err
		}()
		synctest.Wait()
		holder.leaves(true)
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
		time.Sleep(maxPatience)
		synctest.Wait()
		if n := q.size(); n != 0 {
			t.Errorf("%d keys are still remembered", n)
		}
	})
}

// A client that repeats what can't succeed, as fast as it can, leaves the
// others at least every other turn.
func TestQueueIsNotHeldByAStubbornClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(clock.System{})
		stop := make(chan struct{})
		var mu sync.Mutex
		served := map[bool]int{}
		var all sync.WaitGroup
		for i := range 5 {
			stubborn := i == 0
			all.Go(func() {
				for {
					leave, err := q.enter(t.Context(), "a")
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(time.Millisecond) // the work of a turn
					leave(stubborn)
					mu.Lock()
					served[stubborn]++
					mu.Unlock()
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
					}
				}
			})
		}
		time.Sleep(time.Second)
		close(stop)
		all.Wait()
		if served[false] < served[true] || served[false] < 200 {
			t.Errorf("in a second the others were served %d times, the stubborn one %d", served[false], served[true])
		}
	})
}

// Real timers, for the race detector.
func TestQueueUnderRealTimers(t *testing.T) {
	t.Parallel()
	q := newQueue(clock.System{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 100 {
				leave, err := q.enter(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				leave((n+i)%3 == 0)
				if n%10 == i {
					time.Sleep(3 * time.Millisecond)
				}
			}
		})
	}
	all.Wait()
	if n := q.size(); n != 0 {
		t.Errorf("%d keys are still remembered", n)
	}
}
