package river

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// again is how often the same message of River's own workings is passed on: while a database is
// away there are several a second.
const again = time.Minute

// quiet passes on what River says of its own workings as far as it warns, each message once in a
// while.
type quiet struct {
	slog.Handler
	now  func() time.Time
	said *said // shared by all that are made of it
}

// said is when which message was passed on.
type said struct {
	mu sync.Mutex
	at map[string]time.Time
}

func quietly(log *slog.Logger, now func() time.Time) *slog.Logger {
	return slog.New(quiet{log.Handler(), now, &said{at: map[string]time.Time{}}})
}

// Enabled implements slog.Handler.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	now := q.now()
	q.said.mu.Lock()
	last, known := q.said.at[r.Message]
	heard := known && now.Sub(last) < again && !now.Before(last)
	if !heard {
		q.said.at[r.Message] = now
	}
	q.said.mu.Unlock()
	if heard {
		return nil
	}
	return q.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quiet{q.Handler.WithAttrs(attrs), q.now, q.said}
}

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler {
	return quiet{q.Handler.WithGroup(name), q.now, q.said}
}
