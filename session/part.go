package session

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// PartType is the kind of a part. Values that are not named here are kept as they were read.
type PartType string

const (
	TextPart       PartType = "text"
	ReasoningPart  PartType = "reasoning"
	FilePart       PartType = "file"
	ToolPart       PartType = "tool"
	StepStartPart  PartType = "step-start"
	StepFinishPart PartType = "step-finish"
	SnapshotPart   PartType = "snapshot"
	PatchPart      PartType = "patch"
	AgentPart      PartType = "agent"
	SubtaskPart    PartType = "subtask"
	RetryPart      PartType = "retry"
	CompactionPart PartType = "compaction"
)

// Part is one piece of a message. It is flat, as its JSON is: which fields count is told by Type.
type Part struct {
	ID        string   `json:"id"`
	SessionID string   `json:"sessionID"`
	MessageID string   `json:"messageID"`
	Type      PartType `json:"type"`

	// Text of a text or reasoning part.
	Text      string `json:"text,omitzero"`
	Synthetic bool   `json:"synthetic,omitzero"` // written by a program in the user's name
	Ignored   bool   `json:"ignored,omitzero"`   // shown to people, never sent
	// Metadata of a text or reasoning part: what the provider wants back, such as signatures.
	Metadata jsontext.Value `json:"metadata,omitzero"`
	Time     *Span          `json:"time,omitzero"`

	// A file part.
	Mime     string `json:"mime,omitzero"`
	Filename string `json:"filename,omitzero"`
	URL      string `json:"url,omitzero"` // data:, file: or http(s):
	// Source says where a file or agent part was mentioned; its shape differs by kind.
	Source jsontext.Value `json:"source,omitzero"`

	// A tool part: a call and its result in one, so that nothing can separate them.
	CallID string     `json:"callID,omitzero"`
	Tool   string     `json:"tool,omitzero"`
	State  *ToolState `json:"state,omitzero"`

	// Step markers, snapshots and patches.
	Snapshot string   `json:"snapshot,omitzero"` // a tree hash
	Reason   string   `json:"reason,omitzero"`   // of step-finish
	Cost     *float64 `json:"cost,omitzero"`     // US dollars
	Tokens   *Usage   `json:"tokens,omitzero"`
	Hash     string   `json:"hash,omitzero"`
	Files    []string `json:"files,omitzero"`

	// Agents, subtasks, retries.
	Name        string         `json:"name,omitzero"`
	Prompt      string         `json:"prompt,omitzero"`
	Description string         `json:"description,omitzero"`
	Agent       string         `json:"agent,omitzero"`
	Attempt     int            `json:"attempt,omitzero"`
	Error       jsontext.Value `json:"error,omitzero"`

	// A compaction part: "compact here".
	Auto        bool   `json:"auto,omitzero"`
	Overflow    bool   `json:"overflow,omitzero"`      // the provider rejected the request as too long
	TailStartID string `json:"tail_start_id,omitzero"` // the first message that stays verbatim

	Unknown jsontext.Value `json:",embed"`
}

// Span is when something began and ended. Compacted is the mark that a product left on a tool part
// whose output it no longer sends; reading it turns it into an elision.
type Span struct {
	Start     Millis `json:"start,omitzero"`
	End       Millis `json:"end,omitzero"`
	Compacted Millis `json:"compacted,omitzero"`
	Created   Millis `json:"created,omitzero"` // of a retry

	Unknown jsontext.Value `json:",embed"`
}

// Status is how far a tool call has come.
type Status string

const (
	Pending   Status = "pending"
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "error"
)

// ToolState is a call's input and, once it ended, its result.
type ToolState struct {
	Status      Status         `json:"status"`
	Input       jsontext.Value `json:"input,omitzero"` // a JSON object; whatever the model sent
	Raw         string         `json:"raw,omitzero"`   // pending: the arguments as far as they were received
	Title       string         `json:"title,omitzero"`
	Output      string         `json:"output,omitzero"`
	Error       string         `json:"error,omitzero"`
	Metadata    jsontext.Value `json:"metadata,omitzero"`
	Time        *Span          `json:"time,omitzero"`
	Attachments []Part         `json:"attachments,omitzero"` // file parts that the tool returned

	Unknown jsontext.Value `json:",embed"`
}

// Final reports whether the call has ended, one way or the other.
func (s *ToolState) Final() bool { return s.Status == Completed || s.Status == Failed }

// Result is what the call gave back: its output, or its error.
func (s *ToolState) Result() string {
	if s.Status == Failed {
		return s.Error
	}
	return s.Output
}

// IsMedia reports whether a file part is an image or a PDF, which models take as such.
func (p *Part) IsMedia() bool {
	return p.Type == FilePart && (len(p.Mime) > 6 && p.Mime[:6] == "image/" || p.Mime == "application/pdf")
}

// Sent reports whether a file part came with a request to a model whose block its metadata keeps,
// as package wire does of text files: their text is nowhere else.
func (p *Part) Sent() bool {
	return p.Type == FilePart && bytes.Contains(p.Metadata, []byte(`"block"`))
}
