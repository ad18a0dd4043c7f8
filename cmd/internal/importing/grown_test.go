package importing

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
)

func TestGrow_tellsWhatIsNew(t *testing.T) {
	text := func(id string, texts ...string) session.Message {
		m := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User}}
		for i, t := range texts {
			m.Parts = append(m.Parts, session.Part{ID: fmt.Sprint(id, i), Type: session.TextPart, Text: t})
		}
		return m
	}
	call := func(id string, status session.Status, output string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant}, Parts: []session.Part{
			{ID: id + "c", Type: session.ToolPart, Tool: "x", State: &session.ToolState{Status: status, Output: output}}}}
	}
	type log = []session.Message
	a, b, c := text("a", "1"), text("b", "2"), text("c", "3")
	own := text("own", "summary")
	for name, x := range map[string]struct {
		stored, file       log
		taken              int
		appended, updated  []string
		own                int
		rewritten, nothing bool
	}{
		"as it was":                  {stored: log{a, b}, file: log{a, b}, taken: 2, nothing: true},
		"grown":                      {stored: log{a, b}, file: log{a, b, c}, taken: 2, appended: []string{"c"}},
		"of nothing":                 {stored: nil, file: log{a}, taken: 0, appended: []string{"a"}},
		"cut":                        {stored: log{a, b}, file: log{a}, taken: 2, own: 1, nothing: true},
		"a call that ended":          {stored: log{a, call("t", session.Running, "")}, file: log{a, call("t", session.Completed, "out"), c}, taken: 2, updated: []string{"t"}, appended: []string{"c"}},
		"more parts, more text":      {stored: log{a, text("b", "be")}, file: log{a, text("b", "begun", "and more")}, taken: 2, updated: []string{"b"}},
		"folded in the store":        {stored: log{a, b, own}, file: log{a, b, c}, taken: 2, appended: []string{"c"}, own: 1},
		"grown after it was folded":  {stored: log{a, own, b}, file: log{a, b, c}, taken: 2, appended: []string{"c"}, own: 1},
		"another output":             {stored: log{call("t", session.Completed, "one")}, file: log{call("t", session.Completed, "two")}, taken: 1, rewritten: true},
		"another text":               {stored: log{a, b}, file: log{a, text("b", "x")}, taken: 2, rewritten: true},
		"another branch":             {stored: log{a, b}, file: log{a, c}, taken: 2, rewritten: true},
		"another beginning":          {stored: log{a, b}, file: log{c}, taken: 2, rewritten: true},
		"another order":              {stored: log{a, b}, file: log{b, a}, taken: 2, rewritten: true},
		"fewer parts":                {stored: log{text("a", "1", "2")}, file: log{text("a", "1")}, taken: 1, rewritten: true},
		"another role":               {stored: log{a}, file: log{{MessageInfo: session.MessageInfo{ID: "a", Role: session.Assistant}, Parts: a.Parts}}, taken: 1, rewritten: true},
		"an id that comes once more": {stored: log{a, own}, file: log{a, b, own}, taken: 1, rewritten: true},
	} {
		g := grow(x.stored, x.file, x.taken)
		if (g.rewritten != "") != x.rewritten {
			t.Errorf("%s: rewritten %q", name, g.rewritten)
			continue
		}
		if x.rewritten {
			continue
		}
		ids := func(messages log) (ids []string) {
			for _, m := range messages {
				ids = append(ids, m.ID)
			}
			return ids
		}
		if diff := cmp.Diff([]any{x.appended, x.updated, x.own}, []any{ids(g.appended), ids(g.updated), g.own}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if nothing := len(g.appended)+len(g.updated) == 0; nothing != x.nothing {
			t.Errorf("%s: nothing is new: %v", name, nothing)
		}
	}
}
