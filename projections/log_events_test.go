package projections_test

import (
	"encoding/json"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/catalog/eventschema"
	"github.com/icecore-catalog/icecore/eventstore"
)

// The log writes its own events and does not know package catalog, which holds
// the schemas that they name.
func TestTheLogsOwnEventsObeyTheirSchemas(t *testing.T) {
	t.Parallel()
	v, err := eventschema.New()
	if err != nil {
		t.Fatal(err)
	}
	for typ, event := range map[string]any{
		eventstore.EpochOpenedType: eventstore.EpochOpened{
			Epoch: 2, PreviousEpoch: 1, PreviousRoot: "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", SystemIdentifier: "-17", Timeline: "00000002",
		},
		eventstore.RepairedType: eventstore.Repaired{AppendSeq: 3, Decision: "accept"},
	} {
		data, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Validate(catalog.DataSchema(typ, 1), data); err != nil {
			t.Errorf("%s writes %s: %v", typ, data, err)
		}
		if catalog.EntityOf(typ) != catalog.EntityLog {
			t.Errorf("%s is no event of the log", typ)
		}
	}
}
