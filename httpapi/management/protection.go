package management

import (
	"net/http"
	"strconv"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// protectedKinds are the kinds of objects below a warehouse that have a
// protection, as they are spelled in paths.
var protectedKinds = []catalog.Entity{catalog.EntityNamespace, catalog.EntityTable, catalog.EntityView}

// protectionRoutes are a GET and a POST for each of them.
func (a *API) protectionRoutes() (routes []wire.Route) {
	titles := map[catalog.Entity]string{catalog.EntityNamespace: "Namespace", catalog.EntityTable: "Table", catalog.EntityView: "View"}
	for _, kind := range protectedKinds {
		template := "/v1/warehouse/{warehouse_id}/" + string(kind) + "/{" + string(kind) + "_id}/protection"
		routes = append(routes,
			wire.Route{Method: http.MethodGet, Template: template, Operation: "get" + titles[kind] + "Protection", Handle: a.getProtection(kind)},
			wire.Route{Method: http.MethodPost, Template: template, Operation: "set" + titles[kind] + "Protection", Handle: a.setProtection(kind)})
	}
	return routes
}

// objectID reads the object of a route. What is no UUID is an object that does
// not exist.
func objectID(r *http.Request, kind catalog.Entity) (warehouse, object ids.ID, err error) {
	if warehouse, err = warehouseID(r); err != nil {
		return warehouse, object, err
	}
	text, err := wire.DecodeSegment(r.PathValue(string(kind) + "_id"))
	if err != nil {
		return warehouse, object, err
	}
	object, err = ids.Parse(text)
	if err == nil && !object.IsNil() {
		return warehouse, object, nil
	}
	switch kind {
	case catalog.EntityNamespace:
		return warehouse, object, &catalog.Error{Kind: catalog.NoSuchNamespace, Message: "Namespace does not exist: " + text}
	case catalog.EntityView:
		return warehouse, object, &catalog.Error{Kind: catalog.NoSuchView, Message: "View does not exist: " + text}
	default:
		return warehouse, object, &catalog.Error{Kind: catalog.NoSuchTable, Message: "Table does not exist: " + text}
	}
}

func (a *API) getProtection(kind catalog.Entity) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		warehouse, object, err := objectID(r, kind)
		if err != nil {
			return err
		}
		p, err := a.deps.Queries.GetProtection(r.Context(), wire.Actor(r), warehouse, kind, object)
		if err != nil {
			return err
		}
		wire.JSON(w, http.StatusOK, appendProtection(nil, p.Protected, p.UpdatedAt))
		return nil
	}
}

func (a *API) setProtection(kind catalog.Entity) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		warehouse, id, err := objectID(r, kind)
		if err != nil {
			return err
		}
		object, call, err := a.request(r)
		if err != nil {
			return err
		}
		in := commands.SetProtection{Warehouse: warehouse, Kind: kind, Object: id}
		if in.Protected, err = protection(object); err != nil {
			return err
		}
		p, err := a.deps.Commands.SetProtection(r.Context(), call, in)
		if err != nil {
			return err
		}
		wire.JSON(w, http.StatusOK, appendProtection(nil, p.Protected, p.UpdatedAt))
		return nil
	}
}

// protection reads a SetProtectionRequest.
func protection(object wire.Object) (bool, error) {
	if object.Raw("protected") == nil {
		return false, object.Missing("protected")
	}
	return object.Bool("protected")
}

// appendProtection prints a ProtectionResponse, one of the few answers whose
// members are not in kebab case.
func appendProtection(body []byte, protected bool, updatedAt time.Time) []byte {
	body = strconv.AppendBool(append(body, `{"protected":`...), protected)
	if !updatedAt.IsZero() {
		body = wire.AppendString(append(body, `,"updated_at":`...), updatedAt.UTC().Format(time.RFC3339Nano))
	}
	return append(body, '}')
}
