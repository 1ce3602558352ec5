package httpapi_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections/projectionstest"
)

// Seeds that once failed; they stay.
var modelSeeds = []uint64{1, 2}

// pair is two instances of the server on one database and one folder; the
// second gives each commit a transaction of its own.
type pair struct {
	*stack
	instances [2]http.Handler
	commands  *commands.Service // of one of them, for what workers do
	graves    []grave
}

func newPair(t *testing.T) *pair {
	t.Helper()
	s := newStack(t)
	s.flights = -1
	p := &pair{stack: s}
	p.instances = [2]http.Handler{s.handler, s.with(t, allowall.Authorizer{}, func(d *httpapi.Deps) { p.commands = d.Commands })}
	// Tables to register, from a namespace that is gone when the test begins.
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	for i := range 3 {
		name := fmt.Sprintf("grave%d", i)
		body := fmt.Sprintf(`{"name":%q,"schema":%s,"properties":{"was":"buried"}}`, name, schema)
		got := expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", body), 200)
		var doc loaded
		if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
			t.Fatal(err)
		}
		p.graves = append(p.graves, grave{uuid: tableUUID(t, got), location: doc.MetadataLocation})
		expect(t, s.do("DELETE", s.prefix+"/namespaces/n/tables/"+name, ""), 204)
	}
	a := action{verb: "create", namespace: []string{"n"}, name: "view", view: true, key: "was", value: "buried"}
	method, target, body := p.request(a)
	got := expect(t, s.do(method, target, body), 200)
	var doc loaded
	if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
		t.Fatal(err)
	}
	p.graves = append(p.graves, grave{uuid: made(a, got), location: doc.MetadataLocation, view: true})
	expect(t, s.do("DELETE", s.prefix+"/namespaces/n/views/view", ""), 204)
	expect(t, s.do("DELETE", s.prefix+"/namespaces/n", ""), 204)
	return p
}

var (
	modelPaths = [][]string{{"a"}, {"B"}, {"a", "x"}, {"B", "é y"}}
	modelNames = []string{"t1", "T2", "v.1", "ü"}
)

// spelled returns a name or a path, now and then in other letters.
func spelled(r *rand.Rand, levels ...string) []string {
	levels = slices.Clone(levels)
	if r.IntN(4) == 0 {
		for i := range levels {
			levels[i] = swapCase(levels[i])
		}
	}
	return levels
}

// swapCase changes ASCII letters alone, so that the model may fold as it likes.
func swapCase(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			b[i] = c ^ 0x20
		}
	}
	return string(b)
}

// draw makes an action up. The uuids of a commit come from what stands at its
// name, as a client loads it first, or from nowhere.
func draw(r *rand.Rand, graves []grave, stands func(levels []string, name string, view bool) string) action {
	path := func() []string { return spelled(r, modelPaths[r.IntN(len(modelPaths))]...) }
	name := func() string { return spelled(r, modelNames[r.IntN(len(modelNames))])[0] }
	a := action{namespace: path(), name: name(), key: "k" + strconv.Itoa(r.IntN(3)), value: strconv.FormatUint(r.Uint64(), 36)}
	// Most views have names of their own, or nearly all would meet a table.
	a.view = strings.EqualFold(a.name, modelNames[2]) != (r.IntN(8) == 0)
	uuid := func(name string) string {
		if u := stands(a.namespace, name, a.view); u != "" && r.IntN(8) > 0 {
			return u
		}
		return ids.NewV7(clock.System{}).New().String()
	}
	switch n := r.IntN(100); {
	case n < 12:
		a.verb, a.name = "create namespace", ""
	case n < 16:
		a.verb, a.name, a.recursive = "drop namespace", "", r.IntN(2) == 0
		a.force = r.IntN(4) == 0
	case n < 22:
		a.verb, a.name = "set namespace properties", ""
	case n < 24:
		a.verb, a.view = "stage", false
	case n < 29:
		a.verb, a.view, a.uuid = "create by commit", false, ids.NewV7(clock.System{}).New().String()
	case n < 44:
		a.verb = "create"
	case n < 68:
		a.verb, a.uuid = "commit", uuid(a.name)
	case n < 76:
		a.verb, a.view, a.second = "transaction", false, name()
		if strings.EqualFold(a.name, a.second) {
			a.verb, a.second = "create", ""
			break
		}
		a.uuid, a.uuid2 = uuid(a.name), uuid(a.second)
	case n < 88:
		a.verb, a.into, a.as = "rename", path(), name()
	case n < 94:
		a.verb, a.force, a.purge = "drop", r.IntN(4) == 0, r.IntN(2) == 0
	case n < 95:
		a.verb, a.view, a.force = "unregister", false, r.IntN(3) == 0
	case n < 97:
		a.verb, a.uuid, a.protected = "protect", uuid(a.name), r.IntN(3) > 0
	default:
		a.verb, a.overwrite, a.grave = "register", r.IntN(2) == 0, graves[r.IntN(len(graves))]
		a.view = a.grave.view
	}
	return a
}

func escapePath(levels []string) string {
	escaped := make([]string, len(levels))
	for i, l := range levels {
		escaped[i] = url.PathEscape(l)
	}
	return strings.Join(escaped, "%1F")
}

// request turns an action into what a client sends.
func (p *pair) request(a action) (method, target, body string) {
	base := p.prefix + "/namespaces"
	ns := base + "/" + escapePath(a.namespace)
	kind, assert := "/tables", "assert-table-uuid"
	if a.view {
		kind, assert = "/views", "assert-view-uuid"
	}
	change := func(name, uuid string) string {
		return fmt.Sprintf(`{"identifier":{"namespace":%s,"name":%s},"requirements":[{"type":%q,"uuid":%q}],"updates":[{"action":"set-properties","updates":{%q:%q}}]}`,
			mustJSON(a.namespace), quoted(name), assert, uuid, a.key, a.value)
	}
	switch a.verb {
	case "create namespace":
		return "POST", base, fmt.Sprintf(`{"namespace":%s,"properties":{%q:%q}}`, mustJSON(a.namespace), a.key, a.value)
	case "drop namespace":
		return "DELETE", fmt.Sprintf("%s?recursive=%t&force=%t", ns, a.recursive, a.force), ""
	case "set namespace properties":
		return "POST", ns + "/properties", fmt.Sprintf(`{"updates":{%q:%q}}`, a.key, a.value)
	case "create":
		if a.view {
			return "POST", ns + kind, fmt.Sprintf(`{"name":%s,"schema":%s,"properties":{%q:%q},"view-version":{"version-id":1,"schema-id":0,"timestamp-ms":1,"summary":{},`+
				`"default-namespace":%s,"representations":[{"type":"sql","sql":"SELECT 1","dialect":"spark"}]}}`, quoted(a.name), schema, a.key, a.value, mustJSON(a.namespace))
		}
		return "POST", ns + kind, fmt.Sprintf(`{"name":%s,"schema":%s,"properties":{%q:%q}}`, quoted(a.name), schema, a.key, a.value)
	case "stage":
		return "POST", ns + kind, fmt.Sprintf(`{"name":%s,"schema":%s,"stage-create":true}`, quoted(a.name), schema)
	case "create by commit":
		return "POST", ns + kind + "/" + url.PathEscape(a.name), fmt.Sprintf(`{"requirements":[{"type":"assert-create"}],"updates":[{"action":"assign-uuid","uuid":%q},`+
			`{"action":"upgrade-format-version","format-version":2},{"action":"add-schema","schema":%s,"last-column-id":2},{"action":"set-current-schema","schema-id":-1},`+
			`{"action":"add-spec","spec":{"spec-id":0,"fields":[]}},{"action":"set-default-spec","spec-id":-1},{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},`+
			`{"action":"set-default-sort-order","sort-order-id":-1},{"action":"set-location","location":%q},{"action":"set-properties","updates":{%q:%q}}]}`,
			a.uuid, schema, "file://"+p.root+"/demo/staged/"+a.uuid, a.key, a.value)
	case "deactivate", "activate":
		return "POST", p.manage() + "/" + a.verb, ""
	case "keep what is dropped":
		return "POST", p.manage() + "/delete-profile", keep(a.protected)
	case "undrop":
		kind := "table"
		if a.view {
			kind = "view"
		}
		if a.tree {
			kind = "namespace"
		}
		return "POST", p.manage() + "/deleted-tabulars/undrop", fmt.Sprintf(`{"targets":[{"type":%q,"id":%q,"name":%s}]}`, kind, a.object, quoted(a.as))
	case "expire": // by no route
		return "", "", ""
	case "rename warehouse":
		return "POST", p.manage() + "/rename", fmt.Sprintf(`{"new-name":%q}`, a.value)
	case "commit":
		return "POST", ns + kind + "/" + url.PathEscape(a.name), change(a.name, a.uuid)
	case "transaction":
		return "POST", p.prefix + "/transactions/commit", `{"table-changes":[` + change(a.name, a.uuid) + "," + change(a.second, a.uuid2) + `]}`
	case "rename":
		return "POST", p.prefix + kind + "/rename", fmt.Sprintf(`{"source":{"namespace":%s,"name":%s},"destination":{"namespace":%s,"name":%s}}`,
			mustJSON(a.namespace), quoted(a.name), mustJSON(a.into), quoted(a.as))
	case "drop":
		return "DELETE", fmt.Sprintf("%s%s/%s?force=%t&purgeRequested=%t", ns, kind, url.PathEscape(a.name), a.force, a.purge), ""
	case "unregister":
		return "POST", fmt.Sprintf("%s%s/%s/unregister?force=%t", ns, kind, url.PathEscape(a.name), a.force), ""
	case "protect":
		return "POST", p.protection(a.uuid, a.view), fmt.Sprintf(`{"protected":%t}`, a.protected)
	case "register":
		if a.view {
			return "POST", ns + "/register-view", fmt.Sprintf(`{"name":%s,"metadata-location":%q}`, quoted(a.name), a.grave.location)
		}
		return "POST", ns + "/register", fmt.Sprintf(`{"name":%s,"metadata-location":%q,"overwrite":%t}`, quoted(a.name), a.grave.location, a.overwrite)
	}
	panic(a.verb)
}

func (p *pair) protection(uuid string, view bool) string {
	kind := "table"
	if view {
		kind = "view"
	}
	return p.manage() + "/" + kind + "/" + uuid + "/protection"
}

func (p *pair) manage() string {
	return "/management/v1/warehouse/" + strings.TrimPrefix(p.prefix, "/catalog/v1/")
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// made returns the uuid that the answer to a creation tells.
func made(a action, got answer) string {
	if a.verb != "create" || got.status != 200 {
		return a.uuid
	}
	var doc struct {
		Metadata struct {
			Table string `json:"table-uuid"`
			View  string `json:"view-uuid"`
		}
	}
	_ = json.Unmarshal([]byte(got.body), &doc) // an answer without one fails later
	return doc.Metadata.Table + doc.Metadata.View
}

// describe asks an instance for everything, and writes it down as the model does.
func (p *pair) describe(t *testing.T, h http.Handler) string {
	t.Helper()
	m := newModel()
	get := func(path string, into any) {
		t.Helper()
		got := expect(t, do(h, "GET", p.prefix+path, ""), 200)
		if err := json.Unmarshal([]byte(got.body), into); err != nil {
			t.Fatal(err)
		}
	}
	var walk func(parent []string)
	walk = func(parent []string) {
		var list struct{ Namespaces [][]string }
		query := ""
		if len(parent) > 0 {
			query = "?parent=" + escapePath(parent)
		}
		get("/namespaces"+query, &list)
		for _, levels := range list.Namespaces {
			path := "/namespaces/" + escapePath(levels)
			var n struct{ Properties map[string]string }
			get(path, &n)
			delete(n.Properties, "location")
			at := &modelNamespace{levels: levels, properties: n.Properties, objects: map[string]*modelObject{}}
			m.namespaces[modelKey(levels)] = at
			for _, kind := range []string{"/tables", "/views"} {
				var objects struct{ Identifiers []struct{ Name string } }
				get(path+kind, &objects)
				for _, id := range objects.Identifiers {
					var doc struct {
						Metadata struct {
							Table      string `json:"table-uuid"`
							View       string `json:"view-uuid"`
							Properties map[string]string
						}
					}
					get(path+kind+"/"+url.PathEscape(id.Name), &doc)
					for k := range doc.Metadata.Properties {
						if k != "was" && !strings.HasPrefix(k, "k") { // what the server adds
							delete(doc.Metadata.Properties, k)
						}
					}
					key := strings.ToLower(id.Name)
					if at.objects[key] != nil {
						t.Errorf("%v has a table and a view named %q", levels, id.Name)
					}
					o := &modelObject{view: kind == "/views", name: id.Name, uuid: doc.Metadata.Table + doc.Metadata.View, properties: doc.Metadata.Properties}
					o.protected = strings.Contains(expect(t, do(h, "GET", p.protection(o.uuid, o.view), ""), 200).body, `"protected":true`)
					at.objects[key] = o
				}
			}
			walk(levels)
		}
	}
	walk(nil)
	return m.describe() + p.describeDropped(t, h)
}

// ask carries an action out, under the id of a request.
func (p *pair) ask(t *testing.T, a *action, h http.Handler, id ids.ID) answer {
	t.Helper()
	if a.verb == "expire" {
		return p.expire(t, *a)
	}
	if a.verb == "drop namespace" {
		a.request = id.String()
	}
	method, target, body := p.request(*a)
	return do(h, method, target, body, "X-Request-Id", id.String())
}

func (p *pair) check(t *testing.T, m *model, when string) {
	t.Helper()
	want := m.describe()
	for i, h := range p.instances {
		if got := p.describe(t, h); got != want {
			t.Fatalf("%s: instance %d shows\n%sinstead of\n%s", when, i, got, want)
		}
	}
}

// seeds are those that once failed, and a new one.
func seeds() []uint64 {
	if s, err := strconv.ParseUint(os.Getenv("ICECORE_SEED"), 10, 64); err == nil {
		return []uint64{s}
	}
	list := slices.Clone(modelSeeds)
	more := 1
	if os.Getenv("ICECORE_LONG") != "" {
		more = 20
	}
	for range more {
		list = append(list, rand.Uint64N(1<<32))
	}
	return list
}

// TestCatalogIsTheModel: whatever is asked of either of two instances, each
// answer is the model's, and so is what both show in between and at the end.
func TestCatalogIsTheModel(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds() {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			p, m := newPair(t), newModel()
			r, source := rand.New(rand.NewPCG(seed, 1)), ids.NewV7(clock.System{})
			const steps = 250
			happened := map[string]int{}
			for step := range steps {
				a := draw(r, p.graves, func(levels []string, name string, view bool) string {
					if o := m.object(levels, name); o != nil && o.view == view {
						return o.uuid
					}
					return ""
				})
				// The warehouse itself, in sequence alone: a commit does not wait for it.
				switch n := r.IntN(60); {
				case n < 8:
					if back, ok := p.drawDropped(t, r); ok {
						a = back
					}
				case !m.inactive && (step == 5 || n == 8):
					a = action{verb: "keep what is dropped", protected: !m.soft}
				case m.inactive && n < 30:
					a = action{verb: "activate"}
				case n == 58:
					a = action{verb: "deactivate"}
				case n == 59:
					a = action{verb: "rename warehouse", value: "w" + a.value}
				}
				got := p.ask(t, &a, p.instances[r.IntN(2)], source.New())
				a.uuid = made(a, got)
				if want := m.apply(a); got.status != want {
					t.Fatalf("step %d, %s: %d %s, want %d; the model is now\n%s", step, a, got.status, got.body, want, m.describe())
				}
				if got.status < 300 {
					happened[a.verb]++
				}
				if step%50 == 49 && !m.inactive {
					p.check(t, m, fmt.Sprintf("after step %d", step))
				}
			}
			if happened["create"] == 0 || happened["commit"] == 0 {
				t.Errorf("hardly anything happened: %v", happened)
			}
			t.Logf("%v", happened)
			projectionstest.RequireRebuildEqual(t, p.db.App)
		})
	}
}

// TestRacesAreSomeOrderOfTheModel: many clients at once, on both instances.
// The model then carries out, in the order of the log, what was acknowledged:
// each of it succeeds there as well, it shows what both instances show, and
// nothing else is in the log.
func TestRacesAreSomeOrderOfTheModel(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds() {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			expect(t, p.do("POST", p.manage()+"/delete-profile", keep(true)), 200)
			const clients, steps = 6, 40
			var (
				mu   sync.Mutex
				said = map[ids.ID]action{} // acknowledged, by request
				done = map[ids.ID]int{}    // status of each
				all  sync.WaitGroup
			)
			source := ids.NewV7(clock.System{})
			for client := range clients {
				all.Go(func() {
					r := rand.New(rand.NewPCG(seed, uint64(client)))
					for range steps {
						h := p.instances[r.IntN(2)]
						a := draw(r, p.graves, func(levels []string, name string, view bool) string { return p.loadUUID(h, levels, name, view) })
						if r.IntN(8) == 0 {
							if back, ok := p.drawDropped(t, r); ok {
								a = back
							}
						}
						id := source.New()
						got := p.ask(t, &a, h, id)
						if got.status >= 500 && got.status != 503 || got.status == 400 {
							t.Errorf("%s: %d %s", a, got.status, got.body)
							return
						}
						if a.verb == "expire" { // in the name of nobody
							continue
						}
						mu.Lock()
						done[id] = got.status
						if got.status < 300 {
							a.uuid = made(a, got)
							said[id] = a
						}
						mu.Unlock()
					}
				})
			}
			all.Wait()
			if t.Failed() {
				return
			}
			p.replay(t, said, done)
		})
	}
}

// loadUUID is what a client does before it commits.
func (p *pair) loadUUID(h http.Handler, levels []string, name string, view bool) string {
	kind := "/tables/"
	if view {
		kind = "/views/"
	}
	got := do(h, "GET", p.prefix+"/namespaces/"+escapePath(levels)+kind+url.PathEscape(name), "")
	return made(action{verb: "create"}, got)
}

// replay carries the acknowledged actions out on a model, in the order of the log.
func (p *pair) replay(t *testing.T, said map[ids.ID]action, done map[ids.ID]int) {
	t.Helper()
	rows, err := p.db.App.Query(t.Context(), "SELECT request_id, type, event_id, causation, data FROM es.event WHERE append_seq > 0 ORDER BY append_seq, ordinal")
	if err != nil {
		t.Fatal(err)
	}
	m, last, inLog := newModel(), ids.Nil, map[ids.ID]bool{}
	m.soft = true
	by := map[pgtype.UUID]string{} // requests, by event
	for rows.Next() {
		var request, event, causation pgtype.UUID
		var typ string
		var data []byte
		if err := rows.Scan(&request, &typ, &event, &causation, &data); err != nil {
			t.Fatal(err)
		}
		id := ids.ID(request.Bytes)
		by[event] = id.String()
		if strings.HasSuffix(typ, ".expired") {
			a := action{verb: "expire", tree: typ == catalog.TypeNamespaceExpired, request: by[causation]}
			var of map[string]any
			if err := json.Unmarshal(data, &of); err != nil {
				t.Fatal(err)
			}
			table, _ := of["table-uuid"].(string)
			view, _ := of["view-uuid"].(string)
			a.uuid = table + view
			if got := m.apply(a); got != 204 {
				t.Fatalf("%s is in the log, and in its order would be answered %d; the model is then\n%s", a, got, m.describe())
			}
			continue
		}
		status, ours := done[id]
		if !ours || id == last { // of the setup, or another event of the same commit
			continue
		}
		last = id
		a, acknowledged := said[id]
		switch {
		case inLog[id]:
			t.Errorf("the request of %s is in the log twice", a)
		case !acknowledged:
			t.Errorf("a request that was answered %d is in the log (%s)", status, typ)
			continue
		}
		inLog[id] = true
		if got := m.apply(a); got >= 300 {
			t.Fatalf("%s was acknowledged, and in the order of the log it would be answered %d; the model is then\n%s", a, got, m.describe())
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for id, a := range said {
		// A rename to the name that it has changes nothing, nor does protecting twice.
		if !inLog[id] && a.verb != "rename" && a.verb != "protect" && a.verb != "stage" {
			t.Errorf("%s was acknowledged and is not in the log", a)
		}
	}
	p.check(t, m, "at the end")
	projectionstest.RequireRebuildEqual(t, p.db.App)
}
