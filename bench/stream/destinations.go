package main

import (
	"context"
	"fmt"
	"time"
)

// destination makes one and waits until it stands at the end of the log.
func (s *stand) destination(ctx context.Context, name, kind string, settings map[string]string) error {
	if err := s.call(ctx, "POST", "/management/v1/destinations", map[string]any{"name": name, "kind": kind, "settings": settings}, nil); err != nil {
		return err
	}
	return s.caughtUp(ctx, name)
}

func (s *stand) natsSettings(stream string) map[string]string {
	return map[string]string{"url": "nats://" + s.nats.Addr(), "stream": stream, "subject-prefix": stream}
}

func (s *stand) kafkaSettings(topic string) map[string]string {
	return map[string]string{"brokers": s.kafka.Addr(), "topic": topic, "partitions": "1", "replication-factor": "1"}
}

func (s *stand) logSettings(name string) map[string]string {
	return map[string]string{"target": "file", "file": name + ".jsonl"}
}

// caughtUp waits until a destination stands at the end of the log.
func (s *stand) caughtUp(ctx context.Context, name string) error {
	var d struct {
		Position, Head int64
		Lag            int64  `json:"lag-events"`
		Status         string `json:"status"`
		LastError      string `json:"last-error"`
	}
	for end := time.Now().Add(10 * time.Minute); ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if err := s.call(ctx, "GET", "/management/v1/destinations/"+name, nil, &d); err != nil {
			return err
		}
		if d.Lag == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("destination %s is %s, %d events behind: %s", name, d.Status, d.Lag, d.LastError)
		}
	}
	return context.Cause(ctx)
}

// end is the size of the log once every commit has its position.
func (s *stand) end(ctx context.Context) (int64, error) {
	conn, err := s.database.Connect(ctx, s.database.Roles().App, s.database.Roles().Database)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for ctx.Err() == nil {
		var size, pending int64
		if err := conn.QueryRow(ctx, `SELECT h.size, (SELECT count(*) FROM es.event WHERE append_seq > h.seen) + cardinality(h.holes) FROM es.log_head h`).Scan(&size, &pending); err != nil {
			return 0, err
		}
		if pending == 0 {
			return size, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return 0, context.Cause(ctx)
}
