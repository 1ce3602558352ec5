package commands

import (
	"context"
	"slices"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// maxProjectName is Lakekeeper's bound, in bytes.
const maxProjectName = 128

// CreateProject is POST /management/v1/project.
type CreateProject struct {
	Name string
	// Ident is the id by which callers will name the project; empty has them
	// name it by the id of its stream.
	Ident string
}

// RenameProject is POST /management/v1/project/rename.
type RenameProject struct {
	Project ids.ID // Nil means the default project
	Name    string
}

// DeleteProject is DELETE /management/v1/project.
type DeleteProject struct{ Project ids.ID }

// Project is the answer to project commands.
type Project struct {
	ID    ids.ID // of its stream
	Ident string // the id by which callers name it
}

// servedBelowProject are what stands in the place of a project's id in routes:
// as ids they would make a project that nobody can address.
var servedBelowProject = []string{"actions", "grants", "rename", "task", "task-queue"}

// ServedBelowProject reports whether a word stands in the place of a project's
// id in routes of Lakekeeper, so that it names no project.
func ServedBelowProject(word string) bool { return slices.Contains(servedBelowProject, word) }

func noSuchProject() error {
	return &catalog.Error{Kind: catalog.NoSuchProject, Message: "Project not found"}
}

func projectExists() error {
	return &catalog.Error{Kind: catalog.ProjectExists, Message: "Project with this id already exists"}
}

func checkProjectName(name string) error {
	switch {
	case name == "":
		return badRequest("Project name cannot be empty")
	case len(name) > maxProjectName:
		return badRequest("Project name must be shorter than 128 chars")
	}
	return catalog.ValidateName("project", name)
}

func checkProjectIdent(ident string) error {
	switch {
	case ident == "":
		return nil
	case !catalog.ValidProjectIdent(ident):
		return badRequest("Project IDs may only contain alphanumeric characters, hyphens and underscores, %d at most", catalog.MaxProjectIdent)
	case slices.Contains(servedBelowProject, ident):
		return badRequest("The project ID is a word of the API's own paths: choose another")
	}
	return nil
}

// CreateProject opens a project. Names need not be unique, ids must be.
func (s *Service) CreateProject(ctx context.Context, call Call, in CreateProject) (Project, error) {
	return once(ctx, s, call, func(ctx context.Context) (answer Project, appended bool, err error) {
		receipt, err := s.attempt(ctx, []string{"project " + in.Ident}, func(ctx context.Context, t *try) error {
			answer, err = s.createProject(ctx, call, &in, t)
			return err
		})
		return answer, len(receipt.Records) > 0, err
	}, func(ctx context.Context, stored eventstore.Idempotency) (Project, error) {
		_, err := s.server(ctx, call, authz.ServerCreateProject)
		return Project{ID: stored.Object, Ident: string(stored.Response)}, err
	})
}

// server resolves the server and asks for a right on it.
func (s *Service) server(ctx context.Context, call Call, action authz.Action) (*projections.Facts, error) {
	facts, err := s.resolve(ctx, projections.Query{})
	if err != nil {
		return nil, err
	}
	return &facts[0], s.may(ctx, call, subject.Server(&facts[0]), action, nil)
}

func (s *Service) createProject(ctx context.Context, call Call, in *CreateProject, t *try) (Project, error) {
	f, err := s.server(ctx, call, authz.ServerCreateProject)
	if err != nil {
		return Project{}, err
	}
	if err := checkProjectName(in.Name); err != nil {
		return Project{}, err
	}
	if err := checkProjectIdent(in.Ident); err != nil {
		return Project{}, err
	}
	if !f.Server.Bootstrapped {
		return Project{}, badRequest("The catalog is not bootstrapped")
	}
	id := s.deps.IDs.New()
	answer := Project{ID: id, Ident: in.Ident}
	if answer.Ident == "" {
		answer.Ident = id.String()
	}
	record, err := s.record(call, id, &catalog.ProjectCreated{Name: in.Name, Ident: in.Ident}, &projections.Facts{
		Project: projections.ProjectFacts{ID: id},
	})
	if err != nil {
		return Project{}, err
	}
	t.commit = s.newCommit(f, s.claim(call, 201, id, "", []byte(answer.Ident)))
	t.commit.Streams = []eventstore.Stream{
		{ID: f.Server.ID, Mode: eventstore.Held},
		{ID: id, Type: string(catalog.EntityProject), Mode: eventstore.Created},
	}
	t.commit.Records = []eventstore.Record{record}
	t.refuse = func(e *eventstore.ConstraintError) error {
		if e.Constraint == projections.ProjectIdentKey {
			return projectExists()
		}
		return nil
	}
	return answer, nil
}

// RenameProject gives a project another name.
func (s *Service) RenameProject(ctx context.Context, call Call, in RenameProject) error {
	in.Project = projectOf(in.Project)
	return s.changeProject(ctx, call, in.Project, authz.ProjectRename, 200, func(p *projections.ProjectDetails, _ *try) (catalog.Event, error) {
		if err := checkProjectName(in.Name); err != nil || in.Name == p.Name {
			return nil, err
		}
		return &catalog.ProjectRenamed{From: p.Name, To: in.Name}, nil
	})
}

// DeleteProject ends a project that holds no warehouse. The default project
// stays: it is what requests that name no project are about.
func (s *Service) DeleteProject(ctx context.Context, call Call, in DeleteProject) error {
	in.Project = projectOf(in.Project)
	return s.changeProject(ctx, call, in.Project, authz.ProjectDelete, 204, func(p *projections.ProjectDetails, t *try) (catalog.Event, error) {
		if in.Project == catalog.DefaultProject {
			return nil, badRequest("The default project cannot be deleted")
		}
		st := &t.commit.Streams[0]
		st.Exclusive, st.Close = true, true
		t.refuse = func(e *eventstore.ConstraintError) error {
			if e.Constraint == projections.WarehouseProjectFK {
				return &catalog.Error{Kind: catalog.ProjectNotEmpty, Message: "Project is not empty"}
			}
			return nil
		}
		return &catalog.ProjectDeleted{Name: p.Name}, nil
	})
}

// changeProject advances a project by the event that decide returns; nil
// changes nothing. The stream of t.commit is decide's to adapt.
func (s *Service) changeProject(
	ctx context.Context, call Call, project ids.ID, action authz.Action, status int,
	decide func(*projections.ProjectDetails, *try) (catalog.Event, error),
) error {
	_, err := once(ctx, s, call, func(ctx context.Context) (_ struct{}, appended bool, err error) {
		receipt, err := s.attempt(ctx, []string{"project " + project.String()}, func(ctx context.Context, t *try) error {
			f, p, err := s.project(ctx, call, project, action)
			if err != nil {
				return err
			}
			t.commit = s.newCommit(f, s.claim(call, status, project, "", nil))
			t.commit.Streams = []eventstore.Stream{{ID: project, Mode: eventstore.Advanced, Version: p.Version}}
			event, err := decide(&p, t)
			if err != nil || event == nil {
				t.commit = nil
				return err
			}
			record, err := s.record(call, project, event, f)
			t.commit.Records = []eventstore.Record{record}
			return err
		})
		return struct{}{}, len(receipt.Records) > 0, err
	}, func(ctx context.Context, _ eventstore.Idempotency) (struct{}, error) {
		facts, err := s.resolve(ctx, projections.Query{Project: project})
		if err != nil {
			return struct{}{}, err
		}
		on := subject.Project(&facts[0])
		if on.Object.IsNil() {
			on.Object = project // it was deleted since, perhaps by this very key
		}
		return struct{}{}, s.may(ctx, call, on, action, noSuchProject())
	})
	return err
}

// project resolves a project that exists and asks for a right on it.
func (s *Service) project(ctx context.Context, call Call, project ids.ID, action authz.Action) (*projections.Facts, projections.ProjectDetails, error) {
	var none projections.ProjectDetails
	facts, err := s.resolve(ctx, projections.Query{Project: project})
	if err != nil {
		return nil, none, err
	}
	f := &facts[0]
	if err := s.may(ctx, call, subject.Project(f), action, noSuchProject()); err != nil {
		return nil, none, err
	}
	p, found, err := s.deps.Details.Project(ctx, project)
	if err != nil {
		return nil, none, unavailable(err, "The catalog is not available")
	}
	if !f.Project.Exists || !found {
		return nil, none, noSuchProject()
	}
	return f, p, nil
}
