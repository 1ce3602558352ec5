package webhook_test

import (
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
	"github.com/icecore-catalog/icecore/publishers/webhook"
)

// Names are looked at where they lead to, when a connection is made.
func TestPrivateAddressesAreNotReached(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	strict := webhook.Options{Secrets: e.secrets, Clock: clock.System{}}
	_, port, _ := strings.Cut(strings.TrimPrefix(e.server.URL, "https://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "127.1", "2130706433", "0x7f.1"} {
		settings := map[string]string{"url": "https://" + host + ":" + port, "signing-secret": "key"}
		s, err := webhook.ParseSettings(settings)
		if err != nil {
			continue // refused even earlier
		}
		err = publish(t, webhook.New(s, strict), publishertest.NewLog(t), 1)
		if err == nil {
			t.Errorf("%s is reached", host)
		}
		if strings.HasPrefix(host, "127.0") && (!contains(err, "not one that webhooks may be sent to") || contains(err, "127.0.0.1")) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if len(e.bodies) > 0 {
		t.Error("a request arrived")
	}
	plain := e.openAt(t, map[string]string{"url": strings.Replace(e.server.URL, "https", "http", 1)}, strict)
	if err := plain.Prepare(t.Context()); !contains(err, "not https") {
		t.Error(err)
	}
}

func TestSettingsThatCannotBeAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key, value, wants string
	}{
		"unknown":                {"method", "PUT", `unknown setting "method"`},
		"no URL":                 {"url", "", "url is required"},
		"another scheme":         {"url", "ftp://example.com", "url is an https URL"},
		"no host":                {"url", "https:///x", "url is an https URL"},
		"opaque":                 {"url", "https:example.com", "url is an https URL"},
		"a user":                 {"url", "https://jane:hunter2@example.com", "url holds a user"},
		"a fragment":             {"url", "https://example.com/#x", "fragment"},
		"metadata":               {"url", "http://169.254.169.254/latest", "no webhook may be sent to"},
		"metadata, mapped":       {"url", "https://[::ffff:169.254.169.254]/", "no webhook may be sent to"},
		"anybody":                {"url", "https://0.0.0.0/", "no webhook may be sent to"},
		"a long one":             {"url", "https://example.com/" + strings.Repeat("a", 2100), "longer"},
		"no secret":              {"signing-secret", "", "signing-secret is required"},
		"a secret's text":        {"signing-secret", "hunter2/hunter2", "signing-secret is the name"},
		"a short time":           {"timeout", "1ms", "timeout is a time"},
		"a small batch":          {"max-batch-bytes", "1", "max-batch-bytes is a number"},
		"no events":              {"max-batch", "0", "max-batch is a number"},
		"a message over a batch": {"max-message-bytes", "2000000", "larger than max-batch-bytes"},
	} {
		settings := map[string]string{"url": "https://example.com/hook?a=b", "signing-secret": "key"}
		settings[c.key] = c.value
		if _, err := webhook.ParseSettings(settings); !contains(err, c.wants) || contains(err, "hunter2") {
			t.Errorf("%s: %v, want %q", name, err, c.wants)
		}
	}
	s, err := webhook.ParseSettings(map[string]string{"url": "https://example.com/hook?a=b", "signing-secret": "key"})
	if err != nil || s.MaxBatchBytes != 1<<20 || s.MaxMessageBytes != 1<<20-2 || s.MaxBatch != 500 {
		t.Errorf("%+v, %v", s, err)
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add("https://example.com", "key", "30s")
	f.Add("http://[::1]:99999999/%zz", "../x", "")
	f.Fuzz(func(t *testing.T, url, secret, timeout string) {
		s, err := webhook.ParseSettings(map[string]string{"url": url, "signing-secret": secret, "timeout": timeout})
		if err == nil && (s.URL == "" || s.Secret == "" || s.Timeout <= 0) {
			t.Errorf("accepted %+v", s)
		}
	})
}
