package icebergrest

import (
	"net/http"

	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/queries"
)

// listFunctions is GET …/functions. Nothing in the protocol makes a function,
// so the list is empty wherever the namespace is there.
func (a *API) listFunctions(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, err := namespaceOf(r)
	if err != nil {
		return err
	}
	q, err := wire.ParseQuery(r)
	if err != nil {
		return err
	}
	page, err := page(q)
	if err != nil {
		return err
	}
	if err := a.deps.Queries.ListFunctions(r.Context(), wire.Actor(r), warehouse, levels, page); err != nil {
		return err
	}
	wire.JSON(w, http.StatusOK, []byte(`{"identifiers":[]}`))
	return nil
}

// loadFunction is GET …/functions/{function}: a 404 of its own type.
func (a *API) loadFunction(_ http.ResponseWriter, r *http.Request) error {
	warehouse, levels, err := namespaceOf(r)
	if err != nil {
		return err
	}
	name, err := wire.DecodeSegment(r.PathValue("function"))
	if err != nil {
		return err
	}
	return a.deps.Queries.LoadFunction(r.Context(), wire.Actor(r), warehouse, queries.Identifier{Namespace: levels, Name: name})
}
