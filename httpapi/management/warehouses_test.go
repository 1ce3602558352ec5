package management

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/queries"
)

var id = ids.MustParse("0190a000-0000-7000-8000-00000000000f")

func TestWarehouseIsPrintedInLakekeepersForm(t *testing.T) {
	t.Parallel()
	got := string(appendWarehouse(nil, queries.Warehouse{
		ID: id, Project: "sales", Name: `de"mo`, Active: true, StorageProfile: json.RawMessage(`{"type":"file","root":"file:///w"}`),
		DefaultFormat: 2, AllowedFormats: []int{1, 2, 3}, UpdatedAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
	}))
	const want = `{"id":"0190a000-0000-7000-8000-00000000000f","warehouse-id":"0190a000-0000-7000-8000-00000000000f","name":"de\"mo",` +
		`"project-id":"sales","storage-profile":{"type":"file","root":"file:///w"},` +
		`"delete-profile":{"type":"hard"},"status":"active","protected":false,"managed-by":"self-managed",` +
		`"allowed-format-versions":[1,2,3],"default-format-version":2,"updated-at":"2026-01-02T03:04:05.000006Z"}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var all map[string]any
	if err := json.Unmarshal(appendWarehouse(nil, queries.Warehouse{}), &all); err != nil {
		t.Fatal(err)
	}
	// The required members of GetWarehouseResponse.
	for _, name := range []string{"id", "warehouse-id", "name", "project-id", "storage-profile", "delete-profile", "status", "protected", "allowed-format-versions"} {
		if _, ok := all[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestWarehouseRequestIsRead(t *testing.T) {
	t.Parallel()
	object, err := wire.ParseObject([]byte(`{"warehouse-name":"w","storage-profile":{"type":"file","root":"file:///w"},"storage-credential":null,
		"delete-profile":{"type":"hard"},"managed-by":"self-managed","allowed-format-versions":[2,3],"default-format-version":3,"project-id":"0190a000-0000-7000-8000-00000000000e"}`))
	if err != nil {
		t.Fatal(err)
	}
	in, err := readWarehouse(object)
	if err != nil {
		t.Fatal(err)
	}
	if in.Name != "w" || string(in.StorageProfile) != `{"type":"file","root":"file:///w"}` || len(in.AllowedFormats) != 2 || in.DefaultFormat != 3 {
		t.Errorf("%+v", in)
	}
}

// What would only seem to be done is refused.
func TestPromisesThatCannotBeKeptAreRefused(t *testing.T) {
	t.Parallel()
	for _, member := range []string{
		`"storage-credential":{"type":"s3"}`, `"managed-by":"instance-admin"`,
	} {
		object, err := wire.ParseObject([]byte(`{"warehouse-name":"w","storage-profile":{"type":"file"},` + member + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := refusePromises(object); catalog.KindOf(err) != catalog.Unsupported || err == nil {
			t.Errorf("%s: %v, want Unsupported", member, err)
		}
	}
}

func TestWarehouseStatusIsAFilter(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][2]bool{
		"": {true, false}, "warehouseStatus=active": {true, false}, "warehouseStatus=inactive": {false, true},
		"warehouseStatus=active&warehouseStatus=inactive": {true, true},
	} {
		q, err := wire.ParseQuery(httptest.NewRequest(http.MethodGet, "/?"+raw, nil))
		if err != nil {
			t.Fatal(err)
		}
		active, inactive, err := statuses(q)
		if err != nil || [2]bool{active, inactive} != want {
			t.Errorf("%q: %v %v, %v", raw, active, inactive, err)
		}
	}
}

func TestDurationsNeedNoCalendar(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"P1D": 24 * time.Hour, "PT1H": time.Hour, "P1W": 7 * 24 * time.Hour, "P1DT2H3M4S": 26*time.Hour + 3*time.Minute + 4*time.Second,
		"P": 0, "PT": 0, "P1M": 0, "P1Y": 0, "1D": 0, "P-1D": 0, "P0D": 0, "PT1.5H": 0, "P999999D": 0, "": 0,
	} {
		if got, ok := isoDuration(text, 2*queries.MaxWindow); got != want || ok != (want > 0) {
			t.Errorf("%s: %v, %v", text, got, ok)
		}
	}
}
