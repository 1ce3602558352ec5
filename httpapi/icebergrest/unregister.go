package icebergrest

import (
	"net/http"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// unregisterTable is POST …/tables/{table}/unregister: the table is forgotten
// and answered with its last state. A body has no meaning and is not read. A
// protected table needs force, as for a drop.
func (a *API) unregisterTable(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, name, err := tableOf(r)
	if err != nil {
		return err
	}
	q, err := wire.ParseQuery(r)
	if err != nil {
		return err
	}
	in := commands.UnregisterTable{Warehouse: warehouse, Table: commands.Identifier{Namespace: levels, Name: name}}
	if in.Force, err = q.Bool("force"); err != nil {
		return err
	}
	call, err := wire.Call(r, nil)
	if err != nil {
		return err
	}
	table, err := a.deps.Commands.UnregisterTable(r.Context(), call, in)
	if err != nil {
		return err
	}
	table.ETag = "" // nothing is left to be loaded under it
	writeTable(w, r, table, false)
	return nil
}
