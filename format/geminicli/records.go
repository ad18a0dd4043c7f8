package geminicli

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/span"
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
		if err := r.line(l.Text.Of(r.Source)); err != nil {
			r.Damaged = append(r.Damaged, format.Damage{
				Line: l.Number, Offset: int64(l.Whole.Start), Bytes: l.Whole.Len(),
				Reason: span.Reason(err, "the file"),
			})
		}
	}
}

func (r *reader) line(line []byte) error {
	var any struct {
		Set       jsontext.Value `json:"$set"`
		Rewind    *string        `json:"$rewindTo"`
		ID        string         `json:"id"`
		SessionID string         `json:"sessionId"`
	}
	if err := json.Unmarshal(line, &any, session.ReadOptions()); err != nil {
		return err
	}
	r.Counts.Entries++
	switch {
	case any.Rewind != nil:
		// That message goes, and what came after it. If it is not there, all go, as in the product.
		at := max(0, slices.IndexFunc(r.records, func(m record) bool { return m.ID == *any.Rewind }))
		r.aside(r.records[at:])
		r.records = r.records[:at]
	case any.ID != "":
		var m record
		if err := json.Unmarshal(line, &m, session.ReadOptions()); err != nil {
			return err
		}
		r.put(m)
	case any.Set.Kind() == '{':
		return r.set(any.Set)
	case any.SessionID != "":
		return r.set(line)
	default:
		return errors.New("neither a message nor anything else that is known")
	}
	return nil
}

// put adds a message, or replaces the one with its id: the product writes a message again whenever
// it grew.
func (r *reader) put(m record) {
	if m.ID != "" {
		if i := slices.IndexFunc(r.records, func(old record) bool { return old.ID == m.ID }); i >= 0 {
			r.records[i] = m
			return
		}
	}
	r.records = append(r.records, m)
}

// set takes over what is said about the conversation. A list of messages in it replaces those
// before: the product writes one when it compressed the chat or masked outputs.
func (r *reader) set(value jsontext.Value) error {
	update := struct {
		*conversation
		Messages []record `json:"messages"`
	}{conversation: &r.about}
	if err := json.Unmarshal(value, &update, session.ReadOptions()); err != nil {
		return err
	}
	if len(update.Messages) > 0 {
		for _, old := range r.records {
			if !slices.ContainsFunc(update.Messages, func(m record) bool { return m.ID == old.ID }) {
				r.aside([]record{old})
			}
		}
		r.records = nil
		for _, m := range update.Messages {
			r.put(m)
		}
	}
	return nil
}

func (r *reader) aside(left []record) {
	for i := range left {
		if left[i].spoken() {
			r.Counts.Messages++
			r.Counts.Aside++
		}
		if left[i].Type == "gemini" && left[i].Tokens != nil {
			by := session.ModelRef{ProviderID: "google", ModelID: left[i].Model}
			r.Beside = append(r.Beside, bill.Request{
				ID: left[i].ID, Kind: bill.Left, Time: jsonl.Millis(left[i].Timestamp), Model: by.String(),
				Usage: left[i].Tokens.usage(),
			})
		}
	}
}

// spoken reports whether a record is a message of the user's or the model's.
func (m *record) spoken() bool { return m.Type == "user" || m.Type == "gemini" }

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
