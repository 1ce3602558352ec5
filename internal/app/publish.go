package app

import (
	"context"
	"os"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/config"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/telemetry"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/publishers"
	transports "github.com/icecore-catalog/icecore/publishers/connect"
	"github.com/icecore-catalog/icecore/publishers/logfile"
)

// newRelay makes what publishes the log to destinations.
func (s *server) newRelay(now clock.Clock, metrics *telemetry.Metrics) *publishers.Relay {
	observer, published := metrics.RelayObserver()
	c := &s.config.Publish
	return publishers.NewRelay(publishers.Config{
		Pool: s.pools.jobs, Log: s.store, Source: s.eventSource, Observer: observer, Clock: now, IDs: s.ids, Logger: s.log,
		Connect: transports.New(transports.Options{
			Secrets: publishers.FolderSecrets(c.Secrets), Folder: c.Folder, Stdout: logfile.Lines(os.Stdout),
			Clock: now, AllowPrivate: c.PrivateWebhooks == "allow",
		}),
		Reference: func(event ids.ID) string {
			return strings.TrimSuffix(c.PublicURL, "/") + "/management/v1/events/" + event.String() + "/data"
		},
		Decorate: func(d *publishers.Destination) []message.PublisherDecorator {
			list := []message.PublisherDecorator{publishers.Measured(d, now, published)}
			if s.tracing.Enabled {
				list = append(list, publishers.Traced(d, s.tracing.Provider))
			}
			return list
		},
	})
}

// checkFolders refuses a folder that is none, before a destination misses it.
func checkFolders(c *config.Publish) error {
	for variable, folder := range map[string]string{"SECRETS_DIR": c.Secrets, "DESTINATION_FOLDER": c.Folder} {
		if folder == "" {
			continue
		}
		if found, err := os.Stat(folder); err != nil || !found.IsDir() {
			return &config.ValueError{Variable: config.Prefix + variable, Problem: "is not a folder"}
		}
	}
	return nil
}

// eventSource is the CloudEvents source of this log.
func (s *server) eventSource(ctx context.Context) (string, error) {
	facts, err := s.resolver.Resolve(ctx, projections.Query{})
	if err != nil {
		return "", err
	}
	id := facts[0].Server.ID
	if id.IsNil() { // before it was bootstrapped
		id = s.store.LogID()
	}
	return "urn:icecore:" + id.String(), nil
}

// publish publishes the log to all destinations until ctx ends.
func (s *server) publish(ctx context.Context) error {
	if s.relay == nil {
		return nil
	}
	return s.relay.Run(ctx)
}

// destinationFigures are what is measured of each destination.
func (s *server) destinationFigures(ctx context.Context) ([]telemetry.DestinationFigures, error) {
	list, err := projections.NewDetails(s.pools.read).Destinations(ctx)
	if err != nil {
		return nil, err
	}
	figures := make([]telemetry.DestinationFigures, len(list))
	for i := range list {
		d := &list[i]
		lag, age := d.Lag()
		figures[i] = telemetry.DestinationFigures{
			Name: d.Name, Kind: d.Kind, LagEvents: lag, LagSeconds: age.Seconds(), Failures: d.Failures,
			Parked: d.Parked, Published: d.Published, Halted: d.HaltedAt > 0, Paused: d.Paused,
		}
	}
	return figures, nil
}
