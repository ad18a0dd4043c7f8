// Package jsonl holds what the formats share whose files are lines of JSON that Winnow writes too:
// names and times as the products write them, and where and how an elision shows in a file.
package jsonl

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Stamp writes a time as the products do.
func Stamp(t session.Millis) string {
	return time.UnixMilli(int64(t)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// Millis reads a time, 0 if it is not one. Without a time zone it is taken for UTC.
func Millis(stamp string) session.Millis {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} { // either with a fraction
		if t, err := time.Parse(layout, stamp); err == nil {
			return session.Millis(t.UnixMilli())
		}
	}
	return 0
}

// IsUUID recognizes a UUID in hexadecimal digits of either case.
var IsUUID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`).MatchString

// UUID makes a UUID of a text, always the same one. Its version, 8, says that its maker chose the
// bits.
func UUID(text string) string {
	sum := sha256.Sum256([]byte(text))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// UUIDOf is the id itself if it is a UUID as the products write them, else one that is always the
// same for the same id.
func UUIDOf(id string) string {
	if IsUUID(id) && id == strings.ToLower(id) {
		return id
	}
	return UUID("winnow " + id)
}

// Word replaces the characters that providers do not take in ids and names of tools.
func Word(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// OrNull writes a text as JSON, null for the empty one.
func OrNull(text string) jsontext.Value {
	if text == "" {
		return jsontext.Value("null")
	}
	return span.Quote(text)
}

// IDs counts how often each id is in use.
type IDs map[string]int

// New returns an id that is not in use, and notes it: "a", and if that is taken "a#2", "a#3" and so
// on.
func (used IDs) New(id string) string {
	used[id]++
	for used[id] > 1 {
		next := fmt.Sprintf("%s#%d", id, used[id])
		if used[next] == 0 {
			used[next]++
			return next
		}
		used[id]++
	}
	return id
}

// Shows tells whether an elision of a field shows where a call is in a file, and where its result
// is. Parts of other types, and calls that have no result yet, are in one place only.
func Shows(field rule.Field, answered bool) (call, result bool) {
	switch field {
	case rule.Output, rule.Error, rule.Attachments:
		return !answered, answered
	case rule.Whole:
		return true, answered
	}
	return true, false
}

// Argument is what the arguments of a call show of an elision: its text if that is a JSON object,
// else an object with it.
func Argument(shown string) jsontext.Value {
	if v := jsontext.Value(shown); v.Kind() == '{' && v.IsValid() {
		return v
	}
	return span.Set([]byte("{}"), "", span.Quote(shown), "elided")
}

// Input is the input of a call, {} if it is not an object.
func Input(s *session.ToolState) jsontext.Value {
	if s.Input.Kind() != '{' {
		return jsontext.Value("{}")
	}
	return s.Input
}

// OneLine takes the line breaks between tokens out of a JSON value, for an entry is one line. A
// value that is not JSON is {}.
func OneLine(value jsontext.Value) jsontext.Value {
	compact := value.Clone()
	if compact.Compact(session.ReadOptions(), jsontext.PreserveRawStrings(true)) != nil {
		return jsontext.Value("{}")
	}
	return compact
}

// Failure is the error of a message, as a log has it.
type Failure struct {
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
	} `json:"data"`
}

// Failed writes the error of a message.
func Failed(name, text string) jsontext.Value {
	return span.Make("name", name, "data", span.Make("message", text))
}

// Marshal writes a value as JSON. What is not UTF-8 in it becomes U+FFFD, as it does when it is
// read; a value that cannot be written is nil.
func Marshal(v any) jsontext.Value {
	text, err := json.Marshal(v, session.ReadOptions())
	if err != nil {
		return nil
	}
	return text
}

// Inline is a file that its URL holds in base64.
func Inline(p *session.Part) (mime, data string, ok bool) {
	head, data, found := strings.Cut(p.URL, ";base64,")
	mime, inline := strings.CutPrefix(head, "data:")
	return mime, data, found && inline
}

// FileNote says what was there in the place of a file that a product has no form for.
func FileNote(p *session.Part) string {
	name := p.Filename
	if name == "" && !strings.HasPrefix(p.URL, "data:") {
		name = p.URL
	}
	return "[File: " + strings.TrimSpace(name+" "+p.Mime) + "]"
}

// PromptBefore is the size of the conversation at the end of a log, in tokens, as the provider last
// reported it.
func PromptBefore(log []session.Message) int {
	for i := len(log) - 1; i >= 0; i-- {
		if u := log[i].Tokens; u != nil && !log[i].IsSummary() && !log[i].Failed() {
			if n := max(u.Total, u.Prompt()+u.Output); n > 0 {
				return n
			}
		}
	}
	return 0
}

// Own fills in the ids of the session and the message that messages and parts belong to, if they
// are missing.
func Own(s *session.Session) {
	for i := range s.Messages {
		m := &s.Messages[i]
		m.SessionID = cmp.Or(m.SessionID, s.Info.ID)
		for j := range m.Parts {
			p := &m.Parts[j]
			p.SessionID, p.MessageID = cmp.Or(p.SessionID, s.Info.ID), cmp.Or(p.MessageID, m.ID)
		}
	}
}

// Damage is a line that was skipped.
func Damage(l span.Line, reason string) format.Damage {
	return format.Damage{Line: l.Number, Offset: int64(l.Whole.Start), Bytes: l.Whole.Len(), Reason: reason}
}

// Unreadable is the error for a file of which no line can be read. It names the first piece of
// damage.
func Unreadable(name, expected string, damaged []format.Damage) error {
	err := &format.SyntaxError{Format: name, Line: 1, Expected: expected, Err: errors.New("the file is empty")}
	if len(damaged) > 0 {
		first := damaged[0]
		err.Line, err.Offset, err.Err = first.Line, first.Offset, errors.New(first.Reason)
	}
	return err
}
