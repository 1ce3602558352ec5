//go:build unix

package eventstore

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// The test binary, started again with these variables, is a sequencer of its
// own process, which a test can freeze and kill.
const (
	helperURL  = "ICECORE_TEST_SEQUENCER"      // database to sequence
	helperHold = "ICECORE_TEST_SEQUENCER_HOLD" // do one round and wait inside it for a byte
)

func TestMain(m *testing.M) {
	if url := os.Getenv(helperURL); url != "" {
		os.Exit(helper(url))
	}
	pgtest.Main(m)
}

// helper is the main function of such a process.
func helper(url string) int {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	defer pool.Close()
	config := Config{Pool: pool}
	hold := os.Getenv(helperHold) != ""
	if hold {
		config.OnBatch = func(Batch, *pgx.Batch) {
			fmt.Println("holding")
			_, _ = os.Stdin.Read(make([]byte, 1))
		}
	}
	store, err := New(ctx, config)
	if err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	q := store.Sequencer()
	if !hold {
		go func() { // ends with the test, whatever becomes of that
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
		fmt.Println("running")
		_ = q.Run(ctx)
		return 0
	}
	_, err = q.RunOnce(ctx)
	fmt.Println("round:", err)
	return 0
}

// process is a running helper.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// startHelper starts one and waits for its first line.
func startHelper(t testing.TB, db *pgtest.DB, first string, env ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self)}
	p.cmd.Env = append(os.Environ(), append(env, helperURL+"="+db.URL(pgtest.RoleApp))...)
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	p.lines = bufio.NewScanner(out)
	if line := p.line(t); line != first {
		t.Fatalf("the helper said %q instead of %q", line, first)
	}
	return p
}

func (p *process) line(t testing.TB) string {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatalf("the helper ended: %v", p.lines.Err())
	}
	return p.lines.Text()
}

func (p *process) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("%s: %v", sig, err)
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// A sequencer that freezes inside its round is replaced, and cannot finish its
// round when it thaws.
func TestFrozenSequencerIsReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.append(t, creation(testIDs.New()))
	frozen := startHelper(t, b.db, "holding", helperHold+"=1")
	frozen.signal(t, syscall.SIGSTOP)
	b.append(t, creation(testIDs.New()))

	q := b.Sequencer()
	defer q.Close()
	began := time.Now()
	rounds := 0
	until(t, "another instance sequences", func(context.Context) (bool, error) {
		rounds++
		return q.RunOnce(t.Context())
	})
	if waited := time.Since(began); rounds < 2 || waited > 15*time.Second {
		t.Errorf("replaced after %s and %d rounds", waited, rounds)
	}
	b.drain(t)
	frozen.signal(t, syscall.SIGCONT)
	if _, err := frozen.stdin.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if line := frozen.line(t); !strings.HasPrefix(line, "round: ") || strings.HasSuffix(line, "<nil>") {
		t.Errorf("the thawed sequencer said %q", line)
	}
	if log := b.all(t); len(log) != 2 {
		t.Errorf("%d entries", len(log))
	}
	report, err := b.VerifyLog(t.Context(), nil)
	if err != nil || !report.OK() {
		t.Errorf("verify: %v, %v", report.Problems, err)
	}
}

// A sequencer that is killed inside its round leaves nothing of it.
func TestKilledSequencerLeavesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.append(t, creation(testIDs.New()))
	killed := startHelper(t, b.db, "holding", helperHold+"=1")
	killed.kill()
	if n := b.head(t).Size; n != 0 {
		t.Errorf("size %d", n)
	}
	q := b.Sequencer()
	defer q.Close()
	until(t, "another instance sequences", func(context.Context) (bool, error) { return q.RunOnce(t.Context()) })
	if log := b.all(t); len(log) != 1 {
		t.Errorf("%d entries", len(log))
	}
}
