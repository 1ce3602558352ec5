package app

import (
	"context"
	"encoding/json"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// seed bootstraps an empty catalog and makes the demo warehouse, by the same
// commands as a client would. A second start finds both and changes nothing.
func (s *server) seed(ctx context.Context, root string) error {
	info, err := s.queries.ServerInfo(ctx, authz.System)
	if err != nil {
		return err
	}
	call := commands.Call{Actor: authz.System, RequestID: s.ids.New()}
	if !info.Bootstrapped {
		if err := s.commands.Bootstrap(ctx, call, commands.Bootstrap{AcceptTermsOfUse: true}); err != nil {
			return err
		}
	}
	switch _, err := s.queries.Config(ctx, authz.System, ids.Nil, DemoWarehouse); {
	case err == nil:
		return nil
	case catalog.KindOf(err) != catalog.NoSuchWarehouse:
		return err
	}
	profile, err := json.Marshal(map[string]string{"type": "file", "root": "file://" + root})
	if err != nil {
		return err
	}
	call.RequestID = s.ids.New()
	_, err = s.commands.CreateWarehouse(ctx, call, commands.CreateWarehouse{Name: DemoWarehouse, StorageProfile: profile})
	return err
}
