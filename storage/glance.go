package storage

import "os"

// Glance looks whether anything lies at a location, where that costs one
// system call and no request. cheap is false when it would cost more: then
// nothing was looked at. It follows links wherever they lead and reads nothing,
// so the answer is a hint for a caller who already holds what he would read
// there; when it says absent, [Objects.Stat] tells for sure.
func Glance(store Store, location string) (there, cheap bool) {
	s, ok := store.(*fileStore)
	if !ok {
		return false, false
	}
	_, below, err := s.locate(location)
	if err != nil {
		return false, true
	}
	_, err = os.Stat("/" + joinPath(s.root, joinPath(joinPath(s.base...), joinPath(below...))))
	return !isAbsent(err), true
}
