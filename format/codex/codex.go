// Package codex reads and writes the rollouts of OpenAI's Codex CLI: one JSON object a line,
// {timestamp, type, payload}, appended to as a thread goes on.
//
// What the product itself does with such a file was learned from its version 0.169: it takes the
// newest compaction's replacement_history as the conversation and every response item behind it; it
// skips lines of a type that it does not know, and ignores members that it does not know. Both are
// used here: what the product has no words for is kept in a member "winnow" of a line, or in lines
// of the type "winnow".
package codex

import (
	"bytes"
	"cmp"
	"time"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Format reads and writes rollouts. The zero value is ready.
type Format struct{}

// Name is the word for the format on the command line.
func (Format) Name() string { return name }

// Title names the format for people.
func (Format) Title() string { return "Codex rollout (JSONL)" }

const name = "codex"

// Detect looks at the first lines: a session_meta line, or, in rollouts of the first versions, an
// unnamed line with the session's id and instructions and then bare response items.
func (Format) Detect(head []byte) bool {
	for found := range span.Lines(head) {
		if found.Number > 8 {
			return false
		}
		first := found.Text.Of(head)
		if len(first) == 0 {
			continue
		}
		whole := head[found.Whole.End-1] == '\n'
		var l line
		if scanLine(first, &l) != nil {
			// The first line of a rollout can be longer than the head: its instructions are in it.
			if !whole {
				return first[0] == '{' && bytes.Contains(first, []byte(`"type":"session_meta"`)) &&
					bytes.Contains(first, []byte(`"payload":{`))
			}
			continue
		}
		switch l.kind {
		case metaLine:
			return true
		case itemLine, turnLine, eventLine, compactedLine:
			if !l.bare {
				return !l.foreign
			}
		}
	}
	return false
}

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
