package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/icecore-catalog/icecore/internal/config"
	"github.com/icecore-catalog/icecore/internal/telemetry"
)

// Serve runs one production instance until ctx ends. It listens only when
// everything that it needs has been found usable.
func Serve(ctx context.Context, c config.Config, logs io.Writer) error {
	start := time.Now() //nolint:forbidigo // measures this process's start
	if _, _, err := newAuthorizer(c.Auth); err != nil {
		return err // before anything is opened
	}
	log := telemetry.NewLogger(logs, c.Telemetry.LogLevel, c.Telemetry.LogFormat)
	s, err := newServer(ctx, c, log)
	if err != nil {
		return err
	}
	defer s.close()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.HTTP.Listen)
	if err != nil {
		return fmt.Errorf("%sLISTEN: %w", config.Prefix, err)
	}
	defer func() { _ = listener.Close() }()
	if c.Auth.Mode == "disabled" {
		log.Warn("authentication is disabled: whoever reaches the port may do everything")
	}
	log.Info("serving", "version", Version(), "address", listener.Addr().String(), "start", time.Since(start).String())
	return s.run(ctx, listener, nil)
}
