package fold

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"unicode/utf8"
)

// frozen is the SHA-256 over the keys, decompositions and classes of all code
// points, and over all compositions. If it changes, so does the meaning of
// stored keys: that needs a new Version, not a new number here.
const frozen = "391eb1fb25292dacb52a44d98bb536d5727005e43d0cb908db2fd31b29278533"

func TestTablesAreFrozen(t *testing.T) {
	t.Parallel()
	if Version != 1 {
		t.Fatalf("version %d has no checksum here", Version)
	}
	h := sha256.New()
	var line []byte
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		line = append(append(line[:0], Name(string(r))...), 0)
		for _, d := range decompose([]rune{r}) {
			line = utf8.AppendRune(line, d)
		}
		h.Write(append(line, 0, byte(class(r)), '\n'))
	}
	for _, c := range compositions {
		h.Write([]byte(string(c[:]) + "\n"))
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != frozen {
		t.Fatalf("the keys of names have changed: checksum %s", got)
	}
}
