package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/icecore-catalog/icecore/bench/hammer"
)

type hammerCommand struct {
	URI       string        `help:"Base URI of any Iceberg REST catalog, without /v1." default:"http://127.0.0.1:8181/catalog"`
	Warehouse string        `help:"Warehouse to ask the catalog for." default:"demo"`
	Token     string        `help:"Bearer token to send." env:"ICECORE_HAMMER_TOKEN" placeholder:"TOKEN"`
	Workers   int           `help:"Requests at the same time." default:"8"`
	Tables    int           `help:"Tables to make for the run. With fewer tables than workers, writers take turns." default:"100"`
	Duration  time.Duration `help:"How long to measure." default:"10s"`
	Mix       string        `help:"Weights of load, notmodified, commit and list." default:"load=80,commit=20"`
	Seed      uint64        `help:"Seed of the choices; 0 takes one by chance and prints it."`
	Keep      bool          `help:"Leave the namespace and its tables behind."`
	JSON      bool          `name:"json" help:"Print the report as JSON."`
}

// errHammered says that the catalog gave a false answer or lost a commit.
var errHammered = errors.New("the catalog gave false answers")

// Run hammers, prints the report, and fails if any answer was false.
func (c hammerCommand) Run(ctx context.Context, env environment) error {
	mix, err := hammer.ParseMix(c.Mix)
	if err != nil {
		return usageError{err}
	}
	if c.Workers < 1 || c.Tables < 1 || c.Duration <= 0 {
		return usageError{errors.New("--workers, --tables and --duration must be above zero")}
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64() //nolint:gosec // load, not secrets
	}
	fmt.Fprintf(env.stderr, "seed %d\n", c.Seed)
	report, err := hammer.Run(ctx, hammer.Options{
		URI: c.URI, Warehouse: c.Warehouse, Token: c.Token, Workers: c.Workers, Tables: c.Tables,
		Duration: c.Duration, Mix: mix, Seed: c.Seed, Keep: c.Keep,
	}, env.stderr)
	if err != nil {
		return err
	}
	if err := c.print(env.stdout, report); err != nil {
		return err
	}
	if !report.Clean() {
		return errHammered
	}
	return nil
}

func (c hammerCommand) print(w io.Writer, report hammer.Report) error {
	if c.JSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	fmt.Fprintf(w, "%-12s %10s %10s %10s %10s %8s %8s %8s\n", "operation", "requests", "per s", "p50 ms", "p99 ms", "errors", "unknown", "wrong")
	for _, f := range report.Figures {
		fmt.Fprintf(w, "%-12s %10d %10.0f %10.2f %10.2f %8d %8d %8d\n", f.Operation, f.Requests, f.PerSecond,
			float64(f.P50Micros)/1000, float64(f.P99Micros)/1000, f.Errors, f.Unknown, f.Wrong)
	}
	fmt.Fprintf(w, "lost %d, invented %d\n", report.Lost, report.Phantoms)
	for _, example := range report.Examples {
		fmt.Fprintln(w, "  ", example)
	}
	return nil
}
