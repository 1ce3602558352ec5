package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
)

var testIDs = ids.NewV7(clock.System{})

// history is a sound run: two streams, an entry in the books for each event.
func history() (log []logged, books []entry, first []seen) {
	streams := [2]ids.ID{testIDs.New(), testIDs.New()}
	for i := range 10 {
		e := logged{
			Position: int64(i + 1), Epoch: 1, ID: testIDs.New(), Stream: streams[i%2], Version: int64(i/2 + 1),
			Type: "dev.icecore.table.committed", Request: testIDs.New(), Commit: testIDs.New(), Digest: fmt.Sprint(i),
		}
		log = append(log, e)
		books = append(books, entry{Request: e.Request, Once: e.Request, Kind: "commit", Events: 1, Outcome: acknowledged, Object: e.Stream})
		first = append(first, seen{e.Position, e.Epoch, e.ID, e.Stream, e.Version, e.Type, e.Digest})
	}
	return log, books, first
}

func TestChecksOfTheLogFindWhatIsWrong(t *testing.T) {
	t.Parallel()
	if log, _, _ := history(); checkLog(log).count != 0 {
		t.Errorf("sound: %s", checkLog(log))
	}
	for name, spoil := range map[string]func([]logged) []logged{
		"a gap":            func(l []logged) []logged { return slices.Delete(l, 4, 5) },
		"an event twice":   func(l []logged) []logged { l[9].ID = l[0].ID; return l },
		"a lost version":   func(l []logged) []logged { l[8].Version++; return l },
		"turned versions":  func(l []logged) []logged { l[2].Version, l[4].Version = l[4].Version, l[2].Version; return l },
		"a false position": func(l []logged) []logged { l[3].Position = 3; return l },
	} {
		log, _, _ := history()
		if checkLog(spoil(log)).count == 0 {
			t.Errorf("%s is not found", name)
		}
	}
}

func TestChecksOfTheBooksFindWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]struct {
		spoil func(log []logged, books []entry) ([]logged, []entry)
		sound bool
	}{
		"sound": {sound: true, spoil: func(l []logged, b []entry) ([]logged, []entry) { return l, b }},
		"unknown and there": {sound: true, spoil: func(l []logged, b []entry) ([]logged, []entry) {
			b[3].Outcome = unknown
			return l, b
		}},
		"unknown and not there": {sound: true, spoil: func(l []logged, b []entry) ([]logged, []entry) {
			return l, append(b, entry{Request: testIDs.New(), Once: testIDs.New(), Kind: "commit", Events: 1, Outcome: unknown})
		}},
		"one key, two requests, one commit": {sound: true, spoil: func(l []logged, b []entry) ([]logged, []entry) {
			again := b[3]
			again.Request = testIDs.New()
			return l, append(b, again)
		}},
		"an event of a job": {sound: true, spoil: func(l []logged, b []entry) ([]logged, []entry) {
			l[9].Type, l[9].Request = "dev.icecore.table.purged", testIDs.New()
			return l, b[:9]
		}},
		"acknowledged and lost": {spoil: func(l []logged, b []entry) ([]logged, []entry) { return l[:9], b }},
		"refused and there":     {spoil: func(l []logged, b []entry) ([]logged, []entry) { b[3].Outcome = refused; return l, b }},
		"invented":              {spoil: func(l []logged, b []entry) ([]logged, []entry) { return l, b[:9] }},
		"one key, two commits": {spoil: func(l []logged, b []entry) ([]logged, []entry) {
			b[2].Once, b[2].Outcome = b[4].Once, unknown
			return l, b
		}},
		"half of a transaction": {spoil: func(l []logged, b []entry) ([]logged, []entry) { b[3].Events = 2; return l, b }},
		"turned round":          {spoil: func(l []logged, b []entry) ([]logged, []entry) { b[2], b[4] = b[4], b[2]; return l, b }},
	} {
		log, books, _ := history()
		log, books = spoil.spoil(log, books)
		if p := checkBooks(books, log); p.count == 0 != spoil.sound {
			t.Errorf("%s: %s", name, p)
		}
	}
}

func TestChecksOfWhatWasSeenFindWhatIsWrong(t *testing.T) {
	t.Parallel()
	swap := func(i, j int) func([]seen) []seen {
		return func(s []seen) []seen { s[i], s[j] = s[j], s[i]; return s }
	}
	for name, test := range map[string]struct {
		spoil                   func([]seen) []seen
		whole, byStream, parked bool // what is sound
	}{
		"sound":                 {func(s []seen) []seen { return s }, true, true, true},
		"lost":                  {func(s []seen) []seen { return slices.Delete(s, 4, 5) }, false, false, false},
		"the last is lost":      {func(s []seen) []seen { return s[:9] }, false, false, false},
		"invented":              {func(s []seen) []seen { return append(s, seen{ID: testIDs.New()}) }, false, false, false},
		"streams mixed":         {swap(4, 5), false, true, false},
		"turned in a stream":    {swap(3, 5), false, false, false},
		"the parked comes late": {func(s []seen) []seen { parked := s[3]; return append(slices.Delete(s, 3, 4), parked) }, false, false, true},
		"twice":                 {func(s []seen) []seen { return append(s, s[0]) }, false, false, false},
		"other data":            {func(s []seen) []seen { s[2].Digest = "x"; return s }, false, false, false},
		"by reference":          {func(s []seen) []seen { s[2].Digest = ""; return s }, true, true, true},
		"a false position":      {func(s []seen) []seen { s[9].Position++; return s }, false, false, false},
	} {
		log, _, first := history()
		late := map[ids.ID]bool{log[3].ID: true}
		first = test.spoil(first)
		if p := checkSeen(log, first, false, nil); p.count == 0 != test.whole {
			t.Errorf("%s, order of the log: %s", name, p)
		}
		if p := checkSeen(log, first, true, nil); p.count == 0 != test.byStream {
			t.Errorf("%s, order of streams: %s", name, p)
		}
		if p := checkSeen(log, first, false, late); p.count == 0 != test.parked {
			t.Errorf("%s, one parked: %s", name, p)
		}
	}
}

func TestEachSoftDropEndsOnce(t *testing.T) {
	t.Parallel()
	stream := testIDs.New()
	story := func(verbs ...string) (log []logged) {
		for i, v := range verbs {
			log = append(log, logged{Position: int64(i + 1), Stream: stream, Type: "dev.icecore.table." + v, Expires: v == "dropped"})
		}
		return log
	}
	if p, undropped, expired := checkWinners(story("created", "dropped", "undropped", "committed", "dropped", "expired")); p.count != 0 || undropped != 1 || expired != 1 {
		t.Errorf("sound: %s, %d, %d", p, undropped, expired)
	}
	for _, wrong := range [][]string{
		{"created", "dropped", "undropped", "expired"}, {"created", "dropped", "expired", "undropped"},
		{"created", "expired"}, {"created", "dropped", "dropped"}, {"created", "dropped", "expired", "expired"},
	} {
		if p, _, _ := checkWinners(story(wrong...)); p.count == 0 {
			t.Errorf("%v is not found", wrong)
		}
	}
}

func TestSeedsAreRead(t *testing.T) {
	t.Parallel()
	seeds, err := readSeeds(filepath.Join("testdata", "seeds"))
	if err != nil || len(seeds) == 0 {
		t.Errorf("%v, %v", seeds, err)
	}
}
