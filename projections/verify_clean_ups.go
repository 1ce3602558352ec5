package projections

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// startedCleanUp is a clean-up that the replay met.
type startedCleanUp struct {
	stream, event ids.ID
	position      int64
	started       *catalog.CleanUpStarted
	kept          map[string]bool
}

// noteCleanUp has the replay remember clean-ups by their objects.
func (r *replayer) noteCleanUp(e *eventstore.Entry, event catalog.Event) {
	started, ok := event.(*catalog.CleanUpStarted)
	if !ok {
		return
	}
	if r.cleanUps == nil {
		r.cleanUps = map[ids.ID][]startedCleanUp{}
	}
	r.cleanUps[started.Object] = append(r.cleanUps[started.Object], startedCleanUp{stream: e.Stream, event: e.ID, position: e.Position})
}

// named is one naming of a metadata file in the history of an object.
type named struct {
	position int64
	time     time.Time
	version  int64
}

// cleanUps holds each line of the manifests of deletions against the history of the
// object: what an event names is not an orphan, what was part of a state within the
// undo window does not go, and what was deleted is never named again.
func (v *verifier) cleanUps(ctx context.Context) error {
	for object, list := range v.replay.cleanUps {
		if err := v.cleanUpsOf(ctx, object, list); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) cleanUpsOf(ctx context.Context, object ids.ID, list []startedCleanUp) error {
	lines := map[ids.ID]bool{}
	for i := range list {
		c := &list[i]
		c.kept = map[string]bool{}
		err := v.history(ctx, c.stream, func(_ *eventstore.Entry, event catalog.Event) error {
			switch e := event.(type) {
			case *catalog.CleanUpStarted:
				c.started = e
			case *catalog.CleanUpFinished:
				for _, location := range e.Kept {
					c.kept[location] = true
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if c.started == nil {
			continue // erased
		}
		for j := range c.started.Files {
			if id, ok := catalog.FileIDIn(c.started.Files[j].Location); ok {
				lines[id] = true
			}
		}
	}
	// The states of the object: all in order, and those that name a file of a line.
	var states []named
	names := map[ids.ID][]named{}
	erased := false
	last := ""
	err := v.history(ctx, object, func(e *eventstore.Entry, event catalog.Event) error {
		erased = erased || event == nil
		file := fileOf(event)
		if file == nil {
			return nil
		}
		last = file.MetadataLocation
		n := named{e.Position, e.LogTime, e.Version}
		states = append(states, n)
		if id, ok := catalog.FileIDIn(file.MetadataLocation); ok && lines[id] {
			names[id] = append(names[id], n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if erased {
		v.report.Skipped++
		return nil
	}
	gone := map[ids.ID]*startedCleanUp{}
	for i := range list {
		c := &list[i]
		if c.started == nil {
			v.report.Skipped++
			continue
		}
		for j := range c.started.Files {
			f := &c.started.Files[j]
			v.report.CleanUpLines++
			id, ok := catalog.FileIDIn(f.Location)
			wrong := "its name is none that the server gives"
			if ok {
				wrong = wrongLine(c, f, names[id], states)
			}
			if wrong != "" {
				v.report.add(v.MaxFindings, Finding{Kind: CleanUpWrong, Object: object, Event: c.event, Location: f.Location, Detail: wrong})
			}
			if ok && !c.kept[f.Location] {
				gone[id] = c
			}
		}
	}
	return v.logNamesGone(ctx, object, last, gone)
}

// wrongLine says what is wrong with a line of a manifest.
func wrongLine(c *startedCleanUp, f *catalog.CleanedFile, names, states []named) string {
	before := false
	since := time.UnixMilli(c.started.KeptSinceMS)
	for _, n := range names {
		if n.position > c.position {
			if !c.kept[f.Location] {
				return fmt.Sprintf("it was deleted, and the event at position %d names it", n.position)
			}
			continue
		}
		before = true
		// It was the state until the next one, if there was one by then.
		until := int64(0)
		var left time.Time
		for _, s := range states {
			if s.position > n.position && s.position < c.position {
				until, left = s.position, s.time
				break
			}
		}
		switch {
		case until == 0:
			return "it was the object's state when it was deleted"
		case !left.Before(since):
			return fmt.Sprintf("it was a state until position %d, within the undo window, when it was deleted", until)
		}
	}
	switch {
	case before && f.Reason == catalog.CleanedOrphan:
		return fmt.Sprintf("it is no orphan: the event at position %d names it", names[0].position)
	case !before && f.Reason == catalog.CleanedSuperseded:
		return "it is no former state: no event before names it"
	}
	return ""
}

// logNamesGone looks whether the metadata log of the object's document names a file
// that was deleted.
func (v *verifier) logNamesGone(ctx context.Context, object ids.ID, pointer string, gone map[ids.ID]*startedCleanUp) error {
	if v.Read == nil || len(gone) == 0 {
		return nil
	}
	var d namedDocument
	err := v.Pool.QueryRow(ctx, fmt.Sprintf("SELECT d.warehouse_id, w.storage_profile FROM %s d JOIN %s w USING (warehouse_id) WHERE d.object_id = $1 AND d.location = $2",
		v.replay.shadow.name(verifyTable), v.replay.shadow.name(warehouseTable)), [16]byte(object), pointer).Scan((*[16]byte)(&d.warehouse), &d.profile)
	if err != nil {
		return ctx.Err() // it does not live
	}
	doc, err := v.Read(ctx, d.warehouse, d.profile, pointer)
	if err != nil {
		return ctx.Err() // told already
	}
	var log struct {
		Entries []struct {
			File string `json:"metadata-file"`
		} `json:"metadata-log"`
	}
	if err := json.Unmarshal(doc, &log); err != nil {
		return nil //nolint:nilerr // its hash was compared already
	}
	for _, e := range log.Entries {
		if id, ok := catalog.FileIDIn(e.File); ok && gone[id] != nil {
			v.report.add(v.MaxFindings, Finding{Kind: CleanUpWrong, Object: object, Event: gone[id].event, Location: e.File, Detail: "it was deleted, and the metadata log of the object's document names it"})
		}
	}
	return nil
}
