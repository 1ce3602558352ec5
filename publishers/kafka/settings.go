package kafka

import (
	"errors"
	"net"
	"regexp"
	"strconv"

	"github.com/IBM/sarama"

	"github.com/icecore-catalog/icecore/publishers"
)

// Settings say which topic is published to, and how it is reached. They hold no
// secret, only the names of secrets.
type Settings struct {
	Brokers []string // host:port of some brokers; the others are learned from them
	Topic   string

	Create      bool  // make the topic where there is none
	Partitions  int32 // of a topic that is made, and that one that is there must have; 0: one, or as many as there are
	Replication int16 // of a topic that is made; -1: as the cluster does it

	// MaxMessageBytes bounds a message below what the topic takes; 0: the
	// topic's own bound. A topic that is made gets it as its bound.
	MaxMessageBytes int
	Version         sarama.KafkaVersion // protocol that is spoken
	Compression     sarama.CompressionCodec
	ClientID        string

	TLS                  bool
	CA, Certificate, Key string // names of secrets; empty: the system's authorities, no certificate of ours
	ServerName           string // that the brokers' certificates are for, if it is not their address
	Mechanism            string // of SASL; empty: none
	User, Password       string // the password is the name of a secret
}

// SASL mechanisms.
const (
	Plain       = "plain"
	ScramSHA256 = "scram-sha-256"
	ScramSHA512 = "scram-sha-512"
)

// oldest is the first protocol with all that the package relies on: a fenced
// producer is told so by a code of its own (KIP-588).
var oldest = sarama.V2_7_0_0

// topicName is Kafka's own rule.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

var codecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

// ParseSettings reads the settings of a destination of this kind. Its errors name
// every setting that can't be used, unknown ones among them.
func ParseSettings(settings map[string]string) (Settings, error) {
	r := publishers.NewReader(settings)
	s := Settings{
		Brokers:         r.List("brokers"),
		Topic:           r.Required("topic"),
		Create:          r.Flag("create-topic", true),
		Partitions:      int32(r.Number("partitions", 0, 1, 10_000)),
		Replication:     int16(r.Number("replication-factor", -1, 1, 100)),
		MaxMessageBytes: r.Number("max-message-bytes", 0, 1024, 1<<30),
		Compression:     codecs[r.Word("compression", "none", "gzip", "snappy", "lz4", "zstd")],
		ClientID:        r.Text("client-id", "icecore"),
		TLS:             r.Flag("tls", false),
		CA:              r.Secret("tls-ca-secret"),
		Certificate:     r.Secret("tls-certificate-secret"),
		Key:             r.Secret("tls-key-secret"),
		ServerName:      r.Text("tls-server-name", ""),
		User:            r.Text("user", ""),
		Password:        r.Secret("password-secret"),
	}
	s.readBrokers(r)
	if s.Topic != "" && (!topicName.MatchString(s.Topic) || s.Topic == "." || s.Topic == "..") {
		r.Fail("topic", "is up to 249 letters, digits, '.', '_' and '-'")
	}
	s.readVersion(r)
	s.readSecurity(r)
	if err := r.Err(); err != nil {
		return Settings{}, err
	}
	return s, nil
}

func (s *Settings) readBrokers(r *publishers.Reader) {
	if len(s.Brokers) == 0 {
		r.Fail("brokers", "is required: host:port of one or more brokers, separated by commas")
	}
	for _, broker := range s.Brokers {
		host, port, err := net.SplitHostPort(broker)
		n, portErr := strconv.Atoi(port)
		if errors.Join(err, portErr) != nil || host == "" || n < 1 || n > 65535 {
			r.Fail("brokers", "is host:port of one or more brokers, separated by commas")
			return
		}
	}
}

func (s *Settings) readVersion(r *publishers.Reader) {
	s.Version = sarama.DefaultVersion
	if !r.Has("version") {
		return
	}
	version, err := sarama.ParseKafkaVersion(r.Text("version", ""))
	if err != nil || !version.IsAtLeast(oldest) || !sarama.MaxVersion.IsAtLeast(version) {
		r.Fail("version", "is a version of Kafka from "+oldest.String()+" to "+sarama.MaxVersion.String()+", not newer than the oldest broker")
		return
	}
	s.Version = version
}

func (s *Settings) readSecurity(r *publishers.Reader) {
	if !s.TLS {
		for _, key := range []string{"tls-ca-secret", "tls-certificate-secret", "tls-key-secret", "tls-server-name"} {
			if r.Has(key) {
				r.Fail(key, "needs tls=true")
			}
		}
	}
	if (s.Certificate == "") != (s.Key == "") {
		r.Fail("tls-certificate-secret", "and tls-key-secret come together")
	}
	switch mechanism := r.Word("sasl", "none", Plain, ScramSHA256, ScramSHA512); {
	case mechanism == "none":
		if s.User != "" || s.Password != "" {
			r.Fail("user", "and password-secret need sasl")
		}
		return
	case s.User == "" || s.Password == "":
		r.Fail("sasl", "needs user and password-secret")
	case mechanism == Plain && !s.TLS:
		r.Fail("sasl", "is plain, which sends the password as it is: it needs tls=true, or take "+ScramSHA512)
	default:
		s.Mechanism = mechanism
	}
}
