package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/IBM/sarama"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/icecore-catalog/icecore/e2e/kafka"
	"github.com/icecore-catalog/icecore/e2e/nats"
	"github.com/icecore-catalog/icecore/internal/ids"
)

const (
	// natsStream is that of a destination that halts at what is refused, parkStream
	// that of one that parks it.
	natsStream, parkStream = "chaos", "parks"
	kafkaTopic             = "chaos"
	kafkaPartitions        = 3
)

// publish starts the brokers, makes their destinations, and follows them.
func (r *rig) publish(ctx context.Context, c *client) error {
	if r.o.nats {
		p, err := nats.Start(ctx, filepath.Join(r.folder, "nats"))
		if err != nil {
			return err
		}
		r.defer_(func() { _ = p.Kill() })
		r.nats = p
		for _, d := range []struct{ name, stream, policy string }{{"nats", natsStream, "halt"}, {"nats-parks", parkStream, "park"}} {
			if err := r.destination(ctx, c, d.name, "nats", d.policy, map[string]string{
				"url": "nats://" + p.Addr(), "stream": d.stream, "subject-prefix": d.stream, "connect-timeout": "2s",
			}); err != nil {
				return err
			}
			if err := r.consume(ctx, "NATS ("+d.policy+")", d.name+".jsonl", false, func(ctx context.Context, one *record) error {
				return consumeNATS(ctx, p.Addr(), d.stream, one)
			}); err != nil {
				return err
			}
		}
	}
	if r.o.kafka {
		b, err := kafka.Start(ctx, kafka.Options{Dir: filepath.Join(r.folder, "kafka")})
		if err != nil {
			return err
		}
		r.defer_(func() { _ = b.Kill() })
		r.kafka = b
		if err := r.destination(ctx, c, "kafka", "kafka", "halt", map[string]string{
			"brokers": b.Addr(), "topic": kafkaTopic, "partitions": strconv.Itoa(kafkaPartitions), "replication-factor": "1",
		}); err != nil {
			return err
		}
		if err := r.consume(ctx, "Kafka", "kafka.jsonl", true, func(ctx context.Context, one *record) error {
			return consumeKafka(ctx, b.Addr(), kafkaTopic, kafkaPartitions, one)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) destination(ctx context.Context, c *client, name, kind, policy string, settings map[string]string) error {
	return c.must(ctx, "POST", "/management/v1/destinations", map[string]any{"name": name, "kind": kind, "on-refusal": policy, "settings": settings}, nil)
}

// operate asks for something of an operator until it is done. What it makes of the
// log is not asked for: what is so already makes no event.
func (c *client) operate(ctx context.Context, method, path string) error {
	var last error
	for range 100 {
		a, err := c.once(ctx, c.next(), method, path, nil, nil)
		c.books.note(entry{Request: a.request, Once: a.request, Kind: setUpKind, Outcome: acknowledged, Status: a.status})
		switch {
		case err == nil && a.status < 300:
			return nil
		case err != nil:
			last = err
		default:
			last = fmt.Errorf("%s %s: %d %.300s", method, path, a.status, a.body)
		}
		pause(ctx, 100*time.Millisecond)
	}
	return last
}

// refuse has NATS refuse messages above a size for a while, which nearly all are:
// the stream's owner set it too low. One destination halts, and an operator lets
// it go on; the other parks, and what it parked is published in the end.
func (r *rig) refuse(ctx context.Context, c *client, size int32, wait time.Duration) error {
	for _, name := range []string{natsStream, parkStream} {
		if err := r.limit(ctx, name, size); err != nil {
			return err
		}
	}
	pause(ctx, wait)
	for _, name := range []string{natsStream, parkStream} {
		if err := r.limit(ctx, name, -1); err != nil {
			return err
		}
	}
	return c.operate(ctx, "POST", "/management/v1/destinations/nats/resume")
}

// limit bounds the messages of a stream.
func (r *rig) limit(ctx context.Context, name string, size int32) error {
	var last error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end) && ctx.Err() == nil; pause(ctx, 200*time.Millisecond) {
		if last = r.limitOnce(ctx, name, size); last == nil {
			return nil
		}
	}
	return fmt.Errorf("bound the messages of %s: %w", name, last)
}

func (r *rig) limitOnce(ctx context.Context, name string, size int32) error {
	nc, err := natsgo.Connect("nats://"+r.nats.(*nats.Broker).Addr(), natsgo.Timeout(2*time.Second))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return err
	}
	config := stream.CachedInfo().Config
	config.MaxMsgSize = size
	_, err = js.UpdateStream(ctx, config)
	return err
}

// refuseKafka has the broker refuse batches, and then single messages, above a
// size for a while: the topic's owner set it too low. The destination halts at one
// that is larger alone, and an operator lets it go on.
func (r *rig) refuseKafka(ctx context.Context, c *client, size int, wait time.Duration) error {
	limit := strconv.Itoa(size)
	if err := r.limitTopic(ctx, sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &limit}); err != nil {
		return err
	}
	pause(ctx, wait)
	if err := r.limitTopic(ctx, sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationDelete}); err != nil {
		return err
	}
	return c.operate(ctx, "POST", "/management/v1/destinations/kafka/resume")
}

// limitTopic bounds the messages of the topic.
func (r *rig) limitTopic(ctx context.Context, limit sarama.IncrementalAlterConfigsEntry) error {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.Net.DialTimeout, config.Net.ReadTimeout, config.Admin.Timeout = 3*time.Second, 3*time.Second, 3*time.Second
	once := func() error {
		admin, err := sarama.NewClusterAdmin([]string{r.kafka.(*kafka.Broker).Addr()}, config)
		if err != nil {
			return err
		}
		defer admin.Close()
		return admin.IncrementalAlterConfig(sarama.TopicResource, kafkaTopic, map[string]sarama.IncrementalAlterConfigsEntry{"max.message.bytes": limit}, false)
	}
	var last error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end) && ctx.Err() == nil; pause(ctx, 200*time.Millisecond) {
		if last = once(); last == nil {
			return nil
		}
	}
	return fmt.Errorf("bound the messages of topic %s: %w", kafkaTopic, last)
}

// unpark lets every parked event in, and returns those that were.
func (r *rig) unpark(ctx context.Context, c *client) (map[ids.ID]bool, error) {
	late := map[ids.ID]bool{}
	if r.nats == nil {
		return late, nil
	}
	const path = "/management/v1/destinations/nats-parks/parked"
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end) && ctx.Err() == nil; pause(ctx, 200*time.Millisecond) {
		a, err := c.get(ctx, path+"?page_size=1000")
		if err != nil {
			return nil, err
		}
		if a.status != http.StatusOK {
			return nil, fmt.Errorf("list what is parked: %d %s", a.status, a.body)
		}
		var page struct {
			Parked []struct {
				Position int64
				Event    ids.ID `json:"event-id"`
				Retry    bool
			}
		}
		if err := unmarshal(a.body, &page); err != nil {
			return nil, err
		}
		if len(page.Parked) == 0 {
			return late, nil
		}
		for _, p := range page.Parked {
			late[p.Event] = true
			if p.Retry {
				continue
			}
			a, err := c.once(ctx, c.next(), "POST", path+"/"+strconv.FormatInt(p.Position, 10)+"/retry", nil, nil)
			c.books.note(entry{Request: a.request, Once: a.request, Kind: setUpKind, Outcome: acknowledged, Status: a.status})
			if err == nil && a.status >= 300 && a.status != http.StatusNotFound && a.status != http.StatusConflict && a.status != http.StatusServiceUnavailable {
				return nil, fmt.Errorf("retry position %d: %d %s", p.Position, a.status, a.body)
			}
		}
	}
	return late, fmt.Errorf("after five minutes events are still parked (%d were)", len(late))
}
