package projections

import (
	"slices"
	"strings"
	"unicode"

	"github.com/icecore-catalog/icecore/catalog"
)

// Trigrams returns the trigrams of a text, sorted and each once: three
// characters in a row of each word, which is in lower case and has two blanks
// before and one behind it. Everything but letters and digits ends a word. It
// is what PostgreSQL's pg_trgm does, which is an extension that a server need
// not have.
func Trigrams(text string) []string {
	var list []string
	words := strings.FieldsFunc(catalog.FoldName(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	for _, word := range words {
		padded := []rune("  " + word + " ")
		for i := range len(padded) - 2 {
			list = append(list, string(padded[i:i+3]))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// pathTrigrams are those of a table's or view's whole path.
func pathTrigrams(levels []string, name string) []string {
	return Trigrams(strings.Join(append(slices.Clone(levels), name), " "))
}
