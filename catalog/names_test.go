package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/icecore-catalog/icecore/catalog"
)

func TestNamesThatMayExist(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"a", "A b", "a.b", "a/b", "...", "a\nb", "\x7f", "%2F", "a+b", `"quoted"`, "'", "münchen", "数据", "🦆", strings.Repeat("n", 255), "a\u00a0b", "system",
	} {
		if err := catalog.ValidateName("table", name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if err := (catalog.Namespace{"top", name}).Validate(); err != nil {
			t.Errorf("namespace level %q: %v", name, err)
		}
	}
}

func TestNamesThatMayNot(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "a\x00", "a\x1fb", ".", "..", "\xff", "a\xc3", strings.Repeat("n", 256), strings.Repeat("ä", 128),
		strings.Repeat("Ⱥ", 127), // 254 bytes, 381 when folded
	} {
		err := catalog.ValidateName("table", name)
		if catalog.KindOf(err) != catalog.BadRequest {
			t.Errorf("%q: %v", name, err)
		}
		if err != nil && len(name) > 2 && strings.Contains(err.Error(), name) {
			t.Errorf("%q is repeated in %q", name, err)
		}
		if catalog.Addressable(name) {
			t.Errorf("%q is addressable", name)
		}
		if err := (catalog.Namespace{name}).Validate(); err == nil {
			t.Errorf("namespace level %q is accepted", name)
		}
	}
	deep := catalog.Namespace(slices.Repeat([]string{"x"}, catalog.MaxLevels))
	if err := deep.Validate(); err != nil {
		t.Errorf("%d levels: %v", len(deep), err)
	}
	for name, n := range map[string]catalog.Namespace{
		"no level": {}, "too deep": append(deep, "x"), "too long": slices.Repeat([]string{strings.Repeat("n", 255)}, 8),
	} {
		if err := n.Validate(); catalog.KindOf(err) != catalog.BadRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFoldedPathKeepsLevelsApart(t *testing.T) {
	t.Parallel()
	level := rapid.StringMatching(`[A-Za-zÄäß. /]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a := catalog.Namespace(rapid.SliceOfN(level, 1, 4).Draw(t, "a"))
		b := catalog.Namespace(rapid.SliceOfN(level, 1, 4).Draw(t, "b"))
		same := len(a) == len(b)
		for i := 0; same && i < len(a); i++ {
			same = catalog.FoldName(a[i]) == catalog.FoldName(b[i])
		}
		if (a.Fold() == b.Fold()) != same {
			t.Fatalf("%q and %q fold to %q and %q", a, b, a.Fold(), b.Fold())
		}
		if p := a.Parent(); p != nil && !strings.HasPrefix(a.Fold(), p.Fold()+catalog.Separator) {
			t.Fatalf("%q does not lie below %q", a.Fold(), p.Fold())
		}
	})
}

func TestClaimsOfOneObjectNeverOverlap(t *testing.T) {
	t.Parallel()
	got := catalog.Claims("s/b/t/", "s/b/t/md/", "s/b/t2/", "s/a/", "s/b/t/")
	if want := []string{"s/a/", "s/b/t/", "s/b/t2/"}; !slices.Equal(got, want) {
		t.Errorf("claims %q, want %q", got, want)
	}
	added, removed := catalog.ClaimsDiff([]string{"s/a/", "s/b/"}, []string{"s/b/", "s/c/"})
	if !slices.Equal(added, []string{"s/c/"}) || !slices.Equal(removed, []string{"s/a/"}) {
		t.Errorf("added %q, removed %q", added, removed)
	}
}
