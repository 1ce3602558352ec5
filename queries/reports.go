package queries

import (
	"context"
	"strconv"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/reports"
	"github.com/icecore-catalog/icecore/projections"
)

// ReportLister reads metrics reports; [reports.Store] is one.
type ReportLister interface {
	List(ctx context.Context, f reports.Filter, limit int) (list []reports.Report, more bool, err error)
}

// ReportFilter chooses among the metrics reports of a table.
type ReportFilter struct {
	Type     string // "scan-report", "commit-report" or another; empty for all
	Snapshot *int64 // nil for all
}

// MetricsReports is a page of metrics reports, newest first.
type MetricsReports struct {
	Reports []reports.Report
	Next    string // token of the next page; empty on the last
}

// MetricsReports lists the metrics reports of a table by its id or its
// table-uuid. It pages always. Who may see the table may read them; those of a
// table that was dropped can no longer be asked for.
func (s *Service) MetricsReports(ctx context.Context, actor authz.Actor, warehouse, table ids.ID, filter ReportFilter, page Page) (MetricsReports, error) {
	f, err := s.tableByID(ctx, actor, warehouse, table, authz.TableGetMetadata)
	if err != nil {
		return MetricsReports{}, err
	}
	name := "metrics-reports/" + filter.Type
	if filter.Snapshot != nil {
		name += "/" + strconv.FormatInt(*filter.Snapshot, 10)
	}
	size, after, err := s.opened(listing{name: name, actor: actor, of: f.Table.ID}, page)
	if err != nil {
		return MetricsReports{}, err
	}
	chosen := reports.Filter{Table: f.Table.ID, Type: filter.Type, Snapshot: filter.Snapshot}
	if after != "" {
		if chosen.Before, err = ids.Parse(after); err != nil {
			return MetricsReports{}, &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid page token", Cause: err}
		}
	}
	list, more, err := s.deps.Reports.List(ctx, chosen, size)
	if err != nil {
		return MetricsReports{}, unavailable(err)
	}
	out := MetricsReports{Reports: list}
	if more {
		out.Next = s.tokens.seal(list[len(list)-1].ID.String(), bind(actor, name, f.Table.ID))
	}
	return out, nil
}

// tableByID finds a table by its id, or by the table-uuid that clients know,
// which is the same for tables that were made here.
func (s *Service) tableByID(ctx context.Context, actor authz.Actor, warehouse, table ids.ID, action authz.Action) (*projections.Facts, error) {
	f, err := s.resolve(ctx, projections.Query{Warehouse: warehouse, Object: table})
	if err != nil {
		return nil, err
	}
	on, found := subject.Object(f, catalog.EntityTable, table)
	if !found {
		object, err := s.details.TabularByUUID(ctx, warehouse, table)
		if err != nil {
			return nil, unavailable(err)
		}
		if !object.IsNil() {
			if f, err = s.resolve(ctx, projections.Query{Warehouse: warehouse, Object: object}); err != nil {
				return nil, err
			}
			on, found = subject.Object(f, catalog.EntityTable, object)
		}
	}
	missing := noSuchObject(catalog.EntityTable, table)
	if err := authz.Check(ctx, s.deps.Authorizer, actor, on, action, missing); err != nil {
		return nil, err
	}
	if err := inWarehouse(f); err != nil {
		return nil, err
	}
	if !found {
		return nil, missing
	}
	return f, nil
}
