package commands

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestQueueServesInOrderOfArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
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
				leave()
			}()
			synctest.Wait() // the next one comes when this one stands in line
		}
		leave()
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
	q := newQueue()
	leaveA, err := q.enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	leaveB, err := q.enter(t.Context(), "b") // would hang if "a" stood in the way
	if err != nil {
		t.Fatal(err)
	}
	leaveB()
	leaveA()
}

func TestQueueGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
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
		leaveA()
		leave()
		if n := q.size(); n != 0 {
			t.Errorf("%d keys are still remembered", n)
		}
	})
}

func TestQueueTakesSeveralKeysWithoutDeadlock(t *testing.T) {
	t.Parallel()
	q := newQueue()
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
				leave()
			}
		})
	}
	wg.Wait()
}
