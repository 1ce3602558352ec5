package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/icecore-catalog/icecore/e2e/nats"
)

// options are what a run is made from.
type options struct {
	binary  string
	commits int
	seed    uint64
	faults  int // 0: as many as fit the commits
	kafka   bool
	nats    bool
	seeds   bool
	failed  bool // keep the folder of a run that went well, too
	report  string
	mode    string
}

func main() {
	nats.Helper()
	if done, err := cleanerHelper(os.Args); done {
		if err != nil {
			fmt.Fprintln(os.Stderr, "clean-up:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var o options
	flag.StringVar(&o.binary, "binary", "bin/icecore", "the server to torment")
	flag.IntVar(&o.commits, "commits", 20_000, "acknowledged commits to reach (or CHAOS_COMMITS)")
	flag.Uint64Var(&o.seed, "seed", 0, "repeats the choices of a run (or CHAOS_SEED); 0 draws one")
	flag.IntVar(&o.faults, "faults", 0, "how many faults; 0: one in a hundred commits")
	flag.BoolVar(&o.kafka, "kafka", true, "with a Kafka broker (needs a JDK 17 or newer and, once, Maven)")
	flag.BoolVar(&o.nats, "nats", true, "with a NATS server")
	flag.BoolVar(&o.seeds, "seeds", false, "run the seeds that failed once, of testdata/seeds, instead of one of its own")
	flag.BoolVar(&o.failed, "keep", false, "keep the run's folder also if it went well")
	flag.StringVar(&o.report, "report", "", "file whose generated part is rewritten, such as docs/reliability.md")
	flag.StringVar(&o.mode, "mode", "faults", "faults, or failover: an asynchronous standby takes over, and what was lost is told")
	flag.Parse()
	err := errors.Join(o.environment(), o.check())
	if err == nil {
		err = all(ctx, o)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// environment takes what tasks hand on.
func (o *options) environment() error {
	if text := os.Getenv("CHAOS_COMMITS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("CHAOS_COMMITS: %w", err)
		}
		o.commits = n
	}
	if text := os.Getenv("CHAOS_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("CHAOS_SEED: %w", err)
		}
		o.seed = n
	}
	return nil
}

func (o *options) check() error {
	if o.commits < 1 {
		return errors.New("at least one commit")
	}
	if o.mode != "faults" && o.mode != "failover" {
		return fmt.Errorf("there is no mode %q", o.mode)
	}
	var err error
	o.binary, err = filepath.Abs(o.binary)
	if err == nil {
		_, err = os.Stat(o.binary)
	}
	return err
}

// all runs one seed, or those that failed once.
func all(ctx context.Context, o options) error {
	seeds := []uint64{o.seed}
	if o.seeds {
		var err error
		if seeds, err = readSeeds("e2e/chaos/testdata/seeds"); err != nil {
			return err
		}
	}
	for _, seed := range seeds {
		if seed == 0 {
			seed = rand.Uint64()
		}
		one := o
		one.seed = seed
		fmt.Printf("CHAOS_SEED=%d CHAOS_COMMITS=%d\n", seed, o.commits)
		start := time.Now()
		run := runFaults
		if o.mode == "failover" {
			run = runFailover
		}
		if err := run(ctx, one); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		fmt.Printf("seed %d passed in %s\n", seed, time.Since(start).Round(time.Second))
	}
	return nil
}

// readSeeds reads one number a line; what follows a # is a remark.
func readSeeds(path string) ([]uint64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var seeds []uint64
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		n, err := strconv.ParseUint(line, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		seeds = append(seeds, n)
	}
	return seeds, nil
}
