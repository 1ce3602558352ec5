package jetstream_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsjwt "github.com/nats-io/jwt/v2"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/nats/natstest"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/jetstream"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

// secrets writes them to a folder.
func secrets(t *testing.T, all map[string]string) (publishers.Secrets, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return publishers.FolderSecrets(dir), dir
}

func withSecrets(t *testing.T, url string, s publishers.Secrets, settings map[string]string) *jetstream.Transport {
	t.Helper()
	settings["url"] = url
	parsed, err := jetstream.ParseSettings(settings)
	if err != nil {
		t.Fatal(err)
	}
	p := jetstream.New(jetstream.Options{Settings: parsed, Destination: publishertest.Topic, Owner: owner, Secrets: s})
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// wantIdentity checks that the right secret opens, that a wrong one and none do
// not, and that no error tells a secret.
func wantIdentity(t *testing.T, url string, settings, right, wrong map[string]string) {
	t.Helper()
	copied := func() map[string]string {
		c := map[string]string{}
		for key, value := range settings {
			c[key] = value
		}
		return c
	}
	s, _ := secrets(t, right)
	p := withSecrets(t, url, s, copied())
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatalf("with the right secret: %v", err)
	}
	mustPublish(t, p, publishertest.NewLog(t).Append(3), "")
	for name, given := range map[string]map[string]string{"wrong": wrong, "missing": {}} {
		s, _ := secrets(t, given)
		err := withSecrets(t, url, s, copied()).Prepare(t.Context())
		if err == nil {
			t.Fatalf("with a secret that is %s: it opened", name)
		}
		for _, text := range []map[string]string{right, wrong} {
			for _, secret := range text {
				if len(secret) < 200 && strings.Contains(err.Error(), strings.TrimSpace(secret)) {
					t.Errorf("the error tells a secret: %v", err)
				}
			}
		}
		if name == "missing" && !errors.Is(err, publishers.ErrSecret) {
			t.Errorf("missing: %v, want ErrSecret", err)
		}
	}
}

func TestPasswordsAndTokens(t *testing.T) {
	t.Parallel()
	byPassword := natstest.Start(t, `authorization { user: icecore, password: "p4ss word" }`)
	wantIdentity(t, byPassword.URL(), map[string]string{"user": "icecore", "password-secret": "pw"},
		map[string]string{"pw": "p4ss word\n"}, map[string]string{"pw": "other-word\n"})
	byToken := natstest.Start(t, `authorization { token: "t0ken-text" }`)
	wantIdentity(t, byToken.URL(), map[string]string{"token-secret": "tok"},
		map[string]string{"tok": "t0ken-text\r\n"}, map[string]string{"tok": "an0ther-token"})
}

// A secret that is replaced is taken up by the next connection.
func TestSecretsAreReadAtEachConnection(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, `authorization { token: "new-token" }`)
	s, dir := secrets(t, map[string]string{"tok": "old-token"})
	p := withSecrets(t, server.URL(), s, map[string]string{"token-secret": "tok"})
	if err := p.Prepare(t.Context()); err == nil {
		t.Fatal("the old token opened")
	}
	if err := os.WriteFile(filepath.Join(dir, "tok"), []byte("new-token"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A credentials file, as operators of NATS hand it out: a user's JWT and seed.
func TestCredentialsFiles(t *testing.T) {
	t.Parallel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pair := func(prefix nkeys.PrefixByte) (nkeys.KeyPair, string) {
		t.Helper()
		kp, err := nkeys.CreatePair(prefix)
		must(err)
		public, err := kp.PublicKey()
		must(err)
		return kp, public
	}
	operator, operatorID := pair(nkeys.PrefixByteOperator)
	account, accountID := pair(nkeys.PrefixByteAccount)
	_, systemID := pair(nkeys.PrefixByteAccount)
	operatorClaims := natsjwt.NewOperatorClaims(operatorID)
	operatorClaims.SystemAccount = systemID
	operatorJWT, err := operatorClaims.Encode(operator)
	must(err)
	accountClaims := natsjwt.NewAccountClaims(accountID)
	accountClaims.Limits.JetStreamLimits = natsjwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	accountJWT, err := accountClaims.Encode(operator)
	must(err)
	systemJWT, err := natsjwt.NewAccountClaims(systemID).Encode(operator)
	must(err)
	credentials := func(by nkeys.KeyPair) string {
		user, userID := pair(nkeys.PrefixByteUser)
		token, err := natsjwt.NewUserClaims(userID).Encode(by)
		must(err)
		seed, err := user.Seed()
		must(err)
		file, err := natsjwt.FormatUserConfig(token, seed)
		must(err)
		return string(file)
	}
	server := natstest.Start(t, fmt.Sprintf("operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: { %s: %s, %s: %s }\n",
		operatorJWT, systemID, accountID, accountJWT, systemID, systemJWT))
	stranger, _ := pair(nkeys.PrefixByteAccount)
	wantIdentity(t, server.URL(), map[string]string{"credentials-secret": "nats.creds"},
		map[string]string{"nats.creds": credentials(account)}, map[string]string{"nats.creds": credentials(stranger)})
	s, _ := secrets(t, map[string]string{"nats.creds": "no credentials at all"})
	if err := withSecrets(t, server.URL(), s, map[string]string{"credentials-secret": "nats.creds"}).Prepare(t.Context()); err == nil {
		t.Error("a file that is no credentials opened")
	}
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         string
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	a := authority{}
	certificate, key := a.issue(t, name, true)
	block, _ := pem.Decode([]byte(certificate))
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	block, _ = pem.Decode([]byte(key))
	if a.key, err = x509.ParseECPrivateKey(block.Bytes); err != nil {
		t.Fatal(err)
	}
	a.certificate, a.pem = parsed, certificate
	return a
}

// issue makes a certificate and its key, in PEM; of an authority that has none
// yet, its own.
func (a authority) issue(t *testing.T, name string, ca bool) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := clock.System{}.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IsCA: ca, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, by := a.certificate, a.key
	if parent == nil {
		parent, by = template, private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, private.Public(), by)
	if err != nil {
		t.Fatal(err)
	}
	der2, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der2}))
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ca, stranger := newAuthority(t, "ca"), newAuthority(t, "stranger")
	certificate, key := ca.issue(t, "server", false)
	_, files := secrets(t, map[string]string{"cert.pem": certificate, "key.pem": key, "ca.pem": ca.pem})
	config := func(more string) string {
		return fmt.Sprintf(`tls { cert_file: %q, key_file: %q, ca_file: %q, %s }`, files+"/cert.pem", files+"/key.pem", files+"/ca.pem", more)
	}
	client, clientKey := ca.issue(t, "client", false)
	other, otherKey := stranger.issue(t, "client", false)

	t.Run("the server's certificate is checked", func(t *testing.T) {
		t.Parallel()
		server := natstest.Start(t, config(""))
		wantIdentity(t, server.URL(), map[string]string{"ca-secret": "ca"}, map[string]string{"ca": ca.pem}, map[string]string{"ca": stranger.pem})
		s, _ := secrets(t, map[string]string{"ca": "no certificate"})
		if err := withSecrets(t, server.URL(), s, map[string]string{"ca-secret": "ca"}).Prepare(t.Context()); !errors.Is(err, publishers.ErrSecret) {
			t.Errorf("%v, want ErrSecret", err)
		}
		// By the machine's own authorities it is not trusted, whether TLS was asked
		// for or the server wants it.
		for _, scheme := range []string{"tls://", "nats://"} {
			if err := withSecrets(t, scheme+server.Addr(), s, map[string]string{}).Prepare(t.Context()); err == nil {
				t.Errorf("%s: an unknown authority was trusted", scheme)
			}
		}
	})
	t.Run("a plain server is refused", func(t *testing.T) {
		t.Parallel()
		server := natstest.Start(t, "")
		s, _ := secrets(t, map[string]string{"ca": ca.pem})
		if err := withSecrets(t, server.URL(), s, map[string]string{"ca-secret": "ca"}).Prepare(t.Context()); !errors.Is(err, natsgo.ErrSecureConnWanted) {
			t.Errorf("%v, want a refusal to go on in the clear", err)
		}
	})
	t.Run("ours too, where the server asks for it", func(t *testing.T) {
		t.Parallel()
		server := natstest.Start(t, config("verify: true"))
		wantIdentity(t, server.URL(),
			map[string]string{"ca-secret": "ca", "client-certificate-secret": "c", "client-key-secret": "k"},
			map[string]string{"ca": ca.pem, "c": client, "k": clientKey}, map[string]string{"ca": ca.pem, "c": other, "k": otherKey})
		s, _ := secrets(t, map[string]string{"ca": ca.pem, "c": client, "k": otherKey})
		settings := map[string]string{"ca-secret": "ca", "client-certificate-secret": "c", "client-key-secret": "k"}
		if err := withSecrets(t, server.URL(), s, settings).Prepare(t.Context()); !errors.Is(err, publishers.ErrSecret) {
			t.Errorf("a key of another certificate: %v, want ErrSecret", err)
		}
	})
	t.Run("before the first word", func(t *testing.T) {
		t.Parallel()
		server := natstest.Start(t, config("handshake_first: true"))
		wantIdentity(t, server.URL(), map[string]string{"ca-secret": "ca", "tls-first": "true"},
			map[string]string{"ca": ca.pem}, map[string]string{"ca": stranger.pem})
	})
}

// What the server forbids is told at once and in its words, and is no reason to
// park an event: an operator of NATS mends it.
func TestWhatIsForbiddenIsTold(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, `authorization { users: [
		{ user: admin, password: admin },
		{ user: part, password: part, permissions: { publish: { allow: ["icecore.>", "$JS.API.>"], deny: ["icecore._.>"] }, subscribe: ["_INBOX.>"] } },
		{ user: none, password: none, permissions: { publish: { deny: ["$JS.API.>"] } } } ] }`)
	s, _ := secrets(t, map[string]string{"part": "part", "none": "none"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	err := withSecrets(t, server.URL(), s, map[string]string{"user": "none", "password-secret": "none"}).Prepare(ctx)
	if err == nil || !strings.Contains(err.Error(), `Permissions Violation for Publish to "$JS.API.STREAM.INFO.icecore"`) {
		t.Errorf("Prepare: %v, want what is forbidden", err)
	}

	p := withSecrets(t, server.URL(), s, map[string]string{"user": "part", "password-secret": "part"})
	if err := p.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	log := publishertest.NewLog(t)
	entries := log.Append(9) // some stand above warehouses
	err = publish(t, p, entries, "")
	var batch *publishers.BatchError
	if err == nil || errors.As(err, &batch) && batch.Permanent || !strings.Contains(err.Error(), `Permissions Violation for Publish to "icecore._.`) {
		t.Errorf("Publish: %v, want what is forbidden, as a failure that passes", err)
	}
	held := received(t, strings.Replace(server.URL(), "nats://", "nats://admin:admin@", 1), "icecore")
	for i, r := range held { // up to the forbidden one, and in order
		if r.Event.ID() != entries[i].ID.String() {
			t.Errorf("number %d is %s", i, r.Event.ID())
		}
	}
	if len(held) > 2 {
		t.Errorf("%d messages landed, one behind a forbidden one among them", len(held))
	}
}
