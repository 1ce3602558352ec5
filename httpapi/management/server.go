package management

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// getInfo is GET /management/v1/info.
func (a *API) getInfo(w http.ResponseWriter, r *http.Request) error {
	info, err := a.deps.Queries.ServerInfo(r.Context(), wire.Actor(r))
	if err != nil {
		return err
	}
	body := append([]byte(`{"version":`), wire.AppendString(nil, a.deps.Version)...)
	// Lakekeeper's clients read their server's version here; it is ours.
	body = append(body, `,"lakekeeper-version":`...)
	body = wire.AppendString(body, a.deps.Version)
	body = append(body, `,"bootstrapped":`...)
	body = strconv.AppendBool(body, info.Bootstrapped)
	// The default project's id on the wire is the nil UUID, as Lakekeeper's.
	// Before bootstrap the server has no id yet; the specification says null and
	// has no null there, so the nil UUID stands for it.
	project := "null"
	if info.Bootstrapped {
		project = `"` + info.DefaultProject.String() + `"`
	}
	body = append(body, `,"server-id":"`+info.ID.String()+`","default-project-id":`+project...)
	body = append(body, `,"authz-backend":`...)
	body = wire.AppendString(body, a.deps.AuthzBackend)
	body = append(body, `,"aws-system-identities-enabled":false,"azure-system-identities-enabled":false,"gcp-system-identities-enabled":false`...)
	body = append(body, `,"queues":[`...)
	for i, queue := range slices.Concat(catalog.WarehouseQueues(), catalog.ProjectQueues()) {
		if i > 0 {
			body = append(body, ',')
		}
		body = wire.AppendString(body, queue)
	}
	body = append(body, `],"license-status":{"license-type":"Apache-2.0","valid":true}}`...)
	wire.JSON(w, http.StatusOK, body)
	return nil
}

// bootstrap is POST /management/v1/bootstrap. What it says about the user is
// read over: nobody is authenticated yet, and names are kept nowhere (law 6).
func (a *API) bootstrap(w http.ResponseWriter, r *http.Request) error {
	object, call, err := a.request(r)
	if err != nil {
		return err
	}
	if object.Raw("accept-terms-of-use") == nil {
		return object.Missing("accept-terms-of-use")
	}
	accepted, err := object.Bool("accept-terms-of-use")
	if err != nil {
		return err
	}
	if err := a.deps.Commands.Bootstrap(r.Context(), call, commands.Bootstrap{AcceptTermsOfUse: accepted}); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}

// request reads the body of a mutation and what accompanies its command.
func (a *API) request(r *http.Request) (wire.Object, commands.Call, error) {
	body, err := wire.ReadBody(r, a.deps.MaxBody)
	if err != nil {
		return wire.Object{}, commands.Call{}, err
	}
	object, err := wire.ParseObject(body)
	if err != nil {
		return wire.Object{}, commands.Call{}, err
	}
	call, err := wire.Call(r, body)
	return object, call, err
}

// optionalRequest is request where a body may be missing: that is an empty object.
func (a *API) optionalRequest(r *http.Request) (object wire.Object, call commands.Call, err error) {
	body, err := wire.ReadBody(r, a.deps.MaxBody)
	if err != nil {
		return object, call, err
	}
	if len(bytes.TrimSpace(body)) > 0 {
		if object, err = wire.ParseObject(body); err != nil {
			return object, call, err
		}
	}
	call, err = wire.Call(r, body)
	return object, call, err
}

// only refuses members that a request does not have: a slip would promise what is
// not done.
func only(object wire.Object, names ...string) error {
	for _, name := range object.Names() {
		if !slices.Contains(names, name) {
			return &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: there is an unknown member; known are " + strings.Join(names, ", ")}
		}
	}
	return nil
}
