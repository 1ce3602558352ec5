package eventstore

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// BenchmarkAppend compares plain commits that share transactions with plain
// commits that have one each, by one writer and by 32, on streams of their
// own. The test cluster does not sync, so it is PostgreSQL's work that counts.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 32} {
		for _, way := range []struct {
			name    string
			flights int
		}{{"alone", -1}, {"shared1", 1}, {"shared2", 2}, {"shared3", 3}} {
			b.Run(way.name+"/"+strconv.Itoa(writers), func(b *testing.B) {
				var flown, flights atomic.Int64
				s := setup(b, func(c *Config) {
					c.SharedFlights = way.flights
					c.Observer.Shared = func(n int) { flown.Add(int64(n)); flights.Add(1) }
				})
				var left atomic.Int64
				left.Store(int64(b.N))
				var all sync.WaitGroup
				b.ResetTimer()
				for range writers {
					all.Go(func() {
						stream := testIDs.New()
						if _, err := s.Append(b.Context(), creation(stream)); err != nil {
							b.Error(err)
							return
						}
						for version := int64(1); left.Add(-1) >= 0; version++ {
							if _, err := s.Append(b.Context(), change(stream, version)); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				if n := flights.Load(); n > 0 {
					b.ReportMetric(float64(flown.Load())/float64(n), "commits/flight")
				}
			})
		}
	}
}
