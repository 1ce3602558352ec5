package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/icecore-catalog/icecore/publishers"
)

// How long sarama waits for one answer. Calls are bounded by their context; these
// bound what goes on behind an abandoned one.
const (
	dialTimeout    = 5 * time.Second
	answerTimeout  = 15 * time.Second
	produceTimeout = 10 * time.Second
	// transactionTimeout is when the coordinator aborts a transaction that its
	// publisher left open: until then, consumers that read what is committed see
	// nothing behind it. Far more than one batch takes.
	transactionTimeout = time.Minute
)

// session is one connection to the cluster and one producer on it, from
// [Transport.Prepare] to the first failure. When it is cut, nothing that still
// runs in it can reach a broker any more.
type session struct {
	dialer     *dialer
	client     sarama.Client
	producer   sarama.SyncProducer
	partitions int32 // of the topic, as they were when it was prepared
	limit      int   // of a message, see Transport.MaxMessageBytes

	running sync.WaitGroup
	once    sync.Once
	ended   chan struct{} // closed when all of it is over
}

func newSession() *session {
	return &session{dialer: newDialer(), ended: make(chan struct{})}
}

// do runs f, which asks brokers, until it ends, or the context does, or no broker
// is there any more; then the session is cut, and f goes on alone against closed
// connections. sarama knows no contexts, and tries for long.
func (s *session) do(ctx context.Context, what string, f func() error) error {
	if ctx.Err() != nil {
		s.cut()
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	done := make(chan error, 1)
	s.running.Go(func() { done <- f() })
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	case <-ctx.Done():
		s.cut()
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	case <-s.dialer.lost:
		s.cut()
		return fmt.Errorf("%s: no broker is there: %w", what, s.dialer.reason)
	}
}

// cut closes all connections for ever and lets the rest end by itself.
func (s *session) cut() {
	s.once.Do(func() {
		s.dialer.cut()
		go func() {
			defer close(s.ended)
			s.running.Wait()
			if s.producer != nil {
				_ = s.producer.Close() // nothing is under way: every call of it has returned
			}
			if s.client != nil {
				_ = s.client.Close()
			}
		}()
	})
}

// config is sarama's for these settings. The order that consumers see rests on
// these: acknowledged by all replicas, one request under way, sequence numbers,
// and a transaction whose messages are looked over before it is committed.
func (t *Transport) config(d *dialer) (*sarama.Config, error) {
	c := sarama.NewConfig()
	c.ClientID = t.settings.ClientID
	c.Version = t.settings.Version
	c.Net.MaxOpenRequests = 1
	c.Net.DialTimeout, c.Net.ReadTimeout, c.Net.WriteTimeout = dialTimeout, answerTimeout, answerTimeout
	c.Net.Proxy.Enable, c.Net.Proxy.Dialer = true, d
	c.Metadata.AllowAutoTopicCreation = false
	c.Metadata.Full = false
	c.Metadata.Timeout = answerTimeout
	c.Admin.Timeout = answerTimeout
	c.Consumer.IsolationLevel = sarama.ReadCommitted
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Idempotent = true
	c.Producer.Timeout = produceTimeout
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.Compression = t.settings.Compression
	c.Producer.Return.Successes = true
	c.Producer.Return.Errors = true
	// The least that an idempotent producer may have. What fails twice aborts the
	// transaction, and the relay tries again later.
	c.Producer.Retry.Max = 1
	c.Producer.Transaction.ID = t.id
	c.Producer.Transaction.Timeout = transactionTimeout
	// A coordinator that is still writing the last transaction's markers asks for
	// patience: at first for moments, and for some two seconds in all. The second
	// pair of settings is tried anew in each of these.
	c.Producer.Transaction.Retry.Max = 20
	c.Producer.Transaction.Retry.BackoffFunc = func(retries, _ int) time.Duration {
		return min(2*time.Millisecond<<min(retries, 10), 100*time.Millisecond)
	}
	c.Metadata.Retry.Max, c.Metadata.Retry.Backoff = 1, 50*time.Millisecond
	if t.settings.Mechanism != "" {
		if err := t.authenticate(c); err != nil {
			return nil, err
		}
	}
	if t.settings.TLS {
		c.Net.TLS.Enable = true
		var err error
		if c.Net.TLS.Config, err = t.tls(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (t *Transport) authenticate(c *sarama.Config) error {
	password, err := t.secret(t.settings.Password)
	if err != nil {
		return err
	}
	c.Net.SASL.Enable = true
	c.Net.SASL.Version = sarama.SASLHandshakeV1
	c.Net.SASL.User = t.settings.User
	c.Net.SASL.Password = strings.TrimRight(string(password), "\r\n") // a file's last line ends
	switch t.settings.Mechanism {
	case Plain:
		c.Net.SASL.Mechanism = sarama.SASLTypePlaintext
	case ScramSHA256:
		c.Net.SASL.Mechanism = sarama.SASLTypeSCRAMSHA256
	case ScramSHA512:
		c.Net.SASL.Mechanism = sarama.SASLTypeSCRAMSHA512
	}
	c.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return newScram(t.settings.Mechanism) }
	return nil
}

func (t *Transport) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.settings.ServerName}
	if t.settings.CA != "" {
		pem, err := t.secret(t.settings.CA)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("secret %s holds no certificate in PEM form", t.settings.CA)
		}
	}
	if t.settings.Certificate != "" {
		certificate, err := t.secret(t.settings.Certificate)
		if err != nil {
			return nil, err
		}
		key, err := t.secret(t.settings.Key)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("secrets %s and %s are no certificate with its key in PEM form", t.settings.Certificate, t.settings.Key)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

func (t *Transport) secret(name string) ([]byte, error) {
	if t.secrets == nil {
		return nil, fmt.Errorf("%w: %q", publishers.ErrSecret, name)
	}
	return t.secrets(name)
}

// connect makes the session's client, its topic and its producer. The producer's
// first request, InitProducerID, settles what an earlier publisher of the same
// transactional id left behind; see the package comment.
func (s *session) connect(t *Transport) error {
	config, err := t.config(s.dialer)
	if err != nil {
		return err
	}
	if s.client, err = sarama.NewClient(t.settings.Brokers, config); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if err := s.client.RefreshMetadata(t.settings.Topic); err != nil && !errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
		return fmt.Errorf("connect: %w", err)
	}
	s.dialer.expect()
	if err := s.topic(t.settings); err != nil {
		return fmt.Errorf("topic %s: %w", t.settings.Topic, err)
	}
	// Of a partition's batch, which the topic bounds. sarama counts the batch's
	// head twelve bytes short.
	config.Producer.MaxMessageBytes = s.limit - batchHead
	if s.producer, err = sarama.NewSyncProducerFromClient(s.client); err != nil {
		return fmt.Errorf("take over transactional id %s: %w", t.id, err)
	}
	return nil
}

// errStill is the end of patience.
var errStill = errors.New("still not so")

// patiently asks again, ever more seldom and for some five seconds in all, until
// the answer is yes. It ends with the session.
func (s *session) patiently(ask func() (bool, error)) error {
	for wait := 5 * time.Millisecond; wait < 3*time.Second; wait *= 2 {
		if yes, err := ask(); yes || err != nil {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.dialer.gone:
			timer.Stop()
			return net.ErrClosed
		}
	}
	return errStill
}
