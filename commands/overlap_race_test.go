package commands_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// A hundred claims race over overlapping places: parents, children, siblings,
// equal ones, by create, by create from a staged one, by set-location and by
// write.metadata.path, from two instances. Exactly a set of non-overlapping
// ones survives, and everybody who lost overlaps with a survivor.
func TestOverlappingClaimsRace(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{Conns: 12})
	b := kit.New(t, kit.Setup{Share: a, Conns: 12})
	a.Namespace("db")
	const tables = 40
	for i := range tables {
		a.Table("db", fmt.Sprintf("old%d", i))
	}
	places := []string{"/p", "/p/a", "/p/a/x", "/p/a/y", "/p/b", "/p/ab", "/p/b/x/y", "/q", "/q/a", "/q/b", "/r/a", "/r/b", "/r/a/x", "/s/one", "/s/two", "/s/one2"}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	type claim struct {
		place string
		err   error
	}
	claims := make([]claim, 100)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range claims {
		place := places[random.IntN(len(places))]
		location := "file://" + a.Root + place
		k := []*kit.Kit{a, b}[i%2]
		wg.Go(func() {
			<-start
			var err error
			switch {
			case i < 20:
				_, err = k.Create("db", fmt.Sprintf("new%d", i), `,"location":"`+location+`"`)
			case i < 40:
				_, err = k.Create("db", fmt.Sprintf("new%d", i), `,"properties":{"write.metadata.path":"`+location+`"}`)
			case i < 60:
				_, err = k.Commit(kit.At("db", fmt.Sprintf("new%d", i)), assertCreate, creation(location, k.IDs.New().String()))
			case i < 80:
				_, err = k.Commit(kit.At("db", fmt.Sprintf("old%d", i-60)), "", `[{"action":"set-location","location":"`+location+`"}]`)
			default:
				_, err = k.Commit(kit.At("db", fmt.Sprintf("old%d", i-60)), "", `[{"action":"set-properties","updates":{"write.metadata.path":"`+location+`"}}]`)
			}
			claims[i] = claim{place, err}
		})
	}
	close(start)
	wg.Wait()

	overlap := func(x, y string) bool { return strings.HasPrefix(x+"/", y+"/") || strings.HasPrefix(y+"/", x+"/") }
	var won []string
	for i, c := range claims {
		if c.err != nil {
			continue
		}
		for _, other := range won {
			if overlap(c.place, other) {
				t.Errorf("%s and %s both survived", c.place, other)
			}
		}
		won = append(won, claims[i].place)
	}
	for _, c := range claims {
		if c.err == nil {
			continue
		}
		var e *catalog.Error
		if !errors.As(c.err, &e) || e.Message != overlaps {
			t.Errorf("%s: %v", c.place, c.err)
		}
		beaten := false
		for _, other := range won {
			beaten = beaten || overlap(c.place, other)
		}
		if !beaten {
			t.Errorf("%s lost to nobody", c.place)
		}
	}
	t.Logf("survived: %v", won)

	// Every file stands below a claim of its table: losers left nothing.
	rows, err := a.Pool.Query(t.Context(), "SELECT location FROM rm.location_claim")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var held []string
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			t.Fatal(err)
		}
		held = append(held, key)
	}
	// Tables that moved left their first file where they had been.
	files := kit.Files(t, a.Root)
	if want := len(a.Events()) - 4; len(files) != want {
		t.Errorf("%d files for %d states of tables: %v", len(files), want, files)
	}
	if len(held) < tables {
		t.Errorf("%d claims", len(held))
	}
}
