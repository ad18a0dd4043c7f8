package claudecode

import (
	"bytes"
	"cmp"
	"errors"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// entry is one line, as far as it is needed.
type entry struct {
	line  int       // 1-based
	whole span.Span // of the line in the file, its newline included
	at    span.Span // of the JSON in it
	raw   []byte    // the JSON; spans in the record count from its beginning
	// marks is what the writer of this package noted in the line, nil for most. raw is then the
	// line as it was before.
	marks *marks
	time  session.Millis
	title string
	record
}

// record is what a line says.
type record struct {
	Kind    string `json:"type"`
	Subtype string `json:"subtype"`
	UUID    string `json:"uuid"`
	Parent  string `json:"parentUuid"`
	Logical string `json:"logicalParentUuid"`
	Session string `json:"sessionId"`
	Cwd     string `json:"cwd"`
	Version string `json:"version"`
	Slug    string `json:"slug"`
	Branch  string `json:"gitBranch"`
	Leaf    string `json:"leafUuid"`

	CustomTitle string `json:"customTitle"`
	AITitle     string `json:"aiTitle"`
	Summary     string `json:"summary"`
	Timestamp   string `json:"timestamp"`

	Side     bool `json:"isSidechain"`
	Meta     bool `json:"isMeta"`
	Summed   bool `json:"isCompactSummary"`
	APIError bool `json:"isApiErrorMessage"`
	Explicit bool `json:"explicit"` // of last-prompt: the user went back to there

	Attachment   span.Span `json:"attachment"`
	Compact      span.Span `json:"compactMetadata"`
	Replacements span.Span `json:"replacements"` // of content-replacement
	Text         span.Span `json:"content"`      // of a system entry
	Winnow       span.Span `json:"winnow"`
	Data         span.Span `json:"data"` // of a progress record

	Message struct {
		ID      string    `json:"id"`
		Model   string    `json:"model"`
		Stop    string    `json:"stop_reason"`
		Usage   span.Span `json:"usage"`
		Content span.Span `json:"content"`
		Parts   span.Span `json:"parts"` // of a product that writes the same envelope
	} `json:"message"`
	Payload span.Span `json:"systemPayload"` // the same
}

// errSilent is the damage of a message without a content: nothing would show that it was not read.
var errSilent = errors.New("a message without content")

// parse reads a line. What was read before an error is kept.
func parse(line []byte) (entry, error) {
	e := entry{raw: line}
	if span.Kind(line) != '{' {
		return e, span.ErrNotObject
	}
	err := span.Decode(line, &e.record)
	e.time, e.title = jsonl.Millis(e.Timestamp), cmp.Or(e.CustomTitle, e.AITitle, e.Summary)
	if err == nil && e.speaks() && e.Message.Content.Empty() {
		err = errSilent
	}
	return e, err
}

// foreign reports whether the entry is a record of Qwen Code, which took the envelope over: what is
// said in it is a list of parts.
func (e *entry) foreign() bool {
	return e.Message.Content.Empty() && !e.Message.Parts.Empty() || !e.Payload.Empty() || e.Kind == "tool_result" ||
		bytes.Contains(e.raw, []byte(`"message":{"role":"user","parts":[`)) && e.Message.Content.Empty() // it is cut
}

// of is the text of a value in the line.
func (e *entry) of(s span.Span) []byte { return s.Of(e.raw) }

// content is that of the entry's message.
func (e *entry) content() []byte { return e.of(e.Message.Content) }

// speaks reports whether the entry is a message in the product's terms.
func (e *entry) speaks() bool { return e.Kind == "user" || e.Kind == "assistant" }

// chained reports whether the entry is a node of the tree that the product walks.
func (e *entry) chained() bool { return e.speaks() || e.Kind == "attachment" || e.Kind == "system" }

// boundary reports whether the entry is where a compaction cut the chain.
func (e *entry) boundary() bool { return e.Kind == "system" && e.Subtype == "compact_boundary" }
