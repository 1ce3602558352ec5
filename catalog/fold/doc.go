// Package fold decides which names are the same name: it turns a name into
// the key under which it is unique among its siblings (design, section 5).
//
// The key of a name is its Normalization Form C, folded by the simple case
// folding of Unicode 15.0 (statuses C and S of CaseFolding.txt), in Form C
// again, for folding can make a pair that composes. So Straße and STRAẞE are
// one name, STRASSE is another; K (Kelvin sign) is k; ς is σ; é is é however it
// was typed; İ is none of i, I and ı.
//
// # Invariants
//
//   - The tables are frozen: neither the Go toolchain's nor another module's
//     edition of Unicode has a say, for a rebuild years later must find the
//     same clashes. Code points that Unicode 15.0 does not assign stand for
//     themselves, for ever.
//   - A change of any key is a new [Version], a new column, and a report of the
//     names that clash under it.
//   - Keys are valid UTF-8 in Form C, and are their own keys.
package fold

// The generator needs a toolchain and a golang.org/x/text whose tables are
// those of Unicode 15.0.0 (Go 1.26 and before), and refuses any other.
//
//go:generate go run ./gen -o tables.go
