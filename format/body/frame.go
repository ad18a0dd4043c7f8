package body

import (
	"regexp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// frame takes what the client itself put before the conversation out of the messages: reminders,
// the project's rules, the environment, lists of tools. Like the system prompt it is neither the
// user's words nor history: it is not folded, not pruned, and not carried over.
//
// It is recognised by its place, before the first answer, and by its form: an element of another
// role than the user's, or a text that ends with a closing tag whose opening tag begins a line of
// it. The last text before the first answer is the user's in any case.
func (n *Native) frame() {
	d := n.Decoded
	answered := slices.IndexFunc(d.Messages, func(m session.Message) bool { return m.Role == session.Assistant })
	if answered < 0 {
		answered = len(d.Messages)
	}
	prompt := "" // the part that is the user's in any case
	for i := range d.Messages[:answered] {
		for j := range d.Messages[i].Parts {
			if p := &d.Messages[i].Parts[j]; p.Type == session.TextPart && !isSystem(d, p) {
				prompt = p.ID
			}
		}
	}
	if prompt == "" {
		return
	}
	messages := make([]session.Message, 0, len(d.Messages))
	starts := make([]int, 0, len(d.Messages))
	for i := range d.Messages[:answered] {
		m := d.Messages[i]
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p session.Part) bool {
			if p.ID == prompt || p.Type != session.TextPart || !isSystem(d, &p) && !tagged(p.Text) {
				return false
			}
			n.note(d.Places[p.ID])
			return true
		})
		if len(m.Parts) > 0 || len(d.Messages[i].Parts) == 0 {
			messages, starts = append(messages, m), append(starts, d.Starts[i])
		}
	}
	if n.framed == nil {
		return
	}
	d.Messages = append(messages, d.Messages[answered:]...)
	d.Starts = append(starts, d.Starts[answered:]...)
}

// note notes a block of the frame.
func (n *Native) note(at wire.Place) {
	if n.framed == nil {
		n.framed = map[int][]span.Span{}
	}
	n.framed[at.Element] = append(n.framed[at.Element], at.Block)
}

var workingFolder = regexp.MustCompile(`<cwd>\s*([^<>]+?)\s*</cwd>|` +
	`(?:orking directory|in the directory): ([^\n<>]+?)[ \t]*(?:\n|$)`)

// Folder is the folder in which a text says that the client works, as Codex and pi ("<cwd>"),
// Claude Code and OpenCode ("Working directory:"), and Gemini CLI ("in the directory:") say it to
// their models, "" if it names none.
func Folder(text string) string {
	if said := workingFolder.FindStringSubmatch(text); said != nil && call.Rooted(said[1]+said[2]) {
		return said[1] + said[2]
	}
	return ""
}

// Folder is the folder in which the client says that it works, before the conversation; "" if it
// does not say.
func (n *Native) Folder() string {
	d := n.Decoded
	if folder := Folder(d.System); folder != "" {
		return folder
	}
	for _, blocks := range n.framed {
		for _, at := range blocks {
			block := wire.Value{Span: at, Text: d.Text}
			if folder := Folder(block.String() + block.Get("text").String()); folder != "" {
				return folder
			}
		}
	}
	return ""
}

// isSystem reports whether a part is not said in the user's name.
func isSystem(d *wire.Decoded, p *session.Part) bool {
	role := d.Elements[d.Places[p.ID].Element].Role
	return role == "system" || role == "developer"
}

// tagged reports whether a text ends with a closing tag whose opening tag begins a line of it. The
// summary of a fold has such tags, too, but is folded again.
func tagged(text string) bool {
	text = strings.TrimSpace(text)
	at := strings.LastIndex(text, "</")
	if at < 0 || !strings.HasSuffix(text, ">") {
		return false
	}
	name := text[at+2 : len(text)-1]
	if name == "" || strings.ContainsAny(name, "<>/\n") || text[at:] == recall.CloseSummary[1:] {
		return false
	}
	return strings.HasPrefix(text, "<"+name) || strings.Contains(text[:at], "\n<"+name)
}

// framing is what of a folded element belongs to the frame, nil if nothing does.
func (p *plan) framing(i int) []byte {
	blocks := p.framed[i]
	if len(blocks) == 0 {
		return nil
	}
	e := p.Decoded.Elements[i]
	var others []span.Span
	for v := range span.Values(p.Decoded.Text, e.Content) {
		if !slices.Contains(blocks, v) {
			others = append(others, v)
		}
	}
	edits := removeFrom(p.Decoded.Text, e.Content, others)
	for j := range edits {
		edits[j].Start, edits[j].End = edits[j].Start-e.Start, edits[j].End-e.Start
	}
	return span.Splice(e.Of(p.Decoded.Text), edits...)
}
