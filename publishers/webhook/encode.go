package webhook

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/icecore-catalog/icecore/publishers"
)

// item is one event as it stands in a body.
type item struct {
	id   string
	text []byte
}

// encode returns the event in structured mode. Its data are spliced in as they
// are: no JSON library touches them, or the leaf could not be computed from what
// was received.
func encode(m *message.Message) (item, error) {
	event := publishers.EventOf(m)
	if event == nil {
		return item{}, errors.New("is no event")
	}
	envelope := *event
	envelope.DataEncoded, envelope.DataBase64 = nil, false
	text, err := envelope.MarshalJSON()
	if err != nil {
		return item{}, fmt.Errorf("as JSON: %w", err)
	}
	if data := event.Data(); data != nil {
		text = bytes.TrimSuffix(text, []byte("}"))
		if verbatim(event.DataContentType(), data) {
			text = append(append(text, `,"data":`...), data...)
		} else {
			text = append(text, `,"data_base64":"`...)
			text = append(base64.StdEncoding.AppendEncode(text, data), '"')
		}
		text = append(text, '}')
	}
	return item{id: event.ID(), text: text}, nil
}

// verbatim reports whether data can stand in JSON so that a reader gets the same
// bytes. Blanks around a value are the first thing that readers lose.
func verbatim(contentType string, data []byte) bool {
	isJSON := contentType == "application/json" || strings.HasSuffix(contentType, "+json")
	return isJSON && len(bytes.TrimSpace(data)) == len(data) && json.Valid(data)
}

// body returns the events as a JSON array.
func body(items []item) []byte {
	size := arrayBytes
	for _, i := range items {
		size += len(i.text) + 1
	}
	b := append(make([]byte, 0, size), '[')
	for n, i := range items {
		if n > 0 {
			b = append(b, ',')
		}
		b = append(b, i.text...)
	}
	return append(b, ']')
}

// name is the webhook-id: the same for the same events.
func name(items []item) string { return items[0].id + "_" + items[len(items)-1].id }
