package queries

import (
	"context"
	_ "embed"
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

//go:embed sql/endpoint_statistics.sql
var endpointStatisticsSQL string

const (
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
	if hours, err = s.deps.Lists.endpoints(ctx, &in); err != nil {
		return nil, "", "", unavailable(err)
	}
	token := func(end time.Time) string {
		return s.tokens.seal(end.UTC().Format(time.RFC3339Nano)+" "+strconv.FormatInt(int64(in.Length), 10), bound)
	}
	return hours, token(in.End.Add(-in.Length)), token(in.End.Add(in.Length)), nil
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
		end, length, _ := strings.Cut(text, " ")
		at, err := time.Parse(time.RFC3339Nano, end)
		n, other := strconv.ParseInt(length, 10, 64)
		if err != nil || other != nil {
			return &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid page token"}
		}
		in.End, in.Length = at, time.Duration(n)
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

func (l Lists) endpoints(ctx context.Context, in *EndpointWindow) ([]EndpointHour, error) {
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
	rows, err := l.db.Query(ctx, endpointStatisticsSQL, [16]byte(in.Project), endOfHour(in.End.Add(-in.Length)), endOfHour(in.End),
		warehouse, in.Unmapped, statuses)
	type row struct {
		until time.Time
		EndpointCalls
	}
	list, err := collect(rows, err, func(r pgx.CollectableRow) (one row, err error) {
		var warehouse pgtype.UUID
		var name pgtype.Text
		var updated pgtype.Timestamptz
		err = r.Scan(&one.until, &one.Route, &one.Status, &one.Requests, &warehouse, &name, &one.CreatedAt, &updated)
		one.Warehouse, one.Name, one.UpdatedAt = warehouse.Bytes, name.String, updated.Time
		return one, err
	})
	if err != nil {
		return nil, err
	}
	var hours []EndpointHour
	for _, r := range list {
		if n := len(hours); n == 0 || !hours[n-1].Until.Equal(r.until) {
			hours = append(hours, EndpointHour{Until: r.until.UTC()})
		}
		h := &hours[len(hours)-1]
		h.Calls = append(h.Calls, r.EndpointCalls)
	}
	return hours, nil
}
