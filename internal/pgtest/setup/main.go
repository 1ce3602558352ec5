// Command setup gets what the suites need besides Go: PostgreSQL of the versions
// given as arguments, PgBouncer, and jq for a guide that is run as written. What
// is there already is left alone. The exit code is 1 if a PostgreSQL can't be
// had, and, under CI=true, if one of the others can't: people's tests are skipped
// without them, CI's fail.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/icecore-catalog/icecore/internal/postgres"
)

func main() {
	if err := setup(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func setup(majors []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var errs []error
	for _, major := range majors {
		if err := server(ctx, major); err != nil {
			errs = append(errs, fmt.Errorf("PostgreSQL %s: %w", major, err))
		}
	}
	for _, name := range []string{"pgbouncer", "jq"} {
		err := program(ctx, name)
		switch {
		case err == nil:
		case os.Getenv("CI") == "true":
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		default:
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		}
	}
	return errors.Join(errs...)
}

// server finds one version, or gets it: by Maven, which knows its company's
// mirrors, if that is installed, else by itself.
func server(ctx context.Context, major string) error {
	o := postgres.FindOptions{Major: major, NoDownload: true, Mirror: os.Getenv("ICECORE_PG_MIRROR"),
		Announce: func(line string) { fmt.Fprintln(os.Stderr, line) }}
	if _, err := postgres.Find(ctx, o); err == nil {
		return nil
	}
	maven, lookErr := exec.LookPath("mvn")
	coordinates, knownErr := postgres.Coordinates(major)
	var mavenErr error
	if lookErr == nil && knownErr == nil && o.Mirror == "" {
		fmt.Fprintln(os.Stderr, "Asking Maven for", coordinates)
		mavenErr = run(ctx, maven, "-q", "-B", "dependency:get", "-Dartifact="+coordinates, "-Dtransitive=false")
	}
	o.NoDownload = false
	_, err := postgres.Find(ctx, o)
	if err != nil {
		return errors.Join(err, mavenErr)
	}
	return nil
}

// program finds a program, or installs the package of its name.
func program(ctx context.Context, name string) error {
	if _, err := exec.LookPath(name); err == nil {
		return nil
	}
	if _, err := os.Stat("/usr/sbin/" + name); err == nil { // not on everybody's PATH
		return nil
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("install it (apt-get install %[1]s, brew install %[1]s, dnf install %[1]s); without it some tests are skipped", name)
	}
	fmt.Fprintln(os.Stderr, "Installing", name)
	install := []string{"install", "-y", "-qq", "--no-install-recommends", name}
	if run(ctx, apt, install...) == nil {
		return nil
	}
	if err := run(ctx, apt, "update", "-qq"); err != nil {
		return err
	}
	return run(ctx, apt, install...)
}

// run runs a program whose chatter matters only when it fails.
func run(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w: %s", program, args, err, out)
	}
	return nil
}
