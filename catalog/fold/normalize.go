package fold

import (
	"slices"
	"unicode/utf8"
)

// Hangul syllables compose by arithmetic (The Unicode Standard 15.0, 3.12).
const (
	hangulBase   = 0xac00
	leadBase     = 0x1100
	vowelBase    = 0x1161
	tailBase     = 0x11a7
	leadCount    = 19
	vowelCount   = 21
	tailCount    = 28
	hangulCount  = leadCount * vowelCount * tailCount
	classStarter = 0
)

// decompose returns the canonical decomposition of text, in canonical order
// (The Unicode Standard 15.0, 3.11, D68 and D109).
func decompose(text []rune) []rune {
	out := make([]rune, 0, len(text)+len(text)/2)
	for _, r := range text {
		if s := r - hangulBase; 0 <= s && s < hangulCount {
			out = append(out, leadBase+s/(vowelCount*tailCount), vowelBase+s%(vowelCount*tailCount)/tailCount)
			if tail := s % tailCount; tail != 0 {
				out = append(out, tailBase+tail)
			}
			continue
		}
		i, found := -1, false
		if r >= decomposable[0] {
			i, found = slices.BinarySearch(decomposable[:], r)
		}
		if !found {
			out = append(out, r)
			continue
		}
		start := uint16(0)
		if i > 0 {
			start = decompositionEnds[i-1]
		}
		for _, d := range decompositions[start:decompositionEnds[i]] {
			out = append(out, d)
		}
	}
	order(out)
	return out
}

// order sorts every run of marks by combining class and keeps the order of
// marks of one class.
func order(text []rune) {
	for i := 0; i < len(text); {
		if class(text[i]) == classStarter {
			i++
			continue
		}
		end := i + 1
		for end < len(text) && class(text[end]) != classStarter {
			end++
		}
		slices.SortStableFunc(text[i:end], func(a, b rune) int { return int(class(a) - class(b)) })
		i = end
	}
}

// class returns the canonical combining class.
func class(r rune) rune {
	if r < classes[0].lo {
		return classStarter
	}
	return lookup(classes[:], r)
}

// compose turns a canonically ordered decomposition into Form C, in place (The
// Unicode Standard 15.0, 3.11, D117).
func compose(text []rune) []rune {
	starter := -1 // index in out of the last starter
	out := text[:0]
	last := rune(-1) // class of the last mark behind the starter that stayed; -1 for none
	for _, r := range text {
		c := class(r)
		// A mark is blocked from the starter by one of the same or a higher
		// class, a starter by anything in between.
		if starter >= 0 && (last < c || last == -1) {
			if composite, ok := pair(out[starter], r); ok {
				out[starter] = composite
				continue
			}
		}
		if c == classStarter {
			starter, last = len(out), -1
		} else {
			last = c
		}
		out = append(out, r)
	}
	return out
}

// pair returns the primary composite of two characters.
func pair(first, second rune) (rune, bool) {
	if l, v := first-leadBase, second-vowelBase; 0 <= l && l < leadCount && 0 <= v && v < vowelCount {
		return hangulBase + (l*vowelCount+v)*tailCount, true
	}
	if s, t := first-hangulBase, second-tailBase; 0 <= s && s < hangulCount && s%tailCount == 0 && 0 < t && t < tailCount {
		return first + t, true
	}
	if first < compositions[0][0] || second < utf8.RuneSelf {
		return 0, false
	}
	i, found := slices.BinarySearchFunc(compositions[:], [2]rune{first, second}, func(c [3]rune, p [2]rune) int {
		if c[0] != p[0] {
			return int(c[0] - p[0])
		}
		return int(c[1] - p[1])
	})
	if !found {
		return 0, false
	}
	return compositions[i][2], true
}
