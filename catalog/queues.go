package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Queues of tasks as the management API names them.
const (
	QueueExpiry    = "soft_deletion"    // dropped objects whose time to come back is over
	QueuePurge     = "tabular_purge"    // files of what was dropped with purge
	QueueTaskLog   = "task_log_cleanup" // finished tasks, of a project
	QueueDocuments = "metadata_cleanup" // old metadata files; it has no settings of its own
)

// WarehouseQueues are those that a warehouse has settings of, ProjectQueues
// those that a project has.
func WarehouseQueues() []string { return []string{QueueExpiry, QueuePurge} }

// ProjectQueues are those that a project has settings of.
func ProjectQueues() []string { return []string{QueueTaskLog} }

// QueueSettings are what a warehouse or project wants of one queue; nil leaves a
// setting to the server.
type QueueSettings struct {
	// HeartbeatSeconds is how long a process may be silent before what it ran is
	// taken up by another.
	HeartbeatSeconds *int64 `json:"max-seconds-since-last-heartbeat,omitempty"`
	// MaxAttempts is how often a task is tried before somebody has to look.
	MaxAttempts *int64 `json:"max-attempts,omitempty"`
	// FilesPerSecond bounds what one run of a purge deletes.
	FilesPerSecond *int64 `json:"files-per-second,omitempty"`
	// CleanupSeconds is how often finished tasks are cleaned up,
	// RetentionSeconds how long they are kept.
	CleanupSeconds   *int64 `json:"cleanup-seconds,omitempty"`
	RetentionSeconds *int64 `json:"retention-seconds,omitempty"`
}

// Bounds of the settings.
const (
	MaxHeartbeatSeconds = 30 * 24 * 3600
	MaxTaskAttempts     = 1000
	MaxFilesPerSecond   = 1_000_000
	MinCleanupSeconds   = 24 * 3600
	MaxQueueSeconds     = MaxExpirationSeconds
)

// Check refuses settings out of bounds, and those that the queue does not have.
func (q QueueSettings) Check(queue string) error {
	purge, log := queue == QueuePurge, queue == QueueTaskLog
	for _, s := range []struct {
		name        string
		value       *int64
		has         bool
		least, most int64
	}{
		{"max-seconds-since-last-heartbeat", q.HeartbeatSeconds, true, 1, MaxHeartbeatSeconds},
		{"max-attempts", q.MaxAttempts, !log, 1, MaxTaskAttempts},
		{"files-per-second", q.FilesPerSecond, purge, 1, MaxFilesPerSecond},
		{"cleanup-seconds", q.CleanupSeconds, log, MinCleanupSeconds, MaxQueueSeconds},
		{"retention-seconds", q.RetentionSeconds, log, 0, MaxQueueSeconds},
	} {
		switch {
		case s.value == nil:
		case !s.has:
			return fmt.Errorf("%s is no setting of the queue %s", s.name, queue)
		case *s.value < s.least || *s.value > s.most:
			return fmt.Errorf("%s must be between %d and %d", s.name, s.least, s.most)
		}
	}
	return nil
}

// Queues are the settings of a warehouse's or a project's queues, by their name.
type Queues map[string]QueueSettings

// ParseQueues reads what [Queues.Text] wrote; nothing gives no settings.
func ParseQueues(text []byte) (Queues, error) {
	queues := Queues{}
	if len(text) == 0 {
		return queues, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&queues); err != nil {
		return nil, fmt.Errorf("read the settings of queues: %w", err)
	}
	return queues, nil
}

// Text is the settings in JSON, equal for equal settings.
func (q Queues) Text() json.RawMessage {
	text, err := json.Marshal(q) // keys are sorted
	if err != nil {
		panic(err) // numbers alone
	}
	return text
}

// checkQueues holds settings in an event against the queues that there are.
func checkQueues(known []string) func([]byte) error {
	return func(text []byte) error {
		if err := checkMembers(text); err != nil {
			return err
		}
		queues, err := ParseQueues(text)
		if err != nil {
			return err
		}
		if len(queues) == 0 {
			return errors.New("no queue is named")
		}
		for _, name := range slices.Sorted(maps.Keys(queues)) {
			if !slices.Contains(known, name) {
				return fmt.Errorf("%q is no queue", name)
			}
			if err := queues[name].Check(name); err != nil {
				return err
			}
		}
		return nil
	}
}

// settingNames are the members of [QueueSettings], spelled exactly so.
var settingNames = []string{"max-seconds-since-last-heartbeat", "max-attempts", "files-per-second", "cleanup-seconds", "retention-seconds"}

// checkMembers refuses what encoding/json would read over: names in another case,
// and null.
func checkMembers(text []byte) error {
	var queues map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &queues); err != nil {
		return err
	}
	for queue, settings := range queues {
		if settings == nil {
			return fmt.Errorf("%q is no object", queue)
		}
		for name, value := range settings {
			if !slices.Contains(settingNames, name) {
				return fmt.Errorf("%q is no setting", name)
			}
			if string(value) == "null" {
				return fmt.Errorf("%s is null", name)
			}
		}
	}
	return nil
}
