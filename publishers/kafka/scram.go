package kafka

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// scram is the client's side of SCRAM (RFC 5802) in the form that sarama asks
// for. It is our own since Kafka prepares no names or passwords (its
// ScramFormatter takes their bytes as they are), which libraries do by the RFC's
// SASLprep: a password with other letters than ASCII would be another one.
type scram struct {
	hash  func() hash.Hash
	nonce string // empty: drawn

	password  string
	bare      string // of the first message
	signature []byte // that the server has to show
	done      bool
}

// maxScramIterations bounds what a server can make us compute; Kafka's own bound
// is 16,384.
const maxScramIterations = 1_000_000

var errScram = errors.New("SCRAM: the broker's message is malformed")

func newScram(mechanism string) *scram {
	if mechanism == ScramSHA256 {
		return &scram{hash: sha256.New}
	}
	return &scram{hash: sha512.New}
}

// Begin implements sarama.SCRAMClient.
func (s *scram) Begin(user, password, _ string) error {
	if s.nonce == "" {
		var random [24]byte
		if _, err := rand.Read(random[:]); err != nil {
			return fmt.Errorf("SCRAM: a nonce: %w", err)
		}
		s.nonce = base64.RawStdEncoding.EncodeToString(random[:])
	}
	s.password = password
	s.bare = "n=" + strings.NewReplacer("=", "=3D", ",", "=2C").Replace(user) + ",r=" + s.nonce
	return nil
}

// Step implements sarama.SCRAMClient.
func (s *scram) Step(challenge string) (string, error) {
	switch {
	case challenge == "" && s.signature == nil:
		return "n,," + s.bare, nil
	case s.signature == nil:
		return s.prove(challenge)
	default:
		return "", s.verify(challenge)
	}
}

// Done implements sarama.SCRAMClient.
func (s *scram) Done() bool { return s.done }

// prove answers the server's first message, r=<nonce>,s=<salt>,i=<iterations>.
func (s *scram) prove(challenge string) (string, error) {
	parts := strings.Split(challenge, ",")
	if len(parts) < 3 {
		return "", errScram
	}
	nonce, hasNonce := strings.CutPrefix(parts[0], "r=")
	saltText, hasSalt := strings.CutPrefix(parts[1], "s=")
	countText, hasCount := strings.CutPrefix(parts[2], "i=")
	salt, saltErr := base64.StdEncoding.DecodeString(saltText)
	count, countErr := strconv.Atoi(countText)
	if !hasNonce || !hasSalt || !hasCount || saltErr != nil || countErr != nil || count < 1 || count > maxScramIterations {
		return "", errScram
	}
	if len(nonce) <= len(s.nonce) || !strings.HasPrefix(nonce, s.nonce) {
		return "", errors.New("SCRAM: the broker's nonce does not begin with ours")
	}
	salted, err := pbkdf2.Key(s.hash, s.password, salt, count, s.hash().Size())
	if err != nil {
		return "", fmt.Errorf("SCRAM: %w", err)
	}
	final := "c=biws,r=" + nonce // biws: "n,,", no channel binding
	message := s.bare + "," + challenge + "," + final
	clientKey := s.mac(salted, "Client Key")
	stored := s.hash()
	stored.Write(clientKey)
	proof := s.mac(stored.Sum(nil), message)
	subtle.XORBytes(proof, proof, clientKey)
	s.signature = s.mac(s.mac(salted, "Server Key"), message)
	return final + ",p=" + base64.StdEncoding.EncodeToString(proof), nil
}

// verify checks that the server knows the password, too.
func (s *scram) verify(challenge string) error {
	first, _, _ := strings.Cut(challenge, ",")
	if strings.HasPrefix(first, "e=") {
		return errors.New("SCRAM: the broker refuses the user or the password")
	}
	text, ok := strings.CutPrefix(first, "v=")
	signature, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		return errScram
	}
	if !hmac.Equal(signature, s.signature) {
		return errors.New("SCRAM: the broker does not know the password: it is another one")
	}
	s.done = true
	return nil
}

func (s *scram) mac(key []byte, text string) []byte {
	h := hmac.New(s.hash, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
