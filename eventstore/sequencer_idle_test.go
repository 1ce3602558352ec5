package eventstore

import (
	"testing"
	"time"
)

func TestIdleSequencerLooksEverMoreSeldom(t *testing.T) {
	t.Parallel()
	const interval = 25 * time.Millisecond
	var waited time.Duration
	looks := 0
	for idle := 0; waited < time.Minute; idle++ {
		wait := idleWait(interval, idle)
		if wait < interval || wait > 500*time.Millisecond {
			t.Fatalf("after %d idle looks it waits %v", idle, wait)
		}
		if waited < time.Second && wait != interval {
			t.Errorf("%v after the last work it waits %v", waited, wait)
		}
		waited += wait
		looks++
	}
	if looks > 200 {
		t.Errorf("%d looks in an idle minute", looks)
	}
	if wait := idleWait(interval, 1<<40); wait != 500*time.Millisecond {
		t.Errorf("after ages it waits %v", wait)
	}
}
