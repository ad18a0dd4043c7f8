// Package claudecode reads and writes the session files that Claude Code keeps under
// ~/.claude/projects/<folder>/<session>.jsonl.
//
// A line of JSON is an entry. Entries form a tree (uuid, parentUuid); a session is the branch of it
// that the product would resume. Each block of an assistant's message has an entry of its own,
// results of tools are entries in the user's name, and a compaction is a pair of entries at which
// the chain of parents is cut. The reader turns this into the canonical log and keeps every byte;
// the writer changes only lines that a change concerns.
package claudecode

import (
	"bytes"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
)

// Name is the format's word on the command line.
const Name = "claude-code"

// Format is the session file of Claude Code.
type Format struct{}

var _ format.Format = Format{}

// Name is "claude-code".
func (Format) Name() string { return Name }

// Title names the format for people.
func (Format) Title() string { return "Claude Code session (JSONL)" }

// Detect looks for a line that only this product writes: an object with a sessionId and either a
// uuid, or a type of the records that it keeps beside the conversation. A first line that is cut
// off or damaged is passed over.
func (Format) Detect(head []byte) bool {
	const lines = 50 // a session may begin with dozens of records without a conversation
	for l := range span.Lines(head) {
		if l.Number > lines {
			return false
		}
		line := l.Text.Of(head)
		if span.Kind(line) != '{' {
			continue
		}
		e, err := parse(line)
		if e.foreign() {
			return false
		}
		if err != nil && head[l.Whole.End-1] == '\n' {
			continue
		}
		// A line that is longer than the head is understood as far as it goes.
		if e.Session != "" && (e.UUID != "" || aside[e.Kind]) || e.Kind == "file-history-snapshot" && e.UUID == "" ||
			e.Kind == "summary" && e.Leaf != "" {
			return true
		}
		if err != nil && (e.Side || bytes.HasPrefix(line, []byte(`{"parentUuid":`))) {
			return true
		}
	}
	return false
}

// aside holds types of entries that have a sessionId but are no part of the conversation.
var aside = map[string]bool{
	"queue-operation": true, "last-prompt": true, "mode": true, "permission-mode": true,
	"custom-title": true, "ai-title": true,
	"agent-name": true, "agent-setting": true, "tag": true, "worktree-state": true, "content-replacement": true,
}
