package selfprune

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/text/quantity"
)

// Call does what a model asked for, and returns the text of the result: a line for each target.
// Arguments that are not as the schema says are taken as far as they can be understood, and what
// cannot be done is said in the text: nothing that a model writes is an error. The error is that of
// the session or its store.
func Call(ctx context.Context, e *winnow.Engine, sessionID, tool string, arguments []byte) (text string, err error) {
	a := read(arguments)
	switch call.Name(tool) {
	case rule.ToolList:
		named, err := winnow.Look(ctx, e, sessionID, edit.Handles)
		if err != nil {
			return "", err
		}
		return listed(named), nil
	case rule.ToolDiscard:
		if len(a.handles) == 0 {
			return noHandles, nil
		}
		done, err := e.Edit(ctx, sessionID, edit.Request{Discard: a.handles})
		return said(done, "left out", err)
	case rule.ToolDistill:
		switch {
		case len(a.handles) == 0:
			return noHandles, nil
		case strings.TrimSpace(a.summary) == "":
			return "Nothing was done: there is no summary. Give one as the text \"summary\".", nil
		}
		done, err := e.Edit(ctx, sessionID, edit.Request{Distill: []edit.Distillation{{Targets: a.handles,
			Summary: a.summary}}})
		return said(done, "distilled", err)
	case rule.ToolRestore:
		if len(a.handles) == 0 {
			return noHandles, nil
		}
		done, err := e.Edit(ctx, sessionID, edit.Request{Restore: a.handles})
		return said(done, "shown whole", err)
	}
	return fmt.Sprintf("Nothing was done: there is no tool %s here.", rule.Shorten(tool, 40)), nil
}

const noHandles = "Nothing was done: no handles were given. Give them as the list \"handles\"; " + rule.ToolList +
	" shows which there are."

// said tells what became of each target.
func said(done winnow.Edited, did string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	var b strings.Builder
	saved, changed := 0, 0
	for _, t := range done.Targets {
		name := cmp.Or(t.Handle, rule.Shorten(strings.Join(strings.Fields(t.Target), " "), 40))
		switch {
		case t.OK && t.Code == "":
			saved, changed = saved+t.Saved, changed+1
			fmt.Fprintf(&b, "%s: %s, %s", name, did, difference(t.Saved))
			if t.Reason != "" {
				b.WriteString("; " + t.Reason)
			}
		case t.OK:
			fmt.Fprintf(&b, "%s: nothing to do, %s", name, t.Reason)
		default:
			fmt.Fprintf(&b, "%s: not done, %s (%s)", name, t.Reason, t.Code)
		}
		b.WriteString(".\n")
	}
	if changed > 1 {
		fmt.Fprintf(&b, "Together: %s.\n", difference(saved))
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func difference(saved int) string {
	if saved < 0 {
		return quantity.Number(-saved) + " tokens more"
	}
	return quantity.Number(saved) + " tokens less"
}

// mostListed is how many parts the list shows: about a thousand tokens of it.
const mostListed = 40

func listed(named []edit.Named) string {
	if len(named) == 0 {
		return "Nothing is worth leaving out: no older part is large, and nothing was left out."
	}
	rest := 0
	if len(named) > mostListed {
		bySize := slices.Clone(named)
		slices.SortStableFunc(bySize, func(a, b edit.Named) int { return b.Tokens - a.Tokens })
		least := bySize[mostListed-1].Tokens
		rest = len(named) - mostListed
		var kept []edit.Named
		for _, n := range named {
			if n.Tokens >= least && len(kept) < mostListed {
				kept = append(kept, n)
			}
		}
		named = kept
	}
	var b strings.Builder
	b.WriteString("Oldest first: handle, tokens, age in steps, what it is.\n")
	for _, n := range named {
		what := cmp.Or(n.Tool, n.Type)
		if n.Target != "" {
			what += " " + n.Target
		}
		fmt.Fprintf(&b, "%s  %s  %d  %s", n.Handle, quantity.Number(n.Tokens), n.Age, what)
		if n.State == edit.Elided {
			fmt.Fprintf(&b, "  (left out: %s, %s tokens shown)", n.Rule, quantity.Number(n.Shown))
		}
		b.WriteString("\n")
	}
	if rest > 0 {
		fmt.Fprintf(&b, "And %d smaller ones.\n", rest)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// asked is what a model asked for.
type asked struct {
	handles []string
	summary string
}

// read takes arguments as models write them: the object, the object in a text, a text in the place
// of the list, other names for it.
func read(arguments []byte) asked {
	var a asked
	value := jsontext.Value(arguments)
	for range 2 { // some send the arguments as a text that holds them
		var members map[string]jsontext.Value
		if json.Unmarshal(value, &members, session.ReadOptions()) == nil {
			for _, name := range []string{"handles", "handle", "targets", "target", "ids", "id"} {
				if v, ok := members[name]; ok && len(a.handles) == 0 {
					a.handles = texts(v)
				}
			}
			for _, name := range []string{"summary", "text"} {
				if v, ok := members[name]; ok && a.summary == "" {
					a.summary = strings.Join(whole(v), "\n")
				}
			}
			return a
		}
		var text string
		if json.Unmarshal(value, &text, session.ReadOptions()) != nil {
			break
		}
		value = jsontext.Value(text)
	}
	a.handles = texts(jsontext.Value(arguments))
	return a
}

// texts are the names in a value: those of a list, or of a text that lists them.
func texts(v jsontext.Value) []string {
	var names []string
	for _, text := range whole(v) {
		for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || r == '\n' }) {
			if name = strings.TrimSpace(name); strings.HasPrefix(name, "[") && !strings.HasPrefix(name, "[\"") {
				names = append(names, name) // as it was shown
				continue
			}
			names = append(names, strings.Fields(name)...)
		}
	}
	return names
}

// whole are the texts in a value as they are: a text, those of a list, numbers as they were
// written.
func whole(v jsontext.Value) []string {
	switch v.Kind() {
	case '"':
		var text string
		if json.Unmarshal(v, &text, session.ReadOptions()) == nil {
			return []string{text}
		}
	case '0':
		return []string{string(v)}
	case '[':
		var list []jsontext.Value
		var all []string
		if json.Unmarshal(v, &list, session.ReadOptions()) == nil {
			for _, one := range list {
				all = append(all, whole(one)...)
			}
		}
		return all
	case '{':
		var named struct {
			Handle jsontext.Value `json:"handle"`
		}
		if json.Unmarshal(v, &named, session.ReadOptions()) == nil && len(named.Handle) > 0 &&
			named.Handle.Kind() != '{' {
			return whole(named.Handle)
		}
	}
	return nil
}
