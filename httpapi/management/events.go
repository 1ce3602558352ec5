package management

import (
	"net/http"
	"strconv"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/queries"
)

// eventRoutes are single events: consumers of the stream fetch there what was too
// large for their destination.
func (a *API) eventRoutes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodGet, Template: "/v1/events/{event}", Operation: "getEvent", Handle: a.getEvent},
		{Method: http.MethodGet, Template: "/v1/events/{event}/data", Operation: "getEventData", Handle: a.getEventData},
	}
}

func (a *API) event(r *http.Request) (queries.Event, error) {
	text, err := wire.DecodeSegment(r.PathValue("event"))
	if err != nil {
		return queries.Event{}, err
	}
	id, err := ids.Parse(text)
	if err != nil {
		return queries.Event{}, &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid event id", Cause: err}
	}
	return a.deps.Queries.Event(r.Context(), wire.Actor(r), id)
}

// getEvent is GET /management/v1/events/{event}: the CloudEvent in structured mode.
func (a *API) getEvent(w http.ResponseWriter, r *http.Request) error {
	event, err := a.event(r)
	if err != nil {
		return err
	}
	sendEvent(w, "application/cloudevents+json", event.Structured)
	return nil
}

// getEventData is GET /management/v1/events/{event}/data: the data alone, byte for
// byte. A published event without its data refers to it (dataref).
func (a *API) getEventData(w http.ResponseWriter, r *http.Request) error {
	event, err := a.event(r)
	switch {
	case err != nil:
		return err
	case event.Data == nil:
		return &catalog.Error{Kind: catalog.NotFound, Message: "The data of the event were erased"}
	}
	sendEvent(w, "application/json", event.Data)
	return nil
}

func sendEvent(w http.ResponseWriter, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // a failure means that the client is gone
}
