package management

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/queries"
)

// createWarehouse is POST /management/v1/warehouse.
func (a *API) createWarehouse(w http.ResponseWriter, r *http.Request) error {
	object, call, err := a.request(r)
	if err != nil {
		return err
	}
	in, err := readWarehouse(object)
	if err != nil {
		return err
	}
	if err := refusePromises(object); err != nil {
		return err
	}
	text, _, err := object.String("project-id")
	if err != nil {
		return err
	}
	if in.Project, err = a.project(r, text); err != nil {
		return err
	}
	made, err := a.deps.Commands.CreateWarehouse(r.Context(), call, in)
	if err != nil {
		return err
	}
	wire.JSON(w, http.StatusCreated, appendWarehouse(nil, queries.Warehouse(made)))
	return nil
}

// readWarehouse reads a CreateWarehouseRequest.
func readWarehouse(object wire.Object) (in commands.CreateWarehouse, err error) {
	if in.Name, err = object.RequiredString("warehouse-name"); err != nil {
		return in, err
	}
	profile, sent, err := object.Object("storage-profile")
	if err != nil {
		return in, err
	}
	if !sent {
		return in, object.Missing("storage-profile")
	}
	if _, err := profile.RequiredString("type"); err != nil {
		return in, err
	}
	in.StorageProfile = bytes.Clone(object.Raw("storage-profile"))
	if in.AllowedFormats, err = object.Ints("allowed-format-versions"); err != nil {
		return in, err
	}
	if in.DefaultFormat, err = object.Int("default-format-version"); err != nil {
		return in, err
	}
	in.ExpirationSeconds, _, err = deleteProfile(object)
	return in, err
}

// deleteProfile reads the member delete-profile: how long a dropped object can
// come back, nil where a drop is for good.
func deleteProfile(object wire.Object) (expiration *int64, sent bool, err error) {
	profile, sent, err := object.Object("delete-profile")
	if err != nil || !sent {
		return nil, false, err
	}
	kind, err := profile.RequiredString("type")
	if err != nil {
		return nil, true, err
	}
	switch kind {
	case "hard":
		return nil, true, nil
	case "soft":
		if profile.Raw("expiration-seconds") == nil {
			return nil, true, profile.Missing("expiration-seconds")
		}
		seconds, err := profile.Int("expiration-seconds")
		wide := int64(seconds)
		return &wide, true, err
	}
	return nil, true, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: delete-profile.type must be hard or soft"}
}

// refusePromises refuses what this server would otherwise only seem to do.
func refusePromises(object wire.Object) error {
	refused, err := promises(object, "storage-credential")
	if err != nil {
		return err
	}
	for _, check := range []string{commands.CheckClient, commands.CheckManagedBy} {
		if refused[check] != nil {
			return refused[check]
		}
	}
	return nil
}

// promises are what a request asks for and this server does not do, by the
// check of a dry run that it belongs to.
func promises(object wire.Object, credential string) (map[string]error, error) {
	refused := map[string]error{}
	if object.Raw(credential) != nil {
		refused[commands.CheckClient] = noCredential(credential)
	}
	manager, sent, err := object.String("managed-by")
	if err != nil {
		return nil, err
	}
	if sent && manager != "self-managed" {
		refused[commands.CheckManagedBy] = &catalog.Error{Kind: catalog.Unsupported, Message: "managed-by: only self-managed is supported"}
	}
	return refused, nil
}

func noCredential(member string) error {
	return &catalog.Error{Kind: catalog.Unsupported, Message: member + " is not supported: local files need none"}
}

// listWarehouses is GET /management/v1/warehouse: active ones, unless
// warehouseStatus asks for others.
func (a *API) listWarehouses(w http.ResponseWriter, r *http.Request) error {
	q, err := wire.ParseQuery(r)
	if err != nil {
		return err
	}
	active, inactive, err := statuses(q)
	if err != nil {
		return err
	}
	text, err := q.String("projectId")
	if err != nil {
		return err
	}
	of, err := a.project(r, text)
	if err != nil {
		return err
	}
	list, err := a.deps.Queries.ListWarehouses(r.Context(), wire.Actor(r), of)
	if err != nil {
		return err
	}
	body := []byte(`{"warehouses":[`)
	first := true
	for _, warehouse := range list {
		if warehouse.Active && !active || !warehouse.Active && !inactive {
			continue
		}
		if !first {
			body = append(body, ',')
		}
		first = false
		body = appendWarehouse(body, warehouse)
	}
	wire.JSON(w, http.StatusOK, append(body, "]}"...))
	return nil
}

// statuses reads the repeatable parameter warehouseStatus.
func statuses(q wire.Query) (active, inactive bool, err error) {
	for _, status := range q.Values("warehouseStatus") {
		switch status {
		case "active":
			active = true
		case "inactive":
			inactive = true
		default:
			return false, false, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: warehouseStatus must be active or inactive"}
		}
	}
	if !active && !inactive {
		active = true
	}
	return active, inactive, nil
}

// getWarehouse is GET /management/v1/warehouse/{warehouse_id}.
func (a *API) getWarehouse(w http.ResponseWriter, r *http.Request) error {
	id, err := warehouseID(r)
	if err != nil {
		return err
	}
	warehouse, err := a.deps.Queries.GetWarehouse(r.Context(), wire.Actor(r), id)
	if err != nil {
		return err
	}
	wire.JSON(w, http.StatusOK, appendWarehouse(nil, warehouse))
	return nil
}

// warehouseID reads the warehouse of a route. What is no UUID is a warehouse
// that does not exist.
func warehouseID(r *http.Request) (ids.ID, error) {
	text, err := wire.DecodeSegment(r.PathValue("warehouse_id"))
	if err != nil {
		return ids.Nil, err
	}
	id, err := ids.Parse(text)
	if err != nil || id.IsNil() {
		return ids.Nil, &catalog.Error{Kind: catalog.NoSuchWarehouse, Message: "A warehouse '" + text + "' does not exist"}
	}
	wire.InfoOf(r.Context()).Warehouse = id
	return id, nil
}

// appendWarehouse prints a GetWarehouseResponse. A stored profile holds no
// secret, so it is shown as it is.
func appendWarehouse(body []byte, w queries.Warehouse) []byte {
	id := w.ID.String()
	body = append(body, `{"id":`...)
	body = wire.AppendString(body, id)
	body = append(body, `,"warehouse-id":`...)
	body = wire.AppendString(body, id)
	body = append(body, `,"name":`...)
	body = wire.AppendString(body, w.Name)
	body = append(body, `,"project-id":`...)
	body = wire.AppendString(body, w.Project)
	body = append(body, `,"storage-profile":`...)
	body = wire.AppendRaw(body, w.StorageProfile)
	body = append(body, `,"delete-profile":`...)
	if w.ExpirationSeconds == nil {
		body = append(body, `{"type":"hard"}`...)
	} else {
		body = append(body, `{"type":"soft","expiration-seconds":`...)
		body = append(strconv.AppendInt(body, *w.ExpirationSeconds, 10), '}')
	}
	if w.UndoWindowSeconds != nil { // ours: it is not shown where nobody set it
		body = append(body, `,"undo-window-seconds":`...)
		body = strconv.AppendInt(body, *w.UndoWindowSeconds, 10)
	}
	body = append(body, `,"status":`...)
	if w.Active {
		body = append(body, `"active"`...)
	} else {
		body = append(body, `"inactive"`...)
	}
	body = append(body, `,"protected":`...)
	body = strconv.AppendBool(body, w.Protected)
	body = append(body, `,"managed-by":"self-managed","allowed-format-versions":[`...)
	for i, version := range w.AllowedFormats {
		if i > 0 {
			body = append(body, ',')
		}
		body = strconv.AppendInt(body, int64(version), 10)
	}
	body = append(body, ']')
	if w.DefaultFormat != 0 {
		body = append(body, `,"default-format-version":`...)
		body = strconv.AppendInt(body, int64(w.DefaultFormat), 10)
	}
	if !w.UpdatedAt.IsZero() {
		body = append(body, `,"updated-at":`...)
		body = wire.AppendString(body, w.UpdatedAt.UTC().Format(time.RFC3339Nano))
	}
	return append(body, '}')
}
