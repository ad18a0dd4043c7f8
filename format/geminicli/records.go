package geminicli

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// conversation is what is known about a chat.
type conversation struct {
	SessionID   string         `json:"sessionId,omitzero"`
	ProjectHash string         `json:"projectHash,omitzero"`
	StartTime   string         `json:"startTime,omitzero"`
	LastUpdated string         `json:"lastUpdated,omitzero"`
	Summary     string         `json:"summary,omitzero"`
	Directories []string       `json:"directories,omitzero"`
	Kind        string         `json:"kind,omitzero"`
	Unknown     jsontext.Value `json:",embed"`
}

// record is a message of a chat, or a content of a checkpoint.
type record struct {
	ID        string         `json:"id"`
	Timestamp string         `json:"timestamp"`
	Type      string         `json:"type"` // user, gemini, info, error, warning
	Content   jsontext.Value `json:"content"`
	Calls     []call         `json:"toolCalls"`
	Thoughts  []thought      `json:"thoughts"`
	Tokens    *tokens        `json:"tokens"`
	Model     string         `json:"model"`
	Winnow    jsontext.Value `json:"winnow"`
	Role      string         `json:"role"`  // of a checkpoint
	Parts     jsontext.Value `json:"parts"` // of a checkpoint
	Unknown   jsontext.Value `json:",embed"`
}

type call struct {
	ID            string         `json:"id"`
	Name          string         `json:"name"`
	Args          jsontext.Value `json:"args"`
	Result        jsontext.Value `json:"result"`
	Status        string         `json:"status"`
	Timestamp     string         `json:"timestamp"`
	Description   string         `json:"description"`
	ResultDisplay jsontext.Value `json:"resultDisplay"`
	Unknown       jsontext.Value `json:",embed"`
}

type thought struct {
	Subject     string `json:"subject"`
	Description string `json:"description"`
}

// text is a thought as the product sends it again.
func (t *thought) text() string {
	if t.Subject == "" {
		return t.Description
	}
	return "**" + t.Subject + "** " + t.Description
}

// tokens are the counts of one request: input has the cached ones in it.
type tokens struct {
	Input    int `json:"input"`
	Output   int `json:"output"`
	Cached   int `json:"cached"`
	Thoughts int `json:"thoughts"`
	Tool     int `json:"tool"`
	Total    int `json:"total"`
}

// lines reads a recording of one record a line.
func (r *reader) lines() {
	for l := range span.Lines(r.Source) {
		if l.Text.Empty() {
			continue
		}
		line := l.Text.Of(r.Source)
		r.at = l.Number
		if err := r.line(line); err != nil {
			r.Damaged = append(r.Damaged, jsonl.Damage(l, span.Reason(err, "the file")))
			r.theirs = l.Whole.End
			continue
		}
		r.Counts.Entries++
		if span.Find(line, span.All(line), "winnow").Empty() {
			r.theirs = l.Whole.End
		}
	}
}

// left counts the messages that are not in the session, and lists the requests that were paid for.
func (r *reader) left(active map[int]bool) {
	for i, e := range r.entries {
		if e.folds != nil || active[i] || !e.spoken() {
			continue
		}
		r.Counts.Messages++
		r.Counts.Aside++
		if e.Type == "gemini" && e.Tokens != nil {
			by := session.ModelRef{ProviderID: "google", ModelID: e.Model}
			r.Beside = append(r.Beside, bill.Request{
				ID: e.ID, Kind: bill.Left, Time: jsonl.Millis(e.Timestamp), Model: by.String(), Usage: e.Tokens.usage(),
			})
		}
	}
}

// object reads a recording in one object, or a checkpoint.
func (r *reader) object() {
	whole := r.Whole()
	if r.Source[whole.Start] == '[' {
		r.elements(whole)
		return
	}
	var about span.Object
	r.Object(whole, func(name string, value span.Span) {
		text := value.Of(r.Source)
		if (name == "messages" || name == "history") && text[0] == '[' {
			r.elements(value)
		} else if span.Valid(text) {
			about.Raw(name, text)
		}
	})
	_ = json.Unmarshal(about.Bytes(), &r.about, session.ReadOptions()) // members of another type tell nothing
}

func (r *reader) elements(list span.Span) {
	transcript.Elements(r.Log, list, func(m record) {
		r.Counts.Entries++
		if m.Type == "" { // of a checkpoint
			m.Content = m.Parts
			if m.Type = "user"; m.Role == "model" {
				m.Type = "gemini"
			}
		}
		r.put(m)
	})
}

// usage is what a request took. The product counts cached tokens as input, and thoughts beside the
// output.
func (t *tokens) usage() *session.Usage {
	if t == nil {
		return nil
	}
	return &session.Usage{
		Total: t.Total, Input: t.Input - t.Cached + t.Tool, Output: t.Output, Reasoning: t.Thoughts,
		Cache: session.CacheUsage{Read: t.Cached},
	}
}
