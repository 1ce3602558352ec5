package history

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// Object is what happened to one object between two positions, by its events
// alone.
type Object struct {
	Stream  ids.ID   `json:"id"`
	Entity  string   `json:"entity"`
	Name    string   `json:"name"`              // at the end of the range, or when it was dropped
	Was     string   `json:"was,omitempty"`     // name at the beginning, if it is another
	Created bool     `json:"created,omitempty"` // its life began in the range
	Dropped bool     `json:"dropped,omitempty"` // its life ended in the range
	First   int64    `json:"first"`             // position of its first event in the range
	Last    int64    `json:"last"`              // and of its last
	Events  int      `json:"events"`            //
	From    string   `json:"from,omitempty"`    // metadata location before
	To      string   `json:"to,omitempty"`      // metadata location after
	Version [2]int64 `json:"versions"`          // stream versions before and after

	Set     map[string]string `json:"set,omitempty"`     // properties that the range left set by it
	Removed []string          `json:"removed,omitempty"` // properties that the range left removed
	Schema  []string          `json:"schema,omitempty"`  // schemas that were added, columns in one line
	Snaps   []string          `json:"snapshots,omitempty"`
	Other   []string          `json:"updates,omitempty"`    // other updates, by action, with their number
	Unread  int               `json:"unreadable,omitempty"` // events whose payload this program can't read

	removed map[string]bool
	other   map[string]int
}

// Diff returns what changed after position from, up to position to: one entry
// an object, in the order of its last event.
func Diff(ctx context.Context, log Log, f Filter, from, to int64) ([]*Object, error) {
	objects := map[ids.ID]*Object{}
	for position := from; position < to; {
		entries, err := log.ReadAfter(ctx, position, int(min(page, to-position)))
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			break // the log ends before to
		}
		for i := range entries {
			e := &entries[i]
			position = e.Position
			if !f.matches(e) {
				continue
			}
			o := objects[e.Stream]
			if o == nil {
				o = &Object{
					Stream: e.Stream, Entity: e.StreamType, First: e.Position, Version: [2]int64{e.Version - 1, 0},
					Set: map[string]string{}, removed: map[string]bool{}, other: map[string]int{},
				}
				objects[e.Stream] = o
			}
			o.Events, o.Last, o.Version[1] = o.Events+1, e.Position, e.Version
			o.apply(e)
		}
	}
	list := make([]*Object, 0, len(objects))
	for _, o := range objects {
		o.Removed = sortedKeys(o.removed)
		for _, action := range sortedKeys(o.other) {
			o.Other = append(o.Other, fmt.Sprintf("%s ×%d", action, o.other[action]))
		}
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b *Object) int { return cmp.Compare(a.Last, b.Last) })
	return list, nil
}

// apply takes over one event.
func (o *Object) apply(e *eventstore.Entry) {
	name := describe(e).object
	if o.Name != "" && o.Name != name && o.Was == "" && e.Type != catalog.TypeTableRenamed && e.Type != catalog.TypeViewRenamed {
		o.Was = o.Name
	}
	o.Name = name
	if e.Erased {
		o.Unread++
		return
	}
	event, err := catalog.Decode(e.Type, e.DataSchema, e.Data)
	if err != nil {
		if e.StreamType != eventstore.LogStreamType {
			o.Unread++
		}
		return
	}
	switch v := event.(type) {
	case *catalog.ServerBootstrapped, *catalog.ProjectCreated, *catalog.WarehouseCreated:
		o.Created = true
	case *catalog.NamespaceCreated:
		o.Created = true
		o.set(v.Properties)
	case *catalog.NamespacePropertiesUpdated:
		o.remove(v.Removed)
		o.set(v.Updated)
	case *catalog.NamespaceDropped:
		o.Dropped = true
	case *catalog.TableCreated:
		o.Created = true
		o.To = v.MetadataLocation
		o.request(v.Request)
		o.updates(v.Updates)
		o.snapshots(v.Snapshots)
	case *catalog.TableCommitted:
		o.move(v.Previous, v.MetadataLocation)
		o.updates(v.Updates)
		o.snapshots(v.Snapshots)
	case *catalog.TableRenamed:
		if o.Was == "" {
			o.Was = table(v.From)
		}
	case *catalog.TableRegistered:
		o.Created = o.Created || !v.Overwrites
		o.move(v.Previous, v.MetadataLocation)
	case *catalog.TableDropped:
		o.Dropped = true
		o.move(v.MetadataLocation, "")
	case *catalog.TableUndropped:
		o.undropped(&v.Undropped)
	case *catalog.ViewUndropped:
		o.undropped(&v.Undropped)
	case *catalog.NamespaceUndropped:
		o.Dropped = false
	case *catalog.ViewCreated:
		o.Created = true
		o.To = v.MetadataLocation
		o.request(v.Request)
	case *catalog.ViewCommitted:
		o.move(v.Previous, v.MetadataLocation)
		o.updates(v.Updates)
	case *catalog.ViewRenamed:
		if o.Was == "" {
			o.Was = table(v.From)
		}
	case *catalog.ViewRegistered:
		o.Created = true
		o.To = v.MetadataLocation
	case *catalog.ViewDropped:
		o.Dropped = true
		o.move(v.MetadataLocation, "")
	}
}

// undropped gives an object its life back, perhaps under another name.
func (o *Object) undropped(e *catalog.Undropped) {
	o.Dropped = false
	o.move(e.MetadataLocation, e.MetadataLocation)
	if from := table(e.From); o.Was == "" && from != table(e.To) {
		o.Was = from
	}
}

func (o *Object) move(from, to string) {
	if o.From == "" && o.To == "" && !o.Created {
		o.From = from
	}
	if to != "" {
		o.To = to
	}
}

func (o *Object) set(values json.RawMessage) {
	var set map[string]string
	_ = json.Unmarshal(values, &set) // the codec has checked it
	for k, v := range set {
		o.Set[k] = v
		delete(o.removed, k)
	}
}

func (o *Object) remove(names []string) {
	for _, k := range names {
		delete(o.Set, k)
		o.removed[k] = true
	}
}

// request reads the parts of a CreateTableRequest or CreateViewRequest that a
// diff shows.
func (o *Object) request(raw json.RawMessage) {
	var r struct {
		Schema     schema
		Properties json.RawMessage
	}
	if json.Unmarshal(raw, &r) != nil {
		return
	}
	o.Schema = append(o.Schema, r.Schema.String())
	o.set(r.Properties)
}

// updates reads the parts of table updates that a diff shows, and counts the
// rest.
func (o *Object) updates(raw json.RawMessage) {
	var list []struct {
		Action   string
		Schema   schema
		Updates  json.RawMessage
		Removals []string
		RefName  string `json:"ref-name"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, u := range list {
		switch u.Action {
		case "add-schema":
			o.Schema = append(o.Schema, u.Schema.String())
		case "set-properties":
			o.set(u.Updates)
		case "remove-properties":
			o.remove(u.Removals)
		case "set-snapshot-ref", "remove-snapshot-ref":
			o.other[u.Action+" "+word(u.RefName)]++
		case "add-snapshot":
		default:
			o.other[word(u.Action)]++
		}
	}
}

func (o *Object) snapshots(list []catalog.Snapshot) {
	for i := range list {
		o.Snaps = append(o.Snaps, snapshot(&list[i]))
	}
}

// schema is as much of a schema as fits into one line.
type schema struct {
	Fields []struct {
		Name string
		Type json.RawMessage
	}
}

// String lists the columns with their types; nested types by their kind.
func (s schema) String() string {
	parts := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		var kind string
		if json.Unmarshal(f.Type, &kind) != nil {
			var nested struct{ Type string }
			_ = json.Unmarshal(f.Type, &nested) // an odd type shows as nothing
			kind = nested.Type
		}
		parts[i] = word(f.Name) + " " + small(kind, 40)
	}
	return strings.Join(parts, ", ")
}

// longest bounds the snapshots that a person is shown of one object.
const longest = 10

// WriteDiff prints objects for people.
func WriteDiff(w io.Writer, objects []*Object) error {
	var b strings.Builder
	for _, o := range objects {
		line := func(format string, args ...any) { fmt.Fprintf(&b, "    "+format+"\n", args...) }
		fmt.Fprintf(&b, "%s %s %s\n", o.sign(), o.Entity, o.Name)
		line("positions %d to %d, %d events, version %d to %d, id %s", o.First, o.Last, o.Events, o.Version[0], o.Version[1], o.Stream)
		if o.Was != "" {
			line("name      %s → %s", o.Was, o.Name)
		}
		if o.From != "" || o.To != "" {
			line("metadata  %s → %s", orNone(o.From), orNone(o.To))
		}
		for _, s := range o.Schema {
			line("schema    %s", small(s, 200))
		}
		for _, k := range sortedKeys(o.Set) {
			line("set       %s = %s", word(k), small(o.Set[k], 120))
		}
		for _, k := range o.Removed {
			line("removed   %s", word(k))
		}
		for i, s := range o.Snaps {
			if i == longest {
				line("snapshot  and %d more", len(o.Snaps)-longest)
				break
			}
			line("snapshot  %s", s)
		}
		if len(o.Other) > 0 {
			line("also      %s", strings.Join(o.Other, ", "))
		}
		if o.Unread > 0 {
			line("unread    %d events, whose payload is erased or newer than this program", o.Unread)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (o *Object) sign() string {
	switch {
	case o.Created && o.Dropped:
		return "±"
	case o.Created:
		return "+"
	case o.Dropped:
		return "-"
	}
	return "~"
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return small(s, 200)
}
