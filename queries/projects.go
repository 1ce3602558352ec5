package queries

import (
	"context"
	"slices"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// Project is a project as the management API shows it.
type Project struct {
	ID    string // by which callers name it
	Name  string
	inner ids.ID
}

// unknownProject stands for a project that callers name and nobody made. It is
// asked for like any other, so that missing and forbidden look alike.
var unknownProject = ids.MustParse("00000000-0000-7000-8000-0000000000df")

func noSuchProject() error {
	return &catalog.Error{Kind: catalog.NoSuchProject, Message: "Project not found"}
}

// ProjectID returns the project that callers name so. No text and the nil UUID
// mean the default project. A name that nobody gave is no error here: what is
// then asked of the project says that it is missing.
func (s *Service) ProjectID(ctx context.Context, ident string) (ids.ID, error) {
	if ident == "" || ident == ids.Nil.String() {
		return catalog.DefaultProject, nil
	}
	if !catalog.ValidProjectIdent(ident) {
		return unknownProject, nil
	}
	p, found, err := s.details.ProjectNamed(ctx, ident)
	switch {
	case err != nil:
		return ids.Nil, unavailable(err)
	case found:
		return p.ID, nil
	}
	return unknownProject, nil
}

// GetProject returns a project; Nil means the default one.
func (s *Service) GetProject(ctx context.Context, actor authz.Actor, project ids.ID) (Project, error) {
	f, err := s.resolve(ctx, projections.Query{Project: projectOf(project)})
	if err != nil {
		return Project{}, err
	}
	if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Project(f), authz.ProjectGetMetadata, noSuchProject()); err != nil {
		return Project{}, err
	}
	p, found, err := s.details.Project(ctx, projectOf(project))
	switch {
	case err != nil:
		return Project{}, unavailable(err)
	case !found:
		return Project{}, noSuchProject()
	}
	return Project{ID: p.Ident, Name: p.Name, inner: p.ID}, nil
}

// ListProjects lists the projects that the caller may see, by name.
func (s *Service) ListProjects(ctx context.Context, actor authz.Actor) ([]Project, error) {
	f, err := s.resolve(ctx, projections.Query{})
	if err != nil {
		return nil, err
	}
	on := subject.Server(f)
	if err := authz.Check(ctx, s.deps.Authorizer, actor, on, authz.ServerListProjects, nil); err != nil {
		return nil, err
	}
	list, err := s.details.Projects(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	all := make([]ids.ID, len(list))
	projects := make([]Project, len(list))
	for i, p := range list {
		all[i], projects[i] = p.ID, Project{ID: p.Ident, Name: p.Name, inner: p.ID}
	}
	seen, err := s.deps.Authorizer.Filter(ctx, actor, on, string(catalog.EntityProject), all)
	if err != nil {
		return nil, &catalog.Error{Kind: catalog.Unavailable, Message: "The authorizer is not available", RetryAfter: retrySoon, Cause: err}
	}
	return slices.DeleteFunc(projects, func(p Project) bool { return !slices.Contains(seen, p.inner) }), nil
}
