package projections

import "runtime"

// Waiting returns how many calls stand in the resolver's queue.
func Waiting(r *SharedResolver) int {
	runtime.Gosched()
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiting)
}
