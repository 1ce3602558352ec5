package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/icecore-catalog/icecore/iceberg"
)

// step is one commit, tried by both sides.
type step struct {
	base    *iceberg.Metadata // nil for a create
	updates string
	file    string
	now     int64

	ours              *iceberg.Metadata
	theirs            []byte
	oursErr, theirErr error
}

func (s *step) run() {
	s.ours, s.oursErr = s.runOurs()
	s.theirs, s.theirErr = s.runTheirs()
}

func (s *step) runOurs() (*iceberg.Metadata, error) {
	updates, err := iceberg.DecodeUpdates([]byte(s.updates))
	if err != nil {
		return nil, err
	}
	next, _, err := iceberg.Apply(s.base, updates, iceberg.BuildContext{
		NowMS: s.now, MetadataLocation: s.file, NewUUID: func() string { return "11111111-2222-4333-8444-555555555555" },
	})
	return next, err
}

func (s *step) runTheirs() (doc []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	var updates table.Updates
	if err := json.Unmarshal([]byte(s.updates), &updates); err != nil {
		return nil, err
	}
	var next table.Metadata
	if s.base == nil {
		next, err = createTheirs(updates)
	} else {
		base, perr := table.ParseMetadataBytes(s.base.Bytes())
		if perr != nil {
			return nil, fmt.Errorf("UNREADABLE: %w", perr)
		}
		next, err = table.UpdateTableMetadata(base, updates, s.file)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(next)
}

func createTheirs(updates table.Updates) (table.Metadata, error) {
	version := 2
	for _, u := range updates {
		if u.Action() == table.UpdateUpgradeFormatVersion {
			var up struct {
				FormatVersion int `json:"format-version"`
			}
			raw, err := json.Marshal(u)
			if err != nil {
				return nil, err
			}
			if err := json.Unmarshal(raw, &up); err != nil {
				return nil, err
			}
			version = up.FormatVersion
			break
		}
	}
	b, err := table.NewMetadataBuilder(version)
	if err != nil {
		return nil, err
	}
	for _, u := range updates {
		if err := u.Apply(b); err != nil {
			return nil, err
		}
	}
	return b.Build()
}

// judge reports what no known difference explains.
func (s *step) judge(seen map[string]int) []string {
	var faults []string
	explain := func(k *known, what string) {
		if k == nil {
			faults = append(faults, what)
			return
		}
		seen[k.id]++
	}
	switch {
	case s.oursErr != nil && s.theirErr != nil:
	case s.oursErr != nil:
		explain(refused(s, icecore, s.oursErr.Error()), "only icecore refuses: "+s.oursErr.Error())
	case s.theirErr != nil:
		explain(refused(s, icebergGo, s.theirErr.Error()), "only iceberg-go refuses: "+s.theirErr.Error())
	default:
		ours, err := document(s.ours.Bytes())
		if err != nil {
			return []string{err.Error()}
		}
		theirs, err := document(s.theirs)
		if err != nil {
			return []string{err.Error()}
		}
		for _, d := range compare("", ours, theirs) {
			explain(differs(s, d), d.String())
		}
	}
	// Whatever icecore accepts, the other side must be able to read.
	if s.oursErr == nil {
		if _, err := table.ParseMetadataBytes(s.ours.Bytes()); err != nil {
			explain(refused(s, "reader", err.Error()), "iceberg-go cannot read icecore's document: "+err.Error())
		}
	}
	return faults
}

func setting(t *testing.T, name string, fallback int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestHistories drives both sides through generated histories and the named
// scenarios of the known differences.
func TestHistories(t *testing.T) {
	seed := setting(t, "ICECORE_ORACLE_SEED", 1)
	histories := setting(t, "ICECORE_ORACLE_HISTORIES", 100)
	seen := map[string]int{}
	steps, accepted, faults := 0, 0, 0
	for h := range histories {
		g := &generator{rand.New(rand.NewPCG(uint64(seed), uint64(h))), time.Now().UnixMilli()}
		s := &step{updates: g.create(1 + h%3), now: g.now}
		for i := 0; i < 25 && faults < 20; i++ {
			s.run()
			steps++
			for _, f := range s.judge(seen) {
				faults++
				t.Errorf("seed %d history %d step %d: %s\nupdates %s\nbase %s", seed, h, i, f, s.updates, baseOf(s))
			}
			if s.oursErr == nil {
				accepted++
				s = &step{base: s.ours, file: iceberg.NextMetadataFile(s.ours, s.file, "u")}
			} else if s.base == nil {
				t.Fatalf("create refused: %v", s.oursErr)
			} else {
				s = &step{base: s.base, file: s.file}
			}
			g.now += int64(g.IntN(50))
			s.now, s.updates = g.now, g.updates(s.base)
		}
	}
	for _, sc := range scenarios(t) {
		sc.step.run()
		for _, f := range sc.step.judge(seen) {
			t.Errorf("scenario %s: %s\nupdates %s\nbase %s", sc.name, f, sc.step.updates, baseOf(sc.step))
		}
	}
	t.Logf("%d steps, %d accepted by icecore", steps, accepted)
	for i := range knownDifferences {
		k := &knownDifferences[i]
		t.Logf("%6d × %s (right: %s)", seen[k.id], k.id, k.right)
		if seen[k.id] == 0 {
			t.Errorf("known difference %s was not met: is it gone?", k.id)
		}
	}
}

func baseOf(s *step) []byte {
	if s.base == nil {
		return nil
	}
	return s.base.Bytes()
}

// TestKnownDifferencesAreSaid: each entry names a side and a reason.
func TestKnownDifferencesAreSaid(t *testing.T) {
	ids := []string{}
	for _, k := range knownDifferences {
		if slices.Contains(ids, k.id) {
			t.Errorf("%s twice", k.id)
		}
		ids = append(ids, k.id)
		if k.why == "" || !slices.Contains([]string{icecore, icebergGo, both}, k.right) {
			t.Errorf("%s: who is right, and why?", k.id)
		}
		if (k.refusedBy == "") == (k.path == "") {
			t.Errorf("%s: either a refusal or a path", k.id)
		}
	}
}
