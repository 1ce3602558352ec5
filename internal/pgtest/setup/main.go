// Command setup gets what the database suites need besides Go: PostgreSQL of
// the versions given as arguments, and PgBouncer. What is there already is left
// alone. The exit code is 1 if a PostgreSQL can't be had, and, under CI=true, if
// PgBouncer can't: people's tests are skipped without it, CI's fail.
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
	if err := bouncer(ctx); err != nil {
		err = fmt.Errorf("PgBouncer: %w", err)
		if os.Getenv("CI") == "true" {
			errs = append(errs, err)
		} else {
			fmt.Fprintln(os.Stderr, err)
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

func bouncer(ctx context.Context) error {
	if _, err := exec.LookPath("pgbouncer"); err == nil {
		return nil
	}
	if _, err := os.Stat("/usr/sbin/pgbouncer"); err == nil {
		return nil
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return errors.New("install it (apt-get install pgbouncer, brew install pgbouncer, dnf install pgbouncer); without it some tests are skipped")
	}
	fmt.Fprintln(os.Stderr, "Installing PgBouncer")
	if run(ctx, apt, "install", "-y", "-qq", "--no-install-recommends", "pgbouncer") == nil {
		return nil
	}
	if err := run(ctx, apt, "update", "-qq"); err != nil {
		return err
	}
	return run(ctx, apt, "install", "-y", "-qq", "--no-install-recommends", "pgbouncer")
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
