package icebergrest

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"
)

// Java compares these strings with its own; a deviation in a placeholder makes
// it think that the endpoint is not there.
func TestEndpointsAreSpelledAsTheSpecificationDoes(t *testing.T) {
	t.Parallel()
	want := []string{
		"DELETE /v1/{prefix}/namespaces/{namespace}",
		"DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}",
		"GET /v1/{prefix}/namespaces",
		"GET /v1/{prefix}/namespaces/{namespace}",
		"GET /v1/{prefix}/namespaces/{namespace}/functions",
		"GET /v1/{prefix}/namespaces/{namespace}/functions/{function}",
		"GET /v1/{prefix}/namespaces/{namespace}/tables",
		"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
		"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials",
		"HEAD /v1/{prefix}/namespaces/{namespace}",
		"HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
		"POST /v1/{prefix}/namespaces",
		"POST /v1/{prefix}/namespaces/{namespace}/properties",
		"POST /v1/{prefix}/namespaces/{namespace}/register",
		"POST /v1/{prefix}/namespaces/{namespace}/tables",
		"POST /v1/{prefix}/namespaces/{namespace}/tables/{table}",
		"POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/unregister",
		"POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics",
		"POST /v1/{prefix}/tables/rename",
		"POST /v1/{prefix}/transactions/commit",

		"DELETE /v1/{prefix}/namespaces/{namespace}/views/{view}",
		"GET /v1/{prefix}/namespaces/{namespace}/views",
		"GET /v1/{prefix}/namespaces/{namespace}/views/{view}",
		"HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}",
		"POST /v1/{prefix}/namespaces/{namespace}/register-view",
		"POST /v1/{prefix}/namespaces/{namespace}/views",
		"POST /v1/{prefix}/namespaces/{namespace}/views/{view}",
		"POST /v1/{prefix}/views/rename",
	}
	slices.Sort(want)
	api := New(Deps{IdempotencyLifetime: 30 * time.Minute})
	if got := slices.Sorted(slices.Values(api.Endpoints())); !slices.Equal(got, want) {
		t.Errorf("advertised %q", got)
	}
	operations := map[string]bool{}
	for _, route := range api.Routes() {
		if operations[route.Operation] {
			t.Errorf("operation %s is served twice", route.Operation)
		}
		operations[route.Operation] = true
	}
	var config struct {
		Endpoints []string
		Lifetime  string `json:"idempotency-key-lifetime"`
	}
	if err := json.Unmarshal(append([]byte(`{"defaults":{}`), api.settled...), &config); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(config.Endpoints, api.Endpoints()) || config.Lifetime != "PT30M" {
		t.Errorf("config says %+v", config)
	}
}

func TestLifetimesAreWrittenForJava(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "PT0S", time.Second: "PT1S", 90 * time.Second: "PT1M30S", 30 * time.Minute: "PT30M",
		25 * time.Hour: "PT25H", 7 * 24 * time.Hour: "PT168H",
	} {
		if got := isoDuration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestDelegationIsAList(t *testing.T) {
	t.Parallel()
	h := http.Header{delegationHeader: {"vended-credentials, remote-signing", " ,client-managed"}}
	if got := delegation(h); !slices.Equal(got, []string{"vended-credentials", "remote-signing", "client-managed"}) {
		t.Errorf("%q", got)
	}
}

func TestAnswersWrapTheDocument(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		string(beforeDocument("file:///a\"b")) + "{}" + string(afterDocument(nil)):             `{"metadata-location":"file:///a\"b","metadata":{},"config":{}}`,
		string(beforeDocument("")) + "{}" + string(afterDocument(map[string]string{"k": "v"})): `{"metadata":{},"config":{"k":"v"}}`,
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
