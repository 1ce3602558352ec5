package eventstore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Names of the CloudEvents extensions (design 3.5). sequence and streamversion
// are texts of twenty digits, since a CloudEvents Integer ends at 2^31-1 and
// the Sequence extension wants lexical order.
const (
	extSequence      = "sequence"      // position
	extStreamVersion = "streamversion" // version of the stream
	extEpoch         = "epoch"         // Integer
	extLogTime       = "logtime"       // Timestamp
	extPartitionKey  = "partitionkey"  // stream id
	extActor         = "actor"
	extRequestID     = "requestid"
	extCausation     = "causation"
	extCommitID      = "commitid"
	extCommitIndex   = "commitindex" // Integer, from 0
	extCommitSize    = "commitsize"  // Integer
	extWarehouseID   = "warehouseid"
	extProjectID     = "projectid"
	extTraceParent   = "traceparent"
)

// ErrMalformedEvent is wrapped by errors about CloudEvents that are not ours.
var ErrMalformedEvent = errors.New("malformed event")

// ToCloudEvent returns the entry as the CloudEvent that is published, shown
// and proved. source is "urn:icecore:<server id>". Its data are the stored
// bytes; an erased entry has none.
//
// In structured mode write it with its own MarshalJSON, which keeps those bytes;
// encoding/json's Marshal would take out spaces and escape <, > and &, and the
// leaf could not be computed from the result.
func ToCloudEvent(e Entry, source string) (event.Event, error) {
	ce := event.New(event.CloudEventsVersionV1)
	ce.SetID(e.ID.String())
	ce.SetSource(source)
	ce.SetType(e.Type)
	ce.SetSubject(subjectOf(&e.Record))
	ce.SetTime(e.Time)
	ce.SetDataSchema(e.DataSchema)
	ce.SetDataContentType(event.ApplicationJSON)
	ce.DataEncoded = e.Data

	if e.Position < 0 || e.Version < 0 || e.Epoch < 0 || e.Epoch > 1<<31-1 {
		return event.Event{}, fmt.Errorf("encode event %s: position %d, version %d or epoch %d out of range", e.ID, e.Position, e.Version, e.Epoch)
	}
	ce.SetExtension(extSequence, twentyDigits(e.Position))
	ce.SetExtension(extStreamVersion, twentyDigits(e.Version))
	ce.SetExtension(extEpoch, int32(e.Epoch))
	ce.SetExtension(extLogTime, types.Timestamp{Time: e.LogTime.UTC()})
	ce.SetExtension(extPartitionKey, e.Stream.String())
	ce.SetExtension(extCommitID, e.CommitID.String())
	ce.SetExtension(extCommitIndex, int32(e.CommitIndex))
	ce.SetExtension(extCommitSize, int32(e.CommitSize))
	for _, optional := range []struct {
		name string
		id   ids.ID
	}{
		{extActor, e.Actor},
		{extRequestID, e.RequestID},
		{extCausation, e.Causation},
		{extWarehouseID, e.Warehouse},
		{extProjectID, e.Project},
	} {
		if !optional.id.IsNil() {
			ce.SetExtension(optional.name, optional.id.String())
		}
	}
	if e.TraceParent != "" {
		ce.SetExtension(extTraceParent, e.TraceParent)
	}
	if err := ce.Validate(); err != nil {
		return event.Event{}, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	return ce, nil
}

// FromCloudEvent is the way back, for consumers, tests and tools that verify.
// The result has no AppendSeq, which is the database's own affair; the leaf is
// computed when there are data. Errors wrap [ErrMalformedEvent].
func FromCloudEvent(ce event.Event) (Entry, error) {
	r := attributes{ce: ce, extensions: ce.Extensions()}
	if err := ce.Validate(); err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrMalformedEvent, err)
	}
	entity, object, slash := strings.Cut(ce.Subject(), "/")
	e := Entry{
		Record: Record{
			ID: r.id("id", ce.ID()), Stream: r.id("subject", object), StreamType: entity, Type: ce.Type(),
			DataSchema: ce.DataSchema(), Time: ce.Time().UTC(), Data: ce.Data(),
			Version:  r.number(extStreamVersion),
			CommitID: r.id(extCommitID, r.text(extCommitID)), CommitIndex: r.integer(extCommitIndex), CommitSize: r.integer(extCommitSize),
			Actor: r.optionalID(extActor), RequestID: r.optionalID(extRequestID), Causation: r.optionalID(extCausation),
			Warehouse: r.optionalID(extWarehouseID), Project: r.optionalID(extProjectID), TraceParent: r.text(extTraceParent),
		},
		Position: r.number(extSequence), Epoch: int64(r.integer(extEpoch)), LogTime: r.time(extLogTime),
		Erased: ce.Data() == nil,
	}
	if !slash || entity == "" {
		r.fail("subject")
	}
	if key := r.text(extPartitionKey); key != object {
		r.fail(extPartitionKey)
	}
	if r.bad != "" {
		return Entry{}, fmt.Errorf("%w %s: attribute %s", ErrMalformedEvent, ce.ID(), r.bad)
	}
	if !e.Erased {
		e.Leaf = Leaf(&e.Record)
	}
	return e, nil
}

// attributes reads extensions and remembers the first that is malformed.
type attributes struct {
	ce         event.Event
	extensions map[string]any
	bad        string
}

func (a *attributes) fail(name string) {
	if a.bad == "" {
		a.bad = name
	}
}

func (a *attributes) text(name string) string {
	value, present := a.extensions[name]
	if !present {
		return ""
	}
	text, err := types.ToString(value)
	if err != nil {
		a.fail(name)
	}
	return text
}

func (a *attributes) id(name, text string) ids.ID {
	id, err := ids.Parse(text)
	if err != nil {
		a.fail(name)
	}
	return id
}

func (a *attributes) optionalID(name string) ids.ID {
	if _, present := a.extensions[name]; !present {
		return ids.Nil
	}
	return a.id(name, a.text(name))
}

// number reads twenty digits.
func (a *attributes) number(name string) int64 {
	text := a.text(name)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || twentyDigits(n) != text {
		a.fail(name)
	}
	return n
}

func (a *attributes) integer(name string) int {
	n, err := types.ToInteger(a.extensions[name])
	if err != nil || n < 0 {
		a.fail(name)
	}
	return int(n)
}

func (a *attributes) time(name string) time.Time {
	t, err := types.ToTime(a.extensions[name])
	if err != nil {
		a.fail(name)
	}
	return t.UTC()
}
