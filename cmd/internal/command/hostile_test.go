package command

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// A session of Claude Code, line by line.
func claudeLines(contents ...string) []byte {
	var b strings.Builder
	for i, c := range contents {
		role := []string{"user", "assistant"}[i%2]
		parent := "null"
		if i > 0 {
			parent = fmt.Sprintf(`"00000000-0000-4000-8000-%012d"`, i)
		}
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"type":%q,"message":{"role":%q,"content":%s},"uuid":"00000000-0000-4000-8000-%012d","timestamp":"2026-03-01T10:00:%02d.000Z","cwd":"/coast","sessionId":"eeeeeeee-0000-4000-8000-000000000001","version":"2.1.197"}`+"\n",
			parent, role, role, c, i+1, i%60)
	}
	return []byte(b.String())
}

func quoted(text string) string { return `[{"type":"text","text":"` + text + `"}]` }

// openCode is a session of OpenCode with the given messages.
func openCode(messages ...string) []byte {
	return []byte(`{"info":{"id":"ses_1","directory":"/coast","title":"t","version":"1","time":{"created":1,"updated":2}},"messages":[` + strings.Join(messages, ",") + `]}`)
}

func openCodeUser(id, at, text string) string {
	return fmt.Sprintf(`{"info":{"id":%q,"sessionID":"ses_1","role":"user"%s},"parts":[{"id":"prt_%s","sessionID":"ses_1","messageID":%q,"type":"text","text":%q}]}`, id, at, id, id, text)
}

func TestHostileInput_endsWithACodeAndAReason(t *testing.T) {
	sequential(t)
	good := claudeLines(quoted("Light the lamp."), quoted("It is lit."), quoted("Thanks."))
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	pairless := claudeLines(quoted("Go."), `[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]`, quoted("Next."))
	resultOnly := claudeLines(`[{"type":"tool_result","tool_use_id":"toolu_9","content":"lost"}]`, quoted("Hm."), quoted("Next."))
	twice := slices.Concat(good, good)
	anthropic := `{"model":"claude-opus-4-8","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]}`
	cases := []struct {
		name  string
		data  []byte
		codes []int // that inspect may end with
		says  string
	}{
		{"cut in the last line", good[:len(good)-40], []int{cli.ExitPartly}, "line 3"},
		{"cut JSON", openCode(openCodeUser("msg_1", "", "hi"))[:150], []int{cli.ExitInput, cli.ExitPartly}, ""},
		{"cut request body", []byte(anthropic[:70]), []int{cli.ExitInput, cli.ExitPartly}, ""},
		{"a status line before the JSON", append([]byte("Exporting session: ses_1\n"), openCode(openCodeUser("msg_1", "", "hi"))...), []int{cli.ExitDone, cli.ExitPartly}, ""},
		{"a call without a result", pairless, []int{cli.ExitDone}, ""},
		{"a result without a call", resultOnly, []int{cli.ExitDone, cli.ExitPartly}, ""},
		{"every line twice", twice, []int{cli.ExitDone, cli.ExitPartly}, ""},
		{"ids twice", openCode(openCodeUser("msg_1", "", "hi"), openCodeUser("msg_1", "", "ho")), []int{cli.ExitDone, cli.ExitPartly}, ""},
		{"ids out of order", openCode(openCodeUser("msg_9", "", "hi"), openCodeUser("msg_1", "", "ho")), []int{cli.ExitDone}, ""},
		{"times with fractions", openCode(openCodeUser("msg_1", `,"time":{"created":1.5}`, "hi")), []int{cli.ExitDone, cli.ExitPartly}, ""},
		{"no times", openCode(openCodeUser("msg_1", "", "hi")), []int{cli.ExitDone}, ""},
		{"times that are words", openCode(openCodeUser("msg_1", `,"time":{"created":"yesterday"}`, "hi")), []int{cli.ExitDone, cli.ExitPartly}, ""},
		{"a lone surrogate", claudeLines(quoted(`a \ud83d b`), quoted("ok")), []int{cli.ExitDone}, ""},
		{"an escaped NUL", claudeLines(quoted(`a \u0000 b`), quoted("ok")), []int{cli.ExitDone}, ""},
		{"a line of NUL bytes", slices.Concat(good, bytes.Repeat([]byte{0}, 4096), []byte("\n")), []int{cli.ExitPartly}, "line 4"},
		{"NUL bytes only", bytes.Repeat([]byte{0}, 4096), []int{cli.ExitInput}, ""},
		{"no UTF-8", claudeLines(quoted("a \xff\xfe b"), quoted("ok")), []int{cli.ExitDone, cli.ExitPartly}, ""},
		{"nesting", slices.Concat(good, []byte(deep+"\n")), []int{cli.ExitDone, cli.ExitPartly}, ""},
		{"nesting in an input", claudeLines(quoted("Go."), `[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":`+deep+`}}]`, quoted("Next.")), []int{cli.ExitDone, cli.ExitPartly}, ""},
		{"nesting alone", []byte(deep), []int{cli.ExitInput}, ""},
		{"an empty list", []byte("[]"), []int{cli.ExitInput}, ""},
		{"an empty object", []byte("{}"), []int{cli.ExitInput}, ""},
		{"null", []byte("null"), []int{cli.ExitInput}, ""},
		{"no messages", openCode(), []int{cli.ExitDone}, ""},
		{"lines as Windows ends them", bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n")), []int{cli.ExitDone}, ""},
		{"a byte order mark", append([]byte("\xef\xbb\xbf"), good...), []int{cli.ExitDone}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			file := d.put("session", c.data)
			o := d.run("inspect", file, "--json")
			if !slices.Contains(c.codes, o.code) {
				t.Errorf("inspect: exit code %d, want one of %v; stderr: %s", o.code, c.codes, o.stderr)
			}
			if !strings.Contains(o.stderr, c.says) {
				t.Errorf("stderr does not say %q: %s", c.says, o.stderr)
			}
			if o.code != cli.ExitDone && o.stderr == "" {
				t.Error("it failed in silence")
			}
			if o.code == cli.ExitDone || o.code == cli.ExitPartly {
				o.document(t)
			} else if o.stdout != "" {
				t.Errorf("it failed and printed %.200s", o.stdout)
			}
			// No command may do worse than inspect does.
			for _, args := range [][]string{
				{"view", file, "--json"}, {"view", file, "--as", "anthropic", "--json"}, {"view", file, "--as", "responses", "--json"}, {"show", file, "--json"},
				{"prune", file, "-n", "--json"}, {"compact", file, "-n", "--json"}, {"export", file, "--format", "opencode"}, {"export", file, "--format", "codex"}, {"import", file, "--json"},
			} {
				p := d.run(args...)
				if p.code != o.code && !(o.code != cli.ExitInput && slices.Contains([]int{cli.ExitDone, cli.ExitPartly, cli.ExitNothing}, p.code)) {
					t.Errorf("%v: exit code %d where inspect ends with %d; stderr: %s", args, p.code, o.code, p.stderr)
				}
				if strings.Contains(p.stderr, "panic") {
					t.Errorf("%v: %s", args, p.stderr)
				}
			}
			// What comes out without a change is what went in, but for a byte order mark.
			if o.code == cli.ExitDone || o.code == cli.ExitPartly {
				want := strings.TrimPrefix(string(c.data), "\xef\xbb\xbf")
				if p := d.run("export", file); p.stdout != want {
					t.Errorf("export gives %d bytes, not the %d that went in", len(p.stdout), len(want))
				}
			}
		})
	}
}

func TestHostileInput_fiftyMegabytesInOnePart(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	big := strings.Repeat("the lamp turns and the tide comes in, ", 50<<20/38)
	file := d.put("big.jsonl", claudeLines(quoted("Go."), `[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]`,
		`[{"type":"tool_result","tool_use_id":"toolu_1","content":"`+big+`"}]`, quoted("Done."), quoted("Next?"), quoted("Nothing."), quoted("Well."), quoted("Bye.")))
	o := d.run("inspect", file, "--json")
	o.wants(t, cli.ExitDone)
	if n := o.document(t)["tokens"].(map[string]any)["total"].(float64); n < 5e6 {
		t.Errorf("%v tokens in 50 MB", n)
	}
	o = d.run("compact", file, "-o", "small.jsonl", "--json")
	o.wants(t, cli.ExitDone)
	if after := o.document(t)["tokensAfter"].(float64); after > 20_000 {
		t.Errorf("the view has %v tokens after a compaction", after)
	}
}

func TestErrors_sayNothingThatATerminalObeys(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	hostile := "a\x1b]0;owned\x07\x1b[2J\u009b31mb"
	for _, args := range [][]string{{"inspect", hostile}, {"show", hostile + "/x"}, {"undo", hostile}, {"search", "x", "--session", hostile}, {"compact", hostile, "--model", hostile}, {"config", hostile, hostile}, {hostile}} {
		o := d.run(args...)
		if o.code == cli.ExitDone || o.stderr == "" {
			t.Errorf("%q: exit code %d, stderr %q", args, o.code, o.stderr)
		}
		if strings.ContainsAny(o.stderr, "\x1b\x07\u009b") {
			t.Errorf("%q: %q", args, o.stderr)
		}
	}
}
