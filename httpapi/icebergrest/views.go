package icebergrest

import (
	"net/http"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/queries"
)

const (
	viewsPath = namespacePath + "/views"
	viewPath  = viewsPath + "/{view}"
)

func (a *API) viewRoutes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodGet, Template: viewPath, Operation: "loadView", Handle: a.loadView},
		{Method: http.MethodPost, Template: viewPath, Operation: "replaceView", Handle: a.replaceView},
		{Method: http.MethodDelete, Template: viewPath, Operation: "dropView", Handle: a.dropView},
		{Method: http.MethodHead, Template: viewPath, Operation: "viewExists", Handle: a.viewExists},

		{Method: http.MethodGet, Template: viewsPath, Operation: "listViews", Handle: a.listViews},
		{Method: http.MethodPost, Template: viewsPath, Operation: "createView", Handle: a.createView},

		{Method: http.MethodPost, Template: namespacePath + "/register-view", Operation: "registerView", Handle: a.registerView},
		{Method: http.MethodPost, Template: prefixed + "views/rename", Operation: "renameView", Handle: a.renameView},
	}
}

// loadView is GET …/views/{view}: the stored document in the middle of
// LoadViewResult. The specification has no entity tags for views. Through which
// views this one is read (referenced-by) makes no difference here.
func (a *API) loadView(w http.ResponseWriter, r *http.Request) error {
	warehouse, at, err := viewOf(r)
	if err != nil {
		return err
	}
	q, err := wire.ParseQuery(r)
	if err != nil {
		return err
	}
	if _, err := q.String("referenced-by"); err != nil {
		return err
	}
	view, err := a.deps.Queries.LoadView(r.Context(), wire.Actor(r), warehouse, queries.Identifier(at), wire.AcceptsGzip(r.Header))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Cache-Control", "private, no-cache") // as for tables (law 4)
	h.Add("Vary", "Authorization")
	answer := wire.Answer{
		Before:   beforeDocument(view.Pointer),
		Document: view.Document.Plain(),
		After:    afterDocument(view.Config),
	}
	if packed := view.Document.Packed(); packed != nil {
		answer.Packed = packed
	}
	answer.Write(w, r)
	return nil
}

// writeView answers a command with the view that it made: LoadViewResult.
func writeView(w http.ResponseWriter, r *http.Request, view commands.View) {
	wire.Answer{
		Before:   beforeDocument(view.Pointer),
		Document: view.Document,
		After:    afterDocument(view.Config),
	}.Write(w, r)
}

// viewExists is HEAD …/views/{view}.
func (a *API) viewExists(w http.ResponseWriter, r *http.Request) error {
	warehouse, at, err := viewOf(r)
	if err != nil {
		return err
	}
	if err := a.deps.Queries.ViewExists(r.Context(), wire.Actor(r), warehouse, queries.Identifier(at)); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}

// listViews is GET …/views.
func (a *API) listViews(w http.ResponseWriter, r *http.Request) error {
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
	list, err := a.deps.Queries.ListViews(r.Context(), wire.Actor(r), warehouse, levels, page)
	if err != nil {
		return err
	}
	wire.JSON(w, http.StatusOK, identifierList(list.Identifiers, list.Next))
	return nil
}

// createView is POST …/views.
func (a *API) createView(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, err := namespaceOf(r)
	if err != nil {
		return err
	}
	_, body, call, err := a.request(r)
	if err != nil {
		return err
	}
	view, err := a.deps.Commands.CreateView(r.Context(), call, commands.CreateView{Warehouse: warehouse, Namespace: levels, Request: body})
	if err != nil {
		return err
	}
	writeView(w, r, view)
	return nil
}

// replaceView is POST …/views/{view}. The identifier in the body is ignored:
// the path names the view.
func (a *API) replaceView(w http.ResponseWriter, r *http.Request) error {
	warehouse, at, err := viewOf(r)
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
	view, err := a.deps.Commands.CommitView(r.Context(), call, commands.CommitView{
		Warehouse: warehouse, View: at, Requirements: change.Requirements, Updates: change.Updates,
	})
	if err != nil {
		return err
	}
	writeView(w, r, view)
	return nil
}

// dropView is DELETE …/views/{view}. A protected one needs force; that
// and purgeRequested are Lakekeeper's parameters.
func (a *API) dropView(w http.ResponseWriter, r *http.Request) error {
	warehouse, at, err := viewOf(r)
	if err != nil {
		return err
	}
	q, err := wire.ParseQuery(r)
	if err != nil {
		return err
	}
	in := commands.DropView{Warehouse: warehouse, View: at}
	if in.Force, err = q.Bool("force"); err != nil {
		return err
	}
	if in.PurgeRequested, err = q.Bool("purgeRequested"); err != nil {
		return err
	}
	call, err := wire.Call(r, nil)
	if err != nil {
		return err
	}
	if err := a.deps.Commands.DropView(r.Context(), call, in); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}

// registerView is POST …/register-view.
func (a *API) registerView(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, err := namespaceOf(r)
	if err != nil {
		return err
	}
	object, _, call, err := a.request(r)
	if err != nil {
		return err
	}
	in := commands.RegisterView{Warehouse: warehouse, Namespace: levels}
	if in.Name, err = object.RequiredString("name"); err != nil {
		return err
	}
	if in.MetadataLocation, err = object.RequiredString("metadata-location"); err != nil {
		return err
	}
	view, err := a.deps.Commands.RegisterView(r.Context(), call, in)
	if err != nil {
		return err
	}
	writeView(w, r, view)
	return nil
}

// renameView is POST …/views/rename.
func (a *API) renameView(w http.ResponseWriter, r *http.Request) error {
	warehouse, err := wire.Warehouse(r)
	if err != nil {
		return err
	}
	object, _, call, err := a.request(r)
	if err != nil {
		return err
	}
	in := commands.RenameView{Warehouse: warehouse}
	if in.Source, in.Destination, err = readRename(object); err != nil {
		return err
	}
	if err := a.deps.Commands.RenameView(r.Context(), call, in); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}
