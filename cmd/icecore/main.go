// Command icecore is the catalog: server, developer's sandbox and operator's
// tools in one binary. Each subcommand is one file here, which reads its
// arguments and calls internal/app.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/icecore-catalog/icecore/internal/app"
	"github.com/icecore-catalog/icecore/internal/config"
)

// Exit codes of all subcommands.
const (
	exitFailure = 1 // it was tried and failed; verify: something is wrong
	exitUsage   = 2 // the arguments or settings are wrong; nothing was tried
)

// commands is the command line; kong reads the tags.
type commands struct {
	Dev         devCommand         `cmd:"" help:"Run everything on this machine: PostgreSQL, the server, a warehouse called demo."`
	Serve       serveCommand       `cmd:"" help:"Run the server in production, on a database that is given and migrated."`
	Migrate     migrateCommand     `cmd:"" help:"Bring the database's schema up to date, as its owner."`
	Rebuild     rebuildCommand     `cmd:"" help:"Build the read models anew from the log, compare, and swap."`
	Verify      verifyCommand      `cmd:"" help:"Check the log, the read models and the metadata documents against each other."`
	Destination destinationCommand `cmd:"" help:"Publish the stream of events to NATS, Kafka, a webhook or a log: add, list, pause, replay…"`
	Log         logCommand         `cmd:"" help:"Show what happened: list, show, follow, diff; and repair a halted feed."`
	Task        taskCommand        `cmd:"" help:"Show and control tasks: purges and what else the server does later."`
	Hammer      hammerCommand      `cmd:"" help:"Load any Iceberg REST catalog and check every answer."`
	Healthcheck healthcheckCommand `cmd:"" help:"Ask a running server whether it is ready; for container probes."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

// environment is what a subcommand may touch of the process.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
}

// get returns an environment variable, or "".
func (e environment) get(name string) string {
	for _, kv := range e.environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// warn prints a sentence that is no failure.
func (e environment) warn(sentence string) {
	_, _ = fmt.Fprintln(e.stderr, "icecore: warning:", sentence)
}

// usageError is a wrong argument or setting.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], environment{os.Stdin, os.Stdout, os.Stderr, os.Environ()})
	stop()
	os.Exit(code)
}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, env environment) int {
	var exit int
	exited := false
	parser, err := kong.New(new(commands),
		kong.Name("icecore"),
		kong.Description("An event-sourced Apache Iceberg REST catalog on PostgreSQL."),
		kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(env.stdout, env.stderr),
		kong.Exit(func(code int) { exit, exited = code, true }),
		kong.Vars{"data": app.DefaultData},
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(env),
	)
	if err != nil {
		fmt.Fprintln(env.stderr, "icecore:", err)
		return exitFailure
	}
	chosen, err := parser.Parse(args)
	if exited { // --help
		return exit
	}
	if err != nil {
		fmt.Fprintln(env.stderr, "icecore:", err)
		return exitUsage
	}
	switch err := chosen.Run(); {
	case err == nil:
		return 0
	case errors.As(err, new(usageError)), errors.As(err, new(*config.ValueError)), errors.Is(err, app.ErrNoTarget):
		fmt.Fprintln(env.stderr, "icecore:", err)
		return exitUsage
	case errors.Is(err, errFindings): // they were printed already
		return exitFailure
	default:
		fmt.Fprintln(env.stderr, "icecore:", err)
		return exitFailure
	}
}
