package management

import (
	"net/http"
	"strconv"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/queries"
)

// warehouseStatistics is GET …/warehouse/{warehouse_id}/statistics. Its paging
// parameters are spelled with underscores.
func (a *API) warehouseStatistics(w http.ResponseWriter, r *http.Request) error {
	id, err := warehouseID(r)
	if err != nil {
		return err
	}
	page, err := snakePage(r)
	if err != nil {
		return err
	}
	hours, next, err := a.deps.Queries.WarehouseStatistics(r.Context(), wire.Actor(r), id, page)
	if err != nil {
		return err
	}
	body := wire.AppendString([]byte(`{"warehouse-ident":`), id.String())
	body = append(body, `,"stats":[`...)
	for i, h := range hours {
		if i > 0 {
			body = append(body, ',')
		}
		body = appendTime(append(body, `{"timestamp":`...), h.Until)
		body = strconv.AppendInt(append(body, `,"number-of-tables":`...), h.Tables, 10)
		body = strconv.AppendInt(append(body, `,"number-of-views":`...), h.Views, 10)
		body = appendTime(append(body, `,"updated-at":`...), h.UpdatedAt)
		body = append(body, '}')
	}
	wire.JSON(w, http.StatusOK, wire.EndList(body, next))
	return nil
}

func appendTime(body []byte, at time.Time) []byte {
	return wire.AppendString(body, at.UTC().Format(time.RFC3339Nano))
}

// snakePage reads page_token and page_size.
func snakePage(r *http.Request) (page queries.Page, err error) {
	q, err := wire.ParseQuery(r)
	if err != nil {
		return page, err
	}
	token, _, err := q.Lookup("page_token")
	if err != nil {
		return page, err
	}
	page.Token = &token
	text, err := q.String("page_size")
	if err != nil || text == "" {
		return page, err
	}
	size, err := strconv.Atoi(text)
	if err != nil {
		return page, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: page_size must be a whole number"}
	}
	page.Size = &size
	return page, nil
}
