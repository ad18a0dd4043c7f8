package claudecode

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Compactions that a hook of the product composed: a boundary without a summary, and behind it
// copies under new uuids.

// shownTools lists the calls of the view with their results.
func shownTools(doc *format.Document) (tools []string, characters int) {
	for _, m := range view.Render(view.Window(doc.Session.Messages, nil), doc.Ledger) {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Type == session.ToolPart {
				tools = append(tools, p.CallID+" "+p.State.Result())
				characters += len([]rune(p.State.Result()))
			}
		}
	}
	return tools, characters
}

func toolCall(uuid, parent, message, model, call string) string {
	return fmt.Sprintf(`{"parentUuid":%q,"type":"assistant","message":{"role":"assistant","id":%q,"model":%q,"content":[{"type":"tool_use","id":%q,"name":"Bash","input":{}}]},"uuid":%q,"sessionId":"s"}`,
		parent, message, model, call, uuid) + "\n"
}

func toolResult(uuid, parent, call, text string) string {
	return fmt.Sprintf(`{"parentUuid":%q,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]},"uuid":%q,"sessionId":"s"}`,
		parent, call, text, uuid) + "\n"
}

func bound(uuid, logical, metadata string) string {
	return fmt.Sprintf(`{"parentUuid":null,"logicalParentUuid":%q,"type":"system","subtype":"compact_boundary","uuid":%q,"compactMetadata":{"trigger":"manual"%s},"sessionId":"s"}`,
		logical, uuid, metadata) + "\n"
}

// enlarged is a file with enough records that nobody reads to be large for the product.
func enlarged(src []byte) []byte {
	record := `{"type":"api-request-blob","sessionId":"s","data":"` + strings.Repeat("the gulls cry ", 6000) + "\"}\n"
	first := bytes.IndexByte(src, '\n') + 1
	return slices.Concat(src[:first], bytes.Repeat([]byte(record), 1+large/len(record)), src[first:])
}

func TestRead_compactionsOfHooks(t *testing.T) {
	const model = "claude-opus-5-5"
	before := text("a", "", "user", "", "go") + toolCall("b", "a", "m1", model, "t1") + toolResult("c", "b", "t1", "the whole output") +
		text("d", "c", "assistant", "m2", "done")
	// Copies: the result hangs on the old call.
	copies := text("p", "z", "user", "", "go") + toolCall("q", "p", "m1", model, "t1") + toolResult("r", "b", "t1", "short") +
		text("s", "r", "assistant", "m2", "done") + text("t", "s", "user", "", "on")
	anchors := `,"preservedMessages":{"anchorUuid":"p","uuids":["q","r","s"]},"preservedSegment":{"headUuid":"q","anchorUuid":"p","tailUuid":"s"}`
	for name, c := range map[string]struct {
		file   string
		hidden int // messages before the boundary that the model does not see
		want   []string
		large  []string // in a large file
	}{
		"anchored, the copies count": {before + bound("z", "d", anchors) + copies, 3, []string{"t1 short"}, []string{"t1 short"}},
		"not anchored, the product goes back to the past": {before + bound("z", "d", "") + copies, 0, []string{"t1 the whole output"},
			[]string{"t1 short"}},
		"rebuilt, the chain ends at the boundary": {before + bound("z", "d", "") + text("p", "z", "user", "", "go") +
			toolCall("q", "p", "n1", synthetic, "t1") + toolResult("r", "q", "t1", "short"), 3, []string{"t1 short"}, []string{"t1 short"}},
		"rebuilt call by call, the first result is not found": {before + bound("z", "d", "") + text("p", "z", "user", "", "go") +
			toolCall("q", "p", "n1", synthetic, "t1") + toolCall("r", "q", "n2", synthetic, "t2") +
			toolResult("s", "r", "t1", "one") + toolResult("t", "s", "t2", "two"), 3, []string{"t1 " + missing, "t2 two"},
			[]string{"t1 " + missing, "t2 two"}},
		"the summary is lost, and nothing is hidden": {before + bound("z", "d", "") + text("y", "x", "user", "", "on"), 0,
			[]string{"t1 the whole output"}, nil},
		"the compaction was broken off": {before + bound("z", "d", ""), 0, []string{"t1 the whole output"}, nil},
		"the user went back to before a compaction": {before + bound("z", "d", "") + text("y", "c", "user", "", "on"), 0,
			[]string{"t1 the whole output"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			doc := read(t, []byte(c.file))
			got, _ := shownTools(doc)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			window := view.Window(doc.Session.Messages, nil)
			if pivot := view.Pivot(window) != nil; pivot != (c.hidden > 0) {
				t.Errorf("the window begins with a pivot: %v", pivot)
			}
			if hidden := len(doc.Session.Messages) - len(window); hidden != c.hidden {
				t.Errorf("%d messages are hidden, want %d", hidden, c.hidden)
			}
			unchanged(t, doc)
			if model := doc.Session.Info.Model; model == nil || model.ID != "claude-opus-5-5" {
				t.Errorf("the model is %+v", model)
			}
			doc = read(t, enlarged([]byte(c.file)))
			got, _ = shownTools(doc)
			if diff := cmp.Diff(c.large, got); diff != "" {
				t.Errorf("calls in a large file (-want +got):\n%s", diff)
			}
			unchanged(t, doc)
		})
	}
}

// paced gives the lines of a file times that are a number of milliseconds apart.
func paced(file string, step int) []byte {
	var text strings.Builder
	for i, line := range strings.SplitAfter(file, "\n") {
		at := time.UnixMilli(int64(1_800_000_000_000 + i*step)).UTC().Format("2006-01-02T15:04:05.000Z")
		line = strings.Replace(line, `"timestamp":"2026-01-01T00:00:00.000Z",`, "", 1)
		text.WriteString(strings.Replace(line, `"uuid":`, `"timestamp":"`+at+`","uuid":`, 1))
	}
	return []byte(text.String())
}

// In a large file the product looks in the place of a parent that it does not read for an entry of
// the five seconds before; if there is none, what was copied before is lost, and repair brings it
// back. Measured with 2.1.330.
func TestRead_copiesInALargeFileAreLostAfterAPause(t *testing.T) {
	const model = "claude-opus-5-5"
	file := text("a", "", "user", "", "go") + toolCall("b", "a", "m1", model, "t1") + toolResult("c", "b", "t1", "the whole output") +
		text("d", "c", "assistant", "m2", "done") + bound("z", "d", "") +
		text("p", "z", "user", "", "go") + toolCall("q", "p", "m1", model, "t1") + toolResult("r", "b", "t1", "short") +
		text("s", "r", "assistant", "m2", "done") + text("t", "s", "user", "", "on")
	for step, want := range map[int][]string{5000: {"t1 short"}, 5001: nil} {
		doc := read(t, enlarged(paced(file, step)))
		got, _ := shownTools(doc)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d ms apart (-want +got):\n%s", step, diff)
		}
		unchanged(t, doc)
		if first := doc.Session.Messages[0].Text(); first != "go" {
			t.Errorf("the log begins with %q", first)
		}
		faults := Format{}.Faults(doc)
		if lost := want == nil; lost != (len(faults) == 1 && faults[0].Code == Unanchored) {
			t.Errorf("%d ms apart the faults are %+v", step, faults)
		}
		if got, _ := shownTools(repaired(t, doc)); !slices.Equal(got, []string{"t1 short"}) {
			t.Errorf("%d ms apart, repaired: %v", step, got)
		}
	}
}

// An agent that sat idle while its large session was compacted without a tail goes on from an entry
// that is not read: the session begins with what it says.
func TestBypassed_inALargeFile(t *testing.T) {
	file := text("a", "", "user", "", "go") + text("b", "a", "assistant", "m1", "done") + bound("z", "b", "") +
		`{"parentUuid":"z","type":"user","message":{"role":"user","content":"The summary."},"isCompactSummary":true,"uuid":"y","sessionId":"s"}` + "\n" +
		text("c", "b", "user", "", "on") + text("d", "c", "assistant", "m2", "yes")
	for step, want := range map[int]bool{1000: false, 6000: true} {
		doc := read(t, enlarged(paced(file, step)))
		bypass, is := Format{}.Bypassed(doc)
		if is != want || want && bypass.Entries != 2 {
			t.Errorf("%d ms apart: bypassed %v, %+v; want %v by 2 entries", step, is, bypass, want)
		}
		summary := false
		for _, m := range view.Window(doc.Session.Messages, nil) {
			summary = summary || strings.Contains(m.Text(), "The summary.")
		}
		if summary == want {
			t.Errorf("%d ms apart the summary is shown: %v", step, summary)
		}
	}
}

// The figures are those of the requests with which version 2.1.330 of the product resumed the
// files, as they are and enlarged.
func TestRead_filesThatHooksCompacted(t *testing.T) {
	for name, want := range map[string][2][2]int{
		"base": {{22, 75502}, {22, 75502}}, "native": {}, "seat-append": {{3, 583}, {3, 583}}, "seat-toolcall": {{3, 630}, {3, 630}},
		"hook-tail": {{24, 76782}, {6, 4658}}, "hook-shake": {{22, 75502}, {22, 5791}}, "hook-shake-anchored": {{22, 5791}, {22, 5791}},
		"hook-mixed": {{22, 19788}, {22, 3032}}, "hook-rebuild": {{22, 2464}, {22, 2464}}, "hook-rebuild2": {{22, 5791}, {22, 5791}},
	} {
		t.Run(name, func(t *testing.T) {
			src := outside.Read(t, outside.Path(t, "fixtures", "hook-compacted", name+".jsonl.gz"))
			for i, src := range [][]byte{src, enlarged(src)} {
				doc := read(t, src)
				tools, characters := shownTools(doc)
				if got := [2]int{len(tools), characters}; got != want[i] {
					t.Errorf("of %d bytes the view has %d calls with results of %d characters, the product sent %d",
						len(src), got[0], got[1], want[i])
				}
				unchanged(t, doc)
				if model := doc.Session.Info.Model; model == nil || model.ID != "claude-opus-5-5" {
					t.Errorf("the model is %+v", model)
				}
			}
		})
	}
}

// repaired applies all repairs, and reads the file again: it has no fault then.
func repaired(t *testing.T, doc *format.Document) *format.Document {
	t.Helper()
	var edits []span.Edit
	for _, f := range (Format{}).Faults(doc) {
		edits = append(edits, f.Edits...)
	}
	slices.SortStableFunc(edits, func(a, b span.Edit) int { return a.Start - b.Start })
	again := read(t, span.Splice(doc.Source, edits...))
	if faults := (Format{}).Faults(again); len(faults) > 0 {
		t.Errorf("after the repair: %+v", faults)
	}
	return again
}

func TestFaults_filesThatHooksCompacted(t *testing.T) {
	for name, c := range map[string]struct {
		codes []string
		want  [2]int // calls, and characters of their results, after the repair
	}{
		"base": {nil, [2]int{22, 75502}}, "native": {nil, [2]int{}}, "seat-append": {nil, [2]int{3, 583}},
		"hook-tail": {[]string{Unanchored}, [2]int{6, 4658}}, "hook-shake": {[]string{Unanchored}, [2]int{22, 5791}},
		"hook-shake-anchored": {nil, [2]int{22, 5791}}, "hook-mixed": {[]string{Unanchored, SplitCalls}, [2]int{22, 5791}},
		"hook-rebuild": {[]string{SplitCalls}, [2]int{22, 5791}}, "hook-rebuild2": {nil, [2]int{22, 5791}},
	} {
		t.Run(name, func(t *testing.T) {
			doc := read(t, outside.Read(t, outside.Path(t, "fixtures", "hook-compacted", name+".jsonl.gz")))
			var codes []string
			for _, f := range (Format{}).Faults(doc) {
				if len(codes) == 0 || codes[len(codes)-1] != f.Code {
					codes = append(codes, f.Code)
				}
			}
			if diff := cmp.Diff(c.codes, codes); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			tools, characters := shownTools(repaired(t, doc))
			if got := [2]int{len(tools), characters}; got != c.want {
				t.Errorf("the view has %d calls with results of %d characters, want %d", got[0], got[1], c.want)
			}
		})
	}
}

// A file may become large by what we write or by what the product appends, and small again: what we
// folded is resumed alike.
func TestRead_whatWeFoldedIsTheSameInALargeFile(t *testing.T) {
	for seed := range 30 {
		random := rand.New(rand.NewPCG(2, uint64(seed)))
		r := &rows{}
		for i := range 1 + random.IntN(3) {
			r.turn(fmt.Sprint("old", i), random.IntN(3), random.IntN(2) == 0)
		}
		text := []byte(r.text.String())
		for _, word := range []string{"one", "two"}[:1+random.IntN(2)] {
			doc := read(t, text)
			tail, window := "", view.Window(doc.Session.Messages, nil)
			if at := random.IntN(len(window) + 1); at < len(window) {
				tail = window[at].ID
			}
			s := fold(doc.Session, word, tail)
			text = write(t, doc, format.Change{Session: s})
			r.text.Reset()
			r.parent = goesOn(t, text)
			r.turn(word+"new", random.IntN(2), random.IntN(2) == 0)
			text = append(text, r.text.String()...)
		}
		small, big := read(t, text), read(t, enlarged(text))
		if diff := difference(t, small.Session.Messages, big.Session.Messages); diff != "" {
			t.Errorf("seed %d, as it is and enlarged:\n%s", seed, diff)
		}
		for _, doc := range []*format.Document{small, big} {
			if faults := (Format{}).Faults(doc); len(faults) > 0 {
				t.Errorf("seed %d: %+v", seed, faults)
			}
		}
	}
}
