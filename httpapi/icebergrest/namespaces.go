package icebergrest

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// listNamespaces is GET …/namespaces.
func (a *API) listNamespaces(w http.ResponseWriter, r *http.Request) error {
	warehouse, err := wire.Warehouse(r)
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
	value, err := q.String("parent")
	if err != nil {
		return err
	}
	parent, again, err := wire.DecodeParent(value)
	if err != nil {
		return err
	}
	if len(parent) > 0 && wire.Empty(parent) {
		return wire.MissingNamespace(parent)
	}
	list, err := a.deps.Queries.ListNamespaces(r.Context(), wire.Actor(r), warehouse, parent, page)
	if again != nil && !wire.Empty(again) && catalog.KindOf(err) == catalog.NoSuchNamespace {
		// PyIceberg escapes the value twice. The first error stands if that
		// reading finds nothing either.
		second, errAgain := a.deps.Queries.ListNamespaces(r.Context(), wire.Actor(r), warehouse, again, page)
		if errAgain == nil {
			list, err = second, nil
		}
	}
	if err != nil {
		return err
	}
	body := []byte(`{"namespaces":[`)
	for i, levels := range list.Namespaces {
		if i > 0 {
			body = append(body, ',')
		}
		body = wire.AppendStrings(body, levels)
	}
	wire.JSON(w, http.StatusOK, wire.EndList(body, list.Next))
	return nil
}

// createNamespace is POST …/namespaces.
func (a *API) createNamespace(w http.ResponseWriter, r *http.Request) error {
	warehouse, err := wire.Warehouse(r)
	if err != nil {
		return err
	}
	object, _, call, err := a.request(r)
	if err != nil {
		return err
	}
	levels, sent, err := object.Strings("namespace")
	if err != nil {
		return err
	}
	if !sent {
		return object.Missing("namespace")
	}
	properties, err := object.StringMap("properties")
	if err != nil {
		return err
	}
	made, err := a.deps.Commands.CreateNamespace(r.Context(), call, commands.CreateNamespace{
		Warehouse: warehouse, Namespace: levels, Properties: properties,
	})
	if err != nil {
		return err
	}
	writeNamespace(w, made.Levels, made.Properties, "")
	return nil
}

// loadNamespace is GET …/namespaces/{namespace}.
func (a *API) loadNamespace(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, err := namespaceOf(r)
	if err != nil {
		return err
	}
	found, err := a.deps.Queries.LoadNamespace(r.Context(), wire.Actor(r), warehouse, levels)
	if err != nil {
		return err
	}
	writeNamespace(w, found.Levels, found.Properties, found.Location)
	return nil
}

// writeNamespace prints properties always: PyIceberg before 0.12 needs them. A
// location that is not among them is shown as one.
func writeNamespace(w http.ResponseWriter, levels []string, properties json.RawMessage, location string) {
	body := append([]byte(`{"namespace":`), wire.AppendStrings(nil, levels)...)
	body = append(body, `,"properties":`...)
	if location == "" {
		body = wire.AppendRaw(body, properties)
	} else {
		body = append(body, `{"location":`...)
		body = wire.AppendString(body, location)
		rest := bytes.TrimLeft(bytes.TrimPrefix(properties, []byte("{")), " ")
		if len(rest) > 1 {
			body = append(body, ',')
		}
		body = append(body, rest...)
	}
	wire.JSON(w, http.StatusOK, append(body, '}'))
}

// namespaceExists is HEAD …/namespaces/{namespace}.
func (a *API) namespaceExists(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, err := namespaceOf(r)
	if err != nil {
		return err
	}
	if err := a.deps.Queries.NamespaceExists(r.Context(), wire.Actor(r), warehouse, levels); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}

// dropNamespace is DELETE …/namespaces/{namespace}.
func (a *API) dropNamespace(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, err := namespaceOf(r)
	if err != nil {
		return err
	}
	call, err := wire.Call(r, nil)
	if err != nil {
		return err
	}
	in := commands.DropNamespace{Warehouse: warehouse, Namespace: levels}
	if in.Recursive, in.Force, in.PurgeRequested, err = dropOptions(r); err != nil {
		return err
	}
	if err := a.deps.Commands.DropNamespace(r.Context(), call, in); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}

// dropOptions reads how to drop a namespace: Lakekeeper's parameters, and
// purgeRequested as tables have it.
func dropOptions(r *http.Request) (recursive, force, purge bool, err error) {
	q, err := wire.ParseQuery(r)
	if err != nil {
		return false, false, false, err
	}
	if recursive, err = q.Bool("recursive"); err != nil {
		return false, false, false, err
	}
	if force, err = q.Bool("force"); err != nil {
		return false, false, false, err
	}
	if purge, err = q.Bool("purge"); err != nil || purge {
		return recursive, force, purge, err
	}
	purge, err = q.Bool("purgeRequested")
	return recursive, force, purge, err
}

// updateProperties is POST …/namespaces/{namespace}/properties.
func (a *API) updateProperties(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, err := namespaceOf(r)
	if err != nil {
		return err
	}
	object, _, call, err := a.request(r)
	if err != nil {
		return err
	}
	removals, _, err := object.Strings("removals")
	if err != nil {
		return err
	}
	updates, err := object.StringMap("updates")
	if err != nil {
		return err
	}
	changed, err := a.deps.Commands.UpdateNamespaceProperties(r.Context(), call, commands.UpdateNamespaceProperties{
		Warehouse: warehouse, Namespace: levels, Removals: removals, Updates: updates,
	})
	if err != nil {
		return err
	}
	body := append([]byte(`{"updated":`), wire.AppendStrings(nil, changed.Updated)...)
	body = append(body, `,"removed":`...)
	body = wire.AppendStrings(body, changed.Removed)
	body = append(body, `,"missing":`...)
	body = wire.AppendStrings(body, changed.Missing)
	wire.JSON(w, http.StatusOK, append(body, '}'))
	return nil
}
