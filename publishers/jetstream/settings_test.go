package jetstream_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/publishers/jetstream"
)

func TestSettingsAreReadStrictly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		given map[string]string
		want  string // part of the error; empty: none
	}{
		{"the least", map[string]string{"url": "nats://n:4222"}, ""},
		{"several servers", map[string]string{"url": "nats://a:4222, tls://b"}, ""},
		{"all", map[string]string{
			"url": "tls://n", "stream": "lake-1", "subject-prefix": "acme.lake", "domain": "hub", "manage-stream": "false",
			"replicas": "3", "storage": "memory", "retention": "limits", "discard": "new", "max-age": "720h", "max-bytes": "1000000",
			"max-messages": "10", "duplicate-window": "2m", "max-pending": "10", "connect-timeout": "1s", "inbox-prefix": "_INBOX_x",
			"credentials-secret": "nats-creds", "ca-secret": "ca.pem", "client-certificate-secret": "c.pem", "client-key-secret": "k.pem",
			"tls-first": "true", "max-message-bytes": "100000",
		}, ""},
		{"nothing", nil, "setting url is required"},
		{"unknown", map[string]string{"url": "nats://n", "urls": "x"}, `unknown setting "urls"`},
		{"other case", map[string]string{"url": "nats://n", "Stream": "x"}, `unknown setting "Stream"`},
		{"empty is not set", map[string]string{"url": "nats://n", "stream": "", "max-age": ""}, ""},
		{"secret in the URL", map[string]string{"url": "nats://me:s3cret@n"}, "setting url "},
		{"token in the URL", map[string]string{"url": "nats://s3cret@n"}, "setting url "},
		{"web", map[string]string{"url": "https://n"}, "setting url "},
		{"path", map[string]string{"url": "nats://n/x"}, "setting url "},
		{"no host", map[string]string{"url": "nats://:4222"}, "setting url "},
		{"wildcard stream", map[string]string{"url": "nats://n", "stream": "a.b"}, "setting stream "},
		{"wildcard prefix", map[string]string{"url": "nats://n", "subject-prefix": "a.>"}, "setting subject-prefix "},
		{"dots", map[string]string{"url": "nats://n", "subject-prefix": "a..b"}, "setting subject-prefix "},
		{"line break", map[string]string{"url": "nats://n", "subject-prefix": "a\nPUB x"}, "setting subject-prefix "},
		{"replicas", map[string]string{"url": "nats://n", "replicas": "6"}, "setting replicas "},
		{"not a number", map[string]string{"url": "nats://n", "max-bytes": "1e3"}, "setting max-bytes "},
		{"not a time", map[string]string{"url": "nats://n", "max-age": "30"}, "setting max-age "},
		{"negative", map[string]string{"url": "nats://n", "max-age": "-1h"}, "setting max-age "},
		{"not a word", map[string]string{"url": "nats://n", "storage": "File"}, "setting storage "},
		{"not a truth", map[string]string{"url": "nats://n", "tls-first": "yes"}, "setting tls-first "},
		{"window over age", map[string]string{"url": "nats://n", "max-age": "1m", "duplicate-window": "2m"}, "setting duplicate-window "},
		{"path of a secret", map[string]string{"url": "nats://n", "token-secret": "../token"}, "setting token-secret "},
		{"user alone", map[string]string{"url": "nats://n", "user": "me"}, "password-secret"},
		{"password alone", map[string]string{"url": "nats://n", "password-secret": "p"}, "password-secret"},
		{"two ways", map[string]string{"url": "nats://n", "token-secret": "t", "credentials-secret": "c"}, "excludes"},
		{"certificate alone", map[string]string{"url": "nats://n", "client-certificate-secret": "c"}, "client-key-secret"},
		{"too small", map[string]string{"url": "nats://n", "max-message-bytes": "1"}, "setting max-message-bytes "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := jetstream.ParseSettings(c.given)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%v", err)
			case c.want != "" && (!errors.Is(err, jetstream.ErrSettings) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want ErrSettings with %q", err, c.want)
			}
		})
	}
	s, err := jetstream.ParseSettings(map[string]string{"url": "nats://n", "max-age": "0s", "replicas": "3"})
	if err != nil || s.Stream != "icecore" || s.Prefix != "icecore" || !s.Manage || s.MaxAge == nil || *s.MaxAge != 0 || *s.Replicas != 3 ||
		s.MaxBytes != nil || s.ConnectTimeout != 5*time.Second {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestAnErrorAboutAURLDoesNotRepeatItsSecret(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"nats://me:s3cret@n", "nats://s3cret@n", "nats://n,tls://me:s3cret@n", "nats://me:s3cret@n\x7f", "https://me:s3cret@n"} {
		if _, err := jetstream.ParseSettings(map[string]string{"url": url}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add("url", "nats://n:4222", "stream", "x")
	f.Add("url", "nats://n:4222", "max-age", "1h")
	f.Add("url", "tls://[::1]:4222,nats://b", "subject-prefix", "a.b")
	f.Add("url", "nats://n", "user", "me")
	f.Fuzz(func(t *testing.T, key, value, key2, value2 string) {
		s, err := jetstream.ParseSettings(map[string]string{key: value, key2: value2})
		if err != nil {
			if !errors.Is(err, jetstream.ErrSettings) || s != (jetstream.Settings{}) {
				t.Fatalf("%+v, %v", s, err)
			}
			return
		}
		for _, subject := range []string{s.Stream, s.Prefix} {
			if subject == "" || strings.ContainsAny(subject, " \t\r\n*>\x00/\\") || strings.Contains(subject, "..") {
				t.Fatalf("%q passed", subject)
			}
		}
		if strings.Contains(s.URL, "@") {
			t.Fatalf("URL %q holds a user", s.URL)
		}
	})
}
