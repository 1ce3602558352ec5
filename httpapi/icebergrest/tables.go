package icebergrest

import (
	"net/http"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/queries"
)

// listTables is GET …/tables.
func (a *API) listTables(w http.ResponseWriter, r *http.Request) error {
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
	list, err := a.deps.Queries.ListTables(r.Context(), wire.Actor(r), warehouse, levels, page)
	if err != nil {
		return err
	}
	wire.JSON(w, http.StatusOK, identifierList(list.Identifiers, list.Next))
	return nil
}

// identifierList is ListTablesResponse, for tables and for views.
func identifierList(identifiers []queries.Identifier, next string) []byte {
	body := make([]byte, 0, 64+64*len(identifiers))
	body = append(body, `{"identifiers":[`...)
	for i, id := range identifiers {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"namespace":`...)
		body = wire.AppendStrings(body, id.Namespace)
		body = append(body, `,"name":`...)
		body = append(wire.AppendString(body, id.Name), '}')
	}
	return wire.EndList(body, next)
}

// createTable is POST …/tables, staged or not.
func (a *API) createTable(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, err := namespaceOf(r)
	if err != nil {
		return err
	}
	_, body, call, err := a.request(r)
	if err != nil {
		return err
	}
	table, err := a.deps.Commands.CreateTable(r.Context(), call, commands.CreateTable{
		Warehouse: warehouse, Namespace: levels, Request: body,
	})
	if err != nil {
		return err
	}
	writeTable(w, r, table, true)
	return nil
}

// commitTable is POST …/tables/{table}. The identifier in the body is ignored:
// the path names the table, and ClickHouse nests the body's one wrongly.
func (a *API) commitTable(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, name, err := tableOf(r)
	if err != nil {
		return err
	}
	object, _, call, err := a.request(r)
	if err != nil {
		return err
	}
	change, err := readChange(object)
	if err != nil {
		return err
	}
	change.Warehouse = warehouse
	change.Table = commands.Identifier{Namespace: levels, Name: name}
	table, err := a.deps.Commands.CommitTable(r.Context(), call, change)
	if err != nil {
		return err
	}
	writeTable(w, r, table, false)
	return nil
}

// readChange reads requirements and updates, each an array or absent.
func readChange(object wire.Object) (commands.CommitTable, error) {
	requirements, err := object.Array("requirements")
	if err != nil {
		return commands.CommitTable{}, err
	}
	updates, err := object.Array("updates")
	if err != nil {
		return commands.CommitTable{}, err
	}
	return commands.CommitTable{Requirements: requirements, Updates: updates}, nil
}

// dropTable is DELETE …/tables/{table}.
func (a *API) dropTable(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, name, err := tableOf(r)
	if err != nil {
		return err
	}
	q, err := wire.ParseQuery(r)
	if err != nil {
		return err
	}
	purge, err := q.Bool("purgeRequested")
	if err != nil {
		return err
	}
	force, err := q.Bool("force")
	if err != nil {
		return err
	}
	call, err := wire.Call(r, nil)
	if err != nil {
		return err
	}
	if err := a.deps.Commands.DropTable(r.Context(), call, commands.DropTable{
		Warehouse: warehouse, Table: commands.Identifier{Namespace: levels, Name: name}, PurgeRequested: purge, Force: force,
	}); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}

// tableExists is HEAD …/tables/{table}.
func (a *API) tableExists(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, name, err := tableOf(r)
	if err != nil {
		return err
	}
	if err := a.deps.Queries.TableExists(r.Context(), wire.Actor(r), warehouse, queries.Identifier{Namespace: levels, Name: name}); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}

// registerTable is POST …/register.
func (a *API) registerTable(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, err := namespaceOf(r)
	if err != nil {
		return err
	}
	object, _, call, err := a.request(r)
	if err != nil {
		return err
	}
	in := commands.RegisterTable{Warehouse: warehouse, Namespace: levels}
	if in.Name, err = object.RequiredString("name"); err != nil {
		return err
	}
	if in.MetadataLocation, err = object.RequiredString("metadata-location"); err != nil {
		return err
	}
	if in.Overwrite, err = object.Bool("overwrite"); err != nil {
		return err
	}
	table, err := a.deps.Commands.RegisterTable(r.Context(), call, in)
	if err != nil {
		return err
	}
	writeTable(w, r, table, true)
	return nil
}
