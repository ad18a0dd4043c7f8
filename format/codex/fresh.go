package codex

import (
	"cmp"
	"time"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/span"
	"github.com/winnowhq/winnow/session"
)

// ThreadID is the id by which the product knows a session: the session's own if it is a UUID, else
// one derived from it.
func ThreadID(id string) string {
	if jsonl.IsUUID(id) {
		return id
	}
	return jsonl.UUID(id)
}

// Path is where the product looks for a session's rollout, below its folder sessions. It finds a
// thread by the id in the file's name.
func Path(info *session.Info) string {
	at := time.UnixMilli(int64(info.Time.Created)).UTC()
	return at.Format("2006/01/02/rollout-2006-01-02T15-04-05-") + ThreadID(info.ID) + ".jsonl"
}

// head begins a rollout.
func (w *writer) head() error {
	info := &w.change.Session.Info
	meta := span.Make("id", ThreadID(info.ID), "timestamp", jsonl.Stamp(info.Time.Created),
		"cwd", cmp.Or(info.Directory, "/"), "originator", "winnow", "cli_version", "0.0.0", "source", "cli")
	return w.line("session_meta", meta, &mark{Info: info, Session: w.change.Session.Unknown})
}
