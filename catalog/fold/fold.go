package fold

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Version names the folding. It stands in the names of the columns that hold
// keys.
const Version = 1

// span is a run of code points, each step apart, with one value.
type span struct{ lo, hi, step, value rune }

// Name returns the key of a name. Bytes that are no UTF-8 become U+FFFD. A
// name that is its own key is returned as it is.
func Name(name string) string {
	upper := false
	for i := range len(name) {
		c := name[i]
		if c >= utf8.RuneSelf {
			return foldUnicode(name)
		}
		upper = upper || 'A' <= c && c <= 'Z'
	}
	if !upper {
		return name
	}
	return strings.ToLower(name) // ASCII only, so no table of the toolchain is asked
}

// Levels returns the keys of a namespace's levels, each folded by itself. It
// returns levels itself if they are their own keys.
func Levels(levels []string) []string {
	for i, level := range levels {
		key := Name(level)
		if key == level {
			continue
		}
		keys := slices.Clone(levels)
		keys[i] = key
		for j := i + 1; j < len(keys); j++ {
			keys[j] = Name(keys[j])
		}
		return keys
	}
	return levels
}

func foldUnicode(name string) string {
	var space [64]rune
	text := space[:0]
	same, stable := true, true
	for i, r := range name {
		if r == utf8.RuneError && !strings.HasPrefix(name[i:], "\uFFFD") {
			same = false
		}
		stable = stable && !isUnstable(r)
		text = append(text, r)
	}
	if !stable {
		text = compose(decompose(text))
		same = false
	}
	stable = true
	for i, r := range text {
		f := caseFold(r)
		if f != r {
			text[i], same = f, false
		}
		stable = stable && !isUnstable(f)
	}
	if same {
		return name
	}
	if !stable {
		text = compose(decompose(text))
	}
	return string(text)
}

// caseFold returns the simple case folding of r.
func caseFold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return r + lookup(folds[:], r)
}

// isUnstable reports whether a text with r in it may not be in Form C: r may
// compose with what stands before it, be out of order, or decompose.
func isUnstable(r rune) bool { return r >= unstable[0].lo && lookup(unstable[:], r) != 0 }

// lookup returns the value of the span that holds r, or 0.
func lookup(spans []span, r rune) rune {
	i, found := slices.BinarySearchFunc(spans, r, func(s span, r rune) int {
		switch {
		case s.hi < r:
			return -1
		case s.lo > r:
			return 1
		}
		return 0
	})
	if !found || (r-spans[i].lo)%spans[i].step != 0 {
		return 0
	}
	return spans[i].value
}
