package app

import (
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/eventstore"
)

func TestSequencerStandsStillOnlyWithWorkBeforeIt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var p progress
	for _, step := range []struct {
		after       time.Duration
		seen, drawn int64
		want        time.Duration
	}{
		{0, 5, 5, 0},
		{time.Minute, 5, 5, 0},                      // idle is not stuck
		{time.Minute, 5, 6, 0},                      // work has just come
		{20 * time.Second, 5, 7, 20 * time.Second},  // and stays
		{20 * time.Second, 5, 9, 40 * time.Second},  //
		{time.Second, 7, 9, 0},                      // it moves
		{10 * time.Second, 9, 9, 0},                 // it is done
		{time.Hour, 9, 10, 0},                       // long after: new work
		{31 * time.Second, 9, 10, 31 * time.Second}, //
	} {
		now = now.Add(step.after)
		if got := p.stood(now, eventstore.Head{Seen: step.seen, LastDrawn: step.drawn}); got != step.want {
			t.Errorf("seen %d of %d: stood %s, want %s", step.seen, step.drawn, got, step.want)
		}
	}
}

func TestGivenURLGetsAnotherRoleAndDatabase(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"postgres://me:pw@db.example:5433/x?sslmode=require":                  "postgres://icecore_app:s%40crt@db.example:5433/icecore?sslmode=require",
		"postgresql://h/?user=me&password=pw&dbname=x&host=/run/pg&port=5432": "postgresql://icecore_app:s%40crt@h/icecore?host=%2Frun%2Fpg&port=5432",
	} {
		if got, err := withUser(text, "icecore_app", "s@crt", "icecore"); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	if _, err := withUser("host=db user=me", "a", "b", "c"); err == nil {
		t.Error("the key=value form was accepted")
	}
}
