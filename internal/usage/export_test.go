package usage

// Kept returns how many counters are held in memory.
func (c *Counter) Kept() (n int) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += len(*s.counters.Load()) + len(s.retired)
		s.mu.Unlock()
	}
	return n
}
