package management

import (
	"net/http"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/queries"
)

// createProject is POST /management/v1/project.
func (a *API) createProject(w http.ResponseWriter, r *http.Request) error {
	object, call, err := a.request(r)
	if err != nil {
		return err
	}
	var in commands.CreateProject
	if in.Name, err = object.RequiredString("project-name"); err != nil {
		return err
	}
	if in.Ident, _, err = object.String("project-id"); err != nil {
		return err
	}
	made, err := a.deps.Commands.CreateProject(r.Context(), call, in)
	if err != nil {
		return err
	}
	body := wire.AppendString([]byte(`{"project-id":`), made.Ident)
	wire.JSON(w, http.StatusCreated, append(body, '}'))
	return nil
}

// getProject is GET /management/v1/project, and with an id behind it.
func (a *API) getProject(w http.ResponseWriter, r *http.Request) error {
	id, err := a.project(r, "")
	if err != nil {
		return err
	}
	project, err := a.deps.Queries.GetProject(r.Context(), wire.Actor(r), id)
	if err != nil {
		return err
	}
	wire.JSON(w, http.StatusOK, appendProject(nil, project))
	return nil
}

// listProjects is GET /management/v1/project-list.
func (a *API) listProjects(w http.ResponseWriter, r *http.Request) error {
	list, err := a.deps.Queries.ListProjects(r.Context(), wire.Actor(r))
	if err != nil {
		return err
	}
	body := []byte(`{"projects":[`)
	for i, project := range list {
		if i > 0 {
			body = append(body, ',')
		}
		body = appendProject(body, project)
	}
	wire.JSON(w, http.StatusOK, append(body, "]}"...))
	return nil
}

// appendProject prints a GetProjectResponse.
func appendProject(body []byte, p queries.Project) []byte {
	body = wire.AppendString(append(body, `{"project-id":`...), p.ID)
	body = wire.AppendString(append(body, `,"project-name":`...), p.Name)
	return append(body, '}')
}

// renameProject is POST /management/v1/project/rename, and with an id between.
func (a *API) renameProject(w http.ResponseWriter, r *http.Request) error {
	object, call, err := a.request(r)
	if err != nil {
		return err
	}
	var in commands.RenameProject
	if in.Name, err = object.RequiredString("new-name"); err != nil {
		return err
	}
	if in.Project, err = a.project(r, ""); err != nil {
		return err
	}
	if err := a.deps.Commands.RenameProject(r.Context(), call, in); err != nil {
		return err
	}
	done(w)
	return nil
}

// deleteProject is DELETE /management/v1/project, and with an id behind it.
func (a *API) deleteProject(w http.ResponseWriter, r *http.Request) error {
	call, err := wire.Call(r, nil)
	if err != nil {
		return err
	}
	id, err := a.project(r, "")
	if err != nil {
		return err
	}
	if err := a.deps.Commands.DeleteProject(r.Context(), call, commands.DeleteProject{Project: id}); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}

// done is 200 without a body, as Lakekeeper answers some changes.
func done(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
}
