package nats

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// logger is the server's logger: ours, and what a start failed at. A fatal line
// ends nothing here; the server itself returns after it.
type logger struct {
	log *slog.Logger

	mu   sync.Mutex
	last error
}

func (l *logger) Noticef(format string, v ...any) { l.log.Debug("nats: " + fmt.Sprintf(format, v...)) }
func (l *logger) Debugf(format string, v ...any)  { l.log.Debug("nats: " + fmt.Sprintf(format, v...)) }
func (l *logger) Tracef(format string, v ...any)  { l.log.Debug("nats: " + fmt.Sprintf(format, v...)) }
func (l *logger) Warnf(format string, v ...any)   { l.log.Warn("nats: " + fmt.Sprintf(format, v...)) }
func (l *logger) Errorf(format string, v ...any)  { l.fail(format, v) }
func (l *logger) Fatalf(format string, v ...any)  { l.fail(format, v) }

func (l *logger) fail(format string, v []any) {
	text := fmt.Sprintf(format, v...)
	l.log.Error("nats: " + text)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = errors.New(text)
}

func (l *logger) lastError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		return errors.New("it did not say why")
	}
	return l.last
}
