package pi

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
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

// span is a piece of the source, from start up to end.
type span struct{ start, end int }

func (s span) len() int { return s.end - s.start }

// entry is one line, with what the reader needs of it.
type entry struct {
	span        // of the line in the source, its line break included
	line int    // 1-based
	kind string // type

	gone    bool // blank or damaged: not an entry at all
	damaged bool

	id, parent string
	timestamp  string

	// The header.
	version    int
	cwd        string
	forkedFrom string // a path
	title      string // of session_info
	provider   string // of model_change, and of old headers
	model      string
	thinking   string

	message    *message
	content    []block // of custom_message
	summary    string
	firstKept  string
	firstIndex int // -1 without one
	winnow     jsontext.Value

	at members
}

// members says where the values of a line's members stand, counted from the start of the line, for the writer.
type members struct{ parent, firstKept, firstIndex, message, content, summary, winnow span }

// message is the message of a message entry.
type message struct {
	role      string
	content   []block
	timestamp float64

	// assistant
	api, provider, model string
	usage                usage
	stop, failure        string

	// toolResult
	callID, tool string
	isError      bool
	details      jsontext.Value

	// bashExecution
	command, output, fullOutput  string
	exit                         int
	cancelled, truncated, hidden bool
}

type usage struct {
	input, output, cacheRead, cacheWrite, hour, total int
	cost                                              float64
	known                                             bool
}

// Kinds of blocks in a message's content.
const (
	textBlock     = "text"
	imageBlock    = "image"
	thinkingBlock = "thinking"
	callBlock     = "toolCall"
)

type block struct {
	kind      string
	text      string // or thinking
	signature string // of text, thinking or a call
	redacted  bool
	mime      string
	data      string
	id, name  string
	arguments jsontext.Value
}

// decoder reads lines. What does not have the type that it should have counts as missing, so that one odd member does not
// cost a line.
type decoder struct {
	dec  *jsontext.Decoder
	buf  bytes.Buffer
	text []byte
	err  error
	last span // of the value that was read last
}

var errNotObject = errors.New("not a JSON object")

// line reads one line.
func (d *decoder) line(text []byte) (entry, error) {
	d.text, d.err = text, nil
	d.buf = *bytes.NewBuffer(text)
	if d.dec == nil {
		d.dec = jsontext.NewDecoder(&d.buf, session.ReadOptions())
	} else {
		d.dec.Reset(&d.buf, session.ReadOptions())
	}
	e := entry{firstIndex: -1}
	if d.dec.PeekKind() != '{' {
		if _, err := d.dec.ReadValue(); err != nil {
			return e, err
		}
		return e, errNotObject
	}
	d.object(func(name []byte) { d.member(&e, name) })
	if d.err == nil {
		if _, err := d.dec.ReadToken(); err != io.EOF {
			d.err = fmt.Errorf("something follows the JSON object at byte %d", d.dec.InputOffset())
		}
	}
	return e, d.err
}

func (d *decoder) member(e *entry, name []byte) {
	switch string(name) {
	case "type":
		e.kind = d.word()
	case "id":
		e.id = d.string()
	case "parentId":
		e.parent = d.string()
		e.at.parent = d.last
	case "timestamp":
		e.timestamp = d.string()
	case "version":
		e.version = int(d.number())
	case "cwd":
		e.cwd = d.string()
	case "parentSession", "branchedFrom":
		e.forkedFrom = d.string()
	case "name":
		e.title = d.string()
	case "provider":
		e.provider = d.string()
	case "modelId":
		e.model = d.string()
	case "thinkingLevel":
		e.thinking = d.string()
	case "message":
		e.message = d.message()
		e.at.message = d.last
	case "content":
		e.content = d.content()
		e.at.content = d.last
	case "summary":
		e.summary = d.string()
		e.at.summary = d.last
	case "firstKeptEntryId":
		e.firstKept = d.string()
		e.at.firstKept = d.last
	case "firstKeptEntryIndex":
		if d.dec.PeekKind() == '0' {
			e.firstIndex = max(-1, int(d.number()))
			e.at.firstIndex = d.last
		} else {
			d.skip()
		}
	case "winnow":
		e.winnow = d.raw()
		e.at.winnow = d.last
	default:
		d.skip()
	}
}
