package gateway

import (
	"log/slog"
	"sync"
	"time"
)

// sayAgain is how often the log has a failure that lasts.
const sayAgain = time.Minute

// failure watches an action that is repeated and may fail for long, such as reading a database that
// is away. The log has a line when it begins to fail, one a minute, and one when it succeeds again.
type failure struct {
	fails string // in the words of the log
	ended string

	mu    sync.Mutex
	err   error // of the newest try, nil if it succeeded
	begun time.Time
	said  time.Time
	tries int
}

// note notes how a try ended.
func (f *failure) note(log *slog.Logger, now time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.err
	f.err = err
	switch {
	case err == nil && before != nil:
		log.Info(f.ended, "lasted", now.Sub(f.begun).Round(time.Second).String(), "tries", f.tries)
	case err == nil:
	case before == nil:
		f.begun, f.said, f.tries = now, now, 1
		log.Error(f.fails, "why", err)
	default:
		if f.tries++; now.Sub(f.said) >= sayAgain || now.Before(f.said) {
			f.said = now
			log.Error(f.fails, "why", err, "since", f.begun.UTC().Format(time.RFC3339), "tries", f.tries)
		}
	}
}

// newFailures returns one failure for each use of the book.
func newFailures() failures {
	return failures{
		read: &failure{fails: "the book of tenants cannot be read; what is known stays in force",
			ended: "the book of tenants can be read again"},
		save: &failure{fails: "what was spent cannot be noted yet", ended: "what was spent can be noted again"},
		used: &failure{fails: "when tokens were used cannot be noted",
			ended: "it can be noted again when tokens were used"},
		renew: &failure{fails: "reservations cannot be renewed", ended: "reservations can be renewed again"},
		share: &failure{fails: "reservations cannot be made in the book of tenants: until they can, each process " +
			"keeps the budgets by itself", ended: "reservations can be made in the book of tenants again"},
	}
}
