package kafka_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/publishers/kafka/kafkatest"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestTopicIsMadeOrChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		partitions int32             // of the topic that is there; 0: none is
		configs    map[string]string // of that topic
		settings   map[string]string
		wants      string // of the error; empty: it works
		limit      int
	}{
		"made as the settings say":   {0, nil, map[string]string{"partitions": "5", "max-message-bytes": "50000"}, "", 50_000},
		"made with one partition":    {0, nil, map[string]string{"partitions": "", "max-message-bytes": ""}, "", 1_048_588},
		"not to be made":             {0, nil, map[string]string{"create-topic": "false"}, "create-topic is false", 0},
		"as many as there are":       {4, nil, map[string]string{"partitions": ""}, "", limit},
		"another number":             {4, nil, map[string]string{"partitions": "3"}, "has 4 partitions and not 3", 0},
		"compacted":                  {3, map[string]string{"cleanup.policy": "compact"}, nil, "compacted", 0},
		"deleted and compacted":      {3, map[string]string{"cleanup.policy": "compact,delete"}, nil, "compacted", 0},
		"a smaller bound of its own": {3, map[string]string{"max.message.bytes": "30000"}, map[string]string{"max-message-bytes": ""}, "", 30_000},
		"a smaller one than is set":  {3, map[string]string{"max.message.bytes": "30000"}, nil, "fewer than the setting max-message-bytes", 0},
		"a bound too small":          {3, map[string]string{"max.message.bytes": "200"}, nil, "too few", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var options []kfake.Opt
			if c.partitions > 0 {
				options = append(options, kfake.SeedTopics(c.partitions, topic))
			}
			cluster := newCluster(t, options...)
			configure(t, cluster.addr, c.configs)
			p := cluster.open(t, c.settings)
			err := p.Prepare(t.Context())
			if c.wants != "" {
				if err == nil || !strings.Contains(err.Error(), c.wants) || !strings.Contains(err.Error(), topic) {
					t.Errorf("%v, want %q", err, c.wants)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := p.MaxMessageBytes(); got > c.limit || got < c.limit-100 {
				t.Errorf("MaxMessageBytes = %d, want nearly %d", got, c.limit)
			}
			prepare(t, p) // it is there now
		})
	}
}

func configure(t *testing.T, addr string, configs map[string]string) {
	t.Helper()
	if configs == nil {
		return
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	for name, value := range configs {
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Name, config.Value = name, &value
		resource.Configs = append(resource.Configs, config)
	}
	request.Resources = append(request.Resources, resource)
	response, err := request.RequestWith(t.Context(), client)
	if err != nil || response.Resources[0].ErrorCode != 0 {
		t.Fatal(err, response)
	}
}

// Some of the brokers that an operator named may be gone for good.
func TestOneBrokerThatIsThereIsEnough(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	p := cluster.open(t, map[string]string{"brokers": "127.0.0.1:1," + cluster.proxy.Addr() + ",127.0.0.1:2"})
	for range 5 { // sarama shuffles them
		prepare(t, p)
	}
	cluster.proxy.SetDown(true)
	if err := p.Prepare(t.Context()); err == nil {
		t.Error("none is enough, too")
	}
}

// The topic's bound holds for all records of a batch together, so messages that
// fit one by one are split over requests.
func TestMessagesThatFitOneByOneAreTakenTogether(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	p, log := cluster.open(t, map[string]string{"partitions": "1"}), publishertest.NewLog(t)
	prepare(t, p)
	var batch []eventstore.Entry
	for range 8 {
		batch = append(batch, log.AppendLarge(limit/2))
	}
	publish(t, p, append(batch, log.Append(1)...))
	if n := len(kafkatest.Records(t, cluster.addr, topic)); n != 9 {
		t.Errorf("%d messages, want 9", n)
	}
}

// What consumers in other languages are written against.
func TestMessageGolden(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	p, log := cluster.open(t, nil), publishertest.NewLog(t)
	prepare(t, p)
	publish(t, p, log.Append(1))
	records := kafkatest.Records(t, cluster.addr, topic)
	if len(records) != 1 || len(records[0].Key) != 36 {
		t.Fatalf("%d messages", len(records))
	}
	var lines []string
	for _, h := range records[0].Headers {
		value := string(h.Value)
		if h.Key == "icecore_batch" {
			value = fmt.Sprintf("<%d digits>", len(value))
		}
		if strings.HasSuffix(h.Key, "id") || slices.Contains([]string{"ce_actor", "ce_partitionkey", "ce_subject"}, h.Key) {
			value = masked(value)
		}
		lines = append(lines, h.Key+": "+value)
	}
	slices.Sort(lines) // extensions are a map
	got := strings.Join(lines, "\n") + "\n\n" + string(records[0].Value) + "\n"
	golden := filepath.Join("testdata", "message.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// masked replaces an id that the test draws.
func masked(value string) string {
	entity, _, found := strings.Cut(value, "/")
	if found {
		return entity + "/<id>"
	}
	return "<id>"
}
