package ids_test

import (
	"errors"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
)

func TestV7AscendsWhileTheClockStandsOrStepsBack(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(time.UnixMilli(1_700_000_000_123))
	source := ids.NewV7(c)
	last := source.New()
	for i := range 10_000 {
		if i == 5_000 {
			c.Advance(-time.Hour)
		}
		next := source.New()
		if next.Compare(last) <= 0 {
			t.Fatalf("id %d: %s does not come after %s", i, next, last)
		}
		if next[6]>>4 != 7 || next[8]>>6 != 2 {
			t.Fatalf("%s is not a version 7 UUID of the RFC 9562 variant", next)
		}
		last = next
	}
}

func TestV7CarriesTheClock(t *testing.T) {
	t.Parallel()
	id := ids.NewV7(clock.NewFake(time.UnixMilli(0x0123456789ab))).New()
	if got := id.String()[:13]; got != "01234567-89ab" {
		t.Fatalf("the first 48 bits are %s, not the clock's milliseconds", got)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	const text = "018f3c1e-7b2a-7cde-8f01-23456789abcd"
	for _, in := range []string{text, "018F3C1E-7B2A-7CDE-8F01-23456789ABCD"} {
		id, err := ids.Parse(in)
		if err != nil || id.String() != text {
			t.Errorf("Parse(%q) = %s, %v", in, id, err)
		}
	}
	for _, in := range []string{"", "x", text[:35], text + "0", "018f3c1e_7b2a_7cde_8f01_23456789abcd", "018f3c1e-7b2a-7cde-8f01-23456789abcg"} {
		if _, err := ids.Parse(in); !errors.Is(err, ids.ErrMalformed) {
			t.Errorf("Parse(%q): error %v, want ErrMalformed", in, err)
		}
	}
}

func TestIDsTellWhenTheyWereMade(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 123_000_000, time.UTC)
	if got, ok := ids.NewV7(clock.NewFake(at.Add(456 * time.Microsecond))).New().Time(); !ok || !got.Equal(at) {
		t.Errorf("%v, %v", got, ok)
	}
	if got, ok := ids.MustParse("8d3f3c1e-7b2a-4cde-8f01-000000000001").Time(); ok {
		t.Errorf("a random id was made at %v", got)
	}
}
