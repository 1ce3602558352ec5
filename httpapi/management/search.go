package management

import (
	"net/http"
	"strconv"

	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// searchTabular is POST …/warehouse/{warehouse_id}/search-tabular. It changes
// nothing, so an idempotency key has no meaning here.
func (a *API) searchTabular(w http.ResponseWriter, r *http.Request) error {
	id, err := warehouseID(r)
	if err != nil {
		return err
	}
	object, err := a.object(r)
	if err != nil {
		return err
	}
	text, err := object.RequiredString("search")
	if err != nil {
		return err
	}
	found, err := a.deps.Queries.SearchTabulars(r.Context(), wire.Actor(r), id, text)
	if err != nil {
		return err
	}
	body := []byte(`{"tabulars":[`)
	for i, f := range found {
		if i > 0 {
			body = append(body, ',')
		}
		body = wire.AppendString(append(body, `{"tabular-id":{"type":`...), f.Kind)
		body = wire.AppendString(append(body, `,"id":`...), f.ID.String())
		body = wire.AppendStrings(append(body, `},"namespace-name":`...), f.Namespace)
		body = wire.AppendString(append(body, `,"tabular-name":`...), f.Name)
		if f.Distance != nil {
			body = strconv.AppendFloat(append(body, `,"distance":`...), float64(*f.Distance), 'g', -1, 32)
		}
		body = append(body, '}')
	}
	wire.JSON(w, http.StatusOK, append(body, "]}"...))
	return nil
}

// object reads the body of a request that changes nothing.
func (a *API) object(r *http.Request) (wire.Object, error) {
	body, err := wire.ReadBody(r, a.deps.MaxBody)
	if err != nil {
		return wire.Object{}, err
	}
	return wire.ParseObject(body)
}
