package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/app/history"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// LogOptions choose and shape what the log commands print.
type LogOptions struct {
	After  *int64 // nil: the newest events
	Limit  int
	Stream string // id of an object; empty: all
	Type   string // entity, entity.verb or full type; empty: all
	JSON   bool   // CloudEvents, one a line
}

func (o LogOptions) filter() (history.Filter, error) {
	f := history.Filter{Type: o.Type}
	if o.Stream != "" {
		id, err := ids.Parse(o.Stream)
		if err != nil {
			return f, fmt.Errorf("--stream %q is no id of an object", o.Stream)
		}
		f.Stream = id
	}
	if !f.Known() {
		return f, fmt.Errorf("--type %q is no type of event; try table, or table.committed", o.Type)
	}
	return f, nil
}

func (o LogOptions) printer(w io.Writer, log *operated) history.Printer {
	if o.JSON {
		return &history.Lines{W: w, Source: log.source}
	}
	return &history.Table{W: w}
}

// ListLog prints events in order.
func ListLog(ctx context.Context, t *Target, o LogOptions, out, warnings io.Writer) error {
	f, err := o.filter()
	if err != nil {
		return err
	}
	log, err := t.operate(ctx, warnings)
	if err != nil {
		return err
	}
	defer log.close()
	return history.List(ctx, log.store, f, o.After, o.Limit, o.printer(out, log))
}

// FollowLog prints events as they get their positions, until ctx ends.
func FollowLog(ctx context.Context, t *Target, o LogOptions, out, warnings io.Writer) error {
	f, err := o.filter()
	if err != nil {
		return err
	}
	log, err := t.operate(ctx, warnings)
	if err != nil {
		return err
	}
	defer log.close()
	listen, stop := context.WithCancel(ctx)
	listened := make(chan error, 1)
	go func() { listened <- log.store.Listen(listen) }()
	err = history.Follow(ctx, log.store, f, o.After, o.printer(out, log))
	stop()
	return errors.Join(err, <-listened)
}

// ShowEvent prints one event, named by position or by id.
func ShowEvent(ctx context.Context, t *Target, name string, asJSON bool, out, warnings io.Writer) error {
	log, err := t.operate(ctx, warnings)
	if err != nil {
		return err
	}
	defer log.close()
	entry, err := findEvent(ctx, log.store, name)
	if err != nil {
		return err
	}
	if asJSON {
		lines := history.Lines{W: out, Source: log.source}
		return lines.Print(&entry)
	}
	return history.Show(out, &entry)
}

func findEvent(ctx context.Context, log *eventstore.Store, name string) (eventstore.Entry, error) {
	if id, err := ids.Parse(name); err == nil {
		entry, err := log.Entry(ctx, id)
		if errors.Is(err, eventstore.ErrNotSequenced) {
			return entry, fmt.Errorf("there is no event %s in the log", id)
		}
		return entry, err
	}
	position, err := strconv.ParseInt(name, 10, 64)
	if err != nil || position < 1 {
		return eventstore.Entry{}, fmt.Errorf("%q is neither a position nor the id of an event", name)
	}
	entries, err := log.ReadAfter(ctx, position-1, 1)
	if err != nil {
		return eventstore.Entry{}, err
	}
	if len(entries) == 0 || entries[0].Position != position {
		return eventstore.Entry{}, fmt.Errorf("the log does not reach position %d", position)
	}
	return entries[0], nil
}

// DiffLog prints what changed after one position, up to another.
func DiffLog(ctx context.Context, t *Target, from, to int64, o LogOptions, out, warnings io.Writer) error {
	f, err := o.filter()
	if err != nil {
		return err
	}
	if from < 0 || to < from {
		return fmt.Errorf("from %d to %d is no range of positions", from, to)
	}
	log, err := t.operate(ctx, warnings)
	if err != nil {
		return err
	}
	defer log.close()
	head, err := log.store.Head(ctx)
	if err != nil {
		return err
	}
	if to > head.Size {
		return fmt.Errorf("the log reaches position %d, not %d", head.Size, to)
	}
	objects, err := history.Diff(ctx, log.store, f, from, to)
	if err != nil {
		return err
	}
	if o.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(objects)
	}
	return history.WriteDiff(out, objects)
}

// RepairOptions are an operator's decision about a halted feed.
type RepairOptions struct {
	Skip, Accept int64 // number of the commit; 0: not that decision
	Reason       string
}

// RepairLog says why the feed has halted, or carries out the decision.
func RepairLog(ctx context.Context, t *Target, o RepairOptions, out, warnings io.Writer) error {
	log, err := t.operate(ctx, warnings)
	if err != nil {
		return err
	}
	defer log.close()
	if o.Skip == 0 && o.Accept == 0 {
		head, err := log.store.Head(ctx)
		if err != nil {
			return err
		}
		if head.Halted == nil {
			_, err := fmt.Fprintf(out, "the feed is running, at position %d\n", head.Size)
			return err
		}
		_, err = fmt.Fprintf(out, "%v\nDecide: --skip %[2]d passes over that commit for ever, --accept %[2]d numbers it as it is; both need --reason.\n",
			head.Halted, head.Halted.AppendSeq)
		return err
	}
	repair := eventstore.Repair{
		AppendSeq: o.Skip, Reason: o.Reason, Actor: authz.System.ID, RequestID: ids.NewV7(clock.System{}).New(),
	}
	if o.Accept != 0 {
		repair.AppendSeq, repair.Accept = o.Accept, true
	}
	receipt, err := log.store.Repair(ctx, repair)
	if err != nil {
		return err
	}
	if err := log.catchUp(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "decided; the decision is event %s\n", receipt.Records[0].ID)
	return err
}

// NewCheckpointKey prints a new signing key and its public half.
func NewCheckpointKey(name string, out io.Writer) error {
	signing, verifying, err := eventstore.NewSigningKey(rand.Reader, name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "ICECORE_CHECKPOINT_KEY=%s\n# for whoever checks: %s\n", signing, verifying)
	return err
}

// ShowCheckpoint prints the newest signed checkpoint, to be kept elsewhere.
func ShowCheckpoint(ctx context.Context, t *Target, out, warnings io.Writer) error {
	log, err := t.operate(ctx, warnings)
	if err != nil {
		return err
	}
	defer log.close()
	var note []byte
	if t.config.Log.CheckpointKey != "" {
		note, err = log.store.Checkpoint(ctx)
	} else {
		note, err = log.store.LatestCheckpoint(ctx)
	}
	if err != nil {
		return err
	}
	if note == nil {
		return errors.New("there is no checkpoint, and without ICECORE_CHECKPOINT_KEY none can be signed")
	}
	_, err = out.Write(note)
	return err
}
