package queries

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// tokenVersion is the first byte of a page token's plain text; another value
// is a stale token.
const tokenVersion = 1

// tokens seals and opens page tokens. A token holds the folded name after
// which the next page begins; names may be hidden from the caller, hence the
// seal, and it opens only for the same caller and query (design 8).
type tokens struct{ aead cipher.AEAD }

// newTokens derives the sealing key from a secret that all instances share.
func newTokens(secret []byte) tokens {
	key := sha256.Sum256(append([]byte("icecore page token v1\x00"), secret...))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(fmt.Sprintf("queries: AES refuses a key of 32 bytes: %v", err))
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(fmt.Sprintf("queries: GCM refuses AES: %v", err))
	}
	return tokens{aead: aead}
}

// bind returns what a token is bound to: the caller, the kind of the list and
// its parent.
func bind(actor authz.Actor, list string, parent ids.ID) []byte {
	b := make([]byte, 0, 48)
	b = append(b, actor.ID[:]...)
	b = append(b, parent[:]...)
	return append(b, list...) // the last part, so its length need not be told
}

func (t tokens) seal(after string, bound []byte) string {
	plain := append([]byte{tokenVersion}, after...)
	sealed := t.aead.Seal(nil, nil, plain, bound) //nolint:gosec // G407: this AEAD draws its nonce itself
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// open returns the name that a token holds. A token of another caller, another
// list, another server or another time is 400 and tells nothing.
func (t tokens) open(token string, bound []byte) (string, error) {
	bad := &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid page token"}
	sealed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return "", bad
	}
	plain, err := t.aead.Open(nil, nil, sealed, bound)
	if err != nil || len(plain) == 0 || plain[0] != tokenVersion {
		return "", bad
	}
	return string(plain[1:]), nil
}
