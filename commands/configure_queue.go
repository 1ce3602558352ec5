package commands

import (
	"context"
	"slices"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// ConfigureQueue is POST …/task-queue/{queue}/config. The settings take the place
// of those that were.
type ConfigureQueue struct {
	Warehouse ids.ID // Nil for a queue of a project
	Project   ids.ID // Nil means the default project
	Queue     string
	Settings  catalog.QueueSettings
}

// ConfigureQueue says what a warehouse or a project wants of a queue of tasks.
func (s *Service) ConfigureQueue(ctx context.Context, call Call, in ConfigureQueue) error {
	if in.Warehouse.IsNil() {
		in.Project = projectOf(in.Project)
		return s.changeProject(ctx, call, in.Project, authz.ProjectModifyTaskQueueConfig, 204, func(p *projections.ProjectDetails, _ *try) (catalog.Event, error) {
			configured, err := s.configured(ctx, in, in.Project, catalog.ProjectQueues(), p.Name)
			if err != nil || configured == nil {
				return nil, err
			}
			return &catalog.ProjectQueueConfigured{QueueConfigured: *configured}, nil
		})
	}
	_, err := s.changeWarehouse(ctx, call, in.Warehouse, authz.WarehouseModifyTaskQueueConfig, func(c *warehouseChange) (catalog.Event, error) {
		c.status = 204
		configured, err := s.configured(ctx, in, in.Warehouse, catalog.WarehouseQueues(), c.Name)
		if err != nil || configured == nil {
			return nil, err
		}
		return &catalog.WarehouseQueueConfigured{QueueConfigured: *configured}, nil
	})
	return err
}

// configured is the event of a change, nil if it changes nothing.
func (s *Service) configured(ctx context.Context, in ConfigureQueue, owner ids.ID, known []string, name string) (*catalog.QueueConfigured, error) {
	if !slices.Contains(known, in.Queue) {
		return nil, &catalog.Error{Kind: catalog.NoSuchRoute, Message: "There is no such queue"}
	}
	if err := in.Settings.Check(in.Queue); err != nil {
		return nil, badRequest("Invalid queue configuration: %v", err)
	}
	queues, err := s.deps.Details.Queues(ctx, owner)
	if err != nil {
		return nil, unavailable(err, "The catalog is not available")
	}
	before := queues.Text()
	queues[in.Queue] = in.Settings
	if text := queues.Text(); string(text) != string(before) {
		return &catalog.QueueConfigured{Name: name, Queue: in.Queue, Queues: text}, nil
	}
	return nil, nil
}
