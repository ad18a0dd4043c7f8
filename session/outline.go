package session

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Outline is what a person reads about a turn instead of the turn. It stands in the Summary of the
// user message that began it, and is never sent to a model (S001, Session Summary).
type Outline struct {
	Title string `json:"title,omitzero"` // the user's request, about 20 tokens
	Body  string `json:"body,omitzero"`  // what came of it, at most 100 tokens
	// Diffs are the files that changed, between the snapshot before the first step and the one
	// after the last.
	Diffs []FileDiff `json:"diffs"`

	Unknown jsontext.Value `json:",embed"`
}

// FileDiff is what became of one file. Texts can be missing if the file is
// large or not text, or if another program wrote the diff.
type FileDiff struct {
	File      string `json:"file"`   // relative to the working folder, with slashes
	Before    string `json:"before"` // the whole text; "" if there was no such file
	After     string `json:"after"`  // "" if the file is gone
	Patch     string `json:"patch,omitzero"`
	Additions int    `json:"additions"` // lines
	Deletions int    `json:"deletions"`
	Status    string `json:"status,omitzero"` // "added", "deleted", "modified"

	Unknown jsontext.Value `json:",embed"`
}

// Outline returns what stands in the Summary of a user message; ok is false where there is nothing
// of the kind.
func (m *Message) Outline() (o Outline, ok bool) {
	if m.Role != User || m.Summary.Kind() != '{' {
		return Outline{}, false
	}
	return o, json.Unmarshal(m.Summary, &o, ReadOptions()) == nil
}

// Value is the outline as the Summary of a user message.
func (o Outline) Value() jsontext.Value {
	text, err := json.Marshal(o, ReadOptions(), json.Deterministic(true))
	if err != nil { // strings and numbers always encode; Unknown came from a reader
		return nil
	}
	return text
}

// Snapshots are the first and the last snapshot that the markers of steps hold: of a turn, what its
// files were before and after it. Both are "" if there is no snapshot.
func Snapshots(messages []Message) (first, last string) {
	for i := range messages {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			if p.Type != StepStartPart && p.Type != StepFinishPart || p.Snapshot == "" {
				continue
			}
			if first == "" {
				first = p.Snapshot
			}
			last = p.Snapshot
		}
	}
	return first, last
}

// LastText is the last answer of a turn: the text of its last answer that has one, ""
// without. Summaries are no answers.
func LastText(turn []Message) string {
	for i := len(turn) - 1; i >= 0; i-- {
		if m := &turn[i]; m.Role == Assistant && !m.IsSummary() {
			if text := m.Text(); text != "" {
				return text
			}
		}
	}
	return ""
}
