package management

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/queries"
)

// listMetricsReports is GET
// /management/v1/warehouse/{warehouse_id}/table/{table_id}/metrics-reports, a
// route of ours: Lakekeeper throws reports away. Newest first, in pages always;
// reportType and snapshotId choose.
func (a *API) listMetricsReports(w http.ResponseWriter, r *http.Request) error {
	warehouse, table, err := objectID(r, catalog.EntityTable)
	if err != nil {
		return err
	}
	q, err := wire.ParseQuery(r)
	if err != nil {
		return err
	}
	var filter queries.ReportFilter
	if filter.Type, err = q.String("reportType"); err != nil {
		return err
	}
	filter.Type = strings.ToLower(filter.Type)
	if text, err := q.String("snapshotId"); err != nil {
		return err
	} else if text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: parameter snapshotId must be a whole number"}
		}
		filter.Snapshot = &n
	}
	token, size, err := q.Page()
	if err != nil {
		return err
	}
	page, err := a.deps.Queries.MetricsReports(r.Context(), wire.Actor(r), warehouse, table, filter, queries.Page{Token: token, Size: size})
	if err != nil {
		return err
	}
	wire.JSON(w, http.StatusOK, appendReports(nil, page))
	return nil
}

// appendReports prints a page. A report stands in it as the bytes that came.
func appendReports(body []byte, page queries.MetricsReports) []byte {
	body = append(body, `{"metrics-reports":[`...)
	for i := range page.Reports {
		report := &page.Reports[i]
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"id":`...)
		body = wire.AppendString(body, report.ID.String())
		body = append(body, `,"received-at":`...)
		body = wire.AppendString(body, report.ReceivedAt.UTC().Format(time.RFC3339Nano))
		body = append(body, `,"actor-id":`...)
		body = wire.AppendString(body, report.Actor.String())
		body = append(body, `,"report-type":`...)
		body = wire.AppendString(body, report.Type)
		if report.Snapshot != nil {
			body = append(body, `,"snapshot-id":`...)
			body = strconv.AppendInt(body, *report.Snapshot, 10)
		}
		body = append(body, `,"report":`...)
		body = append(wire.AppendRaw(body, report.Body), '}')
	}
	return wire.EndList(body, page.Next)
}
