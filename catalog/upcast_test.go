package catalog

import (
	"errors"
	"strings"
	"testing"
)

// A sample of how a payload ages: version 1 knew "title", version 2 "name" and
// version 3 trims it. The chain of released events is empty today.
func sampleKind() kind {
	return kind{
		version: 3,
		event:   func() Event { return new(ProjectCreated) },
		upcasters: []func([]byte) ([]byte, error){
			func(data []byte) ([]byte, error) {
				return []byte(strings.Replace(string(data), `"title"`, `"name"`, 1)), nil
			},
			func(data []byte) ([]byte, error) {
				if strings.Contains(string(data), "poison") {
					return nil, errors.New("cannot be lifted")
				}
				return []byte(strings.Replace(string(data), ` "}`, `"}`, 1)), nil
			},
		},
	}
}

func TestUpcastersLiftOldPayloadsInOrder(t *testing.T) {
	t.Parallel()
	k := sampleKind()
	for version, data := range map[int]string{1: `{"title":"sales "}`, 2: `{"name":"sales "}`, 3: `{"name":"sales"}`} {
		e, err := k.decode(TypeProjectCreated, DataSchema(TypeProjectCreated, version), []byte(data))
		if err != nil || e.(*ProjectCreated).Name != "sales" {
			t.Errorf("version %d: %+v, %v", version, e, err)
		}
	}
	for version, data := range map[int]string{1: `{"title":"poison"}`, 2: `{"title":"old shape"}`, 3: `{"title":"older shape"}`, 4: `{"name":"from the future"}`} {
		if e, err := k.decode(TypeProjectCreated, DataSchema(TypeProjectCreated, version), []byte(data)); err == nil {
			t.Errorf("version %d accepts %s: %+v", version, data, e)
		}
	}
}

func TestEveryOlderVersionHasAnUpcaster(t *testing.T) {
	t.Parallel()
	for _, typ := range Types() {
		k, ok := kindOf(typ)
		if !ok {
			t.Fatalf("%s is listed and unknown", typ)
		}
		if len(k.upcasters) != k.version-1 {
			t.Errorf("%s is at version %d with %d upcasters", typ, k.version, len(k.upcasters))
		}
		if got := k.event().EventType(); got != typ {
			t.Errorf("%s makes events of type %s", typ, got)
		}
	}
}
