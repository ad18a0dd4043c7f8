package cline

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// conversation is what a file says beside its messages.
type conversation struct {
	SessionID string         `json:"sessionId,omitzero"`
	UpdatedAt string         `json:"updated_at,omitzero"`
	Origin    origin         `json:"origin,omitzero"`
	Unknown   jsontext.Value `json:",embed"`
}

// origin says who began a session.
type origin struct {
	Parent  string         `json:"parentThreadId,omitzero"` // the session that a sub-agent works for
	Version string         `json:"version,omitzero"`        // of the product
	Unknown jsontext.Value `json:",embed"`
}

// record is a message.
type record struct {
	ID       string         `json:"id"`
	Role     string         `json:"role"`
	Content  jsontext.Value `json:"content"` // a text, or a list of blocks
	Time     session.Millis `json:"ts"`
	Model    *modelInfo     `json:"modelInfo"`
	Metrics  *metrics       `json:"metrics"`
	Metadata metadata       `json:"metadata"`
	Unknown  jsontext.Value `json:",embed"`

	at      span.Span     // in the file; empty if it is in the file beside it
	damaged bool          // not a message
	hidden  bool          // never sent to the model
	mark    *entries.Mark // what we noted, nil if that is nothing; Metadata and Content are as they were without
}

type modelInfo struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
}

// metadata says what a message is for.
type metadata struct {
	Kind        string         `json:"kind"`
	DisplayOnly bool           `json:"displayOnly"` // never sent to the model
	DisplayRole string         `json:"displayRole"`
	Runs        *int           `json:"userRunSpan"` // how many prompts of the user's it stands for
	Summary     string         `json:"summary"`
	Winnow      jsontext.Value `json:"winnow"`
	Unknown     jsontext.Value `json:",embed"`
}

// metrics are what one request took. The input has the cached tokens in it, whatever the provider.
type metrics struct {
	Input      int     `json:"inputTokens"`
	Output     int     `json:"outputTokens"`
	CacheRead  int     `json:"cacheReadTokens"`
	CacheWrite int     `json:"cacheWriteTokens"`
	Cost       float64 `json:"cost"` // US dollars
}

// usage is nil if nothing was reported: the product fills in zeros.
func (t *metrics) usage() *session.Usage {
	if t == nil || t.Input <= 0 && t.Output <= 0 {
		return nil
	}
	return &session.Usage{
		Input: max(0, t.Input-t.CacheRead-t.CacheWrite), Output: t.Output,
		Cache: session.CacheUsage{Read: t.CacheRead, Write: t.CacheWrite},
	}
}

// noticeKinds are the kinds of messages that the product writes in the user's name.
var noticeKinds = []string{
	"auto_compaction", "compaction_budget_emergency", "compaction_summary", "completion_reminder",
	"loop_detection_notice", "manual_compaction", "mistake_stop_notice", "recovery_notice",
}

// byUser reports whether what is in a message without a mark of its own is the user's.
func (m *record) byUser() bool {
	shown := strings.ToLower(strings.TrimSpace(m.Metadata.DisplayRole))
	switch {
	case slices.Contains(noticeKinds, m.Metadata.Kind):
		return false
	case m.Metadata.Runs != nil:
		return *m.Metadata.Runs > 0
	}
	return shown == "" || shown == "user"
}
