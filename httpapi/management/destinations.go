package management

import (
	"net/http"
	"strconv"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/queries"
)

// destinationRoutes are where the log is published to: routes of ours. A
// destination is named by its id or its name.
func (a *API) destinationRoutes() []wire.Route {
	const one = "/v1/destinations/{destination}"
	change := func(what func(*http.Request, commands.Call, ids.ID, wire.Object) (queries.Destination, error)) wire.Handler {
		return func(w http.ResponseWriter, r *http.Request) error { return a.changeDestination(w, r, what) }
	}
	return []wire.Route{
		{Method: http.MethodGet, Template: "/v1/destinations", Operation: "listDestinations", Handle: a.listDestinations},
		{Method: http.MethodPost, Template: "/v1/destinations", Operation: "createDestination", Handle: a.createDestination},
		{Method: http.MethodGet, Template: one, Operation: "getDestination", Handle: a.getDestination},
		{Method: http.MethodPost, Template: one, Operation: "updateDestination", Handle: change(a.updateDestination)},
		{Method: http.MethodDelete, Template: one, Operation: "removeDestination", Handle: a.removeDestination},
		{Method: http.MethodPost, Template: one + "/pause", Operation: "pauseDestination", Handle: change(a.pauseDestination)},
		{Method: http.MethodPost, Template: one + "/resume", Operation: "resumeDestination", Handle: change(a.resumeDestination)},
		{Method: http.MethodPost, Template: one + "/replay", Operation: "replayDestination", Handle: change(a.replayDestination)},
		{Method: http.MethodPost, Template: one + "/skip", Operation: "skipRefusedEvent", Handle: change(a.skipRefused)},
		{Method: http.MethodGet, Template: one + "/parked", Operation: "listParkedEvents", Handle: a.listParked},
		{Method: http.MethodPost, Template: one + "/parked/{position}/retry", Operation: "retryParkedEvent", Handle: change(a.retryParked)},
	}
}

// destination finds the destination of a route.
func (a *API) destination(r *http.Request) (ids.ID, error) {
	text, err := wire.DecodeSegment(r.PathValue("destination"))
	if err != nil {
		return ids.Nil, err
	}
	return a.deps.Queries.DestinationID(r.Context(), text)
}

// listDestinations is GET /management/v1/destinations.
func (a *API) listDestinations(w http.ResponseWriter, r *http.Request) error {
	list, err := a.deps.Queries.ListDestinations(r.Context(), wire.Actor(r))
	if err != nil {
		return err
	}
	body := []byte(`{"destinations":[`)
	for i := range list {
		if i > 0 {
			body = append(body, ',')
		}
		body = AppendDestination(body, &list[i])
	}
	wire.JSON(w, http.StatusOK, append(body, "]}"...))
	return nil
}

// getDestination is GET /management/v1/destinations/{destination}.
func (a *API) getDestination(w http.ResponseWriter, r *http.Request) error {
	id, err := a.destination(r)
	if err != nil {
		return err
	}
	d, err := a.deps.Queries.GetDestination(r.Context(), wire.Actor(r), id)
	if err != nil {
		return err
	}
	wire.JSON(w, http.StatusOK, AppendDestination(nil, &d))
	return nil
}

// createDestination is POST /management/v1/destinations.
func (a *API) createDestination(w http.ResponseWriter, r *http.Request) error {
	object, call, err := a.request(r)
	if err != nil {
		return err
	}
	if err := only(object, "name", "kind", "settings", "filter", "on-refusal", "paused", "start"); err != nil {
		return err
	}
	var in commands.CreateDestination
	if in.Name, err = object.RequiredString("name"); err != nil {
		return err
	}
	if in.Kind, err = object.RequiredString("kind"); err != nil {
		return err
	}
	if in.Settings, err = object.StringMap("settings"); err != nil {
		return err
	}
	filter, err := a.filter(r, object)
	if err != nil {
		return err
	}
	if filter != nil {
		in.Filter = *filter
	}
	if in.OnRefusal, _, err = object.String("on-refusal"); err != nil {
		return err
	}
	if in.Paused, err = object.Bool("paused"); err != nil {
		return err
	}
	if in.Start, _, err = start(object, "start"); err != nil {
		return err
	}
	d, err := a.deps.Commands.CreateDestination(r.Context(), call, in)
	if err != nil {
		return err
	}
	wire.JSON(w, http.StatusCreated, appendDecreed(nil, &d))
	return nil
}

// start reads a place in the log: a position, or a text as [commands.ParseStart]
// knows them.
func start(object wire.Object, name string) (in commands.DestinationStart, sent bool, err error) {
	raw := object.Raw(name)
	if raw == nil {
		return in, false, nil
	}
	text := string(raw)
	if raw[0] == '"' {
		if text, _, err = object.String(name); err != nil {
			return in, true, err
		}
	}
	in, err = commands.ParseStart(text)
	return in, true, err
}

// filter reads the member filter, nil if there is none. Projects are named as
// callers name them.
func (a *API) filter(r *http.Request, object wire.Object) (*catalog.DestinationFilter, error) {
	given, sent, err := object.Object("filter")
	if err != nil || !sent {
		return nil, err
	}
	var f catalog.DestinationFilter
	if err := only(given, "projects", "warehouses", "entities", "types"); err != nil {
		return nil, err
	}
	projects, _, err := given.Strings("projects")
	if err != nil {
		return nil, err
	}
	for _, text := range projects {
		id, err := ids.Parse(text)
		if err != nil || id.IsNil() {
			if id, err = a.deps.Queries.ProjectID(r.Context(), text); err != nil {
				return nil, err
			}
		}
		f.Projects = append(f.Projects, id)
	}
	warehouses, _, err := given.Strings("warehouses")
	if err != nil {
		return nil, err
	}
	for _, text := range warehouses {
		id, err := ids.Parse(text)
		if err != nil || id.IsNil() {
			return nil, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: filter.warehouses has an element that is no UUID"}
		}
		f.Warehouses = append(f.Warehouses, id)
	}
	if f.Entities, _, err = given.Strings("entities"); err != nil {
		return nil, err
	}
	f.Types, _, err = given.Strings("types")
	return &f, err
}

// changeDestination carries out a change and answers with what it made. The
// body may be missing where nothing has to be said.
func (a *API) changeDestination(w http.ResponseWriter, r *http.Request, what func(*http.Request, commands.Call, ids.ID, wire.Object) (queries.Destination, error)) error {
	object, call, err := a.optionalRequest(r)
	if err != nil {
		return err
	}
	id, err := a.destination(r)
	if err != nil {
		return err
	}
	d, err := what(r, call, id, object)
	if err != nil {
		return err
	}
	wire.JSON(w, http.StatusOK, appendDecreed(nil, &d))
	return nil
}

// updateDestination is POST /management/v1/destinations/{destination}. Members
// that are missing stay as they are.
func (a *API) updateDestination(r *http.Request, call commands.Call, id ids.ID, object wire.Object) (d queries.Destination, err error) {
	in := commands.UpdateDestination{Destination: id}
	if err := only(object, "name", "settings", "filter", "on-refusal"); err != nil {
		return d, err
	}
	for _, member := range []struct {
		name string
		to   **string
	}{{"name", &in.Name}, {"on-refusal", &in.OnRefusal}} {
		text, sent, err := object.String(member.name)
		if err != nil {
			return d, err
		}
		if sent {
			*member.to = &text
		}
	}
	if in.Settings, err = object.StringMap("settings"); err != nil {
		return d, err
	}
	if in.Filter, err = a.filter(r, object); err != nil {
		return d, err
	}
	return a.deps.Commands.UpdateDestination(r.Context(), call, in)
}

// pauseDestination is POST …/pause.
func (a *API) pauseDestination(r *http.Request, call commands.Call, id ids.ID, _ wire.Object) (queries.Destination, error) {
	return a.deps.Commands.PauseDestination(r.Context(), call, commands.PauseDestination{Destination: id})
}

// resumeDestination is POST …/resume.
func (a *API) resumeDestination(r *http.Request, call commands.Call, id ids.ID, _ wire.Object) (queries.Destination, error) {
	return a.deps.Commands.ResumeDestination(r.Context(), call, commands.ResumeDestination{Destination: id})
}

// replayDestination is POST …/replay. Where from has to be said.
func (a *API) replayDestination(r *http.Request, call commands.Call, id ids.ID, object wire.Object) (d queries.Destination, err error) {
	if err := only(object, "from"); err != nil {
		return d, err
	}
	from, sent, err := start(object, "from")
	if err != nil {
		return d, err
	}
	if !sent {
		return d, object.Missing("from")
	}
	return a.deps.Commands.ReplayDestination(r.Context(), call, commands.ReplayDestination{Destination: id, Start: from})
}

// skipRefused is POST …/skip.
func (a *API) skipRefused(r *http.Request, call commands.Call, id ids.ID, object wire.Object) (d queries.Destination, err error) {
	if err := only(object, "position"); err != nil {
		return d, err
	}
	position, err := object.Int("position")
	if err != nil {
		return d, err
	}
	return a.deps.Commands.SkipRefused(r.Context(), call, commands.SkipRefused{Destination: id, Position: int64(position)})
}

// retryParked is POST …/parked/{position}/retry.
func (a *API) retryParked(r *http.Request, call commands.Call, id ids.ID, _ wire.Object) (d queries.Destination, err error) {
	position, err := strconv.ParseInt(r.PathValue("position"), 10, 64)
	if err != nil {
		return d, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: the position is no whole number", Cause: err}
	}
	return a.deps.Commands.RetryParked(r.Context(), call, commands.RetryParked{Destination: id, Position: position})
}

// removeDestination is DELETE /management/v1/destinations/{destination}.
func (a *API) removeDestination(w http.ResponseWriter, r *http.Request) error {
	call, err := wire.Call(r, nil)
	if err != nil {
		return err
	}
	id, err := a.destination(r)
	if err != nil {
		return err
	}
	if err := a.deps.Commands.RemoveDestination(r.Context(), call, commands.RemoveDestination{Destination: id}); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}

// listParked is GET …/parked.
func (a *API) listParked(w http.ResponseWriter, r *http.Request) error {
	id, err := a.destination(r)
	if err != nil {
		return err
	}
	page, err := snakePage(r)
	if err != nil {
		return err
	}
	list, next, err := a.deps.Queries.ParkedEvents(r.Context(), wire.Actor(r), id, page)
	if err != nil {
		return err
	}
	body := []byte(`{"parked":[`)
	for i := range list {
		p := &list[i]
		if i > 0 {
			body = append(body, ',')
		}
		body = strconv.AppendInt(append(body, `{"position":`...), p.Position, 10)
		body = wire.AppendString(append(body, `,"event-id":`...), p.Event.String())
		body = wire.AppendString(append(body, `,"reason":`...), p.ShownReason())
		body = appendTime(append(body, `,"parked-at":`...), p.ParkedAt)
		body = strconv.AppendBool(append(body, `,"retry":`...), p.Retry)
		body = append(body, '}')
	}
	wire.JSON(w, http.StatusOK, wire.EndList(body, next))
	return nil
}

// appendDecreed prints a destination as its operator decreed it: what moves by
// itself is left out, so that a repeated request is answered alike. Settings hold
// no secret and are shown as they are.
func appendDecreed(body []byte, d *queries.Destination) []byte {
	body = wire.AppendString(append(body, `{"id":`...), d.ID.String())
	body = wire.AppendString(append(body, `,"name":`...), d.Name)
	body = wire.AppendString(append(body, `,"kind":`...), d.Kind)
	body = wire.AppendRaw(append(body, `,"settings":`...), d.Settings)
	body = appendFilter(append(body, `,"filter":`...), &d.Filter)
	body = wire.AppendString(append(body, `,"on-refusal":`...), d.OnRefusal)
	body = strconv.AppendBool(append(body, `,"paused":`...), d.Paused)
	body = strconv.AppendInt(append(body, `,"start":{"after":`...), d.StartAfter, 10)
	body = strconv.AppendInt(append(body, `,"epoch":`...), d.StartEpoch, 10)
	return append(body, "}}"...)
}

// AppendDestination prints a destination and how it is doing.
func AppendDestination(body []byte, d *queries.Destination) []byte {
	number := func(name string, n int64) { body = strconv.AppendInt(append(body, name...), n, 10) }
	body = appendDecreed(body, d)
	body = body[:len(body)-1]
	body = wire.AppendString(append(body, `,"status":`...), d.Status())
	number(`,"position":`, d.Position)
	number(`,"epoch":`, d.Epoch)
	number(`,"head":`, d.Head)
	events, age := d.Lag()
	number(`,"lag-events":`, events)
	body = strconv.AppendFloat(append(body, `,"lag-seconds":`...), age.Seconds(), 'f', 3, 64)
	number(`,"published":`, d.Published)
	number(`,"parked":`, d.Parked)
	number(`,"failures":`, int64(d.Failures))
	if !d.Event.IsNil() {
		body = wire.AppendString(append(body, `,"last-event-id":`...), d.Event.String())
	}
	if d.Status() == queries.DestinationBackingOff {
		body = appendTime(append(body, `,"retry-after":`...), d.RetryAfter)
	}
	if d.LastError != "" {
		body = wire.AppendString(append(body, `,"last-error":`...), d.ShownError())
	}
	if !d.LastErrorAt.IsZero() {
		body = appendTime(append(body, `,"last-error-at":`...), d.LastErrorAt)
	}
	if d.HaltedAt != 0 {
		number(`,"halted-at":`, d.HaltedAt)
	}
	return append(body, '}')
}

func appendFilter(body []byte, f *catalog.DestinationFilter) []byte {
	texts := func(list []ids.ID) []string {
		out := make([]string, len(list))
		for i, id := range list {
			out[i] = id.String()
		}
		return out
	}
	body = wire.AppendStrings(append(body, `{"projects":`...), texts(f.Projects))
	body = wire.AppendStrings(append(body, `,"warehouses":`...), texts(f.Warehouses))
	body = wire.AppendStrings(append(body, `,"entities":`...), f.Entities)
	body = wire.AppendStrings(append(body, `,"types":`...), f.Types)
	return append(body, '}')
}
