package icebergrest

import (
	"net/http"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// commitTransaction is POST …/transactions/commit.
func (a *API) commitTransaction(w http.ResponseWriter, r *http.Request) error {
	warehouse, err := wire.Warehouse(r)
	if err != nil {
		return err
	}
	object, _, call, err := a.request(r)
	if err != nil {
		return err
	}
	items, err := object.Objects("table-changes")
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: table-changes is missing or empty"}
	}
	in := commands.CommitTransaction{Warehouse: warehouse, Changes: make([]commands.CommitTable, len(items))}
	for i, item := range items {
		change, err := readChange(item)
		if err != nil {
			return err
		}
		if change.Table, err = readIdentifier(item, "identifier"); err != nil {
			return err
		}
		in.Changes[i] = change
	}
	if err := a.deps.Commands.CommitTransaction(r.Context(), call, in); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}

// renameTable is POST …/tables/rename.
func (a *API) renameTable(w http.ResponseWriter, r *http.Request) error {
	warehouse, err := wire.Warehouse(r)
	if err != nil {
		return err
	}
	object, _, call, err := a.request(r)
	if err != nil {
		return err
	}
	in := commands.RenameTable{Warehouse: warehouse}
	if in.Source, in.Destination, err = readRename(object); err != nil {
		return err
	}
	if err := a.deps.Commands.RenameTable(r.Context(), call, in); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}

// readRename reads RenameTableRequest, which views share.
func readRename(object wire.Object) (source, destination commands.Identifier, err error) {
	if source, err = readIdentifier(object, "source"); err != nil {
		return source, destination, err
	}
	destination, err = readIdentifier(object, "destination")
	return source, destination, err
}

// readIdentifier reads a TableIdentifier that has to be there.
func readIdentifier(object wire.Object, name string) (commands.Identifier, error) {
	member, sent, err := object.Object(name)
	if err != nil {
		return commands.Identifier{}, err
	}
	if !sent {
		return commands.Identifier{}, object.Missing(name)
	}
	levels, sent, err := member.Strings("namespace")
	if err != nil {
		return commands.Identifier{}, err
	}
	if !sent {
		return commands.Identifier{}, member.Missing("namespace")
	}
	table, err := member.RequiredString("name")
	if err != nil {
		return commands.Identifier{}, err
	}
	return commands.Identifier{Namespace: levels, Name: table}, nil
}
