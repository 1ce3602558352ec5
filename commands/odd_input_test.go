package commands_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// Whatever a client sends, the answer is success or the client's fault: never
// an internal error because an event cannot hold what was accepted.
func TestOddInputIsTheClientsFaultOrFine(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	k.Table("db", "t")
	snapshot := func(more string) string {
		return fmt.Sprintf(`[{"action":"add-snapshot","snapshot":{"snapshot-id":%%d,"sequence-number":%%[1]d,"timestamp-ms":%d,"manifest-list":"x"%s}}]`, kit.Now.UnixMilli(), more)
	}
	n := 0
	for _, updates := range []string{
		`[{"action":"set-properties","updates":{"a":"1"},"updates":{"b":"2"}}]`,
		`[{"action":"set-properties","action":"remove-properties","updates":{"a":"1"},"removals":["a"]}]`,
		`[{"action":"set-properties","updates":{"a":"1","a":"2"}}]`,
		`[{"action":"set-properties","updates":{"a":null}}]`,
		`[{"action":"set-properties","updates":{"a":1,"b":true,"c":1.50}}]`,
		`[{"action":"SET-PROPERTIES","updates":{"up":"1"}}]`,
		`[{"action":"set-properties","updates":{"":"empty"}}]`,
		`[{"action":"set-properties","updates":{"bad\ud800":"surrogate"}}]`,
		"[{\"action\":\"set-properties\",\"updates\":{\"raw\xff\":\"bytes\"}}]",
		"[{\"action\":\"set-properties\",\"updates\":{\"nul\\u0000\":\"x\\u0000\"}}]",
		` [ { "action" : "set-properties" , "updates" : { "space" : "1" } } ] `,
		`[{"action":"set-properties","updates":{"` + strings.Repeat("k", 70_000) + `":"long key"}}]`,
		`[{"action":"set-properties","updates":{"long value":"` + strings.Repeat("v", 1<<20) + `"}}]`,
		`[{"action":"set-properties","updates":{"deep":` + strings.Repeat(`[`, 20_000) + strings.Repeat(`]`, 20_000) + `}}]`,
		`[{"action":"set-properties","updates":{"x":"1"},"unknown":{"a":[1,{"b":null}]}}]`,
		`[{"action":"set-location","location":""}]`,
		`[{"action":"set-location","location":null}]`,
		`[{"action":"set-location"}]`,
		`[{"action":"set-location","location":7}]`,
		`[{"action":"add-snapshot","snapshot":null}]`,
		snapshot(``), snapshot(`,"summary":{}`), snapshot(`,"summary":{"operation":7}`), snapshot(`,"summary":{"operation":"` + strings.Repeat("o", 300) + `"}`),
		snapshot(`,"summary":{"operation":"append","added-records":"` + strings.Repeat("9", 300) + `"}`),
		snapshot(`,"summary":null`), snapshot(`,"summary":{"operation":"append","nested":{"a":1}}`), snapshot(`,"parent-snapshot-id":-1`),
		`[null]`, `[7]`, `{}`, `[`, `null`, ``, `[{}]`, `[{"action":null}]`, `[{"action":"set-properties"}] trailing`,
	} {
		n++
		if strings.Contains(updates, "%d") {
			updates = fmt.Sprintf(updates, n)
		}
		if _, err := k.Commit(kit.At("db", "t"), "", updates); err != nil {
			switch catalog.KindOf(err) {
			case catalog.BadRequest, catalog.IllegalArgument, catalog.Validation, catalog.CommitFailed:
			default:
				t.Errorf("%.120s: %v of kind %d", updates, err, catalog.KindOf(err))
			}
		}
		if _, err := k.Load(kit.At("db", "t"), loadAll); err != nil {
			t.Fatalf("%.120s: the table cannot be loaded: %v", updates, err)
		}
	}
	for _, more := range []string{
		`,"name":"twice"`, `,"schema":` + kit.Schema, `,"properties":null`, `,"properties":{"a":1}`, `,"location":""`, `,"location":null`,
		`,"unknown":[1,2]`, `,"properties":{"bad":"` + "\xff" + `"}`, `,"properties":{"bad\ud800":"x"}`, `,"stage-create":"yes"`, `,"write-order":{}`,
		`,"location":"file://` + k.Root + `/x","location":"file:///etc"`, `,"location":"file:///etc","location":"file://` + k.Root + `/x"`,
		`,"properties":{"nul\u0000":"x"}`,
	} {
		n++
		if _, err := k.Create("db", fmt.Sprint("c", n), more); err != nil {
			switch catalog.KindOf(err) {
			case catalog.BadRequest, catalog.IllegalArgument, catalog.Validation:
			default:
				t.Errorf("create with %.100s: %v of kind %d", more, err, catalog.KindOf(err))
			}
		}
	}
	for i, properties := range []map[string]string{
		{"": "empty"}, {"nul\x00": "x"}, {"bad\xff": "x"}, {"x": "\xff"}, {strings.Repeat("k", 70_000): "x"}, {"long": strings.Repeat("v", 1<<20)}, {"line\u2028": "<>&"},
	} {
		if err := createNamespace(k, properties, fmt.Sprint("n", i)); err != nil && catalog.KindOf(err) != catalog.BadRequest {
			t.Errorf("namespace %d: %v of kind %d", i, err, catalog.KindOf(err))
		}
	}
}
