package claudecode_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/session"
)

// What makes one message, or is understood by what came before it, is in one stretch: read in
// stretches, a file says what it says when it is read whole.
func TestCut_whatBelongsTogetherStaysTogether(t *testing.T) {
	long := strings.Repeat("x", 400)
	user := func(text string) string {
		return `"type":"user","message":{"role":"user","content":"` + text + `"}`
	}
	says := func(message string) string {
		return `"type":"assistant","message":{"role":"assistant","id":"` + message + `","content":[{"type":"text","text":"` + long + `"}]}`
	}
	call := func(message, id string) string {
		return `"type":"assistant","message":{"role":"assistant","id":"` + message + `","content":[{"type":"tool_use","id":"` + id + `","name":"Read","input":{}}]}`
	}
	result := func(id string) string {
		return `"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"` + long + `"}]}`
	}
	for name, entries := range map[string][]string{
		"a message that goes on behind another":      {user(long), says("m1"), says("m2"), says("m3"), says("m1"), user("go on"), says("m4")},
		"a result that comes late":                   {user(long), call("m1", "a"), user(long), says("m2"), user("go on"), result("a"), says("m3")},
		"a call that comes again":                    {user(long), call("m1", "a"), result("a"), says("m2"), user("go on"), call("m3", "a"), user(long), result("a"), says("m4")},
		"a slash command and what it printed":        {user("<command-name>/cost</command-name>"), `"type":"user","isMeta":true,"message":{"content":"` + long + `"}`, says("m1"), user("<local-command-stdout>1</local-command-stdout>"), user(long), says("m2")},
		"a slash command that the user spoke after":  {user("<command-message>x</command-message>"), user(long), user("<local-command-stdout>1</local-command-stdout>"), user(long), says("m2")},
		"a boundary and its summary":                 {user(long), says("m1"), `"type":"system","subtype":"compact_boundary"`, says("m2"), says("m3"), `"isCompactSummary":true,` + user(long), says("m4")},
		"a boundary without a summary":               {user(long), says("m1"), `"type":"system","subtype":"compact_boundary"`, user(long), says("m2"), user(long)},
		"what was typed meanwhile ends a message":    {user(long), says("m1"), says("m2"), `"type":"attachment","attachment":{"type":"queued_command","prompt":"` + long + `"}`, says("m1"), says("m2")},
		"nothing was typed meanwhile":                {user(long), says("m1"), says("m2"), `"type":"attachment","attachment":{"type":"queued_command","prompt":""}`, says("m1"), says("m3")},
		"an image that is none ends no message":      {user(long), says("m1"), says("m2"), `"type":"user","message":{"content":[{"type":"image"}]}`, says("m1"), says("m3")},
		"a call that is written again, at its place": {user(long), "@2" + call("m1", "a"), result("a"), user(long), says("m2"), "@2" + call("m1", "a"), user(long), says("m3")},
	} {
		var src []byte
		last := "null"
		for i, e := range entries {
			id, parent := fmt.Sprintf(`"u%d"`, i+1), last
			rest, second := strings.CutPrefix(e, "@2")
			if second {
				id, parent, e = `"u2"`, `"u1"`, rest
			}
			if !second || i == 1 {
				last = id
			}
			src = fmt.Appendf(src, `{"uuid":%s,"parentUuid":%s,"sessionId":"s",%s}`+"\n", id, parent, e)
		}
		whole, err := claudecode.Format{}.Read(src)
		if err != nil {
			t.Fatal(err)
		}
		p, err := format.Cut(bytes.NewReader(src), int64(len(src)), claudecode.Format{}.Outline(), 300)
		if err != nil {
			t.Fatal(err)
		}
		var messages []session.Message
		for i := range p.Len() {
			text, err := p.Read(i)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := claudecode.Format{}.ReadStretch(text)
			if err != nil {
				t.Fatal(err)
			}
			messages = append(messages, doc.Session.Messages...)
		}
		if diff := cmp.Diff(told(whole.Session.Messages), told(messages)); diff != "" || p.Len() < 2 {
			t.Errorf("%s, in %d stretches (-whole +stretches):\n%s", name, p.Len(), diff)
		}
		if diff := cmp.Diff(whole.Counts, p.Counts); diff != "" {
			t.Errorf("%s: counts (-whole +stretches):\n%s", name, diff)
		}
	}
}

// told is what each message says, and in whose name.
func told(messages []session.Message) []string {
	var out []string
	for i := range messages {
		m := &messages[i]
		text := string(m.Role)
		for j := range m.Parts {
			p := &m.Parts[j]
			text += fmt.Sprintf(" %s %s%s %v", p.Type, p.Text, p.Tool, p.Synthetic)
			if p.State != nil {
				text += string(p.State.Status) + p.State.Result()
			}
		}
		out = append(out, text)
	}
	return out
}
