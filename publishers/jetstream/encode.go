package jetstream

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/binding/spec"
	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
	natsgo "github.com/nats-io/nats.go"

	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/publishers"
)

const (
	attributePrefix   = "ce-"
	contentTypeHeader = "Content-Type"
)

// encode returns an event as a message, without what concerns its delivery.
func encode(ctx context.Context, prefix string, event *cloudevents.Event) (*natsgo.Msg, error) {
	w := writer{
		Msg:    natsgo.Msg{Subject: subject(prefix, event), Header: make(natsgo.Header, headers)},
		values: make([]string, 0, headers),
	}
	if _, err := binding.Write(ctx, (*binding.EventMessage)(event), nil, &w); err != nil {
		return nil, fmt.Errorf("encode event %s: %w", event.ID(), err)
	}
	return &w.Msg, nil
}

// headers is how many a message has, more or less.
const headers = 28

// subject is where an event goes to. All of its parts are tokens by what they
// are, ids and words; a part that isn't, of an event that is not ours, is made
// one.
func subject(prefix string, event *cloudevents.Event) string {
	entity, object, _ := strings.Cut(event.Subject(), "/")
	verb := event.Type()[strings.LastIndexByte(event.Type(), '.')+1:]
	warehouse, _ := types.ToString(extension(event, "warehouseid"))
	return prefix + "." + token(warehouse) + "." + token(entity) + "." + token(verb) + "." + token(object)
}

// extension returns one, without the copy of all that Extensions makes.
func extension(event *cloudevents.Event, name string) any {
	if v1, ok := event.Context.(*cloudevents.EventContextV1); ok {
		return v1.Extensions[name]
	}
	return event.Extensions()[name]
}

// token is text as one part of a subject: what is not a letter, digit, '-' or '_'
// is written as '%' and two digits, nothing as "_".
func token(text string) string {
	if validToken(text) == nil {
		return text
	}
	if text == "" {
		return "_"
	}
	var b strings.Builder
	for i := range len(text) {
		if tokenByte(text[i]) {
			b.WriteByte(text[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", text[i])
		}
	}
	return b.String()
}

// writer fills a message in binary mode.
type writer struct {
	natsgo.Msg
	values []string // those of the headers, made at once
}

var _ binding.BinaryWriter = (*writer)(nil)

func (w *writer) Start(context.Context) error { return nil }
func (w *writer) End(context.Context) error   { return nil }

func (w *writer) SetData(data io.Reader) (err error) {
	w.Data, err = io.ReadAll(data)
	return err
}

// SetAttribute writes datacontenttype twice: as an attribute, as the binding has
// it, and as the header that says of any message what its payload is.
func (w *writer) SetAttribute(attribute spec.Attribute, value any) error {
	if attribute.Kind() == spec.DataContentType {
		if err := w.set(contentTypeHeader, value); err != nil {
			return err
		}
	}
	return w.set(header(attribute.Name()), value)
}

func (w *writer) SetExtension(name string, value any) error {
	return w.set(header(name), value)
}

func (w *writer) set(name string, value any) error {
	if value == nil {
		delete(w.Header, name)
		return nil
	}
	text, err := types.Format(value)
	if err != nil {
		return fmt.Errorf("header %s: %w", name, err)
	}
	w.values = append(w.values, percentEncode(text))
	w.Header[name] = w.values[len(w.values)-1 : len(w.values) : len(w.values)]
	return nil
}

// header names the header of an attribute.
func header(attribute string) string {
	if name, known := headerNames[attribute]; known {
		return name
	}
	return attributePrefix + attribute
}

// headerNames are those of the attributes that every event has.
var headerNames = func() map[string]string {
	names := map[string]string{}
	for name := range strings.FieldsSeq(`specversion id source type subject time dataschema datacontenttype sequence streamversion epoch logtime
		partitionkey actor requestid causation commitid commitindex commitsize warehouseid projectid traceparent dataref`) {
		names[name] = attributePrefix + name
	}
	return names
}()

// percentEncode writes what CloudEvents wants encoded in headers: blanks,
// quotes, the percent sign itself and all that is not printable ASCII.
func percentEncode(text string) string {
	plain := func(c byte) bool { return c > ' ' && c < 0x7f && c != '"' && c != '%' }
	odd := 0
	for i := range len(text) {
		if !plain(text[i]) {
			odd++
		}
	}
	if odd == 0 {
		return text
	}
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(text)+2*odd)
	for i := range len(text) {
		if c := text[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}

// placeOf reads the place of an event from its attributes, all of which are
// written as they are read here: digits and ids need no encoding.
func placeOf(header natsgo.Header) (publishers.Place, error) {
	number := func(name string) int64 {
		n, err := strconv.ParseInt(header.Get(attributePrefix+name), 10, 64)
		if err != nil || n < 1 {
			return 0
		}
		return n
	}
	id, err := ids.Parse(header.Get(attributePrefix + "id"))
	place := publishers.Place{Epoch: number("epoch"), Position: number("sequence"), Event: id}
	if err != nil || place.Epoch == 0 || place.Position == 0 {
		return publishers.Place{}, fmt.Errorf("%w: it has no id, epoch and sequence of a log", errForeign)
	}
	return place, nil
}

// eventPlace is placeOf of an event that is yet to be published.
func eventPlace(event *cloudevents.Event) (publishers.Place, error) {
	id, err := ids.Parse(event.ID())
	if err != nil {
		return publishers.Place{}, fmt.Errorf("event %q: %w", event.ID(), err)
	}
	text, err := types.ToString(extension(event, "sequence"))
	if err != nil {
		return publishers.Place{}, fmt.Errorf("event %s: attribute sequence: %w", event.ID(), err)
	}
	position, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return publishers.Place{}, fmt.Errorf("event %s: attribute sequence: %w", event.ID(), err)
	}
	epoch, err := types.ToInteger(extension(event, "epoch"))
	if err != nil {
		return publishers.Place{}, fmt.Errorf("event %s: attribute epoch: %w", event.ID(), err)
	}
	return publishers.Place{Epoch: int64(epoch), Position: position, Event: id}, nil
}

// after is whether a stands behind b in the log.
func after(a, b publishers.Place) bool {
	return a.Epoch > b.Epoch || a.Epoch == b.Epoch && a.Position > b.Position
}
