package main

import (
	"fmt"
	"strings"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// logged is an event of the log, as far as it is looked at.
type logged struct {
	Position, Epoch int64
	ID, Stream      ids.ID
	Version         int64
	Type            string
	Request, Commit ids.ID
	Expires         bool   // a drop that can be undone
	Digest          string // SHA-256 of its data
}

// seen is an event as a consumer met it.
type seen struct {
	Position, Epoch int64
	ID, Stream      ids.ID
	Version         int64
	Type            string
	Digest          string // SHA-256 of its data; empty when it came by reference
}

// problems are what is wrong, the first of each kind in words and all in number.
type problems struct {
	list  []string
	count int
}

const shownProblems = 20

func (p *problems) add(format string, args ...any) {
	if p.count++; len(p.list) < shownProblems {
		p.list = append(p.list, fmt.Sprintf(format, args...))
	}
}

func (p *problems) String() string {
	if p.count == 0 {
		return "none"
	}
	text := strings.Join(p.list, "\n")
	if p.count > len(p.list) {
		text += fmt.Sprintf("\nand %d more", p.count-len(p.list))
	}
	return text
}

// checkLog holds the log's own invariants: positions without a gap, versions of a
// stream in order, no event twice.
func checkLog(log []logged) *problems {
	p := &problems{}
	ids_ := make(map[ids.ID]bool, len(log))
	versions := map[ids.ID]int64{}
	for i, e := range log {
		if e.Position != int64(i+1) {
			p.add("position %d stands where %d has to", e.Position, i+1)
		}
		if ids_[e.ID] {
			p.add("event %s stands at two positions, one is %d", e.ID, e.Position)
		}
		ids_[e.ID] = true
		if e.Version != versions[e.Stream]+1 {
			p.add("position %d: version %d of stream %s follows %d", e.Position, e.Version, e.Stream, versions[e.Stream])
		}
		versions[e.Stream] = e.Version
	}
	return p
}

// checkBooks holds what the clients were told against the log: an acknowledged
// commit is in it once, with all its events; a refused one is not; and nothing is
// that nobody asked for. Acknowledged commits of one client to one object stand
// in the order of their acknowledgement.
func checkBooks(books []entry, log []logged) *problems {
	p := &problems{}
	type found struct {
		events   int
		commits  map[ids.ID]bool
		position int64
	}
	byRequest := map[ids.ID]*found{}
	for _, e := range log {
		if e.Request.IsNil() || ofJob(e.Type) {
			continue
		}
		f := byRequest[e.Request]
		if f == nil {
			f = &found{commits: map[ids.ID]bool{}, position: e.Position}
			byRequest[e.Request] = f
		}
		f.events++
		f.commits[e.Commit] = true
	}
	known := make(map[ids.ID]bool, len(books))
	type group struct {
		acknowledged entry
		commits      map[ids.ID]bool
		events       int
		position     int64
	}
	groups := map[ids.ID]*group{}
	var order []ids.ID
	for _, e := range books {
		known[e.Request] = true
		f := byRequest[e.Request]
		if e.Outcome == refused && f != nil {
			p.add("%s %s was refused (%d) and stands at position %d", e.Kind, e.Request, e.Status, f.position)
		}
		g := groups[e.Once]
		if g == nil {
			g = &group{commits: map[ids.ID]bool{}}
			groups[e.Once] = g
			order = append(order, e.Once)
		}
		if e.Outcome == acknowledged {
			g.acknowledged = e
		}
		if f != nil {
			for c := range f.commits {
				g.commits[c] = true
			}
			g.events, g.position = g.events+f.events, f.position
		}
	}
	type writer struct {
		worker int
		object ids.ID
	}
	last := map[writer]int64{}
	for _, once := range order {
		g := groups[once]
		e := g.acknowledged
		switch {
		case e.Kind == setUpKind:
		case len(g.commits) > 1 && e.Events > 0, len(g.commits) > 1 && e.Kind == "":
			p.add("%s %s is in the log %d times", e.Kind, once, len(g.commits))
		case e.Outcome != acknowledged:
		case len(g.commits) == 0:
			p.add("%s %s was acknowledged and is not in the log", e.Kind, e.Request)
		case e.Events > 0 && g.events != e.Events:
			p.add("%s %s has %d events in the log, not %d", e.Kind, e.Request, g.events, e.Events)
		case !e.Object.IsNil():
			w := writer{e.Worker, e.Object}
			if g.position < last[w] {
				p.add("%s %s was acknowledged after another commit to %s, and stands before it, at %d", e.Kind, e.Request, e.Object, g.position)
			}
			last[w] = g.position
		}
	}
	for request, f := range byRequest {
		if !known[request] {
			p.add("position %d is of request %s, which nobody sent", f.position, request)
		}
	}
	return p
}

// ofJob tells the events that nobody's request brings about at once.
func ofJob(typ string) bool {
	switch typ[strings.LastIndexByte(typ, '.')+1:] {
	case "purge-started", "purged", "expired":
		return true
	}
	return false
}

// checkSeen holds what a consumer met first against the log: all of it, nothing
// else, each event under its own id, in the order of the log, or, where order is
// a stream's only (Kafka), of each stream. late are events that were refused for
// good, parked, and let in afterwards: they come out of order.
func checkSeen(log []logged, first []seen, byStream bool, late map[ids.ID]bool) *problems {
	p := &problems{}
	known := make(map[ids.ID]logged, len(log))
	for _, e := range log {
		known[e.ID] = e
	}
	met := make(map[ids.ID]bool, len(first))
	var position int64
	versions := map[ids.ID]int64{}
	for i, s := range first {
		e, ok := known[s.ID]
		switch {
		case !ok:
			p.add("number %d, %s at position %d, is not in the log", i, s.ID, s.Position)
			continue
		case met[s.ID]:
			p.add("number %d, %s, was met before", i, s.ID)
			continue
		case s.Position != e.Position || s.Epoch != e.Epoch || s.Stream != e.Stream || s.Version != e.Version:
			p.add("number %d, %s, says position %d/%d, version %d of %s; the log has %d/%d, %d of %s",
				i, s.ID, s.Epoch, s.Position, s.Version, s.Stream, e.Epoch, e.Position, e.Version, e.Stream)
		}
		if s.Digest != "" && s.Digest != e.Digest {
			p.add("number %d, %s at position %d, has other data than the log", i, s.ID, s.Position)
		}
		met[s.ID] = true
		if late[s.ID] {
			continue
		}
		if byStream {
			if s.Version <= versions[s.Stream] {
				p.add("number %d: version %d of %s was first met after %d", i, s.Version, s.Stream, versions[s.Stream])
			}
			versions[s.Stream] = max(versions[s.Stream], s.Version)
			continue
		}
		if s.Position <= position {
			p.add("number %d: position %d was first met after %d", i, s.Position, position)
		}
		position = max(position, s.Position)
	}
	for _, e := range log {
		if !met[e.ID] {
			p.add("position %d, %s (%s), never came", e.Position, e.ID, e.Type)
		}
	}
	return p
}

// checkWinners holds that each soft drop ended once: an undrop and an expiry have
// exactly one winner.
func checkWinners(log []logged) (p *problems, undropped, expired int) {
	p = &problems{}
	type state struct {
		open     bool // dropped softly, and nothing came after it
		finished bool
	}
	states := map[ids.ID]state{}
	for _, e := range log {
		s := states[e.Stream]
		verb := e.Type[strings.LastIndexByte(e.Type, '.')+1:]
		switch verb {
		case "dropped":
			if s.open || s.finished {
				p.add("position %d drops %s, which was dropped before", e.Position, e.Stream)
			}
			s = state{open: e.Expires, finished: !e.Expires}
		case "undropped":
			if !s.open {
				p.add("position %d brings back %s, which was not dropped softly", e.Position, e.Stream)
			}
			undropped++
			s = state{}
		case "expired":
			if !s.open {
				p.add("position %d lets %s expire, which was not dropped softly", e.Position, e.Stream)
			}
			expired++
			s = state{finished: true}
		}
		states[e.Stream] = s
	}
	return p, undropped, expired
}
