package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/authz/authztest"
	"github.com/icecore-catalog/icecore/eventstore"
)

const destinations = "/management/v1/destinations"

// destination is what the API says of one.
type destination struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Kind      string            `json:"kind"`
	Settings  map[string]string `json:"settings"`
	Filter    map[string][]string
	OnRefusal string `json:"on-refusal"`
	Paused    bool
	Start     struct{ After, Epoch int64 }
	Status    string
	Position  int64
	Epoch     int64
	Head      int64
	LagEvents int64   `json:"lag-events"`
	LagAge    float64 `json:"lag-seconds"`
	Published int64
	Parked    int64
	Failures  int
	LastEvent string    `json:"last-event-id"`
	Retry     time.Time `json:"retry-after"`
	LastError string    `json:"last-error"`
	FailedAt  time.Time `json:"last-error-at"`
	HaltedAt  int64     `json:"halted-at"`
}

func destinationOf(t testing.TB, got answer) (d destination) {
	t.Helper()
	if err := json.Unmarshal([]byte(got.body), &d); err != nil {
		t.Fatalf("%d %s: %v", got.status, got.body, err)
	}
	return d
}

// sequence gives positions to what has none, and returns how far the log reaches.
func (s *stack) sequence(t testing.TB) int64 {
	t.Helper()
	store, err := eventstore.New(t.Context(), eventstore.Config{Pool: s.db.App})
	if err != nil {
		t.Fatal(err)
	}
	q := store.Sequencer()
	defer q.Close()
	for worked := true; worked; {
		if worked, err = q.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	head, err := store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head.Size
}

func (s *stack) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := s.db.App.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func TestDestinationsFromCreationToRemoval(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	head := s.sequence(t)
	if got := expect(t, s.do("GET", destinations, ""), 200); got.body != `{"destinations":[]}` {
		t.Errorf("list %s", got.body)
	}
	body := fmt.Sprintf(`{"name":"Orders / EU","kind":"log","settings":{"level":"info"},"filter":{"projects":[%q],"warehouses":[%q],"entities":["table"],"types":["table.committed"]},
		"on-refusal":"park","paused":true,"start":"now"}`, defaultProject, strings.TrimPrefix(s.prefix, "/catalog/v1/"))
	refused(t, s.do("POST", destinations, body), 400, "BadRequestException") // a slash
	body = strings.Replace(body, " / ", " ", 1)
	made := expect(t, s.do("POST", destinations, body), 201)
	d := destinationOf(t, made)
	if d.Name != "Orders EU" || d.Kind != "log" || d.Settings["level"] != "info" || d.OnRefusal != "park" || !d.Paused || d.Start.After != head || d.Start.Epoch != 1 ||
		!slices.Equal(d.Filter["types"], []string{"dev.icecore.table.committed"}) || !slices.Equal(d.Filter["projects"], []string{"00000000-0000-7000-8000-0000000000d0"}) {
		t.Errorf("made %s", made.body)
	}
	refused(t, s.do("POST", destinations, strings.Replace(body, "Orders", "ORDERS", 1)), 409, "AlreadyExistsException")
	for _, name := range []string{d.ID, "Orders%20EU", "orders%20eu"} {
		if got := expect(t, s.do("GET", destinations+"/"+name, ""), 200); destinationOf(t, got).ID != d.ID {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	if got := expect(t, s.do("GET", destinations, ""), 200); !strings.HasPrefix(got.body, `{"destinations":[{"id":"`+d.ID) {
		t.Errorf("list %s", got.body)
	}
	one := destinations + "/" + d.ID
	if got := destinationOf(t, expect(t, s.do("POST", one+"/resume", ""), 200)); got.Paused {
		t.Errorf("resumed %+v", got)
	}
	if got := destinationOf(t, expect(t, s.do("POST", one, `{"name":"orders","filter":{}}`), 200)); got.Name != "orders" || len(got.Filter["types"]) != 0 || got.Settings["level"] != "info" || got.OnRefusal != "park" {
		t.Errorf("updated %+v", got)
	}
	if got := destinationOf(t, expect(t, s.do("POST", one+"/replay", `{"from":2}`), 200)); got.Start.After != 1 {
		t.Errorf("replayed %+v", got)
	}
	if got := destinationOf(t, expect(t, s.do("POST", one+"/replay", `{"from":"beginning"}`), 200)); got.Start.After != 0 || got.Start.Epoch != 0 {
		t.Errorf("replayed %+v", got)
	}
	if got := destinationOf(t, expect(t, s.do("POST", one+"/pause", ""), 200)); !got.Paused {
		t.Errorf("paused %+v", got)
	}
	expect(t, s.do("DELETE", one, "", "Idempotency-Key", "0190a000-0000-7000-8000-0000000000fb"), 204)
	expect(t, s.do("DELETE", one, "", "Idempotency-Key", "0190a000-0000-7000-8000-0000000000fb"), 204)
	refused(t, s.do("DELETE", one, ""), 404, "NoSuchDestinationException")
	refused(t, s.do("GET", destinations+"/orders", ""), 404, "NoSuchDestinationException")
}

// What an operator sees of a destination: its status, how far it is behind, what
// went wrong, and what it refused.
func TestDestinationsTellHowTheyAreDoing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", destinations, `{"name":"d","kind":"log"}`), 201)
	head := s.sequence(t)
	one := destinations + "/d"
	get := func() destination { t.Helper(); return destinationOf(t, expect(t, s.do("GET", one, ""), 200)) }

	if d := get(); d.Status != "running" || d.Position != 0 || d.Epoch != 0 || d.Head != head || d.LagEvents != head || d.LagAge <= 0 || d.LastEvent != "" || d.LastError != "" {
		t.Errorf("new: %+v", d)
	}
	s.exec(t, `UPDATE publish.destination SET position = $1, epoch = 1, event = gen_random_uuid(), failures = 3, retry_after = clock_timestamp() + interval '1 hour',
		last_error = $2, last_error_at = '2026-01-02 03:04:05Z', published = 4`, head-1, "line\n\x1b[31m"+strings.Repeat("é", 600))
	d := get()
	if d.Status != "backing-off" || d.LagEvents != 1 || d.Failures != 3 || d.Published != 4 || d.LastEvent == "" || d.Retry.IsZero() || d.FailedAt.Year() != 2026 {
		t.Errorf("backing off: %+v", d)
	}
	if len(d.LastError) > 510 || !strings.HasPrefix(d.LastError, "line [31mé") || !strings.HasSuffix(d.LastError, "é…") {
		t.Errorf("last error %q", d.LastError)
	}
	s.exec(t, "UPDATE publish.destination SET retry_after = clock_timestamp() - interval '1 hour'")
	if d := get(); d.Status != "running" || !d.Retry.IsZero() {
		t.Errorf("its time has come: %+v", d)
	}
	s.exec(t, "UPDATE publish.destination SET halted_at = $1", head)
	if d := get(); d.Status != "halted" || d.HaltedAt != head {
		t.Errorf("halted: %+v", d)
	}
	refused(t, s.do("POST", one+"/skip", `{"position":1}`), 400, "BadRequestException")
	expect(t, s.do("POST", one+"/skip", fmt.Sprintf(`{"position":%d}`, head)), 200)
	if d = get(); d.Status != "running" || d.Position != head || d.Parked != 1 {
		t.Errorf("skipped: %+v", d)
	}
	refused(t, s.do("POST", one+"/skip", ""), 400, "BadRequestException")

	type page struct {
		Parked []struct {
			Position int64
			Event    string `json:"event-id"`
			Reason   string
			At       time.Time `json:"parked-at"`
			Retry    bool
		}
		Next string `json:"next-page-token"`
	}
	list := func(query string) (p page) {
		t.Helper()
		got := expect(t, s.do("GET", one+"/parked"+query, ""), 200)
		if err := json.Unmarshal([]byte(got.body), &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	s.exec(t, `INSERT INTO publish.parked (destination_id, position, event, reason, parked_at)
		SELECT destination_id, n, gen_random_uuid(), 'too large', '2026-01-01Z' FROM rm.destination, generate_series(100, 104) n`)
	first := list("?page_size=4")
	second := list("?page_size=4&page_token=" + first.Next)
	if len(first.Parked) != 4 || first.Parked[0].Position != head || first.Parked[0].Reason != "an operator let it pass" || first.Next == "" ||
		len(second.Parked) != 2 || second.Parked[1].Position != 104 || second.Parked[1].Reason != "too large" || second.Next != "" {
		t.Errorf("parked %+v then %+v", first, second)
	}
	expect(t, s.do("POST", one+"/parked/103/retry", ""), 200)
	for _, p := range list("").Parked {
		if p.Retry != (p.Position == 103) {
			t.Errorf("retry: %+v", p)
		}
	}
	refused(t, s.do("POST", one+"/parked/99/retry", ""), 404, "NotFoundException")
	refused(t, s.do("POST", one+"/parked/x/retry", ""), 400, "BadRequestException")
	refused(t, s.do("GET", one+"/parked?page_token=forged", ""), 400, "BadRequestException")
}

func TestWildRequestsAboutDestinationsAreRefused(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", destinations, `{"name":"d","kind":"log"}`), 201)
	before := s.state(t)
	for _, c := range []struct{ path, body string }{
		{"", ``}, {"", `[]`}, {"", `{"name":"x"}`}, {"", `{"kind":"log"}`}, {"", `{"name":"x","kind":"smoke"}`}, {"", `{"name":1,"kind":"log"}`},
		{"", `{"name":"x","kind":"log","on_refusal":"park"}`}, {"", `{"name":"x","kind":"log","settings":{"password":"hunter2"}}`},
		{"", `{"name":"x","kind":"log","settings":{"a":1}}`}, {"", `{"name":"x","kind":"log","settings":[]}`},
		{"", `{"name":"x","kind":"log","filter":{"tables":["a"]}}`}, {"", `{"name":"x","kind":"log","filter":[]}`},
		{"", `{"name":"x","kind":"log","filter":{"warehouses":["demo"]}}`}, {"", `{"name":"x","kind":"log","filter":{"projects":["nobody"]}}`},
		{"", `{"name":"x","kind":"log","start":"yesterday"}`}, {"", `{"name":"x","kind":"log","start":1e9}`}, {"", `{"name":"x","kind":"log","start":true}`},
		{"", `{"name":"x","kind":"log","start":99999999999999999999}`}, {"", `{"name":"x","kind":"log","start":{}}`}, {"", `{"name":"x","kind":"log","paused":"yes"}`},
		{"/d", `{"kind":"nats"}`}, {"/d", `{"paused":true}`}, {"/d", `{"name":""}`}, {"/d", `{"on-refusal":"x"}`},
		{"/d/replay", ``}, {"/d/replay", `{}`}, {"/d/replay", `{"from":0}`}, {"/d/replay", `{"from":1,"to":2}`}, {"/d/replay", `{"from":"9999-01-01T00:00:00Z"}`},
		{"/d/skip", `{"position":"x"}`}, {"/d/skip", `{"pos":1}`}, {"/d/pause", `{`},
	} {
		got := s.do("POST", destinations+c.path, c.body)
		refused(t, got, 400, "BadRequestException")
		if strings.Contains(got.body, "hunter2") {
			t.Errorf("repeated: %s", got.body)
		}
	}
	for _, missing := range []string{"/nobody", "/0190a000-0000-7000-8000-0000000000ee", "/%00", "/" + strings.Repeat("n", 300)} {
		for _, verb := range []string{"", "/pause", "/resume", "/skip", "/parked/1/retry"} {
			got := s.do("POST", destinations+missing+verb, "{}")
			if got.status != 404 && (missing != "/%00" || got.status != 400) {
				t.Errorf("%s%s: %d %s", missing, verb, got.status, got.body)
			}
		}
	}
	if after := s.state(t); after != before {
		t.Errorf("something was touched:\n%s\nthen\n%s", before, after)
	}
}

// Whoever may not see destinations cannot tell which there are.
func TestHiddenDestinationsLookLikeMissingOnes(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", destinations, `{"name":"d","kind":"log"}`), 201)
	h := s.with(t, authztest.DenyAll{})
	for _, path := range []string{"/%s", "/%s/parked"} {
		there, missing := do(h, "GET", destinations+fmt.Sprintf(path, "d"), ""), do(h, "GET", destinations+fmt.Sprintf(path, "e"), "")
		if there.status != missing.status || there.body != missing.body || there.status != 403 {
			t.Errorf("%s: %d %s and %d %s", path, there.status, there.body, missing.status, missing.body)
		}
	}
}

// keyedDestination prepares a destination for one mutation of it that would
// succeed.
func (s *stack) keyedDestination(t *testing.T, name, method, verb string) keyed {
	t.Helper()
	id := destinationOf(t, expect(t, s.do("POST", destinations, fmt.Sprintf(`{"name":%q,"kind":"log"}`, name)), 201)).ID
	request := keyed{path: destinations + "/" + id + strings.Replace(verb, "{position}", "2", 1)}
	switch verb {
	case "":
		if method == http.MethodPost {
			request.body = `{"name":"renamed"}`
		}
	case "/resume":
		expect(t, s.do("POST", destinations+"/"+id+"/pause", ""), 200)
	case "/replay":
		request.body = `{"from":"now"}`
	case "/skip", "/parked/{position}/retry":
		s.sequence(t)
		s.exec(t, "UPDATE publish.destination SET halted_at = 2 WHERE destination_id = $1", id)
		if verb != "/skip" {
			expect(t, s.do("POST", destinations+"/"+id+"/skip", ""), 200)
		}
	}
	return request
}
