package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// proxy gives each request to the next instance in turn, so that no two
// requests of a client in a row reach the same process.
//
// It copies paths, headers and bodies as they are, ETag's spelling among them:
// the standard library's reverse proxy would send it as Etag, which the Java
// client does not recognise.
type proxy struct {
	addr      string
	instances []string // host:port
	next      atomic.Int64
	served    []atomic.Int64 // requests by instance
	transport *http.Transport
	server    *http.Server
}

func startProxy(ctx context.Context, instances []string) (*proxy, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{
		addr: l.Addr().String(), instances: instances, served: make([]atomic.Int64, len(instances)),
		// The client's Accept-Encoding is passed on, and the answer as it comes.
		transport: &http.Transport{DisableCompression: true},
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(l) }() // ends with close
	return p, nil
}

// ServeHTTP passes one request on. A lost connection to an instance is a 502,
// which a client may not take for a failed commit.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i := int(p.next.Add(1)-1) % len(p.instances)
	p.served[i].Add(1)
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = "http", p.instances[i]
	out.RequestURI = ""
	out.Header.Del("Connection")
	answer, err := p.transport.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	header := w.Header()
	maps.Copy(header, answer.Header)
	if tag, ok := header["Etag"]; ok {
		delete(header, "Etag")
		header["ETag"] = tag
	}
	header.Del("Connection")
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body) // a broken connection is the client's to notice
}

// shares returns how many requests each instance had, and their sum.
func (p *proxy) shares() (by []int, total int) {
	for i := range p.served {
		n := int(p.served[i].Load())
		by, total = append(by, n), total+n
	}
	return by, total
}

func (p *proxy) close() error {
	err := p.server.Close()
	p.transport.CloseIdleConnections()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
