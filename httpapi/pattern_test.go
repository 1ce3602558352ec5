package httpapi

import (
	"maps"
	"strings"
	"testing"
)

func TestPatternsMatchWholeSegmentsAsTheyWereSent(t *testing.T) {
	t.Parallel()
	const table = "/catalog/v1/{prefix}/namespaces/{namespace}/tables/{table}"
	for _, c := range []struct {
		template, path string
		want           map[string]string // nil: no match
	}{
		{table, "/catalog/v1/w/namespaces/a/tables/t", map[string]string{"prefix": "w", "namespace": "a", "table": "t"}},
		{table, "/catalog/v1/w/namespaces/a%1Fb/tables/t%2F1", map[string]string{"prefix": "w", "namespace": "a%1Fb", "table": "t%2F1"}},
		{table, "/catalog/v1/w/namespaces//tables/", map[string]string{"prefix": "w", "namespace": "", "table": ""}}, // as Java sends it
		{table, "/catalog/v1//namespaces/a/tables/t", nil},
		{table, "/catalog/v1/w/namespaces/a/views/t", nil},
		{table, "/Catalog/v1/w/namespaces/a/tables/t", nil},
		{table, "/catalog/v1/w/namespaces/a/tables/{table}", map[string]string{"prefix": "w", "namespace": "a", "table": "{table}"}},
		{"/health", "/health", map[string]string{}},
		{"/health", "/healthy", nil},
		{"/health", "/", nil},
		{"/{x}", "/", nil},
	} {
		p := parsePattern(c.template)
		if strings.Count(c.template, "/") != strings.Count(c.path, "/") {
			t.Fatalf("%s and %s are never held against each other", c.template, c.path)
		}
		if got := p.matches(c.path); got != (c.want != nil) {
			t.Errorf("%s on %s: %v", c.template, c.path, got)
			continue
		}
		got := map[string]string{}
		if c.want != nil {
			p.read(c.path, func(name, value string) { got[name] = value })
			if !maps.Equal(got, c.want) {
				t.Errorf("%s on %s: %v", c.template, c.path, got)
			}
		}
	}
}

func BenchmarkPattern(b *testing.B) {
	p := parsePattern("/catalog/v1/{prefix}/namespaces/{namespace}/tables/{table}")
	b.ReportAllocs()
	for b.Loop() {
		if !p.matches("/catalog/v1/0194d3c2-7b51-7c66-8f6f-8a4e9d7c0001/namespaces/small/tables/t1") {
			b.Fatal("no match")
		}
	}
}
