package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

type options struct {
	binary, cache, out string
	only               string
	methods            string
	log                io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	o := options{log: os.Stderr}
	flag.StringVar(&o.binary, "binary", "bin/icecore", "the server to test")
	flag.StringVar(&o.cache, "cache", ".cache/rck", "folder for the kit's jars and the output of the last runs")
	flag.StringVar(&o.out, "out", "docs/compatibility.md", "file whose generated part is rewritten; empty: none is")
	flag.StringVar(&o.only, "only", "", "names of runs, separated by commas: suite, extended, suite-2, extended-2; the page is not written then")
	flag.StringVar(&o.methods, "methods", "", "tests alone, as Class#method separated by commas; neither skips are compared nor the page is written then")
	flag.Parse()
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "rck:", err)
		os.Exit(1)
	}
}

// runs are what the whole consists of, in this order.
var runs = []spec{
	{name: "suite", title: "suite", class: suiteClass, tests: 157, instances: 1},
	{name: "extended", title: "extended", class: extendedClass, tests: 106, instances: 1},
	{name: "suite-2", title: "suite, two instances", class: suiteClass, tests: 157, instances: 2},
	{name: "extended-2", title: "extended, two instances", class: extendedClass, tests: 106, instances: 2},
}

// spec is one run of the kit.
type spec struct {
	name, title string
	class       string // what the launcher selects
	tests       int    // how many this release of the kit has: none may go missing unseen
	instances   int    // icecore processes on the one database
}

// result is what a run gave.
type result struct {
	spec  spec
	cases []testCase
}

func run(ctx context.Context, o options) error {
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	skips, err := parseSkips(skipList)
	if err != nil {
		return err
	}
	if o.cache, err = filepath.Abs(o.cache); err != nil {
		return err
	}
	k, err := prepareKit(ctx, o.cache, o.log)
	if err != nil {
		return err
	}
	var results []result
	var failures []error
	for _, s := range chosen {
		start := time.Now()
		cases, wrong, err := s.run(ctx, o, k)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		results = append(results, result{s, cases})
		tell(o.log, s, cases, time.Since(start))
		problems := failed(cases)
		if o.methods == "" {
			problems = append(problems, skips.compare(cases)...)
			if len(cases) != s.tests {
				problems = append(problems, fmt.Sprintf("%d tests ran instead of %d", len(cases), s.tests))
			}
		}
		for _, err := range wrong {
			problems = append(problems, err.Error())
		}
		for _, p := range problems {
			fmt.Fprintf(o.log, "  %s\n", p)
		}
		if len(problems) > 0 {
			failures = append(failures, fmt.Errorf("%s: %d problems; the kit's output is in %s", s.name, len(problems), s.folder(o.cache)))
		}
	}
	if o.out != "" && o.only == "" && o.methods == "" {
		failures = append(failures, writePage(o.out, results, skips))
	}
	return errors.Join(failures...)
}

func choose(only string) ([]spec, error) {
	if only == "" {
		return runs, nil
	}
	var chosen []spec
	for _, name := range strings.Split(only, ",") {
		found := false
		for _, s := range runs {
			if s.name == name {
				chosen, found = append(chosen, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no run %q", name)
		}
	}
	return chosen, nil
}

// folder keeps the output of the last run of this name.
func (s spec) folder(cache string) string { return filepath.Join(cache, "runs", s.name) }

// run starts a fresh catalog, lets the kit loose on it, and looks at what the
// catalog made of that; wrong is what it found there.
func (s spec) run(ctx context.Context, o options, k *kit) (cases []testCase, wrong []error, err error) {
	out := s.folder(o.cache)
	if err := os.RemoveAll(out); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, nil, err
	}
	folders, err := claimFolders(warehouseRoot)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, folders.remove()) }()
	c, err := startCatalog(ctx, o.binary, out, s.instances)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, c.stop(context.WithoutCancel(ctx))) }()
	selectors := []string{"-c", s.class}
	if o.methods != "" {
		selectors = nil
		for _, m := range strings.Split(o.methods, ",") {
			selectors = append(selectors, "-m", javaPackage+m)
		}
	}
	if cases, err = k.run(ctx, c.url, out, selectors); err != nil {
		return nil, nil, err
	}
	checks := []error{c.verify(ctx), c.locations(ctx, out, folders)}
	if o.methods == "" {
		checks = append(checks, c.evenly())
	}
	for _, err := range checks {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	return cases, wrong, nil
}

func tell(w io.Writer, s spec, cases []testCase, took time.Duration) {
	n := count(cases)
	fmt.Fprintf(w, "%s: %d passed, %d failed, %d skipped (%d s)\n", s.title, n[passed], n[failedState], n[skipped], int(took.Seconds()))
}
