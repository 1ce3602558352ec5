package eventstore

import (
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/icecore-catalog/icecore/internal/ids"
)

var update = flag.Bool("update", false, "write the golden files anew")

func sampleEntry() Entry {
	at := func(n byte) ids.ID {
		id := ids.MustParse("0195f8e4-2c00-7abc-8def-000000000000")
		id[15] = n
		return id
	}
	e := Entry{
		Record: Record{
			ID: at(1), Stream: at(2), StreamType: "table", Version: 42, Type: "dev.icecore.table.committed",
			DataSchema: "urn:icecore:events:table.committed:v1",
			Time:       time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC), Actor: at(4), RequestID: at(5), Causation: at(6),
			CommitID: at(3), CommitIndex: 1, CommitSize: 3, Warehouse: at(7), Project: at(8),
			TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			Data:        []byte(`{ "snapshot-id":3051729675574597004, "comment":"<&>" }`),
		},
		Position: 1234567, Epoch: 2, LogTime: time.Date(2026, 3, 1, 12, 0, 0, 130000000, time.UTC),
	}
	e.Leaf = Leaf(&e.Record)
	return e
}

func TestCloudEventGolden(t *testing.T) {
	t.Parallel()
	plain := sampleEntry()
	large := sampleEntry()
	large.Position, large.Version = 1<<31, 1<<31 // beyond a CloudEvents Integer
	largest := sampleEntry()
	largest.Position, largest.Version = math.MaxInt64, math.MaxInt64
	bare := sampleEntry()
	bare.Actor, bare.RequestID, bare.Causation, bare.Warehouse, bare.Project = ids.Nil, ids.Nil, ids.Nil, ids.Nil, ids.Nil
	bare.TraceParent = ""
	for name, e := range map[string]Entry{"plain": plain, "2^31": large, "2^63-1": largest, "bare": bare} {
		e.Leaf = Leaf(&e.Record)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ce, err := ToCloudEvent(e, "urn:icecore:0195f8e4-2c00-7abc-8def-0000000000ff")
			if err != nil {
				t.Fatal(err)
			}
			got, err := ce.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "cloudevent."+name+".json")
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if string(got)+"\n" != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}

			var read event.Event
			if err := read.UnmarshalJSON(want); err != nil {
				t.Fatal(err)
			}
			back, err := FromCloudEvent(read)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(back, e) {
				t.Errorf("back\n%+v\nwant\n%+v", back, e)
			}
		})
	}
}

func TestCloudEventOfAnErasedEntryHasNoData(t *testing.T) {
	t.Parallel()
	e := sampleEntry()
	e.Data, e.Erased = nil, true
	ce, err := ToCloudEvent(e, "urn:icecore:x")
	if err != nil {
		t.Fatal(err)
	}
	back, err := FromCloudEvent(ce)
	if err != nil || !back.Erased || back.Leaf != [32]byte{} {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestFromCloudEventRefusesWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*event.Event){
		"short sequence":       func(ce *event.Event) { ce.SetExtension("sequence", "7") },
		"no sequence":          func(ce *event.Event) { ce.SetExtension("sequence", nil) },
		"negative version":     func(ce *event.Event) { ce.SetExtension("streamversion", "-0000000000000000001") },
		"foreign key":          func(ce *event.Event) { ce.SetExtension("partitionkey", "x") },
		"subject without type": func(ce *event.Event) { ce.SetSubject("0195f8e4-2c00-7abc-8def-000000000002") },
		"id":                   func(ce *event.Event) { ce.SetID("x") },
		"actor":                func(ce *event.Event) { ce.SetExtension("actor", "jane") },
		"commit size":          func(ce *event.Event) { ce.SetExtension("commitsize", "many") },
		"logtime":              func(ce *event.Event) { ce.SetExtension("logtime", "noon") },
	} {
		ce, err := ToCloudEvent(sampleEntry(), "urn:icecore:x")
		if err != nil {
			t.Fatal(err)
		}
		change(&ce)
		if _, err := FromCloudEvent(ce); !errors.Is(err, ErrMalformedEvent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	e := sampleEntry()
	e.Epoch = 1 << 31
	if _, err := ToCloudEvent(e, "urn:icecore:x"); err == nil {
		t.Error("an epoch beyond a CloudEvents Integer passes")
	}
}
