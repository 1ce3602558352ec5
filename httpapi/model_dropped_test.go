package httpapi_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// keep has what is dropped come back, or not. What can is overdue at once, so that
// its expiry may come at any moment.
func keep(soft bool) string {
	if soft {
		return `{"delete-profile":{"type":"soft","expiration-seconds":0}}`
	}
	return `{"delete-profile":{"type":"hard"}}`
}

// drawDropped makes up what happens to something that can come back, if there is
// something.
func (p *pair) drawDropped(t *testing.T, r *rand.Rand) (a action, ok bool) {
	t.Helper()
	rows, err := p.db.App.Query(t.Context(), `
		SELECT d.object_id::text, d.table_uuid::text, d.kind, d.drop_event::text, e.request_id::text
		  FROM rm.dropped d JOIN es.event e ON e.event_id = d.drop_event WHERE d.expires_at IS NOT NULL AND e.append_seq > 0
		UNION ALL
		SELECT n.namespace_id::text, '', 'namespace', n.drop_event::text, e.request_id::text
		  FROM rm.dropped_namespace n JOIN es.event e ON e.event_id = n.drop_event WHERE n.namespace_id = n.drop_root AND e.append_seq > 0
		 ORDER BY 1`)
	if err != nil {
		t.Error(err)
		return a, false
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a action, err error) {
		var kind string
		err = row.Scan(&a.object, &a.uuid, &kind, &a.drop, &a.request)
		a.tree, a.view = kind == "namespace", kind == "view"
		return a, err
	})
	if err != nil || len(list) == 0 {
		return a, false
	}
	a = list[r.IntN(len(list))]
	a.verb = "undrop"
	switch r.IntN(5) {
	case 0:
		a.verb = "expire"
	case 1:
		a.as = spelled(r, modelNames[r.IntN(len(modelNames))])[0]
	}
	return a, true
}

// expire does what a worker does, and answers like a server.
func (p *pair) expire(t *testing.T, a action) answer {
	t.Helper()
	in := commands.Expiry{Warehouse: ids.MustParse(strings.TrimPrefix(p.prefix, "/catalog/v1/")), Object: ids.MustParse(a.object), Drop: ids.MustParse(a.drop)}
	err := p.commands.Expire(t.Context(), in)
	switch {
	case err == nil:
		return answer{status: 204}
	case errors.Is(err, commands.ErrExpiryOver):
		return answer{status: 404}
	case catalog.KindOf(err) == catalog.CommitFailed:
		return answer{status: 409}
	}
	t.Errorf("%s: %v", a, err)
	return answer{status: 500}
}

// describeDropped asks for what can come back, and writes it down as the model does.
func (p *pair) describeDropped(t *testing.T, h http.Handler) string {
	t.Helper()
	var lines []string
	var tabulars struct {
		Tabulars []struct {
			Name, Typ string
			Namespace []string
		}
	}
	var trees struct {
		Namespaces []struct {
			Namespace  []string
			Namespaces int `json:"number-of-namespaces"`
			Tables     int `json:"number-of-tables"`
			Views      int `json:"number-of-views"`
		}
	}
	for path, into := range map[string]any{"/deleted-tabulars?pageSize=1000": &tabulars, "/deleted-namespaces?pageSize=1000": &trees} {
		if err := json.Unmarshal([]byte(expect(t, do(h, "GET", p.manage()+path, ""), 200).body), into); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range tabulars.Tabulars {
		lines = append(lines, droppedLine(d.Typ == "view", d.Namespace, d.Name))
	}
	for _, d := range trees.Namespaces {
		lines = append(lines, treeLine(d.Namespace, d.Namespaces, d.Tables, d.Views))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
