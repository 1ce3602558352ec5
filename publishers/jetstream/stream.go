package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/icecore-catalog/icecore/publishers"
)

// ownerKey is the stream's metadata that says whose it is.
const ownerKey = "dev.icecore.destination"

var (
	// ErrUnfit says that a stream that is there can't be the destination's.
	ErrUnfit = errors.New("the stream does not fit the destination")

	errForeign = errors.New("the stream's last message is no event of a log")
)

// standing is where a stream stands.
type standing struct {
	seq      uint64           // of the last message that was ever stored
	id       string           // Nats-Msg-Id of that message; empty when it is gone
	place    publishers.Place // of the newest event that is there; zero when none is
	replicas int
	lasting  bool // nothing but an operator removes the last message
}

// stream makes or checks the destination's stream and returns its configuration
// as it is.
func (t *Transport) stream(ctx context.Context, c *connection) (*natsjs.StreamInfo, error) {
	handle, err := c.js.Stream(ctx, t.settings.Stream)
	if errors.Is(err, natsjs.ErrStreamNotFound) && t.settings.Manage {
		handle, err = c.js.CreateStream(ctx, t.settings.streamConfig(t.destination, t.owner))
	}
	switch {
	case errors.Is(err, natsjs.ErrStreamNotFound):
		return nil, fmt.Errorf("stream %s: it does not exist, and manage-stream is false", t.settings.Stream)
	case err != nil:
		return nil, fmt.Errorf("stream %s: %w", t.settings.Stream, cause(ctx, err))
	}
	info := handle.CachedInfo()
	if reasons := t.settings.misfits(&info.Config, t.owner); len(reasons) > 0 {
		return nil, fmt.Errorf("%w: stream %s %s", ErrUnfit, t.settings.Stream, strings.Join(reasons, ", "))
	}
	if t.settings.Manage && t.owner != "" && info.Config.Metadata[ownerKey] == "" {
		config := info.Config
		config.Metadata = map[string]string{ownerKey: t.owner}
		for key, value := range info.Config.Metadata {
			if !strings.HasPrefix(key, "_nats.") { // the server's own
				config.Metadata[key] = value
			}
		}
		if handle, err = c.js.UpdateStream(ctx, config); err != nil {
			return nil, fmt.Errorf("mark stream %s as the destination's: %w (with manage-stream=false it is left as it is)", t.settings.Stream, cause(ctx, err))
		}
		info = handle.CachedInfo()
	}
	return info, nil
}

// streamConfig is that of a stream that is made.
func (s *Settings) streamConfig(destination, owner string) natsjs.StreamConfig {
	config := natsjs.StreamConfig{
		Name: s.Stream, Subjects: []string{s.Prefix + ".>"}, AllowDirect: true,
		Description: "Events of an Icecore log, in its order: destination " + destination,
		Replicas:    1, MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1, MaxMsgsPerSubject: -1,
	}
	if owner != "" {
		config.Metadata = map[string]string{ownerKey: owner}
	}
	set(&config.Replicas, s.Replicas)
	set(&config.Storage, s.Storage)
	set(&config.Retention, s.Retention)
	set(&config.Discard, s.Discard)
	set(&config.MaxAge, s.MaxAge)
	set(&config.MaxBytes, s.MaxBytes)
	set(&config.MaxMsgs, s.MaxMessages)
	set(&config.Duplicates, s.DuplicateWindow)
	return config
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// misfits says why a stream can't be the destination's, in clauses behind its
// name. A setting that says nothing is content with anything.
func (s *Settings) misfits(c *natsjs.StreamConfig, owner string) (reasons []string) {
	misfit := func(is bool, format string, args ...any) {
		if is {
			reasons = append(reasons, fmt.Sprintf(format, args...))
		}
	}
	subjects := []string{s.Prefix + ".>"}
	misfit(!slices.Equal(c.Subjects, subjects), "takes the subjects %q and has to take %q alone", c.Subjects, subjects[0])
	misfit(c.Mirror != nil || len(c.Sources) > 0, "is fed from other streams")
	misfit(c.SubjectTransform != nil, "changes subjects")
	misfit(c.Sealed, "is sealed")
	misfit(c.NoAck, "acknowledges nothing")
	misfit(c.MaxMsgsPerSubject > 0, "keeps no more than %d messages of a subject", c.MaxMsgsPerSubject)
	misfit(c.AllowMsgCounter, "holds counters")
	other := c.Metadata[ownerKey]
	misfit(owner != "" && other != "" && other != owner,
		"belongs to another destination (%s in its metadata; take that out to give it to this one)", ownerKey)

	differ := func(setting string, is, want any) {
		misfit(is != want, "has %s %v, and the setting is %v", setting, is, want)
	}
	if s.Replicas != nil {
		differ("replicas", c.Replicas, *s.Replicas)
	}
	if s.Storage != nil {
		differ("storage", c.Storage, *s.Storage)
	}
	if s.Retention != nil {
		differ("retention", c.Retention, *s.Retention)
	}
	if s.Discard != nil {
		differ("discard", c.Discard, *s.Discard)
	}
	if s.MaxAge != nil {
		differ("max-age", c.MaxAge, *s.MaxAge)
	}
	if s.MaxBytes != nil {
		differ("max-bytes", c.MaxBytes, *s.MaxBytes)
	}
	if s.MaxMessages != nil {
		differ("max-messages", c.MaxMsgs, *s.MaxMessages)
	}
	if s.DuplicateWindow != nil {
		differ("duplicate-window", c.Duplicates, *s.DuplicateWindow)
	}
	return reasons
}

// stand reads where the stream stands, from its leader: a direct get would be
// answered by any replica, also by one that is behind.
func (t *Transport) stand(ctx context.Context, c *connection, info *natsjs.StreamInfo) (standing, error) {
	s := standing{
		seq: info.State.LastSeq, replicas: info.Config.Replicas,
		lasting: info.Config.Retention == natsjs.LimitsPolicy && info.Config.MaxAge == 0,
	}
	if info.State.Msgs == 0 {
		return s, nil
	}
	newest, err := t.get(ctx, c, map[string]any{"seq": s.seq})
	if errors.Is(err, errNoMessage) { // taken out, and older ones are there
		newest, err = t.get(ctx, c, map[string]any{"last_by_subj": t.settings.Prefix + ".>"})
	}
	if errors.Is(err, errNoMessage) {
		return s, nil // the last one went in between
	}
	if err != nil {
		return standing{}, err
	}
	if s.place, err = placeOf(newest.header); err != nil {
		return standing{}, fmt.Errorf("stream %s: %w", t.settings.Stream, err)
	}
	if newest.seq >= s.seq {
		s.seq, s.id = newest.seq, newest.header.Get(natsjs.MsgIDHeader)
	}
	return s, nil
}

type stored struct {
	seq    uint64
	header natsgo.Header
}

var errNoMessage = errors.New("no such message")

// get asks the stream's leader for a message.
func (t *Transport) get(ctx context.Context, c *connection, which map[string]any) (stored, error) {
	request, err := json.Marshal(which)
	if err != nil {
		return stored{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	answer, err := c.nats.RequestWithContext(ctx, c.api+"STREAM.MSG.GET."+t.settings.Stream, request)
	if err != nil {
		return stored{}, fmt.Errorf("last message of stream %s: %w", t.settings.Stream, cause(ctx, err))
	}
	var body struct {
		Error   *natsjs.APIError `json:"error"`
		Message *struct {
			Sequence uint64 `json:"seq"`
			Header   []byte `json:"hdrs"`
		} `json:"message"`
	}
	switch err := json.Unmarshal(answer.Data, &body); {
	case err != nil:
		return stored{}, fmt.Errorf("last message of stream %s: %w", t.settings.Stream, err)
	case body.Error != nil && body.Error.ErrorCode == natsjs.JSErrCodeMessageNotFound:
		return stored{}, errNoMessage
	case body.Error != nil:
		return stored{}, fmt.Errorf("last message of stream %s: %w", t.settings.Stream, body.Error)
	case body.Message == nil:
		return stored{}, fmt.Errorf("last message of stream %s: the answer has none", t.settings.Stream)
	}
	if len(body.Message.Header) == 0 {
		return stored{seq: body.Message.Sequence}, nil
	}
	header, err := natsgo.DecodeHeadersMsg(body.Message.Header)
	if err != nil {
		return stored{}, fmt.Errorf("last message of stream %s: %w", t.settings.Stream, err)
	}
	return stored{seq: body.Message.Sequence, header: header}, nil
}

// apiTimeout bounds one question to the server where nobody else does.
const apiTimeout = 10 * time.Second
