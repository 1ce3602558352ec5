package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/icecore-catalog/icecore/bench/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// broker is where a consumer listens.
type broker struct {
	title, name string
	follow      func(context.Context) (*arrivals, func(), error)
}

// brokers makes the destinations that consumers follow.
func (s *stand) brokers(ctx context.Context) ([]broker, error) {
	list := []broker{{"NATS", "nats", func(ctx context.Context) (*arrivals, func(), error) { return s.followNATS(ctx, streamName) }}}
	if err := s.destination(ctx, "nats", "nats", s.natsSettings(streamName)); err != nil {
		return nil, err
	}
	if s.kafka != nil {
		if err := s.destination(ctx, "kafka", "kafka", s.kafkaSettings(topicName)); err != nil {
			return nil, err
		}
		list = append(list, broker{"Kafka", "kafka", func(context.Context) (*arrivals, func(), error) { return s.followKafka(topicName) }})
	}
	return list, nil
}

// latency measures the way from an event to its consumer, one broker at a time.
func (s *stand) latency(ctx context.Context) ([]string, error) {
	brokers, err := s.brokers(ctx)
	if err != nil {
		return nil, err
	}
	lines := []string{
		"| broker | commits/s | p50 from the event's time | p99 | p50 from the client's answer | p99 | target |",
		"| --- | ---: | ---: | ---: | ---: | ---: | --- |",
	}
	for _, b := range brokers {
		if err := s.pauseAllBut(ctx, brokers, b.name); err != nil {
			return nil, err
		}
		for _, text := range strings.Split(s.o.rates, ",") {
			rate, err := strconv.Atoi(text)
			if err != nil {
				return nil, err
			}
			line, err := s.latencyAt(ctx, b, rate)
			if tooFast := (*tooFastError)(nil); errors.As(err, &tooFast) {
				line, err = fmt.Sprintf("| %s | %d | not reached: %.0f commits/s was all | | | | ≤ 100 ms |", b.title, rate, float64(tooFast.count)/tooFast.took.Seconds()), nil
			}
			if err != nil {
				return nil, fmt.Errorf("%s at %d commits a second: %w", b.title, rate, err)
			}
			fmt.Fprintln(os.Stderr, line)
			lines = append(lines, line)
		}
	}
	return lines, s.pauseAllBut(ctx, brokers, "")
}

// pauseAllBut lets one destination work, which then is at the end of the log; ""
// lets all.
func (s *stand) pauseAllBut(ctx context.Context, brokers []broker, name string) error {
	for _, b := range brokers {
		verb := "/pause"
		if b.name == name || name == "" {
			verb = "/resume"
		}
		if err := s.call(ctx, "POST", "/management/v1/destinations/"+b.name+verb, nil, nil); err != nil {
			return err
		}
		if verb == "/resume" {
			if err := s.caughtUp(ctx, b.name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stand) latencyAt(ctx context.Context, b broker, rate int) (string, error) {
	a, stop, err := b.follow(ctx)
	if err != nil {
		return "", err
	}
	defer stop()
	size, err := s.end(ctx)
	if err != nil {
		return "", err
	}
	if err := a.await(ctx, size); err != nil {
		return "", err
	}
	a.forget()
	var mu sync.Mutex
	answered := map[ids.ID]time.Time{}
	if err := s.paced(ctx, rate, s.o.window, func(id ids.ID, at time.Time) {
		mu.Lock()
		defer mu.Unlock()
		answered[id] = at
	}); err != nil {
		return "", err
	}
	if size, err = s.end(ctx); err != nil {
		return "", err
	}
	if err := a.await(ctx, size); err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var whole, rest []time.Duration
	for id, at := range answered {
		came, ok := a.at[id.String()]
		if !ok {
			return "", fmt.Errorf("the event of request %s did not come", id)
		}
		whole, rest = append(whole, a.took[id.String()]), append(rest, max(came.Sub(at), 0))
	}
	w50, w99 := quantiles(whole)
	r50, r99 := quantiles(rest)
	return fmt.Sprintf("| %s | %d | %s | **%s** | %s | %s | ≤ 100 ms |", b.title, rate, ms(w50), ms(w99), ms(r50), ms(r99)), nil
}

func quantiles(list []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(list)
	if len(list) == 0 {
		return 0, 0
	}
	return list[len(list)/2], list[min(len(list)-1, len(list)*99/100)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

// rates compares commits while three destinations follow with commits while they
// are paused, in turns.
func (s *stand) rates(ctx context.Context) ([]string, error) {
	names := []string{"rate-nats", "rate-kafka", "rate-log"}
	if err := s.destination(ctx, names[0], "nats", s.natsSettings("rate")); err != nil {
		return nil, err
	}
	kind, settings := "nats", s.natsSettings("rate2")
	if s.kafka != nil {
		kind, settings = "kafka", s.kafkaSettings("rate")
	}
	if err := s.destination(ctx, names[1], kind, settings); err != nil {
		return nil, err
	}
	if err := s.destination(ctx, names[2], "log", s.logSettings("rate")); err != nil {
		return nil, err
	}
	for _, other := range []string{"nats", "kafka"} { // of the other section; they need not be there
		_ = s.call(ctx, "POST", "/management/v1/destinations/"+other+"/pause", nil, nil)
	}
	var with, without []wire.Result
	window := s.o.window / 2
	for range s.o.rounds {
		for _, name := range names {
			if err := s.call(ctx, "POST", "/management/v1/destinations/"+name+"/resume", nil, nil); err != nil {
				return nil, err
			}
			if err := s.caughtUp(ctx, name); err != nil {
				return nil, err
			}
		}
		r, err := s.window(ctx, window)
		if err != nil {
			return nil, err
		}
		with = append(with, r)
		for _, name := range names {
			if err := s.caughtUp(ctx, name); err != nil {
				return nil, err
			}
			if err := s.call(ctx, "POST", "/management/v1/destinations/"+name+"/pause", nil, nil); err != nil {
				return nil, err
			}
		}
		if r, err = s.window(ctx, window); err != nil {
			return nil, err
		}
		without = append(without, r)
	}
	a, b := median(without), median(with)
	return []string{
		fmt.Sprintf("%d clients, each with tables of its own; the median of %d windows of %s, in turns. The destinations are NATS, %s and a log file.\n", writers, s.o.rounds, window, strings.ToUpper(kind[:1])+kind[1:]),
		"| destinations | commits/s | p50 | p99 | ratio | target |", "| ---: | ---: | ---: | ---: | ---: | --- |",
		fmt.Sprintf("| 0 | %.0f | %s | %s | | |", a.Rate(), ms(a.P50), ms(a.P99)),
		fmt.Sprintf("| 3 | %.0f | %s | %s | **%.2f** | ≥ 0.9 |", b.Rate(), ms(b.P50), ms(b.P99), b.Rate()/a.Rate()),
	}, nil
}

func (s *stand) window(ctx context.Context, d time.Duration) (wire.Result, error) {
	r, err := wire.Run(ctx, s.addr, writers, d, 0, s.commit)
	if err == nil && r.Errors > 0 {
		err = fmt.Errorf("%d wrong answers, the first: %s", r.Errors, r.FirstBad)
	}
	return r, err
}

func median(results []wire.Result) wire.Result {
	slices.SortFunc(results, func(x, y wire.Result) int { return int(x.Rate() - y.Rate()) })
	return results[len(results)/2]
}

// grow brings the log to the size that is caught up with and rebuilt from. No
// destination follows meanwhile.
func (s *stand) grow(ctx context.Context) (int64, error) {
	size, err := s.end(ctx)
	if err != nil || size >= int64(s.o.events) {
		return size, err
	}
	fmt.Fprintf(os.Stderr, "the log grows from %d to %d events\n", size, s.o.events)
	r, err := wire.Run(ctx, s.addr, writers, time.Hour, s.o.events-int(size), s.commit)
	if err == nil && r.Errors > 0 {
		err = fmt.Errorf("%d wrong answers, the first: %s", r.Errors, r.FirstBad)
	}
	if err != nil {
		return 0, err
	}
	return s.end(ctx)
}

// rebuild measures `icecore rebuild` on the whole log.
func (s *stand) rebuild(ctx context.Context) ([]string, error) {
	size, err := s.grow(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	out, err := s.command(ctx, "rebuild", "--quiet")
	if err != nil {
		return nil, err
	}
	took := time.Since(start)
	if !strings.Contains(out, "sound") {
		return nil, fmt.Errorf("rebuild found differences: %s", out)
	}
	return []string{
		"| what | events | time | events/s | target |", "| --- | ---: | ---: | ---: | --- |",
		fmt.Sprintf("| `icecore rebuild`: read, fold, compare, swap | %d | %.1f s | **%.0f** | ≥ 20,000 |", size, took.Seconds(), float64(size)/took.Seconds()),
	}, nil
}
