package transport

import (
	"bytes"
	"path"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/wire"
)

// Declarations of tools stand at the beginning of every prompt, so that leaving one out later would
// cost the whole cache. A conversation that begins under Options.Drop keeps that choice with its
// session, whatever the options say later.

// dropMember is where the choice is in the info of a session: {"gateway": {"drop": ["name", …]}}.
var dropMember = []string{"gateway", "drop"}

// drops are the names of tools, and patterns, that a session is to have left out.
func drops(info session.Info) (names []string) {
	for name := range wire.ValueOf(info.Unknown).Get(dropMember...).Values() {
		names = append(names, name.String())
	}
	return names
}

// chooseTools notes in the info of a new session which tools are left out of it. One that was begun
// elsewhere has had all of them.
func (t *Transport) chooseTools(info *session.Info, messages []session.Message) {
	answered := slices.ContainsFunc(messages, func(m session.Message) bool { return m.Role == session.Assistant })
	if len(t.options.Drop) == 0 || answered {
		return
	}
	if len(info.Unknown) == 0 {
		info.Unknown = []byte("{}")
	}
	var names [][]byte
	for _, name := range t.options.Drop {
		names = append(names, span.Quote(name))
	}
	info.Unknown = span.Set(info.Unknown, "", span.Array(names), dropMember...)
}

// dropped is what stands for declarations of tools among the rules that leave something out.
const dropped = "tools.drop"

// edited is the body of a request with everything left out of it that was decided, tools too, and
// what that is.
func edited(l *conversation, doc *format.Document, st decisions) ([]byte, left, error) {
	spliced, left, err := spliced(l, doc, st)
	if err != nil || len(l.drop) == 0 {
		return spliced, left, err
	}
	without, tokens := withoutTools(spliced, doc, l.drop)
	if tokens > 0 {
		left.add(dropped, tokens)
	}
	return without, left, nil
}

// withoutTools is a body without the declarations of some tools, and how many tokens these take.
// body may be that of the document with something left out of its messages. A tool stays that the
// history calls, or the request asks for; so do all of them if none would.
func withoutTools(text []byte, doc *format.Document, patterns []string) (without []byte, tokens int) {
	at := besideList(text, doc.Native.(*body.Native).Decoded, "tools")
	if at.Empty() {
		return text, 0
	}
	var history toolbox
	history.calls(doc.Session.Messages...)
	var choice []byte
	for _, member := range []string{"tool_choice", "toolConfig", "tool_config"} {
		choice = append(choice, besideList(text, doc.Native.(*body.Native).Decoded, member).Of(text)...)
	}
	goes := func(name string) bool {
		return name != "" && !history.HasCalled(name) && !bytes.Contains(choice, span.Quote(name)) &&
			slices.ContainsFunc(patterns, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok })
	}
	cuts, kept := undeclared(text, at, "", goes)
	if len(cuts) == 0 || kept == 0 {
		return text, 0
	}
	for _, cut := range cuts {
		tokens += token.Linear{}.Count(string(cut.Of(text)))
	}
	return span.Splice(text, cuts...), tokens
}

// besideList is where a member of a body is that stands beside its messages. These are long, and
// are not read: text is the decoded body with other messages at most.
func besideList(text []byte, d *wire.Decoded, member string) span.Span {
	if longer := len(text) - len(d.Text); d.List.Len() >= 2 && d.List.End+longer > d.List.Start {
		first, last := d.List.Start+1, d.List.End-1 // inside the brackets
		head, tail := d.Text[:first], d.Text[last:]
		if bytes.HasPrefix(text, head) && bytes.HasSuffix(text, tail) {
			beside := slices.Concat(head, tail)
			at := span.Find(beside, span.All(beside), member)
			if at.Start >= first {
				at = at.Shift(last + longer - first)
			}
			return at
		}
	}
	return span.Find(text, span.All(text), member)
}

// undeclared are the cuts that take declarations out of a list of tools, and how many of its
// entries stay. Gemini has lists of declarations in its list, Responses has namespaces; group is
// what stands before the names.
func undeclared(text []byte, list span.Span, group string, goes func(name string) bool) (cuts []span.Edit, kept int) {
	var gone []span.Span
	for at := range span.Values(text, list) {
		entry := wire.Value{Text: text, Span: at}
		name := nameOf(entry)
		inner, within := functions(entry), group
		if spaced := entry.Get("tools"); spaced.Kind() == '[' {
			inner, within = spaced, group+spaceOf(name)
		}
		if inner.Empty() {
			if goes(group + name) {
				gone = append(gone, at)
			} else {
				kept++
			}
			continue
		}
		some, stay := undeclared(text, inner.Span, within, goes)
		others := -1
		for range entry.Members() {
			others++
		}
		switch {
		case stay > 0:
			cuts = append(cuts, some...)
			kept++
		case others > 0 && name == "": // what is beside an empty list of declarations may need one
			kept++
		default:
			gone = append(gone, at)
		}
	}
	return append(cuts, cutValues(text, list, gone)...), kept
}

// cutValues are the cuts that take values out of a list, each with one comma.
func cutValues(text []byte, list span.Span, gone []span.Span) (cuts []span.Edit) {
	var values []span.Span
	for at := range span.Values(text, list) {
		values = append(values, at)
	}
	kept := false
	for i, at := range values {
		switch {
		case !slices.Contains(gone, at):
			kept = true
		case kept:
			cuts = append(cuts, span.Edit{Span: span.Span{Start: values[i-1].End, End: at.End}})
		case i+1 < len(values):
			cuts = append(cuts, span.Edit{Span: span.Span{Start: at.Start, End: values[i+1].Start}})
		default:
			cuts = append(cuts, span.Edit{Span: at})
		}
	}
	return cuts
}
