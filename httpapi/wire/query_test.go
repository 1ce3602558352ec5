package wire_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

func query(t *testing.T, raw string) (wire.Query, error) {
	t.Helper()
	return wire.ParseQuery(&http.Request{URL: &url.URL{RawQuery: raw}})
}

func TestBooleansComeInAnyLetterCase(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{
		"": false, "purgeRequested=True": true, "purgeRequested=true": true, "purgeRequested=TRUE": true,
		"purgeRequested=False": false, "purgeRequested=": false, "purgeRequested": false, "other=true": false,
	} {
		q, err := query(t, raw)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := q.Bool("purgeRequested"); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", raw, got, err, want)
		}
	}
	for _, raw := range []string{"purgeRequested=yes", "purgeRequested=1", "purgeRequested=true&purgeRequested=false"} {
		q, err := query(t, raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Bool("purgeRequested"); catalog.KindOf(err) != catalog.BadRequest || err == nil {
			t.Errorf("%q: %v, want a BadRequest", raw, err)
		}
	}
}

// Without pageToken the client does not page, whatever pageSize says.
func TestPagingIsAskedForByTheToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw   string
		token *string
		size  int
	}{
		{"", nil, 0}, {"pageSize=10", nil, 10}, {"pageToken=", new(string), 0}, {"pageToken", new(string), 0},
		{"pageToken=abc&pageSize=1", ptr("abc"), 1}, {"pageToken=a%2Bb", ptr("a+b"), 0}, {"pageSize=", nil, 0},
	} {
		q, err := query(t, c.raw)
		if err != nil {
			t.Fatal(err)
		}
		token, size, err := q.Page()
		if err != nil {
			t.Errorf("%q: %v", c.raw, err)
			continue
		}
		if (token == nil) != (c.token == nil) || token != nil && *token != *c.token {
			t.Errorf("%q: token %v, want %v", c.raw, token, c.token)
		}
		if got := deref(size); got != c.size {
			t.Errorf("%q: size %d, want %d", c.raw, got, c.size)
		}
	}
	for _, size := range []string{"0", "-1", "abc", "1e9", "99999999999999999999", "1.5", "+ 1"} {
		q, err := query(t, "pageToken=&pageSize="+url.QueryEscape(size))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := q.Page(); catalog.KindOf(err) != catalog.BadRequest || err == nil {
			t.Errorf("pageSize=%s: %v, want a BadRequest", size, err)
		}
	}
}

func TestQueryIsDecodedOnceAndNothingIsDropped(t *testing.T) {
	t.Parallel()
	q, err := query(t, "parent=a+b%1Fc%2Bd;e&warehouse=%25")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := q.String("parent"); got != "a b\x1fc+d;e" {
		t.Errorf("parent = %q", got)
	}
	if got, _ := q.String("warehouse"); got != "%" {
		t.Errorf("warehouse = %q", got)
	}
	for _, raw := range []string{"a=%zz", "%=1", "a=%"} {
		if _, err := query(t, raw); catalog.KindOf(err) != catalog.BadRequest || err == nil {
			t.Errorf("%q: %v, want a BadRequest", raw, err)
		}
	}
	for _, raw := range []string{"a=%00", "a=%ff"} {
		q, err := query(t, raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.String("a"); catalog.KindOf(err) != catalog.BadRequest || err == nil {
			t.Errorf("%q: %v, want a BadRequest", raw, err)
		}
	}
}

func ptr(s string) *string { return &s }

func deref(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// Names of parameters come in any letter case, and spellings of one name are
// one parameter.
func TestParameterNamesComeInAnyLetterCase(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"snapshots", "purgeRequested", "pageToken", "pageSize", "parent", "planId", "warehouse", "referenced-by",
		"recursive", "force", "warehouseStatus", "projectId",
	} {
		for _, spelled := range []string{name, strings.ToLower(name), strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:]} {
			q, err := query(t, spelled+"=Ab")
			if err != nil {
				t.Fatal(err)
			}
			if got, sent, err := q.Lookup(name); got != "Ab" || !sent || err != nil {
				t.Errorf("%s: %q, %v, %v", spelled, got, sent, err)
			}
		}
	}
	for raw, want := range map[string]bool{"PURGEREQUESTED=True": true, "purgerequested=TRUE": true, "PurgeRequested=False": false} {
		q, err := query(t, raw)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := q.Bool("purgeRequested"); got != want || err != nil {
			t.Errorf("%s: %v, %v", raw, got, err)
		}
	}
	q, err := query(t, "pagetoken=a&PAGETOKEN=b&PageSize=7")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := q.Page(); catalog.KindOf(err) != catalog.BadRequest || err == nil {
		t.Errorf("two spellings, two values: %v", err)
	}
	if q, err = query(t, "PAGETOKEN=&PageSize=7"); err != nil {
		t.Fatal(err)
	}
	if token, size, err := q.Page(); err != nil || token == nil || *token != "" || size == nil || *size != 7 {
		t.Errorf("page %v %v %v", token, size, err)
	}
}
