package faultproxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
)

// session is one proxied connection.
type session struct {
	proxy          *Proxy
	client, server net.Conn
	prepared       map[string]string // statement name to its text, as the client prepared them

	// answer says what copyAnswers does with the next bytes: one of the
	// modes below.
	answer atomic.Int32
	gate   atomic.Pointer[chan struct{}]
}

const (
	answerPass int32 = iota
	answerDropUntilReady
	answerHold
)

// copyFlights reads the client's messages, gathers flights and lets the plan
// decide over each.
func (s *session) copyFlights() {
	defer s.server.Close()
	var flight [][]byte
	var about Flight
	for {
		message, err := readMessage(s.client)
		if err != nil {
			return
		}
		flight = append(flight, message)
		s.note(message, &about)
		switch message[0] {
		case 'S', 'Q': // Sync, Query: the flight is complete
		case 'p', 'H', 'X', 'd', 'c', 'f': // password, flush, terminate, copy: not ours to judge
			if !s.send(flight...) {
				return
			}
			flight, about = nil, Flight{}
			continue
		default:
			continue
		}
		if !s.decide(flight, about) {
			return
		}
		flight, about = nil, Flight{}
	}
}

// note remembers prepared statements and collects the texts executed.
func (s *session) note(message []byte, about *Flight) {
	body := message[5:]
	switch message[0] {
	case 'P': // Parse: name, text
		name, rest := cString(body)
		text, _ := cString(rest)
		s.prepared[name] = text
	case 'B': // Bind: portal, statement name
		_, rest := cString(body)
		name, rest := cString(rest)
		about.SQL = append(about.SQL, s.prepared[name])
		about.Arguments = append(about.Arguments, arguments(rest))
	case 'Q':
		text, _ := cString(body)
		about.SQL = append(about.SQL, text)
		about.Arguments = append(about.Arguments, nil)
	}
}

// arguments reads the parameters of a Bind message from behind its names. What
// is cut short has none.
func arguments(b []byte) [][]byte {
	if len(b) < 2 {
		return nil
	}
	formats := 2 * int(binary.BigEndian.Uint16(b))
	if b = b[2:]; len(b) < formats+2 {
		return nil
	}
	count := int(binary.BigEndian.Uint16(b[formats:]))
	b = b[formats+2:]
	list := make([][]byte, 0, count)
	for range count {
		if len(b) < 4 {
			return nil
		}
		size := int32(binary.BigEndian.Uint32(b)) // -1 stands for NULL
		if b = b[4:]; size < 0 {
			list = append(list, nil)
			continue
		}
		if len(b) < int(size) {
			return nil
		}
		list, b = append(list, b[:size]), b[size:]
	}
	return list
}

func (s *session) decide(flight [][]byte, about Flight) bool {
	s.proxy.flights.Add(1)
	fate := (*s.proxy.plan.Load())(about)
	if fate == Pass {
		return s.send(flight...)
	}
	released := s.proxy.released()
	report := func() {
		select {
		case s.proxy.hits <- fate:
		default: // nobody listens
		}
	}
	switch fate {
	case CutBefore:
		_ = s.client.Close()
		report()
		return false
	case CutAfter:
		s.answer.Store(answerDropUntilReady)
		ok := s.send(flight...)
		report()
		return ok
	case HoldFlight:
		report()
		<-released
		return s.send(flight...)
	case HoldSync:
		last := len(flight) - 1
		// A Flush makes the server work on what it has without committing.
		ok := s.send(append(append([][]byte{}, flight[:last]...), []byte{'H', 0, 0, 0, 4})...)
		report()
		<-released
		return ok && s.send(flight[last])
	default: // HoldAnswer
		s.gate.Store(&[]chan struct{}{make(chan struct{})}[0])
		gate := *s.gate.Load()
		s.answer.Store(answerHold)
		ok := s.send(flight...)
		report()
		go func() {
			<-released
			close(gate)
		}()
		return ok
	}
}

func (s *session) send(messages ...[]byte) bool {
	_, err := s.server.Write(bytes.Join(messages, nil))
	return err == nil
}

// copyAnswers forwards the server's messages under the current mode.
func (s *session) copyAnswers() {
	defer s.client.Close()
	for {
		message, err := readMessage(s.server)
		if err != nil {
			return
		}
		switch s.answer.Load() {
		case answerDropUntilReady:
			if message[0] == 'Z' { // ReadyForQuery: executed and committed
				return
			}
			continue
		case answerHold:
			<-*s.gate.Load()
			s.answer.Store(answerPass)
		}
		if _, err := s.client.Write(message); err != nil {
			// The client has gone, but what it sent must still take effect.
			_, _ = io.Copy(io.Discard, s.server)
			return
		}
	}
}

// readMessage reads one typed message whole: type, length, body.
func readMessage(r io.Reader) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size < 4 || size > 1<<30 {
		return nil, io.ErrUnexpectedEOF
	}
	message := make([]byte, 1+size)
	copy(message, head[:])
	if _, err := io.ReadFull(r, message[5:]); err != nil {
		return nil, err
	}
	return message, nil
}

func cString(b []byte) (text string, rest []byte) {
	i := bytes.IndexByte(b, 0)
	if i < 0 {
		return string(b), nil
	}
	return string(b[:i]), b[i+1:]
}
