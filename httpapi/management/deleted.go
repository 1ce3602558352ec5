package management

import (
	"net/http"
	"strconv"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/queries"
)

// deletedRoutes are about what was dropped and can come back.
func (a *API) deletedRoutes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodGet, Template: "/v1/warehouse/{warehouse_id}/deleted-tabulars", Operation: "listDeletedTabulars", Handle: a.listDeletedTabulars},
		{Method: http.MethodPost, Template: "/v1/warehouse/{warehouse_id}/deleted-tabulars/undrop", Operation: "undropTabulars", Handle: a.undropTabulars},
		{Method: http.MethodGet, Template: "/v1/warehouse/{warehouse_id}/deleted-namespaces", Operation: "listDeletedNamespaces", Handle: a.listDeletedNamespaces},
	}
}

// deletedPage reads what the lists have in common. They come in pages always.
func deletedPage(r *http.Request) (warehouse ids.ID, q wire.Query, page queries.Page, err error) {
	if warehouse, err = warehouseID(r); err != nil {
		return warehouse, q, page, err
	}
	if q, err = wire.ParseQuery(r); err != nil {
		return warehouse, q, page, err
	}
	page.Token, page.Size, err = q.Page()
	return warehouse, q, page, err
}

// listDeletedTabulars is GET …/warehouse/{warehouse_id}/deleted-tabulars.
func (a *API) listDeletedTabulars(w http.ResponseWriter, r *http.Request) error {
	warehouse, q, page, err := deletedPage(r)
	if err != nil {
		return err
	}
	text, err := q.String("namespaceId")
	if err != nil {
		return err
	}
	var namespace ids.ID
	if text != "" {
		if namespace, err = ids.Parse(text); err != nil || namespace.IsNil() {
			return &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: parameter namespaceId must be a UUID"}
		}
	}
	list, next, err := a.deps.Queries.ListDeletedTabulars(r.Context(), wire.Actor(r), warehouse, namespace, page)
	if err != nil {
		return err
	}
	body := []byte(`{"tabulars":[`)
	for i := range list {
		d := &list[i]
		if i > 0 {
			body = append(body, ',')
		}
		body = wire.AppendString(append(body, `{"id":`...), d.ID.String())
		body = wire.AppendString(append(body, `,"name":`...), d.Name)
		body = wire.AppendStrings(append(body, `,"namespace":`...), d.Namespace)
		body = wire.AppendString(append(body, `,"typ":`...), string(d.Kind))
		body = wire.AppendString(append(body, `,"warehouse-id":`...), warehouse.String())
		body = appendTime(append(body, `,"created-at":`...), d.CreatedAt)
		body = appendDeleted(body, d)
		if !d.DropRoot.IsNil() {
			body = wire.AppendString(append(body, `,"dropped-with":`...), d.DropRoot.String())
		}
		body = append(body, '}')
	}
	wire.JSON(w, http.StatusOK, wire.EndList(body, next))
	return nil
}

// appendDeleted prints when something was dropped, until when it can come back,
// and, which is ours, whether its files are deleted then.
func appendDeleted(body []byte, d *queries.Deleted) []byte {
	body = appendTime(append(body, `,"deleted-at":`...), d.DeletedAt)
	body = appendTime(append(body, `,"expiration-date":`...), d.ExpiresAt)
	return strconv.AppendBool(append(body, `,"purge-requested":`...), d.PurgeRequested)
}

// listDeletedNamespaces is GET …/warehouse/{warehouse_id}/deleted-namespaces, a
// route of ours: in Lakekeeper a namespace cannot come back.
func (a *API) listDeletedNamespaces(w http.ResponseWriter, r *http.Request) error {
	warehouse, _, page, err := deletedPage(r)
	if err != nil {
		return err
	}
	list, next, err := a.deps.Queries.ListDeletedNamespaces(r.Context(), wire.Actor(r), warehouse, page)
	if err != nil {
		return err
	}
	body := []byte(`{"namespaces":[`)
	for i := range list {
		d := &list[i]
		if i > 0 {
			body = append(body, ',')
		}
		body = wire.AppendString(append(body, `{"id":`...), d.ID.String())
		body = wire.AppendStrings(append(body, `,"namespace":`...), d.Namespace)
		body = appendDeleted(body, d)
		body = strconv.AppendInt(append(body, `,"number-of-namespaces":`...), d.Namespaces, 10)
		body = strconv.AppendInt(append(body, `,"number-of-tables":`...), d.Tables, 10)
		body = strconv.AppendInt(append(body, `,"number-of-views":`...), d.Views, 10)
		body = append(body, '}')
	}
	wire.JSON(w, http.StatusOK, wire.EndList(body, next))
	return nil
}

// undropTabulars is POST …/warehouse/{warehouse_id}/deleted-tabulars/undrop. Of a
// target, the type namespace and the members name and namespace are ours.
func (a *API) undropTabulars(w http.ResponseWriter, r *http.Request) error {
	id, object, call, err := a.changed(r)
	if err != nil {
		return err
	}
	if object.Raw("targets") == nil {
		return object.Missing("targets")
	}
	list, err := object.Objects("targets")
	if err != nil {
		return err
	}
	in := commands.Undrop{Warehouse: id, Targets: make([]commands.UndropTarget, len(list))}
	for i, target := range list {
		if in.Targets[i], err = undropTarget(target); err != nil {
			return err
		}
	}
	if err := a.deps.Commands.Undrop(r.Context(), call, in); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}

func undropTarget(object wire.Object) (t commands.UndropTarget, err error) {
	kind, err := object.RequiredString("type")
	if err != nil {
		return t, err
	}
	t.Kind = catalog.Entity(kind)
	text, err := object.RequiredString("id")
	if err != nil {
		return t, err
	}
	if t.Object, err = ids.Parse(text); err != nil || t.Object.IsNil() {
		return t, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: targets.id must be a UUID"}
	}
	if t.Name, _, err = object.String("name"); err != nil {
		return t, err
	}
	t.Namespace, t.Elsewhere, err = object.Strings("namespace")
	return t, err
}
