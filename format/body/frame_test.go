package body_test

import (
	"testing"

	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/wire"
)

// Codex and pi tell their models where they work: in front of the conversation, not in it.
func TestNative_Folder(t *testing.T) {
	const told = `<environment_context>\n  <cwd>/repo/shop</cwd>\n  <shell>bash</shell>\n</environment_context>`
	responses := func(environment string) string {
		return `{"model":"gpt-5.1","instructions":"You write code.","input":[` +
			`{"type":"message","role":"developer","content":[{"type":"input_text","text":"Be brief."}]},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"# AGENTS.md\n<INSTRUCTIONS>\nTest.\n</INSTRUCTIONS>"},` +
			`{"type":"input_text","text":"` + environment + `"}]},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"Look."}]}]}`
	}
	for _, c := range []struct {
		name       string
		kind       wire.Protocol
		body, want string
	}{
		{"Codex", wire.Responses, responses(told), "/repo/shop"},
		{"a relative folder", wire.Responses, responses(`<environment_context>\n<cwd>shop</cwd>\n</environment_context>`), ""},
		{"no folder", wire.Responses, responses(`<environment_context>\n<shell>bash</shell>\n</environment_context>`), ""},
		{"pi, Messages", wire.Anthropic, `{"model":"claude-sonnet-4-5","max_tokens":9,"system":[{"type":"text",` +
			`"text":"You write code.\n<cwd>\n/repo/shop\n</cwd>"}],"messages":[{"role":"user","content":"Look."}]}`,
			"/repo/shop"},
		{"pi, Chat Completions", wire.Chat, `{"model":"gpt-4.1","messages":[{"role":"system",` +
			`"content":"You write code.\n<cwd>\n/repo/shop\n</cwd>"},{"role":"user","content":"Look."}]}`, "/repo/shop"},
		{"Claude Code", wire.Anthropic, `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[` +
			`{"type":"text","text":"<system-reminder>\n# Environment\n - Primary working directory: /repo/my shop \n` +
			` - Is a git repository: false\n</system-reminder>"},{"type":"text","text":"Look."}]}]}`, "/repo/my shop"},
		{"OpenCode", wire.Chat, `{"model":"gpt-4.1","messages":[{"role":"system",` +
			`"content":"You write code.\n<env>\n  Working directory: /repo/shop\n</env>"},{"role":"user","content":"Look."}]}`,
			"/repo/shop"},
		{"an unknown folder", wire.Chat, `{"model":"gpt-4.1","messages":[{"role":"system",` +
			`"content":"Working directory: unknown"},{"role":"user","content":"Look."}]}`, ""},
		{"a user who says so", wire.Chat, `{"model":"gpt-4.1","messages":[{"role":"system","content":"You write code."},` +
			`{"role":"user","content":"What does <cwd>/etc</cwd> mean?"}]}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dialect, _ := body.Of(c.kind)
			doc, _, err := body.ReadRequest([]byte(c.body), dialect, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := doc.Native.(*body.Native).Folder(); got != c.want {
				t.Errorf("the folder is %q, want %q", got, c.want)
			}
		})
	}
}
