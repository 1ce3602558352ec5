package management

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/queries"
)

// changed reads what every change of a warehouse begins with.
func (a *API) changed(r *http.Request) (id ids.ID, object wire.Object, call commands.Call, err error) {
	if id, err = warehouseID(r); err != nil {
		return id, object, call, err
	}
	object, call, err = a.request(r)
	return id, object, call, err
}

// show answers a change with the warehouse as it stands after it.
func show(w http.ResponseWriter, warehouse commands.Warehouse, err error) error {
	if err != nil {
		return err
	}
	wire.JSON(w, http.StatusOK, appendWarehouse(nil, queries.Warehouse(warehouse)))
	return nil
}

// renameWarehouse is POST …/warehouse/{warehouse_id}/rename.
func (a *API) renameWarehouse(w http.ResponseWriter, r *http.Request) error {
	id, object, call, err := a.changed(r)
	if err != nil {
		return err
	}
	name, err := object.RequiredString("new-name")
	if err != nil {
		return err
	}
	warehouse, err := a.deps.Commands.RenameWarehouse(r.Context(), call, commands.RenameWarehouse{Warehouse: id, Name: name})
	return show(w, warehouse, err)
}

// activateWarehouse is POST …/warehouse/{warehouse_id}/activate.
func (a *API) activateWarehouse(w http.ResponseWriter, r *http.Request) error {
	return a.setActive(w, r, true)
}

// deactivateWarehouse is POST …/warehouse/{warehouse_id}/deactivate.
func (a *API) deactivateWarehouse(w http.ResponseWriter, r *http.Request) error {
	return a.setActive(w, r, false)
}

func (a *API) setActive(w http.ResponseWriter, r *http.Request, active bool) error {
	id, err := warehouseID(r)
	if err != nil {
		return err
	}
	call, err := wire.Call(r, nil)
	if err != nil {
		return err
	}
	if _, err := a.deps.Commands.SetWarehouseActive(r.Context(), call, commands.SetWarehouseActive{Warehouse: id, Active: active}); err != nil {
		return err
	}
	done(w)
	return nil
}

// updateStorage is POST …/warehouse/{warehouse_id}/storage.
func (a *API) updateStorage(w http.ResponseWriter, r *http.Request) error {
	id, object, call, err := a.changed(r)
	if err != nil {
		return err
	}
	profile, sent, err := object.Object("storage-profile")
	if err != nil {
		return err
	}
	if !sent {
		return object.Missing("storage-profile")
	}
	if _, err := profile.RequiredString("type"); err != nil {
		return err
	}
	if object.Raw("storage-credential") != nil {
		return noCredential("storage-credential")
	}
	warehouse, err := a.deps.Commands.UpdateWarehouseStorage(r.Context(), call, commands.UpdateWarehouseStorage{
		Warehouse: id, StorageProfile: bytes.Clone(object.Raw("storage-profile")),
	})
	return show(w, warehouse, err)
}

// updateCredential is POST …/warehouse/{warehouse_id}/storage-credential. Local
// files need no credential: one is refused, and none changes nothing.
func (a *API) updateCredential(w http.ResponseWriter, r *http.Request) error {
	id, object, call, err := a.changed(r)
	if err != nil {
		return err
	}
	if object.Raw("new-storage-credential") != nil {
		return noCredential("new-storage-credential")
	}
	warehouse, err := a.deps.Commands.CheckWarehouseStorage(r.Context(), call, commands.CheckWarehouseStorage{Warehouse: id})
	return show(w, warehouse, err)
}

// updateDeleteProfile is POST …/warehouse/{warehouse_id}/delete-profile.
func (a *API) updateDeleteProfile(w http.ResponseWriter, r *http.Request) error {
	id, object, call, err := a.changed(r)
	if err != nil {
		return err
	}
	expiration, sent, err := deleteProfile(object)
	if err != nil {
		return err
	}
	if !sent {
		return object.Missing("delete-profile")
	}
	warehouse, err := a.deps.Commands.UpdateWarehouseDeleteProfile(r.Context(), call, commands.UpdateWarehouseDeleteProfile{
		Warehouse: id, ExpirationSeconds: expiration,
	})
	return show(w, warehouse, err)
}

// setUndoWindow is POST …/warehouse/{warehouse_id}/undo-window, a route of ours.
func (a *API) setUndoWindow(w http.ResponseWriter, r *http.Request) error {
	id, object, call, err := a.changed(r)
	if err != nil {
		return err
	}
	in := commands.SetUndoWindow{Warehouse: id}
	switch {
	case !slices.Contains(object.Names(), "undo-window-seconds"):
		return object.Missing("undo-window-seconds")
	case object.Raw("undo-window-seconds") != nil: // null: as the server says
		seconds, err := object.Int("undo-window-seconds")
		if err != nil {
			return err
		}
		wide := int64(seconds)
		in.Seconds = &wide
	}
	warehouse, err := a.deps.Commands.SetUndoWindow(r.Context(), call, in)
	return show(w, warehouse, err)
}

// updateFormatVersions is POST …/warehouse/{warehouse_id}/format-version-policy.
func (a *API) updateFormatVersions(w http.ResponseWriter, r *http.Request) error {
	id, object, call, err := a.changed(r)
	if err != nil {
		return err
	}
	in := commands.UpdateWarehouseFormatVersions{Warehouse: id}
	if object.Raw("allowed-format-versions") == nil {
		return object.Missing("allowed-format-versions")
	}
	if in.AllowedFormats, err = object.Ints("allowed-format-versions"); err != nil {
		return err
	}
	if in.DefaultFormat, err = object.Int("default-format-version"); err != nil {
		return err
	}
	warehouse, err := a.deps.Commands.UpdateWarehouseFormatVersions(r.Context(), call, in)
	return show(w, warehouse, err)
}

// setWarehouseProtection is POST …/warehouse/{warehouse_id}/protection.
func (a *API) setWarehouseProtection(w http.ResponseWriter, r *http.Request) error {
	id, object, call, err := a.changed(r)
	if err != nil {
		return err
	}
	protected, err := protection(object)
	if err != nil {
		return err
	}
	warehouse, err := a.deps.Commands.SetWarehouseProtection(r.Context(), call, commands.SetWarehouseProtection{Warehouse: id, Protected: protected})
	if err != nil {
		return err
	}
	wire.JSON(w, http.StatusOK, appendProtection(nil, warehouse.Protected, warehouse.UpdatedAt))
	return nil
}

// deleteWarehouse is DELETE …/warehouse/{warehouse_id}. The parameter force is
// missing in the specification's list, but not in its text.
func (a *API) deleteWarehouse(w http.ResponseWriter, r *http.Request) error {
	id, err := warehouseID(r)
	if err != nil {
		return err
	}
	q, err := wire.ParseQuery(r)
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
	if err := a.deps.Commands.DeleteWarehouse(r.Context(), call, commands.DeleteWarehouse{Warehouse: id, Force: force}); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}
