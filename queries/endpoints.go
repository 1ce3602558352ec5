package queries

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

var (
	//go:embed sql/endpoint_statistics.sql
	endpointStatisticsSQL string
	//go:embed sql/endpoint_statistics_forward.sql
	endpointStatisticsForwardSQL string
)

const (
	// MaxEndpointCalls bounds the entries of one answer, over all its hours.
	MaxEndpointCalls = 10_000
	// DefaultWindow is how far back statistics of endpoints reach, if the caller
	// does not say.
	DefaultWindow = 24 * time.Hour
	// MaxWindow bounds it.
	MaxWindow = 366 * 24 * time.Hour
)

// EndpointWindow asks for statistics of endpoints.
type EndpointWindow struct {
	Project   ids.ID // Nil means the default project
	Warehouse ids.ID // Nil: see Unmapped
	Unmapped  bool   // what is about no warehouse; else, without a warehouse, everything
	Statuses  []int  // HTTP statuses; empty means all
	// End and Length give the window; zero values mean now and [DefaultWindow].
	// Token, of an earlier answer, stands for both.
	End    time.Time
	Length time.Duration
	Token  string

	// What a token adds: whether the page begins with the oldest hour of the
	// window, and the entry that it goes on behind.
	forward bool
	behind  *endpointKey
}

// endpointKey is the place of an entry: by hour, warehouse, route and status.
type endpointKey struct {
	until     time.Time
	warehouse ids.ID
	route     string
	status    int
}

// EndpointHour is what was asked in one hour.
type EndpointHour struct {
	Until time.Time // end of the hour
	Calls []EndpointCalls
}

// EndpointCalls counts requests of one kind.
type EndpointCalls struct {
	Route     string // method and path template
	Status    int
	Requests  int64
	Warehouse ids.ID // Nil for none
	Name      string // the warehouse's name now; empty if there is none any more
	CreatedAt time.Time
	UpdatedAt time.Time // zero if it was stored once only
}

// EndpointStatistics tells what was asked about a project or one of its
// warehouses, hour by hour, newest first, with tokens for the windows before
// and behind. Counters of an instance are stored at intervals, so the last
// seconds may be missing.
//
// An answer has at most [MaxEndpointCalls] entries. Where a window holds more,
// the token that leads on in the same direction goes on inside it, so that who
// follows the tokens of one direction meets each entry once; an hour may then
// be in two answers, with some of its entries in each.
func (s *Service) EndpointStatistics(ctx context.Context, actor authz.Actor, in EndpointWindow) (hours []EndpointHour, previous, next string, err error) {
	in.Project = projectOf(in.Project)
	f, err := s.resolve(ctx, projections.Query{Project: in.Project, Warehouse: in.Warehouse})
	if err != nil {
		return nil, "", "", err
	}
	if err := s.mayCount(ctx, actor, &in, f); err != nil {
		return nil, "", "", err
	}
	bound := bind(actor, "endpoint-statistics", in.Project)
	if err := s.window(&in, f.Now, bound); err != nil {
		return nil, "", "", err
	}
	list, err := s.deps.Lists.endpoints(ctx, &in, MaxEndpointCalls+1)
	if err != nil {
		return nil, "", "", unavailable(err)
	}
	before, behind := EndpointWindow{End: in.End.Add(-in.Length), Length: in.Length}, EndpointWindow{End: in.End.Add(in.Length), Length: in.Length, forward: true}
	more := len(list) > MaxEndpointCalls
	list = list[:min(len(list), MaxEndpointCalls)]
	if n := len(list); n > 0 {
		first, last := list[0].key(), list[n-1].key() // in the direction of this page
		within := EndpointWindow{End: in.End, Length: in.Length, forward: in.forward, behind: &last}
		back := EndpointWindow{End: in.End, Length: in.Length, forward: !in.forward, behind: &first}
		onward, backward := &before, &behind
		if in.forward {
			onward, backward = &behind, &before
		}
		if more {
			*onward = within
		}
		if in.behind != nil {
			*backward = back
		}
	}
	return endpointHours(list), s.tokens.seal(before.text(), bound), s.tokens.seal(behind.text(), bound), nil
}

// text is what a token holds.
func (w *EndpointWindow) text() string {
	fields := []string{w.End.UTC().Format(time.RFC3339Nano), strconv.FormatInt(int64(w.Length), 10), strconv.FormatBool(w.forward)}
	if k := w.behind; k != nil {
		fields = append(fields, k.until.UTC().Format(time.RFC3339Nano), k.warehouse.String(), strconv.Itoa(k.status), k.route)
	}
	return strings.Join(fields, " ")
}

// read is the inverse of text.
func (w *EndpointWindow) read(text string) (err error) {
	fields := strings.SplitN(text, " ", 7) // a route holds a space
	if len(fields) != 3 && len(fields) != 7 {
		return errors.New("not the fields of a window")
	}
	var wrong [6]error
	w.End, wrong[0] = time.Parse(time.RFC3339Nano, fields[0])
	var length int64
	length, wrong[1] = strconv.ParseInt(fields[1], 10, 64)
	w.Length = time.Duration(length)
	w.forward, wrong[2] = strconv.ParseBool(fields[2])
	if len(fields) == 7 {
		k := &endpointKey{route: fields[6]}
		k.until, wrong[3] = time.Parse(time.RFC3339Nano, fields[3])
		k.warehouse, wrong[4] = ids.Parse(fields[4])
		k.status, wrong[5] = strconv.Atoi(fields[5])
		w.behind = k
	}
	return errors.Join(wrong[:]...)
}

// mayCount asks for the right on the warehouse, or on the project. A warehouse
// of another project is not there.
func (s *Service) mayCount(ctx context.Context, actor authz.Actor, in *EndpointWindow, f *projections.Facts) error {
	if in.Warehouse.IsNil() {
		if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Project(f), authz.ProjectGetEndpointStatistics, noSuchProject()); err != nil {
			return err
		}
		if !f.Project.Exists {
			return noSuchProject()
		}
		return nil
	}
	if f.Warehouse.Exists && f.Project.ID != in.Project {
		*f = projections.Facts{Now: f.Now, Server: f.Server}
	}
	if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Warehouse(f), authz.WarehouseGetEndpointStatistics, noSuchWarehouse()); err != nil {
		return err
	}
	if !f.Warehouse.Exists {
		return noSuchWarehouse()
	}
	return nil
}

// window settles which hours are asked for.
func (s *Service) window(in *EndpointWindow, now time.Time, bound []byte) error {
	if in.Token != "" {
		text, err := s.tokens.open(in.Token, bound)
		if err != nil {
			return err
		}
		if in.read(text) != nil {
			return &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid page token"}
		}
	}
	if in.End.IsZero() {
		in.End = now
	}
	if in.Length == 0 {
		in.Length = DefaultWindow
	}
	switch {
	case in.Length < time.Second || in.Length > MaxWindow:
		return &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid interval: it must be between one second and 366 days"}
	case in.End.Year() < 1970 || in.End.Year() > 9000:
		return &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid end of the window"}
	}
	return nil
}

// endOfHour is the end of the hour that a time lies in.
func endOfHour(at time.Time) time.Time { return at.UTC().Truncate(time.Hour).Add(time.Hour) }

// endpointRow is an entry with its hour.
type endpointRow struct {
	until time.Time
	EndpointCalls
}

func (r *endpointRow) key() endpointKey {
	return endpointKey{r.until, r.Warehouse, r.Route, r.Status}
}

// endpoints reads up to limit entries of a window in the direction of the page.
func (l Lists) endpoints(ctx context.Context, in *EndpointWindow, limit int) ([]endpointRow, error) {
	var warehouse any
	if !in.Warehouse.IsNil() {
		warehouse = [16]byte(in.Warehouse)
	}
	var statuses []int16
	for _, status := range in.Statuses {
		if status >= 0 && status < 1000 {
			statuses = append(statuses, int16(status))
		}
	}
	if len(in.Statuses) > 0 && len(statuses) == 0 {
		return nil, nil // no status of HTTP is among them
	}
	sql, from, to := endpointStatisticsSQL, endOfHour(in.End.Add(-in.Length)), endOfHour(in.End)
	if in.forward {
		sql = endpointStatisticsForwardSQL
	}
	key := []any{nil, nil, nil, nil}
	if k := in.behind; k != nil {
		key = []any{k.until, [16]byte(k.warehouse), k.route, int16(k.status)}
		if in.forward { // the hours that were read are not read again
			from = later(from, k.until.Add(-time.Hour))
		} else if k.until.Before(to) {
			to = k.until
		}
	}
	rows, err := l.db.Query(ctx, sql, append(append([]any{[16]byte(in.Project), from, to, warehouse, in.Unmapped, statuses}, key...), limit)...)
	return collect(rows, err, func(r pgx.CollectableRow) (one endpointRow, err error) {
		var warehouse pgtype.UUID
		var name pgtype.Text
		var updated pgtype.Timestamptz
		err = r.Scan(&one.until, &one.Route, &one.Status, &one.Requests, &warehouse, &name, &one.CreatedAt, &updated)
		one.Warehouse, one.Name, one.UpdatedAt = warehouse.Bytes, name.String, updated.Time
		return one, err
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// endpointHours puts entries under their hours, newest first.
func endpointHours(list []endpointRow) (hours []EndpointHour) {
	slices.SortStableFunc(list, func(a, b endpointRow) int {
		return cmp.Or(b.until.Compare(a.until), strings.Compare(a.Route, b.Route), a.Status-b.Status, bytes.Compare(a.Warehouse[:], b.Warehouse[:]))
	})
	for _, r := range list {
		if n := len(hours); n == 0 || !hours[n-1].Until.Equal(r.until) {
			hours = append(hours, EndpointHour{Until: r.until.UTC()})
		}
		h := &hours[len(hours)-1]
		h.Calls = append(h.Calls, r.EndpointCalls)
	}
	return hours
}
