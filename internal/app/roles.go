package app

import (
	"context"
	"fmt"

	"github.com/icecore-catalog/icecore/internal/config"
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
