package icebergrest

import (
	"net/http"

	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/queries"
)

// loadCredentials is GET …/tables/{table}/credentials. planId and referenced-by
// change nothing: no plan has credentials of its own, and rights are asked of
// the caller, whatever view he came through.
func (a *API) loadCredentials(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, name, err := tableOf(r)
	if err != nil {
		return err
	}
	list, err := a.deps.Queries.Credentials(r.Context(), wire.Actor(r), warehouse, queries.Identifier{Namespace: levels, Name: name})
	if err != nil {
		return err
	}
	body := []byte(`{"storage-credentials":[`)
	for i, c := range list {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"prefix":`...)
		body = wire.AppendString(body, c.Prefix)
		body = append(body, `,"config":`...)
		body = append(wire.AppendMap(body, c.Config), '}')
	}
	w.Header().Set("Cache-Control", "no-store") // what opens files is kept by its user alone
	wire.JSON(w, http.StatusOK, append(body, "]}"...))
	return nil
}
