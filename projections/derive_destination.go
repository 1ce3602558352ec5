package projections

import (
	"fmt"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
)

// deriveDestination is derive for destinations, which stand above projects.
func deriveDestination(r *eventstore.Record, event catalog.Event) ([]change, error) {
	update := func(name string, set []string, values ...any) []change {
		return []change{{
			table: destinationTable, action: updateRow, key: []any{uuid(r.Stream)}, order: catalog.FoldName(name),
			set: append(set, "stream_version"), values: append(values, r.Version),
		}}
	}
	switch e := event.(type) {
	case *catalog.DestinationCreated:
		filter, err := e.Filter.Encode()
		if err != nil {
			return nil, err
		}
		name := catalog.FoldName(e.Name)
		return []change{{
			table: destinationTable, key: []any{uuid(r.Stream)}, order: name,
			values: []any{
				e.Name, name, e.Kind, string(e.Settings), string(filter), e.OnRefusal, e.Paused,
				e.Start.Epoch, e.Start.After, r.Version, r.Version,
			},
		}}, nil
	case *catalog.DestinationUpdated:
		filter, err := e.Filter.Encode()
		if err != nil {
			return nil, err
		}
		return update(e.Name, []string{"name", "name_fold1", "settings", "filter", "on_refusal"},
			e.Name, catalog.FoldName(e.Name), string(e.Settings), string(filter), e.OnRefusal), nil
	case *catalog.DestinationPaused:
		return update(e.Name, []string{"paused"}, true), nil
	case *catalog.DestinationResumed:
		return update(e.Name, []string{"paused"}, false), nil
	case *catalog.DestinationReplayed:
		return update(e.Name, []string{"start_epoch", "start_position", "start_version"}, e.Start.Epoch, e.Start.After, r.Version), nil
	case *catalog.DestinationSkipped:
		return update(e.Name, nil), nil
	case *catalog.DestinationRetried:
		return update(e.Name, nil), nil
	case *catalog.DestinationRemoved:
		return []change{{table: destinationTable, action: deleteRow, key: []any{uuid(r.Stream)}, order: catalog.FoldName(e.Name)}}, nil
	}
	return nil, fmt.Errorf("no read model knows %T", event)
}
