package catalog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// TypePrefix opens the type of every event (CloudEvents: reverse DNS).
const TypePrefix = "dev.icecore."

// schemaPrefix opens every dataschema. It is a URN and not a URL, for the
// schema belongs to the event for ever and a host name does not.
const schemaPrefix = "urn:icecore:events:"

// Event is the typed payload of a record. Its fields hold resolved facts, so
// that replay never asks a clock or a random source (design 3.5).
type Event interface {
	// EventType returns the CloudEvents type, "dev.icecore.<entity>.<verb>".
	EventType() string
	// fields names every member of the payload in its canonical order.
	fields(*coder)
}

// kind is what the codec knows of an event type.
type kind struct {
	version int          // the version that is written today
	event   func() Event // a new, empty event of that version
	// upcasters lift an older payload by one version each: the first from 1 to
	// 2, the second from 2 to 3. They are pure and run on reading only; what is
	// stored and published stays as it was written.
	upcasters []func(data []byte) ([]byte, error)
}

// first is the kind of an event type at its first version.
func first(event func() Event) (kind, bool) { return kind{version: 1, event: event}, true }

// second is the kind of an event type at its second version.
func second(event func() Event, lift func([]byte) ([]byte, error)) (kind, bool) {
	return kind{version: 2, event: event, upcasters: []func([]byte) ([]byte, error){lift}}, true
}

// kindOf finds an event type.
func kindOf(typ string) (kind, bool) {
	switch typ {
	case TypeNamespaceCreated:
		return first(func() Event { return new(NamespaceCreated) })
	case TypeNamespacePropertiesUpdated:
		return first(func() Event { return new(NamespacePropertiesUpdated) })
	case TypeNamespaceDropped:
		return second(func() Event { return new(NamespaceDropped) }, namespaceDroppedV1)
	case TypeTableCreated:
		return second(func() Event { return new(TableCreated) }, vacantV1)
	case TypeTableCommitted:
		return second(func() Event { return new(TableCommitted) }, vacantV1)
	case TypeTableRenamed:
		return first(func() Event { return new(TableRenamed) })
	case TypeTableRegistered:
		return first(func() Event { return new(TableRegistered) })
	case TypeTableDropped:
		return first(func() Event { return new(TableDropped) })
	case TypeViewCreated:
		return second(func() Event { return new(ViewCreated) }, vacantV1)
	case TypeViewCommitted:
		return second(func() Event { return new(ViewCommitted) }, vacantV1)
	case TypeViewRenamed:
		return first(func() Event { return new(ViewRenamed) })
	case TypeViewRegistered:
		return first(func() Event { return new(ViewRegistered) })
	case TypeViewDropped:
		return first(func() Event { return new(ViewDropped) })
	}
	for _, group := range []func(string) (kind, bool){projectKind, warehouseKind, protectionKind, purgeKind, softDeleteKind, queueKind, destinationKind, cleanUpKind} {
		if k, ok := group(typ); ok {
			return k, true
		}
	}
	return kind{}, false
}

// Types returns every event type of the catalog, entity by entity. The log's
// own events are not among them: eventstore writes and reads those.
func Types() []string {
	return []string{
		TypeServerBootstrapped, TypeProjectCreated, TypeProjectRenamed, TypeProjectDeleted, TypeProjectQueueConfigured,
		TypeWarehouseCreated, TypeWarehouseRenamed, TypeWarehouseActivated, TypeWarehouseDeactivated,
		TypeWarehouseDeleteProfileUpdated, TypeWarehouseFormatVersionsUpdated, TypeWarehouseProtectionUpdated,
		TypeWarehouseUndoWindowUpdated, TypeWarehouseDeleted, TypeWarehouseQueueConfigured,
		TypeNamespaceProtectionUpdated, TypeTableProtectionUpdated, TypeViewProtectionUpdated,
		TypeNamespaceCreated, TypeNamespacePropertiesUpdated, TypeNamespaceDropped, TypeNamespaceUndropped, TypeNamespaceExpired,
		TypeTableCreated, TypeTableCommitted, TypeTableRenamed, TypeTableRegistered, TypeTableDropped,
		TypeTableUndropped, TypeTableExpired, TypeTablePurgeStarted, TypeTablePurged, TypeTablePurgeCancelled, TypeTableSuperseded,
		TypeViewCreated, TypeViewCommitted, TypeViewRenamed, TypeViewRegistered, TypeViewDropped,
		TypeViewUndropped, TypeViewExpired, TypeViewPurgeStarted, TypeViewPurged, TypeViewPurgeCancelled, TypeViewSuperseded,
		TypeDestinationCreated, TypeDestinationUpdated, TypeDestinationPaused, TypeDestinationResumed, TypeDestinationReplayed,
		TypeDestinationSkipped, TypeDestinationRetried, TypeDestinationRemoved,
		TypeCleanUpStarted, TypeCleanUpFinished,
	}
}

// EntityOf returns the entity in an event type, or "" if it is none of ours.
func EntityOf(typ string) Entity {
	rest, ok := strings.CutPrefix(typ, TypePrefix)
	entity, _, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 {
		return ""
	}
	return Entity(entity)
}

// DataSchema returns the dataschema of a version of an event type, which is
// the $id of its file in schema/events.
func DataSchema(typ string, version int) string {
	return schemaPrefix + strings.TrimPrefix(typ, TypePrefix) + ":v" + strconv.Itoa(version)
}

// schemaVersion is the inverse of [DataSchema] for one type.
func schemaVersion(typ, dataschema string) (int, bool) {
	digits, ok := strings.CutPrefix(dataschema, schemaPrefix+strings.TrimPrefix(typ, TypePrefix)+":v")
	version, err := strconv.Atoi(digits)
	return version, ok && err == nil && strconv.Itoa(version) == digits
}

// PayloadError means that a payload is not what its type and schema promise.
type PayloadError struct {
	Type  string
	Cause error
}

func (e *PayloadError) Error() string { return fmt.Sprintf("payload of %s: %v", e.Type, e.Cause) }

// Unwrap returns the cause.
func (e *PayloadError) Unwrap() error { return e.Cause }

// Encode writes an event's payload in its newest version. Equal events give
// equal bytes. What its JSON Schema would reject, Encode rejects: the error is
// a [PayloadError].
func Encode(e Event) (typ, dataschema string, data []byte, err error) {
	typ = e.EventType()
	k, ok := kindOf(typ)
	if !ok {
		return "", "", nil, &PayloadError{typ, fmt.Errorf("unknown event type")}
	}
	data, err = encodeObject(nil, "", e.fields)
	if err != nil {
		return "", "", nil, &PayloadError{typ, err}
	}
	return typ, DataSchema(typ, k.version), data, nil
}

// Decode reads a stored payload of any version ever released and lifts it to
// the newest. It is strict: unknown, repeated and missing members, other
// spellings of a name and values that the JSON Schema rejects are errors of
// type [PayloadError].
func Decode(typ, dataschema string, data []byte) (Event, error) {
	k, ok := kindOf(typ)
	if !ok {
		return nil, &PayloadError{typ, fmt.Errorf("unknown event type")}
	}
	e, err := k.decode(typ, dataschema, data)
	if err != nil {
		return nil, &PayloadError{typ, err}
	}
	return e, nil
}

func (k kind) decode(typ, dataschema string, data []byte) (Event, error) {
	version, ok := schemaVersion(typ, dataschema)
	if !ok || version < 1 || version > k.version {
		return nil, fmt.Errorf("unknown schema %q: this program knows versions 1 to %d", dataschema, k.version)
	}
	// The walk over the members checks the syntax.
	if !utf8.Valid(data) {
		return nil, errors.New("not valid UTF-8")
	}
	for ; version < k.version; version++ {
		lifted, err := k.upcasters[version-1](data)
		if err != nil {
			return nil, fmt.Errorf("lift from version %d: %w", version, err)
		}
		data = lifted
	}
	e := k.event()
	if err := decodeObject(data, "", e.fields); err != nil {
		return nil, err
	}
	return e, nil
}
