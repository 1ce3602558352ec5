package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// DestinationKinds are the kinds of destinations that this server can publish
// to, each with the function that refuses settings it could not work with. What
// such a function says is shown to the caller: it repeats no value.
type DestinationKinds map[string]func(settings map[string]string) error

// PlaceReader reads the order of the log; [*eventstore.Store] is one.
type PlaceReader interface {
	// Head tells how far the log reaches.
	Head(ctx context.Context) (eventstore.Head, error)
	// ReadAfter returns up to limit entries behind a position.
	ReadAfter(ctx context.Context, position int64, limit int) ([]eventstore.Entry, error)
	// LastPositionAt returns the last position at or before a time.
	LastPositionAt(ctx context.Context, t time.Time) (int64, error)
}

// Destination is the answer to commands about destinations.
type Destination = projections.Destination

// DestinationStart is a place in the log as a caller tells it.
type DestinationStart struct {
	From     string    // [catalog.StartBeginning], which "" means, [catalog.StartNow]…
	Position int64     // with [catalog.StartPosition]: the first one to publish
	Time     time.Time // with [catalog.StartTime]: what was logged then or later is published
}

// CreateDestination is POST /management/v1/destinations.
type CreateDestination struct {
	Name      string
	Kind      string
	Settings  map[string]string
	Filter    catalog.DestinationFilter
	OnRefusal string // "" means [catalog.OnRefusalHalt]
	Paused    bool
	Start     DestinationStart
}

// The bounds of settings, in number and bytes.
const (
	maxDestinationName = 128
	maxSettings        = 64
	maxSettingName     = 64
	maxSettingValue    = 4096
)

// CreateDestination opens a destination: what follows its start in the log is
// published there.
func (s *Service) CreateDestination(ctx context.Context, call Call, in CreateDestination) (Destination, error) {
	line := "destination " + catalog.FoldName(in.Name)
	return once(ctx, s, call, func(ctx context.Context) (answer Destination, appended bool, err error) {
		receipt, err := s.attempt(ctx, []string{line}, func(ctx context.Context, t *try) error {
			answer, err = s.createDestination(ctx, call, &in, t)
			return err
		})
		return answer, len(receipt.Records) > 0, err
	}, func(ctx context.Context, stored eventstore.Idempotency) (Destination, error) {
		return s.destinationAgain(ctx, call, stored)
	})
}

func (s *Service) createDestination(ctx context.Context, call Call, in *CreateDestination, t *try) (d Destination, err error) {
	f, err := s.server(ctx, call, authz.ServerManageDestinations)
	if err != nil {
		return d, err
	}
	if !f.Server.Bootstrapped {
		return d, badRequest("The catalog is not bootstrapped")
	}
	if in.OnRefusal == "" {
		in.OnRefusal = catalog.OnRefusalHalt
	}
	config := catalog.DestinationConfig{Name: in.Name, Filter: in.Filter, OnRefusal: in.OnRefusal}
	if err := s.checkDestination(ctx, in.Kind, in.Settings, &config); err != nil {
		return d, err
	}
	start, err := s.place(ctx, in.Start, f.Now)
	if err != nil {
		return d, err
	}
	id := s.deps.IDs.New()
	record, err := s.record(call, id, &catalog.DestinationCreated{DestinationConfig: config, Kind: in.Kind, Paused: in.Paused, Start: start}, &projections.Facts{})
	if err != nil {
		return d, err
	}
	t.commit = s.newCommit(f, s.claim(call, 201, id, "", nil))
	t.commit.Streams = []eventstore.Stream{
		{ID: f.Server.ID, Mode: eventstore.Held},
		{ID: id, Type: string(catalog.EntityDestination), Mode: eventstore.Created},
	}
	t.commit.Records = []eventstore.Record{record}
	t.refuse = refuseDestinationName(in.Name)
	head, err := s.deps.Places.Head(ctx)
	if err != nil {
		return d, unavailable(err, "The catalog is not available")
	}
	return Destination{
		ID: id, Name: in.Name, Kind: in.Kind, Settings: config.Settings, Filter: config.Filter, OnRefusal: in.OnRefusal, Paused: in.Paused,
		Version: 1, StartEpoch: start.Epoch, StartAfter: start.After, Epoch: start.Epoch, Position: start.After, Head: head.Size, Now: f.Now,
	}, nil
}

func refuseDestinationName(name string) func(*eventstore.ConstraintError) error {
	return func(e *eventstore.ConstraintError) error {
		if e.Constraint == projections.DestinationNameKey {
			return &catalog.Error{Kind: catalog.AlreadyExists, Message: "Destination already exists: " + name}
		}
		return nil
	}
}

// checkDestination refuses what may not become a destination, and settles the
// canonical form of settings and filter.
func (s *Service) checkDestination(ctx context.Context, kind string, settings map[string]string, d *catalog.DestinationConfig) error {
	if err := checkDestinationName(d.Name); err != nil {
		return err
	}
	if d.OnRefusal != catalog.OnRefusalHalt && d.OnRefusal != catalog.OnRefusalPark {
		return badRequest("on-refusal must be %s or %s", catalog.OnRefusalHalt, catalog.OnRefusalPark)
	}
	check, known := s.deps.DestinationKinds[kind]
	if !known {
		kinds := slices.Sorted(maps.Keys(s.deps.DestinationKinds))
		if len(kinds) == 0 {
			return badRequest("This server publishes to no destinations")
		}
		return badRequest("This server knows no such kind of destinations; kind must be one of %s", strings.Join(kinds, ", "))
	}
	if err := checkSettings(settings); err != nil {
		return err
	}
	if err := check(settings); err != nil {
		return &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid settings: " + strings.ReplaceAll(err.Error(), "\n", "; "), Cause: err}
	}
	if settings == nil {
		settings = map[string]string{}
	}
	var err error
	if d.Settings, err = marshal(settings); err != nil {
		return err
	}
	return s.checkFilter(ctx, &d.Filter)
}

func checkDestinationName(name string) error {
	switch {
	case name == "":
		return badRequest("Destination name cannot be empty")
	case len(name) > maxDestinationName:
		return badRequest("Destination name is longer than %d bytes", maxDestinationName)
	case strings.Contains(name, "/"):
		return badRequest("Invalid destination name: it holds a slash")
	}
	if _, err := ids.Parse(name); err == nil {
		return badRequest("Invalid destination name: it looks like an id")
	}
	return catalog.ValidateName("destination", name)
}

// secretWords are names under which people put secrets. Settings stand in the
// log for ever, and go to every destination.
var secretWords = []string{"password", "passwd", "token", "secret", "nkey", "seed", "private-key", "access-key", "api-key"}

func isSecretName(name string) bool {
	return slices.ContainsFunc(secretWords, func(word string) bool { return name == word || strings.HasSuffix(name, "-"+word) })
}

// checkSettings refuses what no kind of destinations may have among its
// settings, secrets above all (law 6). No value is repeated in a text.
func checkSettings(settings map[string]string) error {
	if len(settings) > maxSettings {
		return badRequest("%d settings, at most %d are allowed", len(settings), maxSettings)
	}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if !isSettingName(key) {
			return badRequest("Invalid settings: a name is not of lower-case letters, digits and hyphens behind a letter")
		}
		value := settings[key]
		if name, ok := strings.CutSuffix(key, "-secret"); ok && name != "" {
			if !isFileName(value) {
				return badRequest("Invalid settings: '%s' must be the name of a file in the folder of secrets", key)
			}
			continue
		}
		if isSecretName(key) {
			return badRequest("Invalid settings: '%s' would be kept in the log: put it into a file in the folder of secrets, and name that in '%s-secret'", key, key)
		}
		if len(value) > maxSettingValue || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }) {
			return badRequest("Invalid settings: '%s' is longer than %d bytes or no plain text", key, maxSettingValue)
		}
		if holdsCredential(value) {
			return badRequest("Invalid settings: '%s' holds a user, a password or a token in its address, which would be kept in the log", key)
		}
	}
	return nil
}

// isFileName reports whether text names a file in a folder, and nothing else.
func isFileName(text string) bool {
	if text == "" || len(text) > 255 || text[0] == '.' {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// isSettingName reports whether text can name a setting.
func isSettingName(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', i > 0 && ('0' <= c && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return text != "" && len(text) <= maxSettingName
}

// holdsCredential reports whether text has an address with a user in it, or with
// a parameter that is called like a secret.
func holdsCredential(text string) bool {
	for {
		_, rest, found := strings.Cut(text, "://")
		if !found {
			return false
		}
		authority, parameters := rest, ""
		if end := strings.IndexAny(rest, "/?#, "); end >= 0 {
			authority = rest[:end]
		}
		if strings.Contains(authority, "@") {
			return true
		}
		if _, query, ok := strings.Cut(rest, "?"); ok {
			parameters = query
		}
		for _, p := range strings.FieldsFunc(parameters, func(r rune) bool { return r == '&' || r == ';' }) {
			name, _, _ := strings.Cut(p, "=")
			if isSecretName(strings.ReplaceAll(strings.ToLower(name), "_", "-")) {
				return true
			}
		}
		text = rest
	}
}

// checkFilter brings the filter into its canonical form and refuses what could
// admit nothing: names of no entity and no type, objects that do not exist.
func (s *Service) checkFilter(ctx context.Context, f *catalog.DestinationFilter) error {
	types := append(catalog.Types(), eventstore.EpochOpenedType, eventstore.RepairedType)
	entities := map[string]bool{}
	for _, typ := range types {
		entities[string(catalog.EntityOf(typ))] = true
	}
	known := make([]string, len(f.Types))
	for i, typ := range f.Types {
		if !strings.HasPrefix(typ, catalog.TypePrefix) {
			typ = catalog.TypePrefix + typ
		}
		if !slices.Contains(types, typ) {
			return badRequest("Invalid filter: there is no such type of events: element %d of types", i)
		}
		known[i] = typ
	}
	for i, entity := range f.Entities {
		if !entities[entity] {
			return badRequest("Invalid filter: there is no such entity: element %d of entities", i)
		}
	}
	f.Types, f.Entities = sorted(known, strings.Compare), sorted(f.Entities, strings.Compare)
	f.Projects, f.Warehouses = sorted(f.Projects, ids.ID.Compare), sorted(f.Warehouses, ids.ID.Compare)
	for _, n := range []int{len(f.Types), len(f.Entities), len(f.Projects), len(f.Warehouses)} {
		if n > maxFiltered {
			return badRequest("Invalid filter: a list has %d elements, at most %d are allowed", n, maxFiltered)
		}
	}
	queries := make([]projections.Query, 0, len(f.Projects)+len(f.Warehouses))
	for _, id := range f.Projects {
		queries = append(queries, projections.Query{Project: id})
	}
	for _, id := range f.Warehouses {
		queries = append(queries, projections.Query{Warehouse: id})
	}
	if len(queries) == 0 {
		return nil
	}
	facts, err := s.resolve(ctx, queries...)
	if err != nil {
		return err
	}
	for i := range facts {
		if i < len(f.Projects) && !facts[i].Project.Exists {
			return badRequest("Invalid filter: there is no project %s", f.Projects[i])
		}
		if n := i - len(f.Projects); n >= 0 && !facts[i].Warehouse.Exists {
			return badRequest("Invalid filter: there is no warehouse %s", f.Warehouses[n])
		}
	}
	return nil
}

// maxFiltered bounds each list of a filter; what an event can hold is more.
const maxFiltered = 100

func sorted[T comparable](list []T, compare func(a, b T) int) []T {
	return slices.Compact(slices.SortedFunc(slices.Values(list), compare))
}

// place resolves a start: the event says which position it meant, so that replay
// asks no clock.
func (s *Service) place(ctx context.Context, in DestinationStart, now time.Time) (catalog.DestinationStart, error) {
	start := catalog.DestinationStart{From: in.From}
	head, err := s.deps.Places.Head(ctx)
	if err != nil {
		return start, unavailable(err, "The catalog is not available")
	}
	switch in.From {
	case "", catalog.StartBeginning:
		start.From = catalog.StartBeginning
	case catalog.StartNow:
		start.After = head.Size
	case catalog.StartPosition:
		if in.Position < 1 || in.Position > head.Size+1 {
			return start, badRequest("There is no position %d to start from: the log has the positions 1 to %d", in.Position, head.Size)
		}
		start.After = in.Position - 1
	case catalog.StartTime:
		if in.Time.After(now) {
			return start, badRequest("The time to start from lies in the future")
		}
		ms := in.Time.UnixMilli()
		if ms < 0 {
			return start, badRequest("The time to start from lies before 1970")
		}
		start.TimeMS = &ms
		// What was logged at that very moment belongs to it: the log counts in
		// microseconds.
		if start.After, err = s.deps.Places.LastPositionAt(ctx, time.UnixMilli(ms).Add(-time.Microsecond)); err != nil {
			return start, unavailable(err, "The catalog is not available")
		}
	default:
		return start, badRequest("The start must be one of %s, %s, %s, %s", catalog.StartBeginning, catalog.StartNow, catalog.StartPosition, catalog.StartTime)
	}
	if start.After > 0 {
		entry, err := s.entryAt(ctx, start.After)
		if err != nil {
			return start, err
		}
		start.Epoch = entry.Epoch
	}
	return start, nil
}

// entryAt reads the event at a position that exists.
func (s *Service) entryAt(ctx context.Context, position int64) (eventstore.Entry, error) {
	entries, err := s.deps.Places.ReadAfter(ctx, position-1, 1)
	if err == nil && len(entries) == 0 {
		err = fmt.Errorf("the log has no position %d", position)
	}
	if err != nil {
		return eventstore.Entry{}, unavailable(err, "The catalog is not available")
	}
	return entries[0], nil
}

// destinationAgain answers a repeated request from the state.
func (s *Service) destinationAgain(ctx context.Context, call Call, stored eventstore.Idempotency) (Destination, error) {
	if _, err := s.server(ctx, call, authz.ServerManageDestinations); err != nil {
		return Destination{}, err
	}
	d, found, err := s.deps.Details.Destination(ctx, stored.Object)
	if err != nil {
		return d, unavailable(err, "The catalog is not available")
	}
	if !found { // it was removed since, perhaps by this very key
		return Destination{ID: stored.Object, Settings: json.RawMessage("{}")}, nil
	}
	return d, nil
}

// ParseStart reads a place in the log as people write it: beginning, now, a
// position, or a time in the form of RFC 3339.
func ParseStart(text string) (DestinationStart, error) {
	switch text {
	case catalog.StartBeginning, catalog.StartNow:
		return DestinationStart{From: text}, nil
	}
	if position, err := strconv.ParseInt(text, 10, 64); err == nil {
		return DestinationStart{From: catalog.StartPosition, Position: position}, nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return DestinationStart{From: catalog.StartTime, Time: at}, nil
	}
	return DestinationStart{}, badRequest("The place to start from is none of: beginning, now, a position, a time such as 2026-05-01T00:00:00Z")
}
