// Package connect makes the transports of all kinds of destinations: the one
// place that knows every kind.
package connect

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/jetstream"
	"github.com/icecore-catalog/icecore/publishers/kafka"
	"github.com/icecore-catalog/icecore/publishers/logfile"
	"github.com/icecore-catalog/icecore/publishers/webhook"
)

// Options are what transports need of the server.
type Options struct {
	Secrets publishers.Secrets
	Folder  string    // of log destinations' files; empty allows none
	Stdout  io.Writer // of log destinations without a file
	Clock   clock.Clock
	// AllowPrivate lets webhooks go to private networks, and without TLS.
	AllowPrivate bool
}

// kind is a kind of destinations.
type kind struct {
	// check refuses settings; what it says repeats no value.
	check func(settings map[string]string) error
	open  func(o *Options, d *publishers.Destination) (publishers.Transport, error)
}

// kinds are all there are: one line each.
var kinds = map[string]kind{
	"kafka":   {checked(kafka.ParseSettings), openKafka},
	"log":     {checked(logfile.ParseSettings), openLog},
	"nats":    {checked(jetstream.ParseSettings), openNATS},
	"webhook": {checked(webhook.ParseSettings), openWebhook},
}

func checked[S any](parse func(map[string]string) (S, error)) func(map[string]string) error {
	return func(settings map[string]string) error {
		_, err := parse(settings)
		return err
	}
}

func openKafka(o *Options, d *publishers.Destination) (publishers.Transport, error) {
	settings, err := kafka.ParseSettings(d.Settings)
	if err != nil {
		return nil, err
	}
	id := "icecore-" + strings.TrimPrefix(d.Source, "urn:icecore:") + "-" + d.ID.String()
	return kafka.New(settings, kafka.Options{ID: id, Source: d.Source, Secrets: o.Secrets}), nil
}

func openLog(o *Options, d *publishers.Destination) (publishers.Transport, error) {
	settings, err := logfile.ParseSettings(d.Settings)
	if err != nil {
		return nil, err
	}
	return logfile.New(logfile.Options{Settings: settings, Folder: o.Folder, Stdout: o.Stdout}), nil
}

func openNATS(o *Options, d *publishers.Destination) (publishers.Transport, error) {
	settings, err := jetstream.ParseSettings(d.Settings)
	if err != nil {
		return nil, err
	}
	return jetstream.New(jetstream.Options{Settings: settings, Destination: d.Name, Owner: d.ID.String(), Secrets: o.Secrets}), nil
}

func openWebhook(o *Options, d *publishers.Destination) (publishers.Transport, error) {
	settings, err := webhook.ParseSettings(d.Settings)
	if err != nil {
		return nil, err
	}
	return webhook.New(settings, webhook.Options{Secrets: o.Secrets, Clock: o.Clock, AllowPrivate: o.AllowPrivate}), nil
}

// Kinds returns the kinds, each with what refuses settings that it could not work
// with.
func Kinds() map[string]func(settings map[string]string) error {
	checks := make(map[string]func(map[string]string) error, len(kinds))
	for name, k := range kinds {
		checks[name] = k.check
	}
	return checks
}

// New returns the connector of all kinds.
func New(o Options) publishers.Connector {
	return func(_ context.Context, d *publishers.Destination) (publishers.Transport, error) {
		k, known := kinds[d.Kind]
		if !known {
			return nil, fmt.Errorf("this version knows no destinations of kind %s", d.Kind)
		}
		t, err := k.open(&o, d)
		if err != nil {
			return nil, fmt.Errorf("a destination of kind %s: %w", d.Kind, err)
		}
		return t, nil
	}
}
