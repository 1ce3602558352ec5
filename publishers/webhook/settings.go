package webhook

import (
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/icecore-catalog/icecore/publishers"
)

// Settings say where events are posted to. They hold no secret, only the names of
// secrets.
type Settings struct {
	URL string
	// Secret signs; Previous signs as well, while receivers change over.
	Secret, Previous string
	// Authorization is a secret that is sent as the header of that name, such as
	// "Bearer …"; empty: none.
	Authorization string
	CA            string        // a secret; empty: the system's authorities
	Timeout       time.Duration // of one request
	MaxBatchBytes int           // of one request's body
	MaxBatch      int           // events in one request
	// MaxMessageBytes bounds one event as it stands in a body.
	MaxMessageBytes int
}

const (
	defaultBatchBytes = 1 << 20
	mostBatchBytes    = 64 << 20
	defaultBatch      = 500
	// arrayBytes surround the events of a body, besides commas.
	arrayBytes = 2
)

// ParseSettings reads the settings of a destination of this kind. Its errors name
// every setting that can't be used, unknown ones among them.
func ParseSettings(settings map[string]string) (Settings, error) {
	r := publishers.NewReader(settings)
	s := Settings{
		URL:           r.Required("url"),
		Secret:        r.Secret("signing-secret"),
		Previous:      r.Secret("previous-signing-secret"),
		Authorization: r.Secret("authorization-secret"),
		CA:            r.Secret("tls-ca-secret"),
		Timeout:       r.Duration("timeout", 30*time.Second, time.Second, 5*time.Minute),
		MaxBatchBytes: r.Number("max-batch-bytes", defaultBatchBytes, 16<<10, mostBatchBytes),
		MaxBatch:      r.Number("max-batch", defaultBatch, 1, 10_000),
	}
	s.MaxMessageBytes = r.Number(publishers.SettingMaxMessageBytes, s.MaxBatchBytes-arrayBytes, 1024, mostBatchBytes)
	if s.MaxMessageBytes > s.MaxBatchBytes-arrayBytes {
		r.Fail(publishers.SettingMaxMessageBytes, "is larger than max-batch-bytes allows")
	}
	if !r.Has("signing-secret") {
		r.Fail("signing-secret", "is required")
	}
	if s.URL != "" {
		if reason := checkURL(s.URL); reason != "" {
			r.Fail("url", reason)
		}
	}
	if err := r.Err(); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// checkURL returns what is wrong with it.
func checkURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.Opaque != "":
		return "is an https URL"
	case u.User != nil:
		return "holds a user or password, which it may not: settings are public. Take authorization-secret"
	case u.Fragment != "" || u.RawFragment != "":
		return "has a fragment, which no server gets to see"
	case len(text) > 2048:
		return "is longer than 2048 bytes"
	}
	if _, err := http.NewRequest(http.MethodPost, text, http.NoBody); err != nil { //nolint:noctx // it is not sent
		return "is an https URL"
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && checkAddress(addr, true) != nil {
		return "leads to an address that no webhook may be sent to"
	}
	return ""
}
