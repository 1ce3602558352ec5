package management

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// Dry runs answer 200 whatever they find: a check that failed is a result.

// validateWarehouse is POST /management/v1/warehouse-creation-validation.
func (a *API) validateWarehouse(w http.ResponseWriter, r *http.Request) error {
	object, call, err := a.request(r)
	if err != nil {
		return err
	}
	var in commands.ValidateWarehouse
	if in.CreateWarehouse, err = readWarehouse(object); err != nil {
		return err
	}
	if in.Refused, err = promises(object, "storage-credential"); err != nil {
		return err
	}
	text, _, err := object.String("project-id")
	if err != nil {
		return err
	}
	if in.Project, err = a.project(r, text); err != nil {
		return err
	}
	validation, err := a.deps.Commands.ValidateWarehouse(r.Context(), call, in)
	return a.report(w, validation, err)
}

// validateAccess is POST …/storage/validate-access. It has no body.
func (a *API) validateAccess(w http.ResponseWriter, r *http.Request) error {
	id, err := warehouseID(r)
	if err != nil {
		return err
	}
	call, err := wire.Call(r, nil)
	if err != nil {
		return err
	}
	validation, err := a.deps.Commands.ValidateStorage(r.Context(), call, commands.ValidateStorage{Warehouse: id})
	return a.report(w, validation, err)
}

// validateProfile is POST …/storage/validate-profile.
func (a *API) validateProfile(w http.ResponseWriter, r *http.Request) error {
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
	in := commands.ValidateStorage{Warehouse: id, Profile: bytes.Clone(object.Raw("storage-profile"))}
	if in.Refused, err = promises(object, "storage-credential"); err != nil {
		return err
	}
	validation, err := a.deps.Commands.ValidateStorage(r.Context(), call, in)
	return a.report(w, validation, err)
}

// validateCredential is POST …/storage/validate-credential.
func (a *API) validateCredential(w http.ResponseWriter, r *http.Request) error {
	id, object, call, err := a.changed(r)
	if err != nil {
		return err
	}
	in := commands.ValidateStorage{Warehouse: id}
	if in.Refused, err = promises(object, "new-storage-credential"); err != nil {
		return err
	}
	validation, err := a.deps.Commands.ValidateStorage(r.Context(), call, in)
	return a.report(w, validation, err)
}

// report prints a ValidateWarehouseResponse.
func (a *API) report(w http.ResponseWriter, validation commands.Validation, err error) error {
	if err != nil {
		return err
	}
	body := strconv.AppendBool([]byte(`{"valid":`), validation.Valid())
	body = append(body, `,"checks":[`...)
	for i, check := range validation {
		if i > 0 {
			body = append(body, ',')
		}
		body = wire.AppendString(append(body, `{"name":`...), check.Name)
		switch {
		case check.Skipped != "":
			body = wire.AppendString(append(body, `,"status":"skipped","reason":`...), check.Skipped)
		case check.Err != nil:
			status, name, message := a.deps.ErrorModel(check.Err)
			body = strconv.AppendInt(append(body, `,"status":"failed","duration-ms":`...), check.Duration.Milliseconds(), 10)
			body = wire.AppendString(append(body, `,"error":{"message":`...), message)
			body = wire.AppendString(append(body, `,"type":`...), name)
			body = strconv.AppendInt(append(body, `,"code":`...), int64(status), 10)
			body = append(body, '}')
		default:
			body = strconv.AppendInt(append(body, `,"status":"passed","duration-ms":`...), check.Duration.Milliseconds(), 10)
		}
		body = append(body, '}')
	}
	wire.JSON(w, http.StatusOK, append(body, "]}"...))
	return nil
}
