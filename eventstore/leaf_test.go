package eventstore

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// leafVector is one frozen example. The files never change; a new layout of
// the leaf gets a new version and new files.
type leafVector struct {
	Name        string `json:"name"`
	ID          string `json:"id"`
	Type        string `json:"type"`
	StreamType  string `json:"stream-type"`
	Stream      string `json:"stream"`
	Time        string `json:"time"`
	DataSchema  string `json:"dataschema"`
	Version     int64  `json:"version"`
	CommitID    string `json:"commit-id"`
	CommitIndex int    `json:"commit-index"`
	CommitSize  int    `json:"commit-size"`
	Actor       string `json:"actor"`
	RequestID   string `json:"request-id"`
	Causation   string `json:"causation"`
	Warehouse   string `json:"warehouse"`
	Project     string `json:"project"`
	TraceParent string `json:"traceparent"`
	Data        string `json:"data"`
	Leaf        string `json:"leaf"`
}

func (v leafVector) record(t *testing.T) Record {
	t.Helper()
	id := func(text string) ids.ID {
		if text == "" {
			return ids.Nil
		}
		return ids.MustParse(text)
	}
	at, err := time.Parse(time.RFC3339Nano, v.Time)
	if err != nil {
		t.Fatal(err)
	}
	return Record{
		ID: id(v.ID), Type: v.Type, StreamType: v.StreamType, Stream: id(v.Stream), Time: at, DataSchema: v.DataSchema,
		Version: v.Version, CommitID: id(v.CommitID), CommitIndex: v.CommitIndex, CommitSize: v.CommitSize,
		Actor: id(v.Actor), RequestID: id(v.RequestID), Causation: id(v.Causation), Warehouse: id(v.Warehouse),
		Project: id(v.Project), TraceParent: v.TraceParent, Data: []byte(v.Data),
	}
}

// The leaf can never change: proofs that were given out must hold for ever.
func TestLeafVectorsAreFrozen(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/leaf.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []leafVector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		r := v.record(t)
		leaf := Leaf(&r)
		if got := hex.EncodeToString(leaf[:]); got != v.Leaf {
			t.Errorf("%s: leaf %s, want %s", v.Name, got, v.Leaf)
		}
	}
	if len(vectors) < 4 {
		t.Errorf("%d vectors", len(vectors))
	}
}

// The layout, written down a second time by hand.
func TestLeafLayout(t *testing.T) {
	t.Parallel()
	r := Record{
		ID: ids.MustParse("0195f8e4-2c00-7000-8000-000000000001"), Stream: ids.MustParse("0195f8e4-2c00-7000-8000-000000000002"),
		StreamType: "table", Version: 7, Type: "dev.icecore.table.committed", DataSchema: "urn:x",
		Time:     time.Date(2026, 3, 1, 13, 0, 0, 5000, time.FixedZone("", 3600)),
		CommitID: ids.MustParse("0195f8e4-2c00-7000-8000-000000000003"), CommitIndex: 0, CommitSize: 1, Data: []byte("{}"),
	}
	data := sha256.Sum256([]byte("{}"))
	preimage := "\x00\x01" +
		"\x00\x00\x00\x24" + "0195f8e4-2c00-7000-8000-000000000001" +
		"\x00\x00\x00\x1b" + "dev.icecore.table.committed" +
		"\x00\x00\x00\x2a" + "table/0195f8e4-2c00-7000-8000-000000000002" +
		"\x00\x00\x00\x1b" + "2026-03-01T12:00:00.000005Z" +
		"\x00\x00\x00\x05" + "urn:x" +
		"\x00\x00\x00\x24" + "0195f8e4-2c00-7000-8000-000000000002" +
		"\x00\x00\x00\x14" + "00000000000000000007" +
		"\x00\x00\x00\x24" + "0195f8e4-2c00-7000-8000-000000000003" +
		"\x00\x00\x00\x01" + "0" +
		"\x00\x00\x00\x01" + "1" +
		"\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" +
		string(data[:])
	if want := sha256.Sum256([]byte(preimage)); Leaf(&r) != want {
		t.Errorf("leaf %x, want %x", Leaf(&r), want)
	}
}

// Every attribute but those outside is in the leaf; two records that differ
// have two leaves.
func TestLeafDependsOnEveryAttribute(t *testing.T) {
	t.Parallel()
	base := record(testIDs.New(), "committed")
	base.Version, base.CommitID, base.CommitSize = 4, testIDs.New(), 2
	want := Leaf(&base)
	for name, change := range map[string]func(*Record){
		"id":            func(r *Record) { r.ID = testIDs.New() },
		"type":          func(r *Record) { r.Type += "x" },
		"subject":       func(r *Record) { r.StreamType = "view" },
		"time":          func(r *Record) { r.Time = r.Time.Add(time.Microsecond) },
		"dataschema":    func(r *Record) { r.DataSchema += "x" },
		"stream":        func(r *Record) { r.Stream = testIDs.New() },
		"streamversion": func(r *Record) { r.Version++ },
		"commitid":      func(r *Record) { r.CommitID = testIDs.New() },
		"commitindex":   func(r *Record) { r.CommitIndex++ },
		"commitsize":    func(r *Record) { r.CommitSize++ },
		"actor":         func(r *Record) { r.Actor = testIDs.New() },
		"requestid":     func(r *Record) { r.RequestID = testIDs.New() },
		"causation":     func(r *Record) { r.Causation = testIDs.New() },
		"warehouse":     func(r *Record) { r.Warehouse = testIDs.New() },
		"project":       func(r *Record) { r.Project = testIDs.New() },
		"data":          func(r *Record) { r.Data = append([]byte(" "), r.Data...) },
		"moved": func(r *Record) { // same bytes, other borders
			r.Type, r.DataSchema = r.Type+r.DataSchema[:1], r.DataSchema[1:]
		},
	} {
		changed := base
		change(&changed)
		if Leaf(&changed) == want {
			t.Errorf("%s is not in the leaf", name)
		}
	}
	outside := base
	outside.TraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	outside.Time = outside.Time.Add(900 * time.Nanosecond) // below what is stored
	if Leaf(&outside) != want {
		t.Error("traceparent or nanoseconds are in the leaf")
	}
}

// RFC 8785 and jsonb would read this id as a double and lose its last digits.
func TestLeafKeepsLargeNumbersApart(t *testing.T) {
	t.Parallel()
	a := record(testIDs.New(), "committed")
	b := a
	a.Data, b.Data = []byte(`{"snapshot-id":3051729675574597004}`), []byte(`{"snapshot-id":3051729675574597000}`)
	if Leaf(&a) == Leaf(&b) {
		t.Error("two snapshot ids share a leaf")
	}
}

func TestTwentyDigitsSortLikeNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Min(0).Draw(t, "a"), rapid.Int64Min(0).Draw(t, "b")
		x, y := twentyDigits(a), twentyDigits(b)
		if len(x) != 20 || (a < b) != (x < y) {
			t.Fatalf("%d -> %s, %d -> %s", a, x, b, y)
		}
	})
}
