package session

import (
	"github.com/go-json-experiment/json/jsontext"
)

// Role says who speaks.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one entry of the log: what is known about it, and its parts.
type Message struct {
	MessageInfo `json:"info"`
	Parts       []Part `json:"parts"`

	Unknown jsontext.Value `json:",embed"`
}

// MessageInfo describes a message. Fields that only one role has are empty for the other.
type MessageInfo struct {
	ID        string      `json:"id"`
	SessionID string      `json:"sessionID"`
	Role      Role        `json:"role"`
	Time      MessageTime `json:"time"`
	Agent     string      `json:"agent,omitzero"`

	// Of a user message: the model that is to answer.
	Model *ModelRef `json:"model,omitzero"`

	// Of an assistant message.
	ParentID   string   `json:"parentID,omitzero"` // the user message that it answers
	ModelID    string   `json:"modelID,omitzero"`
	ProviderID string   `json:"providerID,omitzero"`
	Variant    string   `json:"variant,omitzero"`
	Mode       string   `json:"mode,omitzero"`
	Path       *Path    `json:"path,omitzero"`
	Cost       *float64 `json:"cost,omitzero"`   // US dollars, summed over the steps of the message
	Tokens     *Usage   `json:"tokens,omitzero"` // of the last step
	Finish     string   `json:"finish,omitzero"` // why the model stopped; empty while it has not
	// Repeats is the id of an earlier message of the same request, which has its usage: this one
	// took nothing more.
	Repeats string         `json:"repeats,omitzero"`
	Error   jsontext.Value `json:"error,omitzero"` // {name, data}

	// Summary is true on the assistant message that answers a marker. On a user message it is
	// an object for people (title, body, diffs), which has no bearing on the context.
	Summary jsontext.Value `json:"summary,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

// MessageTime says when a message was begun and finished.
type MessageTime struct {
	Created   Millis `json:"created"`
	Completed Millis `json:"completed,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

// Path holds the folders in which a message was written.
type Path struct {
	Cwd  string `json:"cwd"`
	Root string `json:"root"`

	Unknown jsontext.Value `json:",embed"`
}

// Usage is what the provider reported for a step, in tokens. Input excludes what was read from or
// written to the prompt cache; Output excludes Reasoning where the provider tells them apart.
type Usage struct {
	Total     int        `json:"total,omitzero"` // as reported; 0 when the provider gave none
	Input     int        `json:"input"`
	Output    int        `json:"output"`
	Reasoning int        `json:"reasoning"`
	Cache     CacheUsage `json:"cache"`
	// Searches is how many searches of the web the provider made for the step: they have a price
	// each.
	Searches int `json:"searches,omitzero"`
	// Tier is the service of the provider beside its usual one, which has other prices: "priority",
	// "fast", several joined by "+".
	Tier string `json:"tier,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

// CacheUsage is the part of a prompt that the provider's cache served or took in, in tokens.
type CacheUsage struct {
	Read  int `json:"read"`
	Write int `json:"write"`
	// Write1h is how much of Write stays for an hour, where the provider tells: that is dearer than
	// its usual lifetime.
	Write1h int `json:"write1h,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

// Prompt is the size of the whole prompt, in tokens: fresh, read from the cache and written to it.
func (u Usage) Prompt() int { return u.Input + u.Cache.Read + u.Cache.Write }

// Add sums two usages; Total becomes the sum of both totals.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Total: u.Total + v.Total, Input: u.Input + v.Input, Output: u.Output + v.Output,
		Reasoning: u.Reasoning + v.Reasoning,
		Cache: CacheUsage{Read: u.Cache.Read + v.Cache.Read, Write: u.Cache.Write + v.Cache.Write,
			Write1h: u.Cache.Write1h + v.Cache.Write1h},
		Searches: u.Searches + v.Searches,
	}
}

// IsSummary reports whether the message is flagged as the answer to a marker, completed or not.
func (m *Message) IsSummary() bool { return m.Role == Assistant && string(m.Summary) == "true" }

// Failed reports whether the message carries an error.
func (m *Message) Failed() bool { return len(m.Error) > 0 && string(m.Error) != "null" }

// Completes reports whether the message is a finished summary: flagged, with a finish, and without
// an error. Only such a message hides what came before its marker (S003 §4.4).
func (m *Message) Completes() bool { return m.IsSummary() && m.Finish != "" && !m.Failed() }

// Marker returns the compaction part of a user message, nil when it has none.
func (m *Message) Marker() *Part {
	if m.Role != User {
		return nil
	}
	for i := range m.Parts {
		if m.Parts[i].Type == CompactionPart {
			return &m.Parts[i]
		}
	}
	return nil
}

// Written reports whether the user wrote the message: a marker, or a message of which every part
// was made by a program, is not written by anybody and starts no turn.
func (m *Message) Written() bool {
	if m.Role != User {
		return false
	}
	written := false
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case CompactionPart:
			return false
		case TextPart:
			written = written || !p.Synthetic && !p.Ignored
		case FilePart, AgentPart, SubtaskPart:
			written = written || !p.Synthetic
		}
	}
	return written
}

// Text is the text of a message as its author wrote it: text parts that are not synthetic and not
// ignored, joined by blank lines.
func (m *Message) Text() string {
	text := ""
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == TextPart && !p.Synthetic && !p.Ignored && p.Text != "" {
			if text != "" {
				text += "\n\n"
			}
			text += p.Text
		}
	}
	return text
}

// Answers names the model that wrote an assistant message, or that a user message asks for; nil
// where none did. "<synthetic>" and the like, which products write over what they say themselves,
// are no models.
func (m *Message) Answers() *ModelRef {
	if m.Model != nil {
		if m.Model.placeholder() {
			return nil
		}
		return m.Model
	}
	if m.ModelID == "" && m.ProviderID == "" || placeholder(m.ModelID) {
		return nil
	}
	return &ModelRef{ProviderID: m.ProviderID, ModelID: m.ModelID, Variant: m.Variant}
}
