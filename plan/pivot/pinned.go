package pivot

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Pinned is what pins keep of folded messages, ready to be carried over. Nothing pinned is cut,
// whatever its length.
type Pinned struct {
	Blocks []string // a text, or a part with a line before it that says what it is; quoted line by line
	Pins   int      // how many pins they are for
	texts  []string // as they were before they were quoted
	parts  map[string]bool
	files  *[]session.Part // receives the files that are not text; nil: they are only named
}

// PinnedBlocks writes what pins keep, each text and each part once, in the order of the pins. Parts
// are looked for in the whole log, so that parts folded by an earlier pivot are carried as well.
// Parts of messages that stay verbatim (stays) are left out. Files that are not text are named:
// their bytes stay in the log.
func PinnedBlocks(log []session.Message, pins []rule.Pin, stays func(message string) bool) Pinned {
	p := Pinned{parts: map[string]bool{}}
	said := map[string]bool{}
	for _, pin := range pins {
		switch {
		case pin.Part != "":
			m, part := session.FindPart(log, pin.Part)
			if part == nil || stays(m.ID) {
				continue
			}
			p.add(m, part)
		case pin.Message != "":
			at := session.Index(log, pin.Message)
			if at < 0 || stays(pin.Message) {
				continue
			}
			for j := range log[at].Parts {
				p.add(&log[at], &log[at].Parts[j])
			}
		default:
			if !said[pin.Text] {
				said[pin.Text] = true
				p.Blocks = append(p.Blocks, p.quoted(pin.Text))
			}
		}
		p.Pins++
	}
	return p
}

// Contains reports whether a text occurs in what is pinned.
func (p Pinned) Contains(text string) bool {
	for _, t := range p.texts {
		if strings.Contains(t, text) {
			return true
		}
	}
	return false
}

// Has reports whether everything that a message says is pinned part by part.
func (p Pinned) Has(m *session.Message) bool {
	for i := range m.Parts {
		if q := &m.Parts[i]; q.Type == session.TextPart && q.Text != "" && !p.parts[q.ID] {
			return false
		}
	}
	return true
}

func (p *Pinned) add(m *session.Message, part *session.Part) {
	if p.parts[part.ID] {
		return
	}
	var block string
	switch {
	case part.State != nil:
		block = p.call(part)
	case part.Type == session.ReasoningPart && part.Text != "":
		block = "The assistant thought (" + part.ID + "):\n\n" + p.quoted(part.Text)
	case part.Type == session.FilePart:
		block = p.file(part)
	case part.Text != "" && m.Role == session.User:
		block = "The user said (" + part.ID + "):\n\n" + p.quoted(part.Text)
	case part.Text != "":
		block = "The assistant said (" + part.ID + "):\n\n" + p.quoted(part.Text)
	default:
		return // a marker of a step and the like says nothing
	}
	p.parts[part.ID] = true
	p.Blocks = append(p.Blocks, block)
}

// call writes a tool call with its result. Its input is repeated unless the target says all of it.
func (p *Pinned) call(part *session.Part) string {
	target := rule.Target(part)
	name := strings.TrimSpace(part.Tool+" "+target) + " (" + part.ID + ")"
	var pieces []string
	if input := string(part.State.Input); input != "" && !only(part.State.Input, target) {
		pieces = append(pieces, name+" was called with:", p.quoted(input))
	}
	if result := part.State.Result(); result != "" {
		pieces = append(pieces, name+" gave:", p.quoted(result))
	}
	for i := range part.State.Attachments {
		pieces = append(pieces, name+" gave a file:", p.file(&part.State.Attachments[i]))
	}
	if pieces == nil {
		return name + " has given nothing yet."
	}
	return strings.Join(pieces, "\n\n")
}

// only reports whether an input has no other member than the target.
func only(input []byte, target string) bool {
	var members map[string]any
	if json.Unmarshal(input, &members) != nil || len(members) > 1 {
		return false
	}
	for _, value := range members {
		return value == target
	}
	return true
}

func (p *Pinned) file(part *session.Part) string {
	name := fmt.Sprintf("The file %s (%s, %s)", part.Filename, part.Mime, part.ID)
	if strings.HasPrefix(part.Mime, "text/") {
		if text, ok := dataText(part.URL); ok {
			return name + ":\n\n" + p.quoted(text)
		}
	}
	if p.files != nil && attachable(part) {
		*p.files = append(*p.files, *part)
		return name + " is attached."
	}
	return name + " is in the log; it cannot be written here."
}

// dataText returns the text of a data URL.
func dataText(address string) (string, bool) {
	rest, ok := strings.CutPrefix(address, "data:")
	head, data, comma := strings.Cut(rest, ",")
	if !ok || !comma {
		return "", false
	}
	if strings.HasSuffix(head, ";base64") {
		text, err := base64.StdEncoding.DecodeString(data)
		return string(text), err == nil
	}
	text, err := url.PathUnescape(data)
	return text, err == nil
}

// quoted marks every line of a text as a quotation and changes nothing else.
func (p *Pinned) quoted(text string) string {
	p.texts = append(p.texts, text)
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}
