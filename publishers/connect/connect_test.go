package connect

import (
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/publishers"
)

// Each kind can be made of settings that its check lets pass, and of no others.
func TestEveryKindCanBeMade(t *testing.T) {
	t.Parallel()
	settings := map[string]map[string]string{
		"kafka": {"brokers": "localhost:9092", "topic": "t"}, "log": {}, "nats": {"url": "nats://localhost:4222"},
		"webhook": {"url": "https://example.com/events", "signing-secret": "key"},
	}
	connect := New(Options{Secrets: publishers.FolderSecrets("")})
	for name, check := range Kinds() {
		d := &publishers.Destination{ID: ids.MustParse("00000000-0000-7000-8000-000000000001"), Name: "d", Kind: name, Settings: settings[name], Source: "urn:icecore:x"}
		if err := check(d.Settings); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		transport, err := connect(t.Context(), d)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := transport.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		d.Settings = map[string]string{"no-such-setting": "a secret"}
		if err := check(d.Settings); err == nil || strings.Contains(err.Error(), "a secret") {
			t.Errorf("%s: settings: %v", name, err)
		}
		if _, err := connect(t.Context(), d); err == nil {
			t.Errorf("%s: made of settings that make no sense", name)
		}
	}
	if _, err := connect(t.Context(), &publishers.Destination{Kind: "pigeon"}); err == nil {
		t.Error("made of a kind that is unknown")
	}
}
