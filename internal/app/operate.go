package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/config"
	"github.com/icecore-catalog/icecore/projections"
)

// operatorPool is the number of connections of an operating command.
const operatorPool = 4

// operated is the log as an operating command sees it: as the application
// role, with a sequencer beside it.
type operated struct {
	pools *pools
	store *eventstore.Store
	// source is that of the CloudEvents: the server's id, or the log's as long
	// as nothing was bootstrapped.
	source string
	stop   func() // ends the sequencer
}

// operate opens the log of a migrated database and gives positions to what has
// none yet: where no server runs, nobody else would. warnings hears of what
// does not stop the command.
func (t *Target) operate(ctx context.Context, warnings io.Writer) (*operated, error) {
	p, err := openPools(ctx, config.Database{URL: config.Secret(t.appURL), ReadPool: operatorPool, AppendPool: operatorPool}, nil)
	if err != nil {
		return nil, err
	}
	o := &operated{pools: p}
	if err := checkMigrations(ctx, p.append); err != nil {
		o.close()
		return nil, err
	}
	o.store, err = openLog(ctx, eventstore.Config{
		Pool: p.append, Conn: p.conn, Projectors: projections.Inline(), Logger: slog.New(slog.DiscardHandler),
		PartitionSize: t.config.Log.PartitionSize,
		SigningKey:    t.config.Log.CheckpointKey.Reveal(), VerifierKeys: t.config.Log.CheckpointVerifiers,
	})
	if err != nil {
		o.close()
		return nil, err
	}
	o.source = "urn:icecore:" + o.store.LogID().String()
	facts, err := projections.NewResolver(p.append, projections.Options{}).Resolve(ctx, projections.Query{})
	if err != nil {
		o.close()
		return nil, err
	}
	if id := facts[0].Server.ID; !id.IsNil() {
		o.source = "urn:icecore:" + id.String()
	}
	if err := o.catchUp(ctx); err != nil {
		if !errors.As(err, new(*eventstore.HaltedError)) {
			o.close()
			return nil, err
		}
		fmt.Fprintf(warnings, "icecore: warning: %v; see icecore log repair\n", err)
	}
	// Commits go on beside the command, or are its own: somebody must number
	// them. Where a server runs, its sequencer mostly comes first.
	running, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = o.store.Sequencer().Run(running) // returns nil alone
	}()
	o.stop = func() { cancel(); <-done }
	return o, nil
}

// openLog is eventstore.New with errors that name the setting.
func openLog(ctx context.Context, c eventstore.Config) (*eventstore.Store, error) {
	store, err := eventstore.New(ctx, c)
	switch {
	case errors.Is(err, eventstore.ErrSigningKey):
		return nil, &config.ValueError{Variable: config.Prefix + "CHECKPOINT_KEY", Problem: "is no private key; icecore log checkpoint-key makes one"}
	case errors.Is(err, eventstore.ErrVerifierKey):
		return nil, &config.ValueError{Variable: config.Prefix + "CHECKPOINT_VERIFIERS", Problem: "holds what is no public key (NAME+HASH+KEY)"}
	}
	return store, err
}

// catchUpPatience bounds the wait for holes that only time can settle: a
// writer's transaction that is still open.
const catchUpPatience = 5 * time.Second

// catchUp sequences until nothing is left that could be.
func (o *operated) catchUp(ctx context.Context) error {
	q := o.store.Sequencer()
	defer q.Close()
	deadline, cancel := context.WithTimeout(ctx, catchUpPatience)
	defer cancel()
	for {
		worked, err := q.RunOnce(deadline)
		if err != nil {
			if deadline.Err() != nil && ctx.Err() == nil {
				return nil
			}
			return err
		}
		if !worked {
			return nil
		}
	}
}

func (o *operated) close() {
	if o.stop != nil {
		o.stop()
	}
	o.pools.close()
}
