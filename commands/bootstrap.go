package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// defaultProjectName is the name of the project that bootstrap makes, as in
// Lakekeeper.
const defaultProjectName = "Default Project"

// Bootstrap creates the server and its default project. It works once: a
// second call is 409, as is the loser of two at the same moment.
func (s *Service) Bootstrap(ctx context.Context, call Call, in Bootstrap) error {
	_, err := once(ctx, s, call, func(ctx context.Context) (_ struct{}, appended bool, err error) {
		receipt, err := s.attempt(ctx, []string{"bootstrap"}, func(ctx context.Context, t *try) error {
			return s.bootstrap(ctx, call, in, t)
		})
		return struct{}{}, len(receipt.Records) > 0, err
	}, func(ctx context.Context, _ eventstore.Idempotency) (struct{}, error) {
		facts, err := s.resolve(ctx, projections.Query{})
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, s.may(ctx, call, subject.Server(&facts[0]), authz.ServerBootstrap, nil)
	})
	return err
}

func (s *Service) bootstrap(ctx context.Context, call Call, in Bootstrap, t *try) error {
	facts, err := s.resolve(ctx, projections.Query{})
	if err != nil {
		return err
	}
	f := &facts[0]
	if err := s.may(ctx, call, subject.Server(f), authz.ServerBootstrap, nil); err != nil {
		return err
	}
	already := &catalog.Error{Kind: catalog.AlreadyExists, Message: "Catalog is already bootstrapped"}
	if f.Server.Bootstrapped {
		return already
	}
	if !in.AcceptTermsOfUse {
		return badRequest("The terms of use must be accepted to bootstrap the catalog")
	}
	server := f.Server.ID
	if server.IsNil() {
		server = s.deps.IDs.New()
	}
	first, err := s.record(call, server, &catalog.ServerBootstrapped{TermsAccepted: true, DefaultProject: catalog.DefaultProject}, &projections.Facts{})
	if err != nil {
		return err
	}
	second, err := s.record(call, catalog.DefaultProject, &catalog.ProjectCreated{Name: defaultProjectName}, &projections.Facts{
		Project: projections.ProjectFacts{ID: catalog.DefaultProject},
	})
	if err != nil {
		return err
	}
	t.commit = s.newCommit(f, s.claim(call, 204, server, "", nil))
	t.commit.Streams = []eventstore.Stream{
		{ID: server, Type: string(catalog.EntityServer), Mode: eventstore.Created},
		{ID: catalog.DefaultProject, Type: string(catalog.EntityProject), Mode: eventstore.Created},
	}
	t.commit.Records = []eventstore.Record{first, second}
	t.refuse = func(e *eventstore.ConstraintError) error {
		switch e.Constraint {
		case projections.ServerOneKey, projections.ProjectKey:
			return already
		}
		return nil
	}
	return nil
}

// projectOf maps what stands for the default project on the wire.
func projectOf(project ids.ID) ids.ID {
	if project.IsNil() {
		return catalog.DefaultProject
	}
	return project
}
