package storage

import "syscall"

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
	l, err := ParseLocation(location)
	if err != nil {
		return false, true
	}
	for _, spelling := range s.spellings {
		if within(l.path, spelling) {
			// Each load does this: no more than the path and the call.
			var found syscall.Stat_t
			for err = syscall.EINTR; err == syscall.EINTR; { //nolint:errorlint // a bare Errno
				err = syscall.Stat(s.folder+l.path[len(spelling):], &found)
			}
			return !isAbsent(err), true
		}
	}
	return false, true
}
