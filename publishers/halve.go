package publishers

// Halve hands items over in as few calls of send as it takes to find the first
// that is refused for good, where a destination refuses a batch as a whole and
// does not say for which of them: a batch for which isRefusal says so is halved
// until that item stands alone. It returns how many were taken, all before that
// one, and the error of the one that was not.
func Halve[T any](items []T, send func([]T) error, isRefusal func(error) bool) (int, error) {
	if len(items) == 0 {
		return 0, nil
	}
	err := send(items)
	switch {
	case err == nil:
		return len(items), nil
	case len(items) == 1 || !isRefusal(err):
		return 0, err
	}
	half := len(items) / 2
	n, err := Halve(items[:half], send, isRefusal)
	if err != nil {
		return n, err
	}
	n, err = Halve(items[half:], send, isRefusal)
	return half + n, err
}
