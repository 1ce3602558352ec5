package catalog

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxClaimBytes bounds a claim's canonical key. S3 keys end at 1,024 bytes;
// both bounds of the range that stands for a claim must fit an index page.
const MaxClaimBytes = 1500

// Claims turns the canonical location keys that an object wants (its location,
// its write.metadata.path) into the set that it claims: sorted in "C" order,
// with no key below another of the same set, for the exclusion constraint over
// locations knows no owner.
func Claims(keys ...string) []string {
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	var claims []string
	for _, key := range sorted {
		// Sorted order puts a prefix before everything below it.
		if n := len(claims); n > 0 && strings.HasPrefix(key, claims[n-1]) {
			continue
		}
		claims = append(claims, key)
	}
	return claims
}

// ClaimsDiff returns what has to be released and what to be added to go from
// one set of claims to another; both come from [Claims].
func ClaimsDiff(from, to []string) (added, removed []string) {
	for _, key := range to {
		if !slices.Contains(from, key) {
			added = append(added, key)
		}
	}
	for _, key := range from {
		if !slices.Contains(to, key) {
			removed = append(removed, key)
		}
	}
	return added, removed
}

// validClaim checks the form of a canonical key, as far as it concerns the log:
// not empty, ended by a slash, fit for a database key.
func validClaim(key string) bool {
	return len(key) > 1 && len(key) <= MaxClaimBytes && strings.HasSuffix(key, "/") &&
		utf8.ValidString(key) && !strings.ContainsRune(key, 0)
}
