package telemetry

import (
	"io"
	"log/slog"
)

// NewLogger returns a logger that writes to w in format "json" or "text" from
// level "debug", "info", "warn" or "error" on.
func NewLogger(w io.Writer, level, format string) *slog.Logger {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		least = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: least}
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}
