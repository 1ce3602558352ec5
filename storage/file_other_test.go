//go:build !linux

package storage_test

import "os"

// exchange swaps two names, in steps.
func exchange(a, b string) error {
	for _, step := range [][2]string{{a, a + ".swap"}, {b, a}, {a + ".swap", b}} {
		if err := os.Rename(step[0], step[1]); err != nil {
			return err
		}
	}
	return nil
}
