package geminicli

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
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
func (r *reader) lines(src []byte) {
	number := 0
	for at := 0; at < len(src); {
		end := len(src)
		if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
			end = at + i
		}
		number++
		line := bytes.TrimSpace(src[at:end])
		if len(line) > 0 {
			if err := r.line(line); err != nil {
				r.doc.Damaged = append(r.doc.Damaged, format.Damage{Line: number, Offset: int64(at), Bytes: end - at, Reason: reason(err)})
			}
		}
		at = end + 1
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
	r.doc.Counts.Entries++
	switch {
	case any.Rewind != nil:
		// That message goes, and what came after it. One that is not there takes everything along, as in the product.
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

// put adds a message, or replaces the one with its id: the product writes a message again whenever it grew.
func (r *reader) put(m record) {
	if m.ID != "" {
		if i := slices.IndexFunc(r.records, func(old record) bool { return old.ID == m.ID }); i >= 0 {
			r.records[i] = m
			return
		}
	}
	r.records = append(r.records, m)
}

// set takes over what is said about the conversation. A list of messages in it stands in the place of those before: the product writes one when it
// compressed the chat or masked outputs.
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
			r.doc.Counts.Messages++
			r.doc.Counts.Aside++
		}
		if left[i].Type == "gemini" && left[i].Tokens != nil {
			by := session.ModelRef{ProviderID: "google", ModelID: left[i].Model}
			r.doc.Beside = append(r.doc.Beside, bill.Request{ID: left[i].ID, Kind: bill.Left, Time: millis(left[i].Timestamp), Model: by.String(), Usage: left[i].Tokens.usage()})
		}
	}
}

// spoken reports whether a record is a message of the user's or the model's.
func (m *record) spoken() bool { return m.Type == "user" || m.Type == "gemini" }

// object reads a recording in one object, or a checkpoint. On an error it returns where the value begins that could not be read.
func (r *reader) object(src []byte) (at int64, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(src), session.ReadOptions())
	token, err := dec.ReadToken()
	if err != nil {
		return 0, err
	}
	if token.Kind() == '[' {
		return r.elements(dec)
	}
	about := map[string]jsontext.Value{}
	defer func() {
		if text, err := json.Marshal(about, session.ReadOptions()); err == nil {
			_ = json.Unmarshal(text, &r.about, session.ReadOptions()) // members of another type tell nothing
		}
	}()
	for dec.PeekKind() != '}' {
		at = dec.InputOffset()
		name, err := dec.ReadToken()
		if err != nil {
			return at, err
		}
		key := name.String()
		if (key == "messages" || key == "history") && dec.PeekKind() == '[' {
			if _, err := dec.ReadToken(); err != nil {
				return at, err
			}
			if at, err := r.elements(dec); err != nil {
				return at, err
			}
			continue
		}
		value, err := dec.ReadValue()
		if err != nil {
			return at, err
		}
		about[key] = value.Clone()
	}
	_, err = dec.ReadToken()
	return dec.InputOffset(), err
}

// elements reads the messages of a list one by one, so that a cut costs one of them.
func (r *reader) elements(dec *jsontext.Decoder) (at int64, err error) {
	for dec.PeekKind() != ']' {
		at = dec.InputOffset()
		value, err := dec.ReadValue()
		if err != nil {
			return at, err
		}
		r.doc.Counts.Entries++
		var m record
		if value.Kind() != '{' {
			r.damaged(at, len(value), "no message: it is not an object")
		} else if err := json.Unmarshal(value, &m, session.ReadOptions()); err != nil {
			r.damaged(at, len(value), err.Error())
		} else {
			r.put(m)
		}
	}
	_, err = dec.ReadToken()
	return dec.InputOffset(), err
}

func (r *reader) damaged(at int64, size int, reason string) {
	r.doc.Damaged = append(r.doc.Damaged, format.Damage{Offset: at, Bytes: size, Reason: reason})
}

func reason(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "the file is cut short"
	}
	return err.Error()
}
