package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Names of the headers of Standard Webhooks.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

const (
	keyPrefix = "whsec_"
	// leastKey is the standard's bound.
	leastKey = 24
)

// parseKey reads a secret: "whsec_" and base64 as the standard has it, or else
// the bytes themselves.
func parseKey(secret []byte) ([]byte, error) {
	secret = bytes.TrimRight(secret, "\r\n")
	if text, ok := bytes.CutPrefix(secret, []byte(keyPrefix)); ok {
		key, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			return nil, errors.New("what follows whsec_ is no base64")
		}
		secret = key
	}
	if len(secret) < leastKey {
		return nil, fmt.Errorf("a key of less than %d bytes", leastKey)
	}
	return secret, nil
}

// sign returns the header's value: a signature by each key.
func sign(keys [][]byte, id string, at time.Time, body []byte) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(keys))
	for i, key := range keys {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(id + "." + timestamp + "."))
		h.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
	}
	return timestamp, strings.Join(signatures, " ")
}
