package publishers_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/icecore-catalog/icecore/publishers"
)

func TestHalvingTakesAllBeforeTheFirstRefused(t *testing.T) {
	t.Parallel()
	refused, broken := errors.New("refused"), errors.New("broken")
	for size := range 12 {
		items := make([]int, size)
		for i := range items {
			items[i] = i
		}
		for bad := range size + 1 { // the last: none
			var taken []int
			n, err := publishers.Halve(items, func(part []int) error {
				if slices.Contains(part, bad) {
					return refused
				}
				taken = append(taken, part...)
				return nil
			}, func(err error) bool { return errors.Is(err, refused) })
			if n != bad || !slices.Equal(taken, items[:bad]) || (err == nil) != (bad == size) {
				t.Errorf("%d items, %d refused: %d taken, %v, %v", size, bad, n, taken, err)
			}
		}
	}
	calls := 0
	n, err := publishers.Halve([]int{1, 2, 3}, func([]int) error { calls++; return broken }, func(err error) bool { return errors.Is(err, refused) })
	if n != 0 || !errors.Is(err, broken) || calls != 1 {
		t.Errorf("a failure that is no refusal: %d taken in %d calls, %v", n, calls, err)
	}
}
