package telemetry

import (
	"context"
	"log/slog"

	"github.com/icecore-catalog/icecore/eventstore"
)

// LogAppends returns a log that writes one line for each commit: the request
// that asked for it and the events that it became, so that the server's own log
// and the event log can be joined.
func LogAppends(log eventstore.Log, logger *slog.Logger) eventstore.Log {
	return appendLogger{log, logger}
}

type appendLogger struct {
	eventstore.Log
	logger *slog.Logger
}

// Append implements [eventstore.Log].
func (l appendLogger) Append(ctx context.Context, c *eventstore.Commit) (eventstore.Receipt, error) {
	receipt, err := l.Log.Append(ctx, c)
	if err == nil && l.logger.Enabled(ctx, slog.LevelInfo) {
		events := make([]string, len(receipt.Records))
		for i := range receipt.Records {
			events[i] = receipt.Records[i].Type + " " + receipt.Records[i].ID.String()
		}
		l.logger.LogAttrs(ctx, slog.LevelInfo, "committed", requestOf(c), slog.String("commit_id", receipt.CommitID.String()),
			slog.Int64("append_seq", receipt.AppendSeq), slog.Any("events", events))
	}
	return receipt, err
}

// requestOf is the request that caused a commit: that of its first record.
func requestOf(c *eventstore.Commit) slog.Attr {
	if len(c.Records) == 0 {
		return slog.Attr{}
	}
	return slog.String("request_id", c.Records[0].RequestID.String())
}
