package command

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// appending is a product as far as it appends a turn to a session: what the user asks, what the
// model thinks, what it answers.
type appending struct {
	file  string
	model string // that binds its reasoning
	turn  func(text, word string) string
}

var appendings = []appending{
	{"claude.jsonl", "claude-opus-5-5", func(text, word string) string {
		parent := newest(text, `"uuid":"([^"]*)"`)
		if lines := strings.Split(strings.TrimSpace(text), "\n"); strings.Contains(lines[len(lines)-1], `"isCompactSummary":true`) {
			if tail := newest(text, `"tailUuid":"([^"]*)"`); tail != "" {
				parent = tail
			}
		}
		var turn strings.Builder
		row := func(kind, content string) {
			n := len(text) + turn.Len()
			id := fmt.Sprintf("%08d-0000-4000-8000-00000000aaaa", n)
			fmt.Fprintf(&turn, `{"parentUuid":%q,"isSidechain":false,"type":%q,"message":{%s},"uuid":%q,"timestamp":%q,"cwd":"/coast","sessionId":"0f1e2d3c-4b5a-4678-9abc-def012345678","version":"2.1.330"}`+"\n",
				parent, kind, content, id, stamp(word))
			parent = id
		}
		say := `"id":"msg_` + word + `","type":"message","role":"assistant","model":"claude-opus-5-5","stop_reason":"end_turn","content":`
		row("user", `"role":"user","content":"Request `+word+`."`)
		row("assistant", say+`[{"type":"thinking","thinking":"Thought `+word+`.","signature":"sig"}]`)
		row("assistant", say+`[{"type":"text","text":"Answer `+word+`."}]`)
		return turn.String()
	}},
	{"codex.jsonl", "gpt-5.6", func(text, word string) string {
		var n int
		fmt.Sscan(newest(text, `"ordinal":(\d+)`), &n)
		var turn strings.Builder
		for _, payload := range []string{
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"Request ` + word + `."}]}`,
			`{"type":"reasoning","summary":[{"type":"summary_text","text":"Thought ` + word + `."}],"encrypted_content":"c2VhbGVk"}`,
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Answer ` + word + `."}]}`,
		} {
			n++
			fmt.Fprintf(&turn, `{"timestamp":%q,"ordinal":%d,"type":"response_item","payload":%s}`+"\n", stamp(word), n, payload)
		}
		return turn.String()
	}},
	{"pi.jsonl", "claude-opus-5-5", func(text, word string) string {
		parent := newest(text, `(?m)^\{"type":"[^"]*","id":"([^"]*)"`)
		var turn strings.Builder
		row := func(message string) {
			id := fmt.Sprintf("%08x", len(text)+turn.Len())
			fmt.Fprintf(&turn, `{"type":"message","id":%q,"parentId":%q,"timestamp":%q,"message":{%s}}`+"\n", id, parent, stamp(word), message)
			parent = id
		}
		row(`"role":"user","content":[{"type":"text","text":"Request ` + word + `."}]`)
		row(`"role":"assistant","content":[{"type":"thinking","thinking":"Thought ` + word + `.","thinkingSignature":"sig"},` +
			`{"type":"text","text":"Answer ` + word + `."}],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-5-5","stopReason":"stop"`)
		return turn.String()
	}},
}

// stamp is when a turn was appended: after everything that winnow did until then.
func stamp(string) string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// newest is the last match of an expression.
func newest(text, expression string) string {
	found := regexp.MustCompile(expression).FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1][1]
}

// inPlace changes a file that lies idle.
func (d *desk) inPlace(op, file string) outcome {
	d.t.Helper()
	d.age(file)
	o := d.run(op, file, "--in-place", "--json")
	o.wants(d.t, cli.ExitDone)
	return o
}

// appends appends a turn as the product does.
func (d *desk) appends(p appending, file, word string) {
	d.t.Helper()
	text := d.read(file)
	d.put(file, append(text, p.turn(string(text), word)...))
}

// views wants some texts in the view of a session, and others not; those begin with "!".
func (d *desk) views(src string, texts ...string) {
	d.t.Helper()
	o := d.run("view", src)
	o.wants(d.t, cli.ExitDone)
	for _, text := range texts {
		want := !strings.HasPrefix(text, "!")
		if strings.Contains(o.stdout, strings.TrimPrefix(text, "!")) != want {
			d.t.Errorf("the view of %s has %q: %v, want %v:\n%s", src, strings.TrimPrefix(text, "!"), !want, want, o.stdout)
		}
	}
}

// What was compacted, or pruned, is undone after the product went on, and redone after it went on
// again: nothing that was said is lost, each file begins with the bytes that it began with, and
// reasoning is shown only behind the prompt that it was made for.
func TestRedo_ofAFileAfterMoreTurns(t *testing.T) {
	sequential(t)
	for _, p := range appendings {
		for _, op := range []string{"compact", "prune"} {
			t.Run(p.file+","+op, func(t *testing.T) {
				d := eagerDesk(t)
				file := d.take(p.file)
				original := regexp.MustCompile(`"model":"[^"]*"`).ReplaceAll(d.read(file), []byte(`"model":"`+p.model+`"`))
				d.put(file, original)
				d.inPlace(op, file)
				changed := d.read(file)
				d.appends(p, file, "one")
				grown := d.read(file)
				d.views(file, "Thought one.", "Answer one.")

				wantsUnbound(t, d.inPlace("undo", file), 1)
				undone := d.read(file)
				if !bytes.HasPrefix(undone, original) {
					t.Fatalf("the undone file does not begin with the bytes of the original")
				}
				d.views(file, "!Thought one.", "Request one.", "Answer one.")
				for line := range strings.Lines(string(undone)) {
					if strings.Contains(line, `,"type":"response_item","payload":`) && strings.Contains(line, "c2VhbGVk") {
						t.Errorf("what is sealed is sent: %s", line)
					}
				}

				wantsUnbound(t, d.inPlace("redo", file), 0)
				same(t, "redone at once", d.read(file), grown)
				d.views(file, "Thought one.", "Answer one.")
				d.age(file)
				d.run("redo", file, "--in-place").wants(t, cli.ExitNothing)
				d.inPlace("undo", file)

				d.appends(p, file, "two")
				d.views(file, "!Thought one.", "Answer one.", "Thought two.", "Answer two.")
				wantsUnbound(t, d.inPlace("redo", file), 1)
				if redone := d.read(file); !bytes.HasPrefix(redone, changed) {
					t.Fatalf("the file that was redone does not begin with what was undone")
				}
				d.views(file, "Thought one.", "Answer one.", "Request two.", "!Thought two.", "Answer two.")
				d.appends(p, file, "three")

				wantsUnbound(t, d.inPlace("undo", file), 2)
				if !bytes.HasPrefix(d.read(file), original) {
					t.Fatalf("undone again, the file does not begin with the bytes of the original")
				}
				d.views(file, "!Thought one.", "Answer one.", "Thought two.", "Answer two.", "!Thought three.", "Answer three.")
			})
		}
	}
}

func wantsUnbound(t *testing.T, o outcome, want int) {
	t.Helper()
	got, _ := o.document(t)["unbound"].(float64)
	if int(got) != want {
		t.Errorf("%v parts with reasoning went, want %d", got, want)
	}
}

func TestRedo_ofAFileAtOnceGivesItsBytes(t *testing.T) {
	sequential(t)
	forEachFormat(t, func(t *testing.T, d *desk, file, policy string) {
		for _, op := range []string{"prune", "compact"} {
			d.run(op, file, "--policy", policy, "-o", op).wants(t, cli.ExitDone)
			d.run("undo", op, "-o", op+".undone").wants(t, cli.ExitDone)
			d.run("redo", op+".undone", "-o", op+".redone").wants(t, cli.ExitDone)
			same(t, "redone "+op, d.read(op+".redone"), d.read(op))
			d.run("undo", op+".redone", "-o", op+".again").wants(t, cli.ExitDone)
			same(t, "undone again", d.read(op+".again"), d.read(op+".undone"))
		}
	})
}

// Two undos are redone one after the other, and a restore that was undone can be undone again.
func TestRedo_ofSeveralUndosOfAFile(t *testing.T) {
	sequential(t)
	d := eagerDesk(t)
	file := d.take("claude.jsonl")
	d.inPlace("prune", file)
	pruned := d.read(file)
	names := d.elidedParts(file, "balanced", "handle")
	d.age(file)
	d.run("restore", file, names[0], "--in-place").wants(t, cli.ExitDone)
	restored := d.read(file)
	d.inPlace("undo", file)
	same(t, "the restore undone", d.read(file), pruned)
	d.inPlace("undo", file)
	whole := d.read(file)
	d.inPlace("redo", file)
	same(t, "the pruning redone", d.read(file), pruned)
	d.inPlace("redo", file)
	same(t, "the restore redone", d.read(file), restored)
	d.inPlace("undo", file)
	same(t, "the restore undone again", d.read(file), pruned)
	d.inPlace("undo", file)
	same(t, "the pruning undone again", d.read(file), whole)
}

func TestRedo_refusesAFileThatIsAnotherOne(t *testing.T) {
	d := eagerDesk(t)
	file := d.take("claude.jsonl")
	d.run("redo", file).wants(t, cli.ExitNothing)
	d.inPlace("compact", file)
	d.inPlace("undo", file)
	undone := d.read(file)
	refused := func(why string) {
		t.Helper()
		before := d.read(file)
		d.age(file)
		o := d.run("redo", file, "--in-place")
		if o.code != cli.ExitFailed || !strings.Contains(o.stderr, why) {
			t.Errorf("exit code %d, want %d and %q in\n%s", o.code, cli.ExitFailed, why, o.stderr)
		}
		same(t, "the file that was refused", d.read(file), before)
	}
	d.put(file, bytes.Replace(undone, []byte("lamp"), []byte("bulb"), 1))
	refused("not only by lines at its end")

	// The user went back to the beginning: what was redone would not count.
	back := appendings[0].turn(string(undone), "back")
	back = strings.Replace(back, newest(string(undone), `"uuid":"([^"]*)"`), "00000000-0000-4000-8000-000000000002", 1)
	d.put(file, append(bytes.Clone(undone), back...))
	refused("goes on from an earlier place")

	d.put(file, undone)
	d.run("redo", file, "rcp_other").wants(t, cli.ExitUsage)
	d.run("originals", "prune", "--all", "--force").wants(t, cli.ExitDone)
	refused("is missing")
}

// The bytes from before the first of two restores lack what was appended since.
func TestUndo_ofTwoRestoresKeepsWhatWasAppended(t *testing.T) {
	sequential(t)
	d := eagerDesk(t)
	file := d.take("claude.jsonl")
	d.inPlace("prune", file)
	for range 2 {
		d.age(file)
		d.run("restore", file, d.elidedParts(file, "balanced", "handle")[0], "--in-place").wants(t, cli.ExitDone)
	}
	d.appends(appendings[0], file, "late")
	d.inPlace("undo", file)
	d.inPlace("undo", file)
	d.views(file, "Request late.", "Answer late.")
}
