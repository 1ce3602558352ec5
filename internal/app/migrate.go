package app

import (
	"context"
	"fmt"
	"io"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/config"
	"github.com/icecore-catalog/icecore/schema"
)

// appRole is the role that the server will work as, from its own URL.
func (t *Target) appRole() (string, error) {
	c, err := parseURL(config.Prefix+"DATABASE_URL", t.appURL)
	if err != nil {
		return "", err
	}
	return c.User, nil
}

// Migrate applies the missing migrations as the owner and names each on out.
func Migrate(ctx context.Context, t *Target, out io.Writer) error {
	role, err := t.appRole()
	if err != nil {
		return err
	}
	conn, err := t.owner(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	state, err := schema.Migrate(ctx, conn, schema.Options{
		AppRole: role,
		Applied: func(m schema.Migration) { _, _ = fmt.Fprintf(out, "applied %s\n", m) },
		Waiting: func() { _, _ = fmt.Fprintln(out, "waiting for whoever uses what is to be changed") },
	})
	if err != nil {
		return err
	}
	if err := eventstore.MakePartitions(ctx, conn, t.config.Log.PartitionSize, 1); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "the schema is at %d; the server works as %s\n", state.Target, role)
	return err
}

// MigrationStatus says what is applied and what is missing, and whether the
// server would start on it.
func MigrationStatus(ctx context.Context, t *Target, out io.Writer) (ready bool, err error) {
	conn, err := connect(ctx, config.Prefix+"DATABASE_URL", t.appURL)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	state, err := schema.Status(ctx, conn, schema.Options{})
	if err != nil {
		return false, err
	}
	_, _ = fmt.Fprintf(out, "the schema is at %d, this program needs %d\n", state.Current, state.Target)
	for _, m := range state.Pending {
		_, _ = fmt.Fprintf(out, "missing %s\n", m)
	}
	return state.Ready(), nil
}
