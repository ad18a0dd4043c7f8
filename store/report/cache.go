package report

import (
	"time"

	"github.com/winnowhq/winnow/session"
)

// CacheTerm tells how long the provider's cache keeps the newest prompt of a session.
type CacheTerm struct {
	// Until is when the cache has forgotten it at the latest; zero where nobody knows.
	Until time.Time
	Hour  bool // the entries were written for an hour
}

// Cached says how long the provider's cache keeps the prompt of a session. The newest entries count:
// those that were written for an hour live for an hour, others as long as the model's cache keeps
// anything. Nothing is known of a session whose answers tell of no cache.
func Cached(s *Session) (CacheTerm, error) {
	var t CacheTerm
	var last session.Millis
	used := false
	for i := range s.Log {
		m := &s.Log[i]
		if m.Role != session.Assistant || m.Tokens == nil {
			continue
		}
		used = used || m.Tokens.Cache.Read+m.Tokens.Cache.Write > 0
		last = max(last, m.Time.Completed, m.Time.Created)
		if m.Tokens.Cache.Write > 0 {
			t.Hour = m.Tokens.Cache.Write1h > 0
		}
	}
	for i := range s.State.Spent { // requests that kept the cache warm
		if sent := &s.State.Spent[i]; sent.Live != nil && sent.Live.Warm {
			last = max(last, sent.Time)
		}
	}
	lives, known := s.Model.MostCached()
	if t.Hour {
		lives, known = time.Hour, true
	}
	if used && known && lives > 0 && last > 0 {
		t.Until = time.UnixMilli(int64(last)).Add(lives)
	}
	return t, nil
}

// Gone reports whether the cache has forgotten the prompt.
func (t CacheTerm) Gone(now time.Time) bool { return !t.Until.IsZero() && !t.Until.After(now) }
