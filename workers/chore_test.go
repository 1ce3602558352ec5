package workers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// onlyOne is a chore that tells when it is done by two at once.
func onlyOne(pool *pgxpool.Pool) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		var alone bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(4711)").Scan(&alone); err != nil {
			return err
		}
		if !alone {
			fmt.Println("overlap")
			return nil
		}
		_, err = conn.Exec(ctx, "SELECT pg_sleep(0.02)")
		_, unlocked := conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock(4711)")
		fmt.Println("did")
		return errors.Join(err, unlocked)
	}
}

// instance is a process that does chores.
type instance struct {
	cmd          *exec.Cmd
	did, overlap atomic.Int64
}

func startInstance(t *testing.T, w *world) *instance {
	t.Helper()
	i := &instance{}
	var lines *bufio.Scanner
	i.cmd, lines = startProcess(t, w, helperDoes+"=chores")
	go func() {
		for lines.Scan() {
			switch lines.Text() {
			case "did":
				i.did.Add(1)
			case "overlap":
				i.overlap.Add(1)
			}
		}
	}()
	return i
}

// Exactly one of many instances does a chore at a time, and others go on when the
// one that was elected is killed.
func TestChoresGoOnAfterTheLeaderIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	leader := startInstance(t, w)
	eventually(t, "the first chore", func() bool { return leader.did.Load() > 0 })
	others := []*instance{startInstance(t, w), startInstance(t, w)}
	done := func() (n int64) {
		for _, o := range others {
			n += o.did.Load()
		}
		return n
	}
	// The elected one makes the jobs, any one does them.
	eventually(t, "chores of the others", func() bool { return done() > 3 })
	if err := leader.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = leader.cmd.Wait() // it says that it was killed
	at := done()
	eventually(t, "chores after the kill", func() bool { return done() > at+5 })
	for n, i := range append(others, leader) {
		if i.overlap.Load() > 0 {
			t.Errorf("instance %d met another one %d times", n, i.overlap.Load())
		}
	}
	var unended int
	if err := w.Pool.QueryRow(t.Context(), `SELECT count(*) FROM river.river_job
		WHERE kind = 'chore' AND state NOT IN ('completed', 'cancelled', 'discarded')`).Scan(&unended); err != nil || unended > 1 {
		t.Errorf("%d chores wait or run, %v", unended, err)
	}
}

// What a chore fails at is tried again, and told when its attempts are used up.
func TestAChoreThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	var tries atomic.Int64
	c := w.config()
	c.Chores = []Chore{{Name: "fails-once", Every: time.Hour, Do: func(context.Context) error {
		if tries.Add(1) == 1 {
			return errors.New("the first time")
		}
		return nil
	}}}
	defer w.run(c)()
	eventually(t, "a second try", func() bool { return tries.Load() == 2 })
}
