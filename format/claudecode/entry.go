package claudecode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

var newline = []byte{'\n'}

// entry is one line, as far as it is needed. Slices point into the file.
type entry struct {
	line       int // 1-based
	start, end int // of the JSON in the file
	raw        []byte
	// marks is what the writer of this package noted in the line, nil for most. raw is then the line as it was before.
	marks *marks

	kind, subtype         string // type and subtype
	uuid, parent, logical string
	session, cwd, version string
	slug, leaf, branch    string
	title                 string
	time                  session.Millis
	side, meta            bool // isSidechain, isMeta
	summary, apiError     bool // isCompactSummary, isApiErrorMessage
	explicit              bool // of last-prompt: the user went back to there
	attachment, compact   []byte
	replacements, text    []byte // of content-replacement; top-level content of a system entry
	winnow                []byte
	message               []byte // the value of "message"
	messageID, model      string
	stop                  string
	usage, content        []byte
	data                  []byte // of a progress record
}

// speaks reports whether the entry is a message in the product's terms.
func (e *entry) speaks() bool { return e.kind == "user" || e.kind == "assistant" }

// chained reports whether the entry is a node of the tree that the product walks.
func (e *entry) chained() bool {
	return e.speaks() || e.kind == "attachment" || e.kind == "system"
}

// boundary reports whether the entry is where a compaction cut the chain.
func (e *entry) boundary() bool { return e.kind == "system" && e.subtype == "compact_boundary" }

// scanner reads entries and objects; it holds the decoder between lines.
type scanner struct {
	buffer bytes.Buffer
	dec    *jsontext.Decoder
	text   []byte
}

func newScanner() *scanner {
	s := &scanner{}
	s.dec = jsontext.NewDecoder(&s.buffer, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	return s
}

func (s *scanner) reset(value []byte) {
	s.buffer = *bytes.NewBuffer(value)
	s.dec.Reset(&s.buffer, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

var errNotObject = errors.New("not a JSON object")

// member receives one member of an object. The name keeps its quotes; both are pieces of the object's own bytes. inside tells
// that it is a member of the object's "message". It must not use the scanner's decoder.
type member func(inside bool, name, value []byte)

// object walks the members of an object, and with open also those of its "message", which is most of a line: one pass is enough.
func (s *scanner) object(value []byte, open bool, found member) error {
	s.reset(value)
	if s.dec.PeekKind() != '{' {
		if _, err := s.dec.ReadValue(); err != nil {
			return err
		}
		return errNotObject
	}
	if err := s.members(value, open, false, found); err != nil {
		return err
	}
	if _, err := s.dec.ReadToken(); err != io.EOF {
		if err == nil {
			err = errors.New("more than one value in the line")
		}
		return err
	}
	return nil
}

// members reads the object at which the decoder stands.
func (s *scanner) members(whole []byte, open, inside bool, found member) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != '}' {
		name, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		end := int(s.dec.InputOffset())
		name = whole[end-len(name) : end]
		if open && !inside && string(name) == `"message"` && s.dec.PeekKind() == '{' {
			begin := end + bytes.IndexByte(whole[end:], '{')
			if err := s.members(whole, open, true, found); err != nil {
				return err
			}
			found(inside, name, whole[begin:int(s.dec.InputOffset())])
			continue
		}
		value, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		end = int(s.dec.InputOffset())
		found(inside, name, whole[end-len(value):end])
	}
	_, err := s.dec.ReadToken()
	return err
}

// array calls element with each element of an array; anything else has none.
func (s *scanner) array(value []byte, element func(value []byte) error) error {
	s.reset(value)
	if s.dec.PeekKind() != '[' {
		return nil
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != ']' {
		v, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		end := int(s.dec.InputOffset())
		if err := element(value[end-len(v) : end]); err != nil {
			return err
		}
	}
	return nil
}

// entry reads a line. What was read before an error stays in e.
func (s *scanner) entry(line []byte, e *entry) error {
	e.raw = line
	return s.object(line, true, func(inside bool, name, value []byte) {
		if inside {
			switch string(name) {
			case `"id"`:
				e.messageID = s.string(value)
			case `"model"`:
				e.model = s.string(value)
			case `"stop_reason"`:
				e.stop = s.string(value)
			case `"usage"`:
				e.usage = value
			case `"content"`:
				e.content = value
			}
			return
		}
		switch string(name) {
		case `"type"`:
			e.kind = known(s.string(value))
		case `"subtype"`:
			e.subtype = s.string(value)
		case `"uuid"`:
			e.uuid = s.string(value)
		case `"parentUuid"`:
			e.parent = s.string(value)
		case `"logicalParentUuid"`:
			e.logical = s.string(value)
		case `"sessionId"`:
			e.session = s.string(value)
		case `"cwd"`:
			e.cwd = s.string(value)
		case `"version"`:
			e.version = s.string(value)
		case `"slug"`:
			e.slug = s.string(value)
		case `"gitBranch"`:
			e.branch = s.string(value)
		case `"leafUuid"`:
			e.leaf = s.string(value)
		case `"customTitle"`, `"aiTitle"`, `"summary"`:
			e.title = s.string(value)
		case `"timestamp"`:
			e.time = millis(s.string(value))
		case `"isSidechain"`:
			e.side = string(value) == "true"
		case `"isMeta"`:
			e.meta = string(value) == "true"
		case `"isCompactSummary"`:
			e.summary = string(value) == "true"
		case `"isApiErrorMessage"`:
			e.apiError = string(value) == "true"
		case `"explicit"`:
			e.explicit = string(value) == "true"
		case `"attachment"`:
			e.attachment = value
		case `"compactMetadata"`:
			e.compact = value
		case `"replacements"`:
			e.replacements = value
		case `"content"`:
			e.text = value
		case `"winnow"`:
			e.winnow = value
		case `"message"`:
			e.message = value
		case `"data"`:
			e.data = value
		}
	})
}

// known returns the types that most entries have without an allocation each.
func known(kind string) string {
	switch kind {
	case "user":
		return "user"
	case "assistant":
		return "assistant"
	}
	return kind
}

// string is the text of a JSON string that was already read as a value; anything else is "". What is no
// UTF-8 in it is replaced, as the product does.
func (s *scanner) string(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	s.text, _ = jsontext.AppendUnquote(s.text[:0], value) // the error can only be about UTF-8
	text := string(s.text)
	if cap(s.text) > 1<<20 {
		s.text = nil // not for as long as the file is read
	}
	return text
}

// millis reads a timestamp; 0 when it is none.
func millis(text string) session.Millis {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0
	}
	return session.Millis(t.UnixMilli())
}

// trim takes off what the product ignores around an entry: NUL bytes that a crash left in front, and white space.
func trim(line []byte) []byte {
	return bytes.TrimRight(bytes.TrimLeft(line, "\x00 \t\r"), " \t\r")
}

// reason says shortly why a line could not be read.
func reason(err error) string {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("column %d: %v", syntax.ByteOffset+1, syntax.Err)
	}
	return err.Error()
}
