package kafka_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/kafka"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

// authority signs certificates for 127.0.0.1.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.key, a.cert, a.pem = certificate(t, nil, "authority")
	return a
}

// issue returns a certificate and its key in PEM form.
func (a *authority) issue(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	k, _, cert := certificate(t, a, name)
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

func certificate(t *testing.T, by *authority, name string) (*ecdsa.PrivateKey, *x509.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
	}
	parent, signer := template, key
	if by == nil {
		template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	} else {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestSecurity(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	serverCert, serverKey := ca.issue(t, "broker")
	clientCert, clientKey := ca.issue(t, "icecore")
	strangerCert, strangerKey := other.issue(t, "icecore")
	pair, err := tls.X509KeyPair(serverCert, serverKey)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	oneWay := kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	bothWays := kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12})
	const password = "pässwörd,=" // Kafka takes its bytes as they are
	users := []kfake.Opt{
		kfake.EnableSASL(), kfake.Superuser("PLAIN", "plain", password),
		kfake.Superuser("SCRAM-SHA-256", "s=256,", password), kfake.Superuser("SCRAM-SHA-512", "s512", password),
	}
	secrets := map[string][]byte{
		"ca": ca.pem, "other-ca": other.pem, "cert": clientCert, "key": clientKey, "stranger-cert": strangerCert, "stranger-key": strangerKey,
		"password": []byte(password + "\n"), "wrong": []byte("wrong-hunter2"), "rubbish": []byte("rubbish-hunter2"),
	}
	for name, c := range map[string]struct {
		options  []kfake.Opt
		settings map[string]string
		wants    string // of the error; empty: it works
	}{
		"TLS":                      {[]kfake.Opt{oneWay}, map[string]string{"tls": "true", "tls-ca-secret": "ca"}, ""},
		"TLS, unknown authority":   {[]kfake.Opt{oneWay}, map[string]string{"tls": "true", "tls-ca-secret": "other-ca"}, "certificate"},
		"TLS, the system's":        {[]kfake.Opt{oneWay}, map[string]string{"tls": "true"}, "certificate"},
		"TLS, another name":        {[]kfake.Opt{oneWay}, map[string]string{"tls": "true", "tls-ca-secret": "ca", "tls-server-name": "other"}, "certificate"},
		"TLS, no certificate":      {[]kfake.Opt{oneWay}, map[string]string{"tls": "true", "tls-ca-secret": "rubbish"}, "secret rubbish holds no certificate"},
		"TLS, no such secret":      {[]kfake.Opt{oneWay}, map[string]string{"tls": "true", "tls-ca-secret": "absent"}, "absent"},
		"client certificate":       {[]kfake.Opt{bothWays}, map[string]string{"tls": "true", "tls-ca-secret": "ca", "tls-certificate-secret": "cert", "tls-key-secret": "key"}, ""},
		"no client certificate":    {[]kfake.Opt{bothWays}, map[string]string{"tls": "true", "tls-ca-secret": "ca"}, "connect"},
		"a stranger's certificate": {[]kfake.Opt{bothWays}, map[string]string{"tls": "true", "tls-ca-secret": "ca", "tls-certificate-secret": "stranger-cert", "tls-key-secret": "stranger-key"}, "connect"},
		"another key":              {[]kfake.Opt{bothWays}, map[string]string{"tls": "true", "tls-ca-secret": "ca", "tls-certificate-secret": "cert", "tls-key-secret": "stranger-key"}, "no certificate with its key"},
		"SCRAM 256":                {users, map[string]string{"sasl": "scram-sha-256", "user": "s=256,", "password-secret": "password"}, ""},
		"SCRAM 512":                {users, map[string]string{"sasl": "scram-sha-512", "user": "s512", "password-secret": "password"}, ""},
		"wrong password":           {users, map[string]string{"sasl": "scram-sha-512", "user": "s512", "password-secret": "wrong"}, "connect"},
		"unknown user":             {users, map[string]string{"sasl": "scram-sha-512", "user": "who", "password-secret": "password"}, "connect"},
		"no password":              {users, nil, "connect"},
		"plain over TLS":           {append([]kfake.Opt{oneWay}, users...), map[string]string{"tls": "true", "tls-ca-secret": "ca", "sasl": "plain", "user": "plain", "password-secret": "password"}, ""},
		"plain, wrong password":    {append([]kfake.Opt{oneWay}, users...), map[string]string{"tls": "true", "tls-ca-secret": "ca", "sasl": "plain", "user": "plain", "password-secret": "wrong"}, "connect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, c.options...)...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(cluster.Close)
			settings := map[string]string{"brokers": cluster.ListenAddrs()[0], "topic": topic}
			for key, value := range c.settings {
				settings[key] = value
			}
			s, err := kafka.ParseSettings(settings)
			if err != nil {
				t.Fatal(err)
			}
			p := kafka.New(s, kafka.Options{ID: "icecore-test", Secrets: func(name string) ([]byte, error) {
				if secret, ok := secrets[name]; ok {
					return secret, nil
				}
				return nil, fmt.Errorf("%w: %q", publishers.ErrSecret, name)
			}})
			t.Cleanup(func() { _ = p.Close() })
			err = p.Prepare(t.Context())
			if err == nil {
				err = p.Publish(topic, publishertest.Messages(t, t.Context(), []eventstore.Entry{publishertest.NewLog(t).Append(1)[0]}, "")...)
			}
			switch {
			case c.wants == "" && err != nil:
				t.Error(err)
			case c.wants != "" && (err == nil || !strings.Contains(err.Error(), c.wants)):
				t.Errorf("%v, want %q", err, c.wants)
			case err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), password)):
				t.Errorf("a secret in %v", err)
			case err != nil && errors.Is(err, publishers.ErrFenced):
				t.Errorf("%v: nobody else publishes", err)
			}
		})
	}
}
