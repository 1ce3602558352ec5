package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/eventstore"
)

// What was published by reference can be had: the event, and its data byte for byte.
func TestSingleEvents(t *testing.T) {
	t.Parallel()
	s := newStack(t)
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
	entries, err := store.ReadAfter(t.Context(), 0, 1)
	if err != nil || len(entries) == 0 {
		t.Fatal(entries, err)
	}
	get := func(path string) (status int, kind, body string) {
		t.Helper()
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/management/v1/events/"+path, nil))
		return w.Code, w.Header().Get("Content-Type"), w.Body.String()
	}
	id := entries[0].ID.String()
	if status, kind, body := get(id); status != 200 || kind != "application/cloudevents+json" || !strings.Contains(body, `"id":"`+id+`"`) || !strings.Contains(body, string(entries[0].Data)) {
		t.Errorf("%d %s %s", status, kind, body)
	}
	if status, kind, body := get(id + "/data"); status != 200 || kind != "application/json" || body != string(entries[0].Data) {
		t.Errorf("%d %s %s", status, kind, body)
	}
	for _, missing := range []string{"0190a000-0000-7000-8000-0000000000ee", "0190a000-0000-7000-8000-0000000000ee/data"} {
		if status, _, body := get(missing); status != 404 || !strings.Contains(body, "Event does not exist") {
			t.Errorf("%s: %d %s", missing, status, body)
		}
	}
	if status, _, _ := get("no-id"); status != 400 {
		t.Errorf("no id: %d", status)
	}
}
