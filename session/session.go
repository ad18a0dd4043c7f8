package session

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Session is one log: what is known about it, and its messages in the order in which they were
// appended.
type Session struct {
	Info     Info      `json:"info"`
	Messages []Message `json:"messages"`

	// Unknown holds members that this package does not know, as they were read.
	Unknown jsontext.Value `json:",embed"`
}

// Info describes a session.
type Info struct {
	ID        string    `json:"id"`
	Slug      string    `json:"slug,omitzero"`
	ProjectID string    `json:"projectID,omitzero"`
	Directory string    `json:"directory,omitzero"` // the working folder, absolute
	ParentID  string    `json:"parentID,omitzero"`  // the session that this one was forked from or works for
	Title     string    `json:"title"`
	Agent     string    `json:"agent,omitzero"`
	Model     *ModelRef `json:"model,omitzero"`
	Version   string    `json:"version,omitzero"` // of the program that wrote the session
	Time      Lifetime  `json:"time"`
	// Recall: the agent can get back what is left out of the session, by the command "winnow
	// recall" or the tool recall of "winnow mcp".
	Recall bool `json:"recall,omitzero"`
	// Missed is what the agent got back so, oldest first.
	Missed []Missed `json:"missed,omitempty"`
	// Undone are the receipts of what was undone, or the markers of pivots that have none, in the
	// order in which they were undone. What counts again is not in it.
	Undone []string `json:"undone,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

// Missed is a part that was left out and then needed.
type Missed struct {
	Part   string `json:"part"` // id
	Time   Millis `json:"time"`
	Tokens int    `json:"tokens"` // of what was given back
}

// Millis is a point in time: milliseconds since 1970 UTC, with a fraction where the writer had one.
// 0 is unknown.
type Millis float64

// Lifetime says when a session began and was last changed.
type Lifetime struct {
	Created Millis `json:"created"`
	Updated Millis `json:"updated"`

	Unknown jsontext.Value `json:",embed"`
}

// ModelRef names a model.
type ModelRef struct {
	// ID is set instead of ModelID in a session's Info; the format has both spellings.
	ID         string `json:"id,omitzero"`
	ProviderID string `json:"providerID"`
	ModelID    string `json:"modelID,omitzero"`
	Variant    string `json:"variant,omitzero"` // a named set of options, such as a reasoning effort

	Unknown jsontext.Value `json:",embed"`
}

// placeholder reports whether a product wrote something in angle brackets where a model would
// stand: "<synthetic>".
func placeholder(id string) bool { return strings.HasPrefix(id, "<") && strings.HasSuffix(id, ">") }

func (r *ModelRef) placeholder() bool { return placeholder(r.ModelID) || placeholder(r.ID) }

// String is "provider/model", or the half that is known.
func (r *ModelRef) String() string {
	if r == nil {
		return ""
	}
	id := r.ModelID
	if id == "" {
		id = r.ID
	}
	switch {
	case r.ProviderID == "":
		return id
	case id == "":
		return r.ProviderID
	}
	return r.ProviderID + "/" + id
}
