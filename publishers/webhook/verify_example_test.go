package webhook_test

// What docs/guides/webhooks.md shows to receivers in Go; TestGuide keeps the two
// equal.

// begin
import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// verify checks a request's signature. secret is what follows "whsec_", decoded
// from base64, or the secret's bytes if it has no such prefix.
func verify(secret []byte, header http.Header, body []byte, now time.Time) error {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return errors.New("the request is too old, or a clock is wrong")
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body) // the bytes as they came, before any JSON library had them
	want := mac.Sum(nil)
	for _, part := range strings.Fields(header.Get("webhook-signature")) {
		text, isV1 := strings.CutPrefix(part, "v1,")
		got, err := base64.StdEncoding.DecodeString(text)
		if isV1 && err == nil && hmac.Equal(got, want) {
			return nil
		}
	}
	return errors.New("the signature is not by this secret")
}

// end
