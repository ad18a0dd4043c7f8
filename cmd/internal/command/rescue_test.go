//go:build unix

package command

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// dot is a small image, as base64.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// Entries that products write behind the sessions of testdata. They have the shape of real ones.
func claudeSays(content, refusal string) string {
	entry := func(n int, parent, kind, message string) string {
		return fmt.Sprintf(`{"parentUuid":%q,"isSidechain":false,"type":%q,"message":%s,"uuid":"20000000-0000-4000-8000-%012d",`+
			`"timestamp":"2026-03-01T11:00:0%d.000Z","cwd":"/coast","sessionId":"0f1e2d3c-4b5a-4678-9abc-def012345678",`+
			`"version":"2.1.332","isApiErrorMessage":%t}`+"\n", parent, kind, message, n, n, kind == "assistant")
	}
	return entry(1, "00000000-0000-4000-8000-000000000024", "user", `{"role":"user","content":`+content+`}`) +
		entry(2, "20000000-0000-4000-8000-000000000001", "assistant", fmt.Sprintf(
			`{"id":"e1","model":"<synthetic>","role":"assistant","type":"message","content":[{"type":"text","text":%q}]}`, refusal))
}

func piSays(content, refusal string) string {
	return fmt.Sprintf(`{"type":"message","id":"20000001","parentId":"00000018","timestamp":"2026-03-01T11:00:01.000Z",`+
		`"message":{"role":"user","content":%s,"timestamp":1772362801000}}`+"\n"+
		`{"type":"message","id":"20000002","parentId":"20000001","timestamp":"2026-03-01T11:00:02.000Z","message":{`+
		`"role":"assistant","content":[],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-8",`+
		`"stopReason":"error","errorMessage":%q,"timestamp":1772362802000}}`+"\n", content, refusal)
}

func codexSays(content, refusal string) string {
	return fmt.Sprintf(`{"timestamp":"2026-03-01T11:00:01.000Z","ordinal":57,"type":"event_msg","payload":{"type":"task_started","turn_id":"turn-5"}}
{"timestamp":"2026-03-01T11:00:02.000Z","ordinal":58,"type":"response_item","payload":{"type":"message","role":"user","content":%s}}
{"timestamp":"2026-03-01T11:00:03.000Z","ordinal":59,"type":"event_msg","payload":{"type":"task_complete","turn_id":"turn-5","last_agent_message":null,"error":{"message":%q,"codex_error_info":"other"}}}
`, content, refusal)
}

// TestRescue: the error of a product that could not go on is found by doctor, cured once, and
// undone to the byte.
func TestRescue(t *testing.T) {
	sequential(t)
	const said, asked = `[{"type":"text","text":"Go on."}]`, `[{"type":"input_text","text":"Go on."}]`
	for _, c := range []struct {
		name, file, more, code, cure string
		gone                         string // no longer in the view
	}{
		{"claude/too long", "claude.jsonl", claudeSays(said, "Prompt is too long"), "too-long", "folded", "keeper keeper"},
		{"claude/loop", "claude.jsonl", claudeSays(said, "Autocompact is thrashing: the context refilled to the limit"),
			"loop", "folded", "keeper keeper"},
		{"claude/image", "claude.jsonl", claudeSays(`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+
			dot+`"}},{"type":"text","text":"Look."}]`, `API Error: 400 {"error":{"message":"messages.24.content.0.image.source.base64: `+
			`image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"}}`), "image", "1 image is left out", dot},
		{"claude/unpaired", "claude.jsonl", claudeSays(said, "API Error: 400 messages.8: `tool_use` ids were found without "+
			"`tool_result` blocks immediately after: toolu_01."), "unpaired", "folded", "keeper keeper"},
		{"claude/torn", "claude.jsonl", `{"parentUuid":"00000000-0000-4000-8000-000000000024","isSidechain":false,"mess`, "torn",
			"taken out", ""},
		{"codex/ran out of room", "codex.jsonl", codexSays(asked, "Codex ran out of room in the model's context window. Start a "+
			"new thread or clear earlier history before retrying."), "too-long", "folded", "keeper keeper"},
		{"codex/compaction", "codex.jsonl", codexSays(asked, "Error running remote compact task: stream disconnected"),
			"compaction", "folded", "keeper keeper"},
		{"codex/image", "codex.jsonl", codexSays(`[{"type":"input_image","image_url":"data:image/png;base64,`+dot+`"},`+
			asked[1:], "Invalid image in your last message. Please remove it and try again."), "image", "1 image", dot},
		{"codex/torn", "codex.jsonl", `{"timestamp":"2026-03-01T11:00:01.000Z","ordinal":57,"type":"response_i`, "torn", "taken out", ""},
		{"pi/too long", "pi.jsonl", piSays(said, "400 This model's maximum context length is 3894 tokens. However, your messages "+
			"resulted in 8941 tokens. Please reduce the length of the messages."), "too-long", "folded", "keeper keeper"},
		{"pi/image behind one that was taken", "pi.jsonl", strings.NewReplacer("20000001", "10000001", "20000002", "10000002",
			`"stopReason":"error"`, `"stopReason":"stop"`, `"content":[],`, `"content":[{"type":"text","text":"A dot."}],`).
			Replace(piSays(`[{"type":"image","mimeType":"image/png","data":"`+dot+`"}]`, "")) +
			strings.Replace(piSays(`[{"type":"image","mimeType":"image/png","data":"`+dot+`"}]`,
				"400 Could not process image"), `"parentId":"00000018"`, `"parentId":"10000002"`, 1), "image", "1 image", ""},
		{"pi/torn", "pi.jsonl", `{"type":"message","id":"20000001","par`, "torn", "taken out", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			whole := d.take(c.file)
			sick := d.put("sick.jsonl", append(bytes.TrimRight(d.read(whole), "\n"), "\n"+c.more...))
			d.age(sick)
			was := d.read(sick)
			o := d.run("doctor", sick)
			o.wants(t, cli.ExitPartly)
			if !strings.Contains(o.stdout, "("+c.code+")") || !strings.Contains(o.stdout, "winnow rescue sick.jsonl") {
				t.Errorf("doctor says: %s", o.stdout)
			}
			d.run("rescue", sick, "--dry-run").wants(t, cli.ExitDone)
			same(t, "after a dry run", d.read(sick), was)
			o = d.run("rescue", sick, "--json")
			o.wants(t, cli.ExitDone)
			doc := o.document(t)
			found := doc["ailments"].([]any)
			first := found[0].(map[string]any)
			if len(found) != 1 || first["code"] != c.code || !strings.Contains(first["cure"].(string), c.cure) || doc["resume"] == "" {
				t.Fatalf("rescue did: %s", o.stdout)
			}
			if view := d.run("inspect", sick, "--as", "anthropic").stdout; c.gone != "" && strings.Contains(view, c.gone) {
				t.Errorf("the view still has %q", c.gone)
			}
			d.run("rescue", sick).wants(t, cli.ExitNothing)
			if o := d.run("doctor", sick); strings.Contains(o.stdout, "winnow rescue") {
				t.Errorf("cured, doctor says: %s", o.stdout)
			}
			o = d.run("undo", sick, "--in-place")
			o.wants(t, cli.ExitDone)
			same(t, "undone", d.read(sick), was)
			if again := []string{"redo", sick, "--in-place"}; c.code == "torn" { // which redo leaves to its writer
				d.run("rescue", sick).wants(t, cli.ExitDone)
			} else {
				d.run(again...).wants(t, cli.ExitDone)
			}
			d.run("rescue", sick).wants(t, cli.ExitNothing)
		})
	}
}

// TestRescue_healthySessionsAreLeft: nothing is done to a session whose newest turn was answered.
func TestRescue_healthySessionsAreLeft(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	for _, name := range []string{"claude.jsonl", "codex.jsonl", "pi.jsonl", "opencode.json"} {
		file := d.take(name)
		was := d.read(file)
		o := d.run("rescue", file)
		o.wants(t, cli.ExitNothing, "nothing keeps an agent from going on with "+name)
		same(t, name, d.read(file), was)
	}
	sick := d.put("sick.jsonl", append(d.read("pi.jsonl"), piSays(`"Go on."`, "500 overloaded")...))
	d.age(sick)
	d.run("rescue", sick).wants(t, cli.ExitNothing, "no change of the session cures")
}

// TestRescue_undoneAfterMoreTurns: the lines that came since follow the lines from before.
func TestRescue_undoneAfterMoreTurns(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	torn := `{"type":"message","id":"20000001","par`
	sick := d.put("sick.jsonl", append(d.read(d.take("pi.jsonl")), torn...))
	d.age(sick)
	was := d.read(sick)
	d.run("rescue", sick).wants(t, cli.ExitDone)
	d.put(sick, append(d.read(sick), added("pi", 0)+"\n"...))
	d.age(sick)
	d.run("undo", sick, "--in-place").wants(t, cli.ExitDone)
	same(t, "undone", d.read(sick), append(append(was, '\n'), added("pi", 0)+"\n"...))
}
