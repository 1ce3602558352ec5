package httpapi_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// Whatever a warehouse may be called, it is found under that name, works under
// it, and nothing that consumers see is made of it; what it may not be called
// is refused by one rule, and the old name stays.
func TestWarehouseNamesAreRefusedOrWork(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix)
	c.play(t, []step{{send: "POST /namespaces", body: `{"namespace":["n"]}`, want: 200}, {send: "POST /namespaces/n/tables", body: create("t"), want: 200}})
	warehouse := "/management/v1/warehouse/" + strings.TrimPrefix(s.prefix, "/catalog/v1/")
	current := "demo"
	for i, name := range []string{
		"wh\ncommit", "wh\r\nPUB x 0", "a b", "tab\there", "dot.name", ".", "..", "*", ">", "a.>", "$JS", "-", "ünï", "日本語", "🧊", " lead", "trail ", "", "a/b", "/", `qu"ote`, "it's", "back\\slash", "%2F", "%00", "nul\x00", "unit\x1fsep", "\u202e", "\ufeff", "${x}", "{{x}}", "<b>", "0190a000-0000-7000-8000-0000000000ff",
		strings.Repeat("w", 127), strings.Repeat("w", 128), strings.Repeat("w", 255), strings.Repeat("é", 128), strings.Repeat("w", 5000),
	} {
		got := s.do("POST", warehouse+"/rename", fmt.Sprintf(`{"new-name":%s}`, quoted(name)))
		switch got.status {
		case 200, 204:
			current = name
		case 400:
			errorOf(t, got)
		default:
			t.Errorf("rename to %q: %d %s", name, got.status, got.body)
			continue
		}
		at := url.QueryEscape(current)
		config := s.do("GET", "/catalog/v1/config?warehouse="+at, "")
		if config.status != 200 || "/catalog/v1/"+strings.Trim(look(config, "overrides/prefix"), `"`) != s.prefix {
			t.Errorf("after %q, config of %q: %d %s", name, current, config.status, config.body)
		}
		if own := s.do("GET", "/catalog/w/"+strings.ReplaceAll(at, "+", "%20")+"/v1/namespaces", ""); own.status != 200 && !strings.HasPrefix(current, "0190") {
			t.Errorf("after %q, own base of %q: %d %s", name, current, own.status, own.body)
		}
		expect(t, s.do("POST", s.prefix+"/namespaces/n/tables/t", commit("", fmt.Sprintf(`{"action":"set-properties","updates":{"i":"%d"}}`, i))), 200)
	}
	// Committed events name the warehouse by its id alone.
	var leaks int
	if err := s.db.Owner.QueryRow(t.Context(), "SELECT count(*) FROM es.event WHERE type LIKE 'dev.icecore.table.%' AND warehouse IS DISTINCT FROM $1::uuid", strings.TrimPrefix(s.prefix, "/catalog/v1/")).Scan(&leaks); err != nil || leaks != 0 {
		t.Errorf("%d events of no warehouse, %v", leaks, err)
	}
}
