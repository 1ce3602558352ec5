package fold_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/icecore-catalog/icecore/catalog/fold"
)

func TestNameVectors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ rule, name, key string }{
		{"empty", "", ""},
		{"ASCII keeps what has no case", "a0_.-$ {}@[`", "a0_.-$ {}@[`"},
		{"ASCII letters", "Orders_2024", "orders_2024"},
		{"composed", "Café", "caf\u00e9"},
		{"decomposed", "Cafe\u0301", "caf\u00e9"},
		{"dotted capital I folds to nothing else", "İ", "\u0130"},
		{"dotted capital I, decomposed", "I\u0307", "\u0130"},
		{"small i with a dot is not the dotted capital", "i\u0307", "i\u0307"},
		{"dotless i stays", "ı", "\u0131"},
		{"capital I is i in every language", "I", "i"},
		{"sharp s stays one letter", "Straße", "straße"},
		{"capital sharp s", "STRAẞE", "straße"},
		{"two s are not a sharp s", "STRASSE", "strasse"},
		{"Kelvin sign", "\u212a", "k"},
		{"Angstrom sign", "\u212b", "\u00e5"},
		{"Ohm sign", "\u2126", "\u03c9"},
		{"micro sign", "\u00b5", "\u03bc"},
		{"long s", "\u017f", "s"},
		{"long s with dot", "\u017f\u0307", "\u1e61"},
		{"final sigma", "ΟΔΟΣ", "οδοσ"},
		{"final sigma as written", "οδος", "οδοσ"},
		{"titlecase digraph", "ǅ", "ǆ"},
		{"Greek with iota subscript", "ᾼ", "ᾳ"},
		{"ligatures are not taken apart", "ﬁ", "ﬁ"},
		{"fullwidth stays fullwidth", "Ａ", "ａ"},
		{"Cherokee folds to its capitals", "\uab70", "\u13a0"},
		{"Deseret", "\U00010400", "\U00010428"},
		{"folding makes a pair that composes", "H\u0331", "\u1e96"},
		{"rho with rough breathing", "\u03f1\u0314", "\u1fe5"},
		{"marks are ordered", "a\u0301\u0323", "\u1ea1\u0301"},
		{"marks of one class keep their order", "x\u0301\u0300", "x\u0301\u0300"},
		{"blocked mark", "a\u0345\u0301", "\u00e1\u03b9"},
		{"Hangul jamo", "\u1112\u1161\u11ab", "한"},
		{"Hangul with another tail", "하\u11ab", "한"},
		{"Hangul vowel alone", "\u1161", "\u1161"},
		{"Hangul syllable with tail takes no second", "한\u11ab", "한\u11ab"},
		{"old Hangul does not compose", "\u1113\u1161", "\u1113\u1161"},
		{"compatibility ideograph", "\uf900", "豈"},
		{"excluded composition", "\u0958", "\u0915\u093c"},
		{"excluded three part composition", "\ufb2c", "\u05e9\u05bc\u05c1"},
		{"supplementary composition", "\U00011131\U00011127", "\U0001112e"},
		{"mark at the beginning", "\u0301A", "\u0301a"},
		{"emoji sequence", "👩\u200d🚀", "👩\u200d🚀"},
		{"unassigned in Unicode 15", "\U0001c000\u0378", "\U0001c000\u0378"},
		{"invalid bytes", "A\xff\xc3", "a\ufffd\ufffd"},
		{"surrogate half as bytes", "\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
		{"replacement character", "\ufffd", "\ufffd"},
	} {
		if got := fold.Name(test.name); got != test.key {
			t.Errorf("%s: Name(%+q) = %+q, want %+q", test.rule, test.name, got, test.key)
		}
	}
}

// compositionPairs returns the full decompositions of all code points, of the
// toolchain's edition of Unicode but for those that 15.0 does not have.
func compositionPairs() []string {
	var pairs []string
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if fold.Name(string(r)) == string(r) && norm.NFD.String(string(r)) == string(r) {
			continue
		}
		if utf8.ValidRune(r) && assigned(r) {
			pairs = append(pairs, norm.NFD.String(string(r)))
		}
	}
	return pairs
}

// oracle is the rule of the package, told by other tables: those of the
// toolchain and x/text.
func oracle(name string) string {
	folded := strings.Map(func(r rune) rune {
		class := []rune{r}
		for member := unicode.SimpleFold(r); member != r; member = unicode.SimpleFold(member) {
			class = append(class, member)
		}
		switch {
		case len(class) == 1:
			return r
		case slices.ContainsFunc(class, func(r rune) bool { return 0x13a0 <= r && r <= 0x13f5 }):
			return slices.Min(class)
		}
		return unicode.To(unicode.LowerCase, unicode.To(unicode.UpperCase, r))
	}, norm.NFC.String(name))
	return norm.NFC.String(folded)
}

// assigned reports that the toolchain's tables say about r what Unicode 15.0
// says; a later toolchain knows more characters.
func assigned(r rune) bool {
	return unicode.Version == "15.0.0" && norm.Version == "15.0.0" || unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Hangul) && r < 0x2000
}

func TestNameAgreesWithOtherTables(t *testing.T) {
	t.Parallel()
	check := func(name string) {
		if got, want := fold.Name(name), oracle(name); got != want {
			t.Fatalf("Name(%+q) = %+q, want %+q", name, got, want)
		}
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) && assigned(r) {
			check(string(r))
		}
	}
	for _, r := range interesting {
		check("a\u0301" + string(r) + "\u0323\u0301")
		check(string(r) + string(r))
		check(norm.NFD.String(string(r)))
	}
}

// interesting are the code points that normalisation or folding does something
// with, and some with which it does nothing.
var interesting = func() []rune {
	runes := []rune{'a', 'B', '0', ' ', '漢', '한', 0x1100, 0x1161, 0x11a8, 0x11a7, 0x034f}
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) && assigned(r) && (r < '가' || r > '힣') && !unicode.Is(unicode.Han, r) &&
			(unicode.SimpleFold(r) != r || norm.NFD.PropertiesString(string(r)).CCC() != 0 || norm.NFD.String(string(r)) != string(r)) {
			runes = append(runes, r)
		}
	}
	return runes
}()

// names are short texts in which much happens. Marks do not exceed 30 in a
// row: there x/text inserts a joiner, which Form C does not.
func names() *rapid.Generator[string] {
	r := rapid.OneOf(
		rapid.SampledFrom(interesting),
		rapid.SampledFrom([]rune{'a', 'A', 'e', 'o', 'ι', 'Ω', 'ρ', 0x300, 0x301, 0x323, 0x328, 0x345, 0x331, 0x1161, 0x1100, 0x11a8}),
	)
	return rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(r, 0, 20).Draw(t, "runes")) })
}

func TestNameOfRandomTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := names().Draw(t, "name")
		key := fold.Name(name)
		if want := oracle(name); key != want {
			t.Fatalf("Name(%+q) = %+q, want %+q", name, key, want)
		}
		if again := fold.Name(key); again != key {
			t.Fatalf("the key %+q of %+q has another key %+q", key, name, again)
		}
		if !norm.NFC.IsNormalString(key) {
			t.Fatalf("the key %+q of %+q is not in Form C", key, name)
		}
		if other := fold.Name(norm.NFD.String(name)); other != key {
			t.Fatalf("decomposed, %+q has the key %+q instead of %+q", name, other, key)
		}
	})
}

func TestNamesThatDifferInCaseHaveOneKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := []rune(names().Draw(t, "name"))
		twin := slices.Clone(name)
		for i, r := range name {
			// Two exceptions that the rule brings with it: U+0345 is a mark that
			// composes and folds to a letter, and the capital I with dot has no
			// small letter of its own.
			if r == 0x345 || unicode.SimpleFold(r) == 0x345 || unicode.SimpleFold(unicode.SimpleFold(r)) == 0x345 || r|0x20 == 'i' {
				name[i], twin[i] = 'x', 'X'
				continue
			}
			for range rapid.IntRange(0, 3).Draw(t, "steps") {
				twin[i] = unicode.SimpleFold(twin[i])
			}
			if twin[i] == 0x345 || twin[i] == 0x1fbe || twin[i] == 0x399 || twin[i] == 0x3b9 {
				name[i], twin[i] = 'x', 'X'
			}
		}
		if a, b := fold.Name(string(name)), fold.Name(string(twin)); a != b {
			t.Fatalf("%+q has the key %+q, %+q has %+q", string(name), a, string(twin), b)
		}
	})
}

func TestEveryCompositeFoldsLikeItsParts(t *testing.T) {
	t.Parallel()
	for _, parts := range compositionPairs() {
		whole := norm.NFC.String(parts)
		if a, b := fold.Name(parts), fold.Name(whole); a != b {
			t.Errorf("%+q has the key %+q, but composed %+q has %+q", parts, a, whole, b)
		}
		if key := fold.Name(parts); fold.Name(key) != key {
			t.Errorf("%+q has the key %+q, whose key is %+q", parts, key, fold.Name(key))
		}
	}
}

func TestLongRunsOfMarksStayCheapAndOrdered(t *testing.T) {
	t.Parallel()
	const n = 200_000 // quadratic sorting would take minutes
	marks := []rune{0x301, 0x323, 0x345, 0x328, 0x334}
	random := rand.New(rand.NewPCG(1, 2))
	text := []rune{'Q'}
	count := map[rune]int{}
	for range n {
		mark := marks[random.IntN(len(marks))]
		text = append(text, mark)
		count[mark]++
	}
	// None of these composes with q; U+0345 becomes iota.
	want := "q" + strings.Repeat("\u0334", count[0x334]) + strings.Repeat("\u0328", count[0x328]) + strings.Repeat("\u0323", count[0x323]) +
		strings.Repeat("\u0301", count[0x301]) + strings.Repeat("\u03b9", count[0x345])
	if fold.Name(string(text)) != want {
		t.Fatal("a long run of marks is not in canonical order")
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	own := []string{"a", "b", "é"}
	if got := fold.Levels(own); &got[0] != &own[0] {
		t.Error("levels that are their own keys are copied")
	}
	given := []string{"a", "B", "c", "E\u0301"}
	if got, want := fold.Levels(given), []string{"a", "b", "c", "é"}; !slices.Equal(got, want) {
		t.Errorf("Levels(%q) = %q, want %q", given, got, want)
	}
	if given[1] != "B" {
		t.Error("the given levels were changed")
	}
	if got := fold.Levels(nil); len(got) != 0 {
		t.Errorf("Levels(nil) = %q", got)
	}
}

func TestKeysThatAreTheirOwnCostNoAllocation(t *testing.T) {
	for _, name := range []string{"orders_2024", "größe", "受注", "заказы", "한글"} {
		if n := testing.AllocsPerRun(100, func() { _ = fold.Name(name) }); n != 0 {
			t.Errorf("Name(%q) allocates %v times", name, n)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, seed := range []string{"", "Orders", "Café", "H\u0331", "\u1112\u1161\u11ab", "a\u0345\u0301", "\xff\xfe", strings.Repeat("\u0301\u0323", 40)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		key := fold.Name(name)
		if again := fold.Name(key); again != key {
			t.Fatalf("the key %+q of %+q has another key %+q", key, name, again)
		}
		if !utf8.ValidString(key) {
			t.Fatalf("the key %+q of %+q is no UTF-8", key, name)
		}
		if len(key) > 4*len(name) {
			t.Fatalf("the key of %d bytes has %d", len(name), len(key))
		}
	})
}

func BenchmarkName(b *testing.B) {
	for _, name := range []string{"orders_2024", "Orders_2024", "Größe", "受注データ", "Cafe\u0301", "한글"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = fold.Name(name)
			}
		})
	}
}
