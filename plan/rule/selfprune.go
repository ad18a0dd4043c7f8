package rule

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// Rule names of what an agent, or somebody who looks after it, left out by handle. No rule of that
// name finds anything by itself.
const (
	Discard = "discard" // a placeholder is shown
	Distill = "distill" // a summary is shown
)

// Names of the tools that an agent prunes its own context with (S002 "hash injection").
const (
	ToolList    = "context_list"
	ToolDiscard = "context_discard"
	ToolDistill = "context_distill"
	ToolRestore = "context_restore"
)

// SelfPrunes reports whether a tool is one of those that an agent prunes its own context with,
// whatever server it comes from. Their results are never worth a handle, and what a context_distill
// call says stands in place of what it distilled.
func SelfPrunes(tool string) bool {
	return slices.Contains([]string{ToolList, ToolDiscard, ToolDistill, ToolRestore}, call.Name(tool))
}

// Estimate is the size of a part as chars/4 has it, whatever counter is in use: the same at any
// time, so that what depends on it never moves.
func Estimate(p *session.Part) Size {
	text, input, output, _ := pieces(p)
	count := token.Chars4{}.Count
	size := Size{Text: count(text), Output: count(output), Files: fileTokens(p)}
	if p.Type == session.ToolPart {
		size.Input = count(input)
	}
	return size
}

// Worth reports whether a part is big enough to be worth a handle: its text, its arguments, or what
// a call gave back.
func Worth(p *session.Part, minimum int) bool {
	if p.Type == session.ToolPart && SelfPrunes(p.Tool) {
		return false
	}
	s := Estimate(p)
	return s.Text >= minimum || s.Input >= minimum || s.Output+s.Files >= minimum
}

// Discarded is shown in place of a field that somebody left out by its handle.
//
//	[winnow k3f9a2: read src/a.go, 412 lines left out]
func (w Window) Discarded(p *session.Part, field Field) string {
	return w.opened(p) + measured(p, field) + " left out]"
}

// Distilled is shown in place of a field that a summary stands for.
//
//	[winnow k3f9a2: read src/a.go, 412 lines distilled] It holds the parser; entry point is Parse(r io.Reader).
func (w Window) Distilled(p *session.Part, field Field, summary string) string {
	return w.opened(p) + measured(p, field) + " distilled] " + strings.TrimSpace(summary)
}

// DistilledWith is shown in place of a field that a summary stands for which is shown in the place
// of another part.
//
//	[winnow p7q9xm: grep func, 80 lines left out; distilled with k3f9a2]
func (w Window) DistilledWith(p *session.Part, field Field, other *session.Part) string {
	return w.opened(p) + measured(p, field) + " left out" + w.with(other)
}

// LeansOn reports whether an elision's summary is shown in the place of another part.
func (w Window) LeansOn(e Elision, other *session.Part) bool {
	return e.Rule == Distill && strings.HasSuffix(e.Shown, " left out"+w.with(other))
}

func (w Window) with(other *session.Part) string { return "; distilled with " + w.handle(other) + "]" }

func (w Window) opened(p *session.Part) string {
	what := p.Tool
	switch p.Type {
	case session.TextPart, session.ReasoningPart:
		what = string(p.Type)
	case session.FilePart:
		what = strings.TrimSpace("file " + Shorten(strings.Join(strings.Fields(p.Filename), " "), 80))
	}
	if target := w.Facts.Target(p); target != "" {
		what += " " + target
	}
	return w.opening() + w.handle(p) + ": " + what + ", "
}

func measured(p *session.Part, field Field) string {
	switch text := fieldText(p, field); {
	case p.Type == session.FilePart:
		return "1 attachment"
	case text == "" && p.State != nil && len(p.State.Attachments) > 0:
		return "attachments"
	default:
		return Measure(text)
	}
}

// minStripped is from how many characters on a text among the arguments of a call is left out: what
// identifies a call is shorter.
const minStripped = 400

// Stripped are the arguments of a call with a marker in place of every long text in them; ok is
// false if there is no long text. Every argument stays, with a value of its kind, because models
// imitate what they see; of a patch the names of its files stay too.
func (w Window) Stripped(p *session.Part) (input string, ok bool) {
	return w.strip(&Item{Part: p}, minStripped, nil)
}
