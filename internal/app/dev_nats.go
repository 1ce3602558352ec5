package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/nats"
	"github.com/icecore-catalog/icecore/projections"
)

// DevDestination is the destination that dev makes on its own NATS.
const DevDestination = "nats"

// streams is where the streams of dev's own NATS lie.
func (d dataFolder) streams() string { return filepath.Join(d.root, "nats") }

// natsFile holds the URL of dev's own NATS, for whoever wants to connect.
func (d dataFolder) natsFile() string { return filepath.Join(d.root, "nats.url") }

// lastNATS returns the URL of dev's NATS when it last ran, empty if it never did.
func (d dataFolder) lastNATS() (string, error) {
	text, err := os.ReadFile(d.natsFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the address of NATS: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// startNATS runs NATS with JetStream in this process: where it ran last, as
// consumers know it there, or at another port of this machine if that is taken.
func (d dataFolder) startNATS(ctx context.Context, last string, log *slog.Logger) (*nats.Server, error) {
	options := nats.Options{Dir: d.streams(), Log: log}
	if address, ok := strings.CutPrefix(last, "nats://"); ok {
		options.Listen = address
	}
	server, err := nats.Start(ctx, options)
	if errors.Is(err, nats.ErrInUse) {
		log.Warn("the port of NATS is taken; another one is used", "was", last)
		options.Listen = ""
		server, err = nats.Start(ctx, options)
	}
	if errors.Is(err, nats.ErrFolderInUse) {
		return nil, fmt.Errorf("%w: another icecore dev runs on it; stop that one, or choose another folder with --data", err)
	}
	return server, err
}

// keepNATS remembers where NATS is.
func (d dataFolder) keepNATS(url string) error {
	if err := os.WriteFile(d.natsFile(), []byte(url+"\n"), 0o644); err != nil { //nolint:gosec // no secret, and for others to read
		return fmt.Errorf("keep the address of NATS: %w", err)
	}
	return nil
}

// seedDestination makes the destination on dev's own NATS at the first start,
// by the same command as an operator would. Later it is the operator's: only
// when NATS had to move, and the destination still points to where it was, is it
// led after it. last is where it was, empty at the first start.
func (s *server) seedDestination(ctx context.Context, last, url string) error {
	call := commands.Call{Actor: authz.System, RequestID: s.ids.New()}
	found, there, err := projections.NewDetails(s.pools.read).DestinationNamed(ctx, DevDestination)
	if err != nil {
		return err
	}
	if !there {
		if last != "" {
			return nil // it was removed
		}
		_, err := s.commands.CreateDestination(ctx, call, commands.CreateDestination{
			Name: DevDestination, Kind: "nats", Settings: map[string]string{"url": url},
			Start: commands.DestinationStart{From: catalog.StartBeginning},
		})
		return err
	}
	var settings map[string]string
	if err := json.Unmarshal(found.Settings, &settings); err != nil {
		return fmt.Errorf("settings of the destination %s: %w", DevDestination, err)
	}
	if found.Kind != "nats" || settings["url"] != last || last == url {
		return nil
	}
	settings = maps.Clone(settings)
	settings["url"] = url
	_, err = s.commands.UpdateDestination(ctx, call, commands.UpdateDestination{Destination: found.ID, Settings: settings})
	return err
}

// natsText is what dev prints of it.
func natsText(w io.Writer, url string) {
	say(w, "\n  Events      %s, stream icecore, subjects icecore.> (the URL is in nats.url)", url)
	say(w, "              nats --server %s sub 'icecore.>' --headers", url)
}
