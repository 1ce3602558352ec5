package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/publishers"
)

// ContentType is that of every request.
const ContentType = "application/cloudevents-batch+json"

// Options are what a transport needs beside its settings.
type Options struct {
	// Secrets resolves the names of secrets in the settings.
	Secrets publishers.Secrets
	Clock   clock.Clock
	// AllowPrivate lets requests go to private networks and to this machine, and
	// without TLS. It is the server's operator who says so, not who makes a
	// destination.
	AllowPrivate bool
}

// Transport posts to one endpoint. See the package comment for what it promises.
type Transport struct {
	settings     Settings
	secrets      publishers.Secrets
	clock        clock.Clock
	allowPrivate bool

	client        *http.Client // nil: not prepared
	keys          [][]byte
	authorization string
	notBefore     time.Time // the endpoint asked to be left alone until then
	closed        bool
}

// New returns a transport that is not yet prepared.
func New(settings Settings, o Options) *Transport {
	return &Transport{settings: settings, secrets: o.Secrets, clock: o.Clock, allowPrivate: o.AllowPrivate}
}

var (
	errClosed      = errors.New("webhook: the transport is closed")
	errNotPrepared = errors.New("webhook: the transport is not prepared")
)

// Prepare implements [publishers.Transport]: it reads the secrets anew. An
// endpoint is not asked whether it is there, for it would take that for an event.
func (t *Transport) Prepare(ctx context.Context) error {
	switch {
	case t.closed:
		return errClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !t.allowPrivate && !strings.HasPrefix(t.settings.URL, "https:"):
		return errors.New("webhook: the URL is not https, which the server's operator does not allow")
	}
	var keys [][]byte
	for _, name := range []string{t.settings.Secret, t.settings.Previous} {
		if name == "" {
			continue
		}
		secret, err := t.secret(name)
		if err != nil {
			return err
		}
		key, err := parseKey(secret)
		if err != nil {
			return fmt.Errorf("webhook: secret %s: %w", name, err)
		}
		keys = append(keys, key)
	}
	authorization := ""
	if t.settings.Authorization != "" {
		secret, err := t.secret(t.settings.Authorization)
		if err != nil {
			return err
		}
		authorization = string(bytes.TrimSpace(secret))
		if strings.ContainsAny(authorization, "\r\n\x00") {
			return fmt.Errorf("webhook: secret %s is no value of a header", t.settings.Authorization)
		}
	}
	client, err := t.newClient()
	if err != nil {
		return err
	}
	t.disconnect()
	t.client, t.keys, t.authorization = client, keys, authorization
	return nil
}

func (t *Transport) secret(name string) ([]byte, error) {
	if t.secrets == nil {
		return nil, fmt.Errorf("webhook: %w: %q", publishers.ErrSecret, name)
	}
	secret, err := t.secrets(name)
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	return secret, nil
}

// errRedirect ends a request that is sent elsewhere.
var errRedirect = errors.New("it answers with a redirect, which is not followed")

func (t *Transport) newClient() (*http.Client, error) {
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.settings.CA != "" {
		pem, err := t.secret(t.settings.CA)
		if err != nil {
			return nil, err
		}
		tlsConfig.RootCAs = x509.NewCertPool()
		if !tlsConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("webhook: secret %s holds no certificate in PEM form", t.settings.CA)
		}
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: t.control}
	return &http.Client{
		Timeout:       t.settings.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			// No proxy: it would connect in our place, and be led to anywhere.
			DialContext: dialer.DialContext, TLSClientConfig: tlsConfig, TLSHandshakeTimeout: 10 * time.Second,
			ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10, MaxConnsPerHost: 1, IdleConnTimeout: 90 * time.Second,
		},
	}, nil
}

// Last implements [publishers.Transport]: an endpoint cannot be asked.
func (t *Transport) Last(context.Context) (publishers.Place, bool, error) {
	return publishers.Place{}, false, nil
}

// MaxMessageBytes implements [publishers.Limiter].
func (t *Transport) MaxMessageBytes() int { return t.settings.MaxMessageBytes }

// Publish implements [message.Publisher].
func (t *Transport) Publish(_ string, messages ...*message.Message) error {
	switch {
	case t.closed:
		return errClosed
	case len(messages) == 0:
		return nil
	case t.client == nil:
		return errNotPrepared
	}
	items := make([]item, 0, len(messages))
	var refused error
	for i, m := range messages {
		one, err := encode(m)
		if err == nil && len(one.text) > t.settings.MaxMessageBytes {
			err = fmt.Errorf("takes %d bytes of %d that are allowed", len(one.text), t.settings.MaxMessageBytes)
		}
		if err != nil {
			refused = &publishers.BatchError{Index: i, Permanent: true, Err: fmt.Errorf("webhook: event %s %w", m.UUID, err)}
			break
		}
		items = append(items, one)
	}
	n, err := t.postAll(messages[0].Context(), items)
	var answer *answerError
	switch {
	case err == nil:
		return refused
	case errors.As(err, &answer) && answer.ofMessage:
		return &publishers.BatchError{Index: n, Permanent: true, Err: err}
	case n > 0:
		return &publishers.BatchError{Index: n, Err: err}
	}
	return err
}

// postAll posts the events in as many requests as their size takes, one after
// another, and returns how many are acknowledged.
func (t *Transport) postAll(ctx context.Context, items []item) (int, error) {
	done := 0
	for done < len(items) {
		end, size := done, arrayBytes
		for end < len(items) && end-done < t.settings.MaxBatch && size+len(items[end].text) <= t.settings.MaxBatchBytes {
			size += len(items[end].text) + 1
			end++
		}
		end = max(end, done+1)
		n, err := t.post(ctx, items[done:end])
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// post posts the events in one request, or, where the endpoint refuses some of
// them, halves them until the first that it refuses stands alone.
func (t *Transport) post(ctx context.Context, items []item) (int, error) {
	return publishers.Halve(items, func(part []item) error { return t.request(ctx, part) }, func(err error) bool {
		var answer *answerError
		return errors.As(err, &answer) && answer.ofMessage
	})
}

// request posts one body.
func (t *Transport) request(ctx context.Context, items []item) error {
	now := t.clock.Now()
	if now.Before(t.notBefore) {
		return fmt.Errorf("webhook: the endpoint asked to be left alone until %s", t.notBefore.UTC().Format(time.RFC3339))
	}
	content, id := body(items), name(items)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.settings.URL, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("webhook: %w", withoutURL(err))
	}
	timestamp, signature := sign(t.keys, id, now, content)
	request.Header.Set("Content-Type", ContentType)
	request.Header.Set("User-Agent", "icecore")
	request.Header.Set(HeaderID, id)
	request.Header.Set(HeaderTimestamp, timestamp)
	request.Header.Set(HeaderSignature, signature)
	if t.authorization != "" {
		request.Header.Set("Authorization", t.authorization)
	}
	response, err := t.client.Do(request)
	if err != nil {
		return fmt.Errorf("webhook: %w", withoutURL(err))
	}
	defer func() { _ = response.Body.Close() }()
	// A short answer is read to its end so that the connection can be used again.
	_, _ = io.CopyN(io.Discard, response.Body, answerBytes)
	return t.judge(response)
}

// answerBytes is how much of an answer is read, and thrown away.
const answerBytes = 4096

// withoutURL leaves out what of an error repeats the URL, whose query may be a
// secret of somebody's, and to which inner address a refused name leads.
func withoutURL(err error) error {
	if errors.Is(err, errAddress) {
		return errAddress
	}
	var full *url.Error
	if errors.As(err, &full) {
		return full.Err
	}
	return err
}

// answerError is an answer that is no acknowledgement.
type answerError struct {
	status    int
	ofMessage bool // it is the message that is refused
}

// Error implements error.
func (e *answerError) Error() string {
	return fmt.Sprintf("webhook: the endpoint answers %d %s", e.status, http.StatusText(e.status))
}

// longestWait bounds what an endpoint can ask for.
const longestWait = time.Hour

func (t *Transport) judge(response *http.Response) error {
	status := response.StatusCode
	switch {
	case status >= 200 && status < 300:
		return nil
	case status >= 300 && status < 400:
		return fmt.Errorf("webhook: the endpoint answers %d: %w", status, errRedirect)
	}
	answer := &answerError{status: status, ofMessage: refusesMessage(status)}
	if now := t.clock.Now(); !answer.ofMessage {
		if wait, ok := retryAfter(response.Header.Get("Retry-After"), now); ok {
			t.notBefore = now.Add(min(wait, longestWait))
		}
	}
	return answer
}

// refusesMessage tells an endpoint that will not have this message from one that
// will not have any now: a request's time, rate and address, and the caller's
// rights, are not the message's.
func refusesMessage(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusGone, http.StatusMisdirectedRequest, http.StatusLocked,
		http.StatusTooEarly, http.StatusUpgradeRequired, http.StatusTooManyRequests, http.StatusUnavailableForLegalReasons:
		return false
	}
	return status >= 400 && status < 500
}

// retryAfter reads seconds or a date.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now), true
	}
	return 0, false
}

// Close implements [message.Publisher].
func (t *Transport) Close() error {
	t.closed = true
	t.disconnect()
	return nil
}

func (t *Transport) disconnect() {
	if t.client != nil {
		t.client.CloseIdleConnections()
		t.client = nil
	}
}
