package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// healthPatience bounds a probe, so that a hanging server counts as unhealthy.
const healthPatience = 5 * time.Second

// Healthcheck asks the server at base, or the one that listens at listen if
// base is empty, whether it is ready.
func Healthcheck(ctx context.Context, listen, base string, out io.Writer) error {
	if base == "" {
		host, port, err := net.SplitHostPort(listen)
		if err != nil {
			return fmt.Errorf("the listen address %q: %w", listen, err)
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = "127.0.0.1" // it listens on all addresses: ask on this machine
		}
		base = "http://" + net.JoinHostPort(host, port)
	}
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/ready", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("the server does not answer: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the server is not ready: %d %s", answer.StatusCode, body)
	}
	_, err = fmt.Fprintln(out, "ready")
	return err
}
