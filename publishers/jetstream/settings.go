package jetstream

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/icecore-catalog/icecore/publishers"
)

// Settings are those of one destination. Pointers are nil where nothing was
// said: a stream that exists may then be anything, and one that is made gets
// NATS' own default.
type Settings struct {
	URL    string // one or more, separated by commas
	Stream string
	Prefix string // of all subjects
	Domain string // of JetStream; empty for none
	Manage bool   // whether a missing stream is made

	Replicas        *int
	Storage         *natsjs.StorageType
	Retention       *natsjs.RetentionPolicy
	Discard         *natsjs.DiscardPolicy
	MaxAge          *time.Duration
	MaxBytes        *int64
	MaxMessages     *int64
	DuplicateWindow *time.Duration

	MaxPending     int // messages in flight
	ConnectTimeout time.Duration
	AckTimeout     time.Duration // without any acknowledgement
	InboxPrefix    string

	// Names of secrets.
	Credentials, Password, Token, CA, ClientCertificate, ClientKey string
	User                                                           string
	TLSFirst                                                       bool
}

// ErrSettings is wrapped by the errors of [ParseSettings].
var ErrSettings = errors.New("settings of a NATS destination")

// maxMessageBytes is a setting of destinations of any kind, which the relay obeys.
const maxMessageBytes = "max-message-bytes"

const (
	maxStreamBytes = 1 << 50
	century        = 100 * 365 * 24 * time.Hour
)

// reader adds what only this kind of destination reads.
type reader struct{ *publishers.Reader }

// checked reads a text of a form. The reason does not repeat it: it may be a
// password in the wrong place.
func (r reader) checked(key, standard string, valid func(string) error) string {
	value := r.Text(key, standard)
	if value == "" {
		return ""
	}
	if err := valid(value); err != nil {
		r.Fail(key, err.Error())
		return standard
	}
	return value
}

// optional reads a setting by read, where it is set.
func optional[T any](r reader, key string, read func() T) *T {
	if !r.Has(key) {
		return nil
	}
	value := read()
	return &value
}

// word reads one of a few, the first of which stands where none of them does.
func word[T any](r reader, key string, names []string, meanings ...T) *T {
	return optional(r, key, func() T { return meanings[slices.Index(names, r.Word(key, names...))] })
}

func (r reader) size(key string) *int64 {
	return optional(r, key, func() int64 { return int64(r.Number(key, 1, 1, maxStreamBytes)) })
}

// ParseSettings reads the settings of a destination, all of them: what is
// unknown or makes no sense is refused, with the setting's name.
func ParseSettings(settings map[string]string) (Settings, error) {
	r := reader{publishers.NewReader(settings)}
	r.Required("url")
	s := Settings{
		URL:    r.checked("url", "", validURL),
		Stream: r.checked("stream", "icecore", validToken),
		Prefix: r.checked("subject-prefix", "icecore", validSubject),
		Domain: r.checked("domain", "", validToken),
		Manage: r.Flag("manage-stream", true),

		Replicas: optional(r, "replicas", func() int { return r.Number("replicas", 1, 1, 5) }),
		Storage:  word(r, "storage", []string{"file", "memory"}, natsjs.FileStorage, natsjs.MemoryStorage),
		Retention: word(r, "retention", []string{"limits", "interest", "workqueue"},
			natsjs.LimitsPolicy, natsjs.InterestPolicy, natsjs.WorkQueuePolicy),
		Discard:         word(r, "discard", []string{"old", "new"}, natsjs.DiscardOld, natsjs.DiscardNew),
		MaxAge:          optional(r, "max-age", func() time.Duration { return r.Duration("max-age", 0, 0, century) }),
		MaxBytes:        r.size("max-bytes"),
		MaxMessages:     r.size("max-messages"),
		DuplicateWindow: optional(r, "duplicate-window", func() time.Duration { return r.Duration("duplicate-window", 0, 100*time.Millisecond, 24*time.Hour) }),

		MaxPending:     r.Number("max-pending", 256, 1, 4096),
		ConnectTimeout: r.Duration("connect-timeout", 5*time.Second, 100*time.Millisecond, time.Minute),
		AckTimeout:     r.Duration("ack-timeout", 10*time.Second, 100*time.Millisecond, time.Minute),
		InboxPrefix:    r.checked("inbox-prefix", "", validSubject),

		Credentials: r.Secret("credentials-secret"), Password: r.Secret("password-secret"), Token: r.Secret("token-secret"),
		CA: r.Secret("ca-secret"), ClientCertificate: r.Secret("client-certificate-secret"), ClientKey: r.Secret("client-key-secret"),
		User: r.Text("user", ""), TLSFirst: r.Flag("tls-first", false),
	}
	r.Number(maxMessageBytes, 0, 1024, 64<<20)
	s.check(r)
	if err := r.Err(); err != nil {
		return Settings{}, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	return s, nil
}

// check refuses what makes no sense together.
func (s *Settings) check(r reader) {
	ways := 0
	for _, way := range []string{s.Credentials, s.User, s.Token} {
		if way != "" {
			ways++
		}
	}
	if ways > 1 {
		r.Fail("credentials-secret", "excludes user and token-secret, and they each other")
	}
	if (s.User == "") != (s.Password == "") {
		r.Fail("user", "goes together with password-secret")
	}
	if (s.ClientCertificate == "") != (s.ClientKey == "") {
		r.Fail("client-certificate-secret", "goes together with client-key-secret")
	}
	if s.DuplicateWindow != nil && s.MaxAge != nil && *s.MaxAge > 0 && *s.DuplicateWindow > *s.MaxAge {
		r.Fail("duplicate-window", "is longer than max-age")
	}
}

// tls is whether the connection has to be encrypted.
func (s *Settings) tls() bool {
	return s.CA != "" || s.ClientCertificate != "" || s.TLSFirst || strings.Contains(s.URL, "tls://")
}

// validURL takes a list of servers, without secrets.
func validURL(list string) error {
	for one := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "":
			return errors.New("is not nats://host:port or tls://host:port, or several with commas")
		case u.User != nil:
			return errors.New("names a user: settings are shown and stored, so use user and password-secret, token-secret or credentials-secret")
		}
	}
	return nil
}

func tokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// validToken takes one part of a subject.
func validToken(text string) error {
	for i := range len(text) {
		if !tokenByte(text[i]) {
			return errors.New("has to be of letters, digits, '-' and '_'")
		}
	}
	if text == "" || len(text) > 128 {
		return errors.New("has to have 1 to 128 characters")
	}
	return nil
}

// validSubject takes parts with dots between them.
func validSubject(subject string) error {
	if len(subject) > 128 {
		return errors.New("has more than 128 characters")
	}
	for part := range strings.SplitSeq(subject, ".") {
		if err := validToken(part); err != nil {
			return err
		}
	}
	return nil
}
