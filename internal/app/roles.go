package app

import (
	"context"
	"fmt"

	"github.com/icecore-catalog/icecore/internal/config"
	"github.com/icecore-catalog/icecore/internal/telemetry"
	"github.com/icecore-catalog/icecore/workers"
)

// roles are what an instance does beside what every one does.
type roles struct{ api, worker bool }

// rolesOf reads the words of the setting.
func rolesOf(words []string) (roles, error) {
	var r roles
	for _, word := range words {
		switch word {
		case "api":
			r.api = true
		case "worker":
			r.worker = true
		default:
			return r, &config.ValueError{Variable: config.Prefix + "ROLES", Problem: fmt.Sprintf("%q is no role; there are api and worker", word)}
		}
	}
	if r == (roles{}) {
		return r, &config.ValueError{Variable: config.Prefix + "ROLES", Problem: "names no role; there are api and worker"}
	}
	return r, nil
}

// work runs the jobs until ctx ends. Jobs that fail are tried again; that they
// could not be stopped in time is told, for they go on after the next start.
func (s *server) work(ctx context.Context) error {
	if s.workers == nil {
		return nil
	}
	if err := s.workers.Run(ctx); err != nil {
		s.log.Warn("jobs were broken off", "error", err)
	}
	return nil
}

// queueFigures are what the queues of jobs stand at, for the metrics.
func queueFigures(ctx context.Context, tasks *workers.Tasks) ([]telemetry.Queue, error) {
	queues, err := tasks.Figures(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]telemetry.Queue, 0, len(queues))
	for name, f := range queues {
		list = append(list, telemetry.Queue{Name: name, Waiting: f.Waiting, Oldest: f.Oldest, Running: f.Running, Failed: f.Failed})
	}
	return list, nil
}
