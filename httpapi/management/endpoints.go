package management

import (
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/queries"
)

// endpointStatistics is POST /management/v1/endpoint-statistics.
func (a *API) endpointStatistics(w http.ResponseWriter, r *http.Request) error {
	object, err := a.object(r)
	if err != nil {
		return err
	}
	in, err := readEndpointWindow(object)
	if err != nil {
		return err
	}
	if in.Project, err = a.project(r, ""); err != nil {
		return err
	}
	hours, previous, next, err := a.deps.Queries.EndpointStatistics(r.Context(), wire.Actor(r), in)
	if err != nil {
		return err
	}
	body := []byte(`{"timestamps":[`)
	for i, h := range hours {
		if i > 0 {
			body = append(body, ',')
		}
		body = appendTime(body, h.Until)
	}
	body = append(body, `],"called-endpoints":[`...)
	for i, h := range hours {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, '[')
		for j, calls := range h.Calls {
			if j > 0 {
				body = append(body, ',')
			}
			body = appendCalls(body, calls)
		}
		body = append(body, ']')
	}
	body = wire.AppendString(append(body, `],"previous-page-token":`...), previous)
	body = wire.AppendString(append(body, `,"next-page-token":`...), next)
	wire.JSON(w, http.StatusOK, append(body, '}'))
	return nil
}

// appendCalls prints an EndpointStatistic.
func appendCalls(body []byte, c queries.EndpointCalls) []byte {
	body = strconv.AppendInt(append(body, `{"count":`...), c.Requests, 10)
	body = wire.AppendString(append(body, `,"http-route":`...), c.Route)
	body = strconv.AppendInt(append(body, `,"status-code":`...), int64(c.Status), 10)
	if !c.Warehouse.IsNil() {
		body = wire.AppendString(append(body, `,"warehouse-id":`...), c.Warehouse.String())
	}
	if c.Name != "" {
		body = wire.AppendString(append(body, `,"warehouse-name":`...), c.Name)
	}
	body = appendTime(append(body, `,"created-at":`...), c.CreatedAt)
	if !c.UpdatedAt.IsZero() {
		body = appendTime(append(body, `,"updated-at":`...), c.UpdatedAt)
	}
	return append(body, '}')
}

// readEndpointWindow reads a GetEndpointStatisticsRequest.
func readEndpointWindow(object wire.Object) (in queries.EndpointWindow, err error) {
	filter, sent, err := object.Object("warehouse")
	if err != nil {
		return in, err
	}
	if !sent {
		return in, object.Missing("warehouse")
	}
	kind, err := filter.RequiredString("type")
	if err != nil {
		return in, err
	}
	switch kind {
	case "all":
	case "unmapped":
		in.Unmapped = true
	case "warehouse-id":
		text, err := filter.RequiredString("id")
		if err != nil {
			return in, err
		}
		if in.Warehouse, err = ids.Parse(text); err != nil || in.Warehouse.IsNil() {
			return in, badMember("warehouse.id must be a UUID")
		}
	default:
		return in, badMember("warehouse.type must be all, unmapped or warehouse-id")
	}
	if in.Statuses, err = object.Ints("status-codes"); err != nil {
		return in, err
	}
	selector, sent, err := object.Object("range-specifier")
	if err != nil || !sent {
		return in, err
	}
	return in, readRange(selector, &in)
}

// readRange reads a TimeWindowSelector.
func readRange(selector wire.Object, in *queries.EndpointWindow) error {
	kind, err := selector.RequiredString("type")
	if err != nil {
		return err
	}
	switch kind {
	case "page-token":
		in.Token, err = selector.RequiredString("token")
		if err == nil && in.Token == "" {
			return badMember("range-specifier.token is empty")
		}
		return err
	case "window":
		end, err := selector.RequiredString("end")
		if err != nil {
			return err
		}
		if in.End, err = time.Parse(time.RFC3339, end); err != nil {
			return badMember("range-specifier.end must be a time as in 2026-12-31T23:59:59Z")
		}
		length, err := selector.RequiredString("interval")
		if err != nil {
			return err
		}
		var ok bool
		if in.Length, ok = isoDuration(length, 2*queries.MaxWindow); !ok {
			return badMember("range-specifier.interval must be an ISO 8601 duration of weeks, days, hours, minutes and seconds, as in P1D")
		}
		return nil
	}
	return badMember("range-specifier.type must be window or page-token")
}

func badMember(text string) error {
	return &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: " + text}
}

var durationForm = regexp.MustCompile(`^P(?:([0-9]{1,6})W)?(?:([0-9]{1,6})D)?(?:T(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,10})(?:[.,][0-9]{1,9})?S)?)?$`)

// isoDuration reads a duration of ISO 8601 whose length needs no calendar, up to
// the most that can be asked for. Parts of seconds are read over.
func isoDuration(text string, most time.Duration) (time.Duration, bool) {
	parts := durationForm.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	units := []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second}
	var total time.Duration
	for i, unit := range units {
		if parts[i+1] == "" {
			continue
		}
		n, err := strconv.ParseInt(parts[i+1], 10, 64)
		if err != nil || n > int64(most/unit) {
			return 0, false
		}
		if total += time.Duration(n) * unit; total > most {
			return 0, false
		}
	}
	return total, total > 0
}
