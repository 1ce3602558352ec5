package storagetest

import (
	"slices"
	"strings"
	"testing"
)

// Names whose order differs between a walk through folders and the order of
// whole locations: '-' and '.' come before '/', '0' behind it.
var treeNames = []string{
	"t/a", "t/a-b", "t/a.txt", "t/a0", "t/ab", "t/b/x", "t/b/y/z", "t/b-/x", "t/b0/x", "t/b/x0", "t/c", "t/\u00e9", "t/A", "t/d/e/f/g/h",
}

func lists(t *testing.T, h Harness) {
	// "t/a" is an object here, so nothing lies below it.
	var want []string
	for _, name := range treeNames {
		put(t, h.Store, h.at(name), "x")
		want = append(want, h.at(name))
	}
	slices.Sort(want)
	wantList(t, h.Store, h.at("t"), want...)
	wantList(t, h.Store, h.at("t")+"/", want...)
	wantList(t, h.Store, h.at("t/b"), h.at("t/b/x"), h.at("t/b/x0"), h.at("t/b/y/z"))
	for _, limit := range []int{1, 2, 3, 5, len(want), len(want) + 1} {
		var got []string
		for after := ""; ; {
			page, err := h.Store.List(t.Context(), h.at("t"), after, limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) > limit {
				t.Fatalf("limit %d: a page of %d", limit, len(page))
			}
			got = append(got, locations(page)...)
			if len(page) < limit {
				break
			}
			after = page[limit-1].Location
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d:\n%s\nwant:\n%s", limit, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	// Any location may be resumed at, there or not.
	for _, after := range []string{"s", "t", "t/a-", "t/b", "t/b/x", "t/b/xx", "t/b/y", "t/b/y/z", "t/b/y/zz", "t/b0", "t/z", "u"} {
		infos, err := h.Store.List(t.Context(), h.at("t"), h.at(after), 1000)
		if err != nil {
			t.Fatal(err)
		}
		i, found := slices.BinarySearch(want, h.at(after))
		if found {
			i++
		}
		if got := locations(infos); !slices.Equal(got, want[i:]) {
			t.Errorf("after %s: %v, want %v", after, got, want[i:])
		}
	}
}

func listSiblings(t *testing.T, h Harness) {
	for _, name := range []string{"t1/a", "t1x/a", "t1-/a", "t1.json", "t10/a", "t"} {
		put(t, h.Store, h.at(name), "x")
	}
	wantList(t, h.Store, h.at("t1"), h.at("t1/a"))
	wantList(t, h.Store, h.at("t1.json"))
}

func listWhileDeleting(t *testing.T, h Harness) {
	var all []string
	for _, name := range treeNames {
		put(t, h.Store, h.at(name), "x")
		all = append(all, h.at(name))
	}
	var seen []string
	for after := ""; ; {
		page, err := h.Store.List(t.Context(), h.at("t"), after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range page {
			seen = append(seen, info.Location)
			if err := h.Store.Delete(t.Context(), info.Location); err != nil {
				t.Fatal(err)
			}
			if err := h.Store.Prune(t.Context(), h.at("t")); err != nil {
				t.Fatal(err)
			}
		}
		if len(page) < 3 {
			break
		}
		after = page[2].Location
	}
	slices.Sort(all)
	if !slices.Equal(seen, all) {
		t.Errorf("deleted %v, want %v", seen, all)
	}
	wantList(t, h.Store, h.at("t"))
}

func prune(t *testing.T, h Harness) {
	for _, name := range []string{"t/data/p=1/a", "t/data/p=2/b", "t/metadata/m", "u/x"} {
		put(t, h.Store, h.at(name), "x")
	}
	for _, name := range []string{"t/data/p=1/a", "t/metadata/m"} {
		if err := h.Store.Delete(t.Context(), h.at(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, prefix := range []string{"t", "t/none", "u/x"} {
		if err := h.Store.Prune(t.Context(), h.at(prefix)); err != nil {
			t.Fatal(err)
		}
	}
	wantList(t, h.Store, h.at("t"), h.at("t/data/p=2/b"))
	wantObject(t, h.Store, h.at("u/x"), "x")
	put(t, h.Store, h.at("t/metadata/m"), "again")
	wantObject(t, h.Store, h.at("t/metadata/m"), "again")
}
