package kafka_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	broker "github.com/icecore-catalog/icecore/e2e/kafka"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/publishers/kafka"
	"github.com/icecore-catalog/icecore/publishers/kafka/kafkatest"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

const password = "pässword,=1"

// TLS, SASL and rights, as a real broker has them.
func TestRealBrokerWithTLSUsersAndRights(t *testing.T) {
	engine(t)
	cert, key := certificate(t)
	inline := func(text []byte) string { return strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", " \\\n ") }
	b := start(t, broker.Options{Properties: []string{
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,BEHIND:SASL_SSL,CONTROLLER:PLAINTEXT",
		"sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512",
		"listener.name.behind.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512",
		`listener.name.behind.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_plain="` + "plainpassword" + `";`,
		"listener.name.behind.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;",
		"listener.name.behind.ssl.keystore.type=PEM",
		"listener.name.behind.ssl.keystore.certificate.chain=" + inline(cert),
		"listener.name.behind.ssl.keystore.key=" + inline(key),
		"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users=User:ANONYMOUS",
	}})
	admin, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	addUser(t, admin, "scram")

	secrets := func(name string) ([]byte, error) {
		return map[string][]byte{"ca": cert, "password": []byte(password + "\n"), "plain": []byte("plainpassword"), "wrong": []byte("wrong")}[name], nil
	}
	open := func(topic string, extra map[string]string) *kafka.Transport {
		settings := map[string]string{
			"brokers": b.Upstream(), "topic": topic, "tls": "true", "tls-ca-secret": "ca",
			"sasl": "scram-sha-512", "user": "scram", "password-secret": "password",
		}
		for k, v := range extra {
			settings[k] = v
		}
		s, err := kafka.ParseSettings(settings)
		if err != nil {
			t.Fatal(err)
		}
		p := kafka.New(s, kafka.Options{ID: "icecore-" + topic, Source: publishertest.Source, Secrets: secrets})
		t.Cleanup(func() { _ = p.Close() })
		return p
	}
	for name, extra := range map[string]map[string]string{
		"wrong password": {"password-secret": "wrong"}, "unknown user": {"user": "who"}, "another mechanism": {"sasl": "scram-sha-256"},
		"unknown authority": {"tls-ca-secret": ""}, "no TLS": {"tls": "false", "tls-ca-secret": ""},
	} {
		err := open("refused", extra).Prepare(t.Context())
		t.Logf("%s: %v", name, err)
		if err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("%s: %v", name, err)
		}
	}

	log := publishertest.NewLog(t)
	batch := log.Append(30)
	p := open("rights", nil)
	if err := p.Prepare(t.Context()); err == nil {
		t.Fatal("prepared without a right")
	} else {
		t.Logf("without rights: %v", err)
	}
	// The least that a publisher needs: no right to read the topic's configuration.
	allow(t, admin, "scram", "rights")
	prepare(t, p)
	deliver(t, p, batch)
	if place, ok, err := p.Last(t.Context()); err != nil || !ok || place.Event != batch[29].ID {
		t.Errorf("Last = %+v, %v, %v", place, ok, err)
	}
	if _, err := kafkatest.CheckBatches(kafkatest.Read(t, b.Addr(), "rights"), [][]eventstore.Entry{batch}); err != nil {
		t.Error(err)
	}
	allow(t, admin, "plain", "users")
	q := open("users", map[string]string{"sasl": "plain", "user": "plain", "password-secret": "plain"})
	prepare(t, q)
	deliver(t, q, batch)
}

// certificate returns one for 127.0.0.1 that vouches for itself, and its key.
func certificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "broker"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

func addUser(t *testing.T, admin *kgo.Client, name string) {
	t.Helper()
	const iterations = 4096
	salt := []byte("sixteen bytes ok")
	salted, err := pbkdf2.Key(sha512.New, password, salt, iterations, sha512.Size)
	if err != nil {
		t.Fatal(err)
	}
	request := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	upsert := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
	upsert.Name, upsert.Mechanism, upsert.Iterations, upsert.Salt, upsert.SaltedPassword = name, 2, iterations, salt, salted
	request.Upsertions = append(request.Upsertions, upsert)
	answer, err := request.RequestWith(t.Context(), admin)
	if err == nil {
		err = kerr.ErrorForCode(answer.Results[0].ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// allow gives the user what docs/guides/kafka.md says.
func allow(t *testing.T, admin *kgo.Client, user, topic string) {
	t.Helper()
	request := kmsg.NewPtrCreateACLsRequest()
	add := func(kind kmsg.ACLResourceType, name string, operations ...kmsg.ACLOperation) {
		for _, operation := range operations {
			acl := kmsg.NewCreateACLsRequestCreation()
			acl.ResourceType, acl.ResourceName, acl.ResourcePatternType = kind, name, kmsg.ACLResourcePatternTypeLiteral
			acl.Principal, acl.Host, acl.Operation, acl.PermissionType = "User:"+user, "*", operation, kmsg.ACLPermissionTypeAllow
			request.Creations = append(request.Creations, acl)
		}
	}
	add(kmsg.ACLResourceTypeTopic, topic, kmsg.ACLOperationCreate, kmsg.ACLOperationDescribe, kmsg.ACLOperationRead, kmsg.ACLOperationWrite)
	add(kmsg.ACLResourceTypeTransactionalId, "icecore-"+topic, kmsg.ACLOperationDescribe, kmsg.ACLOperationWrite)
	answer, err := request.RequestWith(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range answer.Results {
		if err := kerr.ErrorForCode(result.ErrorCode); err != nil {
			t.Fatal(fmt.Errorf("rights: %w", err))
		}
	}
}
