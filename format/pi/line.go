package pi

import (
	"cmp"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/text/span"
)

// Types of entries.
const (
	sessionEntry       = "session"
	messageEntry       = "message"
	compactionEntry    = "compaction"
	branchEntry        = "branch_summary"
	modelEntry         = "model_change"
	thinkingEntry      = "thinking_level_change"
	customEntry        = "custom"
	customMessageEntry = "custom_message"
	infoEntry          = "session_info"
	labelEntry         = "label"
)

// Roles of messages.
const (
	userRole      = "user"
	assistantRole = "assistant"
	resultRole    = "toolResult"
	shellRole     = "bashExecution"
	customRole    = "custom"
	hookRole      = "hookMessage" // what custom was called before version 3
)

// Kinds of blocks in a message's content.
const (
	textBlock     = "text"
	imageBlock    = "image"
	thinkingBlock = "thinking"
	callBlock     = "toolCall"
)

// entry is one line, with what the reader needs of it.
type entry struct {
	whole   span.Span // of the line in the source, its line break included
	json    span.Span // of the JSON in it
	line    int       // 1-based
	gone    bool      // blank or damaged: not an entry at all
	damaged bool
	text    []byte // the JSON; spans in the record count from its beginning
	record
}

// record is what an entry says.
type record struct {
	Kind      string `json:"type"`
	ID        string `json:"id"`
	Parent    string `json:"parentId"`
	Timestamp string `json:"timestamp"`

	Version       number `json:"version"` // of a header
	Cwd           string `json:"cwd"`
	ParentSession string `json:"parentSession"` // a path
	BranchedFrom  string `json:"branchedFrom"`  // the same in older headers
	Title         string `json:"name"`          // of session_info
	Provider      string `json:"provider"`      // of model_change, and of old headers
	Model         string `json:"modelId"`
	Thinking      string `json:"thinkingLevel"`

	Message    *message  `json:"message"`
	Content    content   `json:"content"` // of custom_message
	Summary    string    `json:"summary"`
	FirstKept  string    `json:"firstKeptEntryId"`
	FirstIndex *number   `json:"firstKeptEntryIndex"`
	Winnow     span.Span `json:"winnow"`
}

// message is the message of a message entry.
type message struct {
	Role      string  `json:"role"`
	Content   content `json:"content"`
	Timestamp number  `json:"timestamp"`

	// assistant
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Usage    *usage `json:"usage"`
	Stop     string `json:"stopReason"`
	Failure  string `json:"errorMessage"`

	// toolResult
	CallID  string    `json:"toolCallId"`
	Tool    string    `json:"toolName"`
	IsError bool      `json:"isError"`
	Details span.Span `json:"details"`

	// bashExecution
	Command    string `json:"command"`
	Output     string `json:"output"`
	FullOutput string `json:"fullOutputPath"`
	Exit       number `json:"exitCode"`
	Cancelled  bool   `json:"cancelled"`
	Truncated  bool   `json:"truncated"`
	Hidden     bool   `json:"excludeFromContext"`
}

type usage struct {
	Input      number `json:"input"`
	Output     number `json:"output"`
	CacheRead  number `json:"cacheRead"`
	CacheWrite number `json:"cacheWrite"`
	Hour       number `json:"cacheWrite1h"`
	Total      number `json:"totalTokens"`
	Cost       struct {
		Total number `json:"total"`
	} `json:"cost"`
}

type block struct {
	Kind              string    `json:"type"`
	Text              string    `json:"text"`
	Thinking          string    `json:"thinking"`
	TextSignature     string    `json:"textSignature"`
	ThinkingSignature string    `json:"thinkingSignature"`
	ThoughtSignature  string    `json:"thoughtSignature"` // of a call
	Redacted          bool      `json:"redacted"`
	Mime              string    `json:"mimeType"`
	Data              string    `json:"data"`
	ID                string    `json:"id"`
	Name              string    `json:"name"`
	Arguments         span.Span `json:"arguments"`
}

// said is the text of a block, or its thought.
func (b *block) said() string { return cmp.Or(b.Text, b.Thinking) }

// signature is what the provider wants back with a block.
func (b *block) signature() string {
	return cmp.Or(b.TextSignature, b.ThinkingSignature, b.ThoughtSignature)
}

// content is a text, which is one block, or a list of blocks. Elements that are not objects are
// dropped.
type content []block

// UnmarshalJSONFrom reads either form; anything else is no content.
func (c *content) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*c = nil
	switch dec.PeekKind() {
	case '"':
		*c = content{{Kind: textBlock}}
		return json.UnmarshalDecode(dec, &(*c)[0].Text)
	case '[':
	default:
		return dec.SkipValue()
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		if dec.PeekKind() != '{' {
			if err := dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		*c = append(*c, block{})
		if err := json.UnmarshalDecode(dec, &(*c)[len(*c)-1]); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// number is a JSON number, NaN if it is too large to count anything, and 0 for any other value.
type number float64

// UnmarshalJSONFrom reads a number.
func (n *number) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if *n = 0; err != nil || value.Kind() != '0' {
		return err
	}
	f, invalid := strconv.ParseFloat(string(value), 64)
	if invalid != nil || math.Abs(f) > 1<<53 {
		f = math.NaN()
	}
	*n = number(f)
	return nil
}

// orZero is the number, 0 if it is too large.
func (n number) orZero() float64 {
	if n != n {
		return 0
	}
	return float64(n)
}

// count is the number as a count, -1 if it cannot be one.
func (n number) count() int {
	if n >= 0 {
		return int(n)
	}
	return -1
}

// parse reads one line.
func parse(text []byte) (entry, error) {
	e := entry{text: text}
	if span.Kind(text) != '{' {
		return e, span.ErrNotObject
	}
	return e, span.Decode(text, &e.record)
}
