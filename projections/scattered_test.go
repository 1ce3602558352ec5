package projections

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// TestScatteredKeysAreFrozen holds what is stored in every catalog.
func TestScatteredKeysAreFrozen(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"file//":          "3b9c358f36f0a31b6ad3e14f/e3b0c44298fc1c149afbf4c8",
		"file//srv/a/":    "3b9c358f36f0a31b6ad3e14f/e3b0c44298fc1c149afbf4c8/5e12afeaaf89408e6914798b/ca978112ca1bbdcafac231b3",
		"file//srv/ä b%/": "3b9c358f36f0a31b6ad3e14f/e3b0c44298fc1c149afbf4c8/5e12afeaaf89408e6914798b/e4ab6e93bdc456af606c5ccc",
	} {
		if got := scattered(key); got != want {
			t.Errorf("%q is scattered to %q, and was to %q", key, got, want)
		}
	}
}

// TestScatteredKeysContainEachOtherAsKeysDo is what the constraint rests on.
func TestScatteredKeysContainEachOtherAsKeysDo(t *testing.T) {
	t.Parallel()
	key := rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "aa", "a0", "a.", "0", ""}), 1, 4).Draw(t, "parts")
		return strings.Join(parts, "/") + "/"
	})
	rapid.Check(t, func(t *rapid.T) {
		one, other := key.Draw(t, "one"), key.Draw(t, "other")
		a, b := claimRange(one), claimRange(other)
		overlap := a.lower < b.upper && b.lower < a.upper
		if want := strings.HasPrefix(one, other) || strings.HasPrefix(other, one); overlap != want {
			t.Errorf("%q and %q overlap: %v", one, other, overlap)
		}
	})
}

// TestDatabaseScattersAlike holds the migration of older claims against what is
// written now.
func TestDatabaseScattersAlike(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for _, key := range []string{"file//", "file//srv/a/", "file//srv/ä b%/\\x/", "s3:aws/bucket/x//y/", "file//" + strings.Repeat("d/", 100)} {
		var got string
		if err := db.Owner.QueryRow(t.Context(), "SELECT rm.scattered($1)", key).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != scattered(key) {
			t.Errorf("%q: the database says %q, the program %q", key, got, scattered(key))
		}
	}
}
