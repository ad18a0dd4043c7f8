package page

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

var update = flag.Bool("update", false, "write the golden files anew")

// desk is an engine with one session in it.
type desk struct {
	t      testing.TB
	engine *winnow.Engine
	id     string
}

func deskWith(t testing.TB, s session.Session, ledger rule.Ledger) desk {
	t.Helper()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	tick := func() time.Time { now = now.Add(time.Second); return now }
	e, err := winnow.Open(winnow.Config{Now: tick, Random: rand.NewChaCha8([32]byte{1})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if err := e.Import(t.Context(), s, ledger, nil); err != nil {
		t.Fatal(err)
	}
	return desk{t, e, s.Info.ID}
}

// content is what the command hands to Write.
func (d desk) content() Content {
	d.t.Helper()
	c := Content{Name: "session.json", Source: "session.json", Product: "OpenCode session export (JSON)"}
	var err error
	if c.Report, err = winnow.Look(d.t.Context(), d.engine, d.id, report.Inspect); err != nil {
		d.t.Fatal(err)
	}
	if c.Session, c.State, err = d.engine.Session(d.t.Context(), d.id); err != nil {
		d.t.Fatal(err)
	}
	if c.Parts, err = winnow.Look(d.t.Context(), d.engine, d.id, report.Parts); err != nil {
		d.t.Fatal(err)
	}
	return c
}

func written(t testing.TB, c Content) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// example is the long session of examples/.
func example(t testing.TB) session.Session {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(outside.Root(t), "examples", "long-session.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s session.Session
	if err := json.Unmarshal(text, &s, session.ReadOptions()); err != nil {
		t.Fatal(err)
	}
	return s
}

// small is a session of two turns, with a long output, a failure and a step.
func small() session.Session {
	at := func(minute int) session.MessageTime {
		return session.MessageTime{Created: session.Millis(1772438400000 + minute*60_000)}
	}
	ref := &session.ModelRef{ProviderID: "anthropic", ModelID: "claude-sonnet-4-5"}
	info := func(id string, role session.Role, minute int) session.MessageInfo {
		m := session.MessageInfo{ID: id, SessionID: "ses_small", Role: role, Time: at(minute), Finish: "stop"}
		if role == session.User {
			m.Model, m.Finish = ref, ""
		}
		return m
	}
	call := func(id, tool, input, output string, status session.Status) session.Part {
		state := &session.ToolState{Status: status, Input: []byte(input), Output: output}
		if status == session.Failed {
			state.Output, state.Error = "", output
		}
		return session.Part{ID: id, Type: session.ToolPart, CallID: "call_" + id, Tool: tool, State: state}
	}
	text := func(id, s string) session.Part { return session.Part{ID: id, Type: session.TextPart, Text: s} }
	return session.Session{
		Info: session.Info{ID: "ses_small", Title: "Mend the lamp", Directory: "/home/keeper/tower",
			Time: session.Lifetime{Created: 1772438400000}},
		Messages: []session.Message{
			{MessageInfo: info("msg_1", session.User, 0),
				Parts: []session.Part{text("prt_1", "The lamp flickers. Never touch the lens.")}},
			{MessageInfo: info("msg_2", session.Assistant, 1), Parts: []session.Part{
				{ID: "prt_2", Type: session.StepStartPart},
				text("prt_3", "I'll look at the *wiring* first."),
				call("prt_4", "read", `{"filePath":"/home/keeper/tower/wiring.txt"}`,
					strings.Repeat("red to red, blue to blue\n", 300), session.Completed),
				call("prt_5", "bash", `{"command":"make lamp","timeout":5}`, "lamp: no current", session.Failed),
				{ID: "prt_6", Type: session.StepFinishPart, Reason: "tool-calls",
					Tokens: &session.Usage{Input: 900, Output: 40}},
			}},
			{MessageInfo: info("msg_3", session.User, 2), Parts: []session.Part{text("prt_7", "And the <b>fuse</b>?")}},
			{MessageInfo: info("msg_4", session.Assistant, 3),
				Parts: []session.Part{text("prt_8", "It had blown. Replaced.")}},
		},
	}
}

// keptTexts matches what a page keeps as data.
var keptTexts = regexp.MustCompile(`<script type="text/plain" class="kept">([A-Za-z0-9+/=]*)</script>`)

// unpacked are the texts that a page keeps as data.
func unpacked(t testing.TB, html string) []string {
	t.Helper()
	var out []string
	for _, m := range keptTexts.FindAllStringSubmatch(html, -1) {
		packed, err := base64.StdEncoding.DecodeString(m[1])
		if err != nil {
			t.Fatal(err)
		}
		list, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		if err := json.Unmarshal(list, &texts); err != nil {
			t.Fatal(err)
		}
		out = append(out, texts...)
	}
	return out
}

// golden compares with a file, without what is a file of its own and without what compression makes
// of texts.
func golden(t *testing.T, name, html string) {
	t.Helper()
	css, js := style+replayStyle, scriptOfKept+replayScript
	got := strings.NewReplacer(css, "…", hash(css), "'…'", js, "…", hash(js), "'…'", style, "…", script, "…",
		hash(style), "'…'", hash(script), "'…'").Replace(html)
	got = keptTexts.ReplaceAllStringFunc(got, func(s string) string {
		told := "kept:"
		for _, text := range unpacked(t, s) {
			told += fmt.Sprintf(" %q… (%d bytes)", excerpt(text, 40), len(text))
		}
		return told
	})
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what is written now (-want +got); -update writes it anew:\n%s", path, diff)
	}
}

func TestWrite_ofASmallSession(t *testing.T) {
	s := small()
	d := deskWith(t, s, rule.NewLedger(rule.Elision{
		Part: "prt_4", Message: "msg_2", Field: rule.Output, Rule: "backward",
		Because: "it lies behind the newest 40000 tokens", Shown: "[read: left out]", Time: 1772438500000,
	}))
	if _, err := d.engine.Pin(t.Context(), d.id, rule.Pin{Text: "The lens stays.", Note: "promised"}); err != nil {
		t.Fatal(err)
	}
	c := d.content()
	c.Damaged = []format.Damage{{Line: 7, Offset: 812, Bytes: 31, Reason: "unexpected end"}}
	html := written(t, c)
	golden(t, "small.html", html)
	if again := written(t, d.content2(c)); again != html {
		t.Error("the same session gave other bytes")
	}
	if texts := unpacked(t, html); len(texts) != 1 || texts[0] != s.Messages[1].Parts[2].State.Output {
		t.Errorf("%d texts are kept as data, want the long output alone, as it is", len(texts))
	}
}

// content2 is the content again, with what a test added to it.
func (d desk) content2(c Content) Content {
	again := d.content()
	again.Damaged, again.Done, again.Remark = c.Damaged, c.Done, c.Remark
	return again
}

func TestWrite_ofACompaction(t *testing.T) {
	d := deskWith(t, example(t), rule.Ledger{})
	receipt, err := d.engine.Compact(t.Context(), d.id, winnow.CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := d.content()
	c.Done, c.Remark = receipt, "The session was written to smaller.json."
	html := written(t, c)
	for what, want := range map[string]string{
		"the outcome":             "175,323 → 21,346 tokens (−88%); 80 messages folded into a summary",
		"where it was written":    "The session was written to smaller.json.",
		"the pivot":               `<article class="pivot" id="pivot1">`,
		"what it replaced":        "larder should know when things go off",
		"the summary, set":        "<h4>Goal</h4>",
		"what was carried over":   `<div class="carried"><h4>Kept from before the summary</h4>`,
		"that it cost nothing":    "nothing: no model was asked",
		"how to undo it":          "winnow undo session.json " + receipt.Marker,
		"the fault in the log":    `<p class="faultline">`,
		"a rule and a reason":     "<b>Left out by rule backward</b>: it lies behind the newest 40,000 tokens of tool output and the last 2 turns.",
		"how to restore a part":   "winnow restore session.json ",
		"the link of the summary": `class="fault-link"`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not have %s: %q", what, want)
		}
	}
	if ids := doubled(html); len(ids) > 0 {
		t.Errorf("ids stand twice: %v", ids)
	}
	if broken := dangling(html); len(broken) > 0 {
		t.Errorf("links lead nowhere: %v", broken)
	}
	if _, err := d.engine.Undo(t.Context(), d.id, ""); err != nil {
		t.Fatal(err)
	}
	html = written(t, d.content())
	if !strings.Contains(html, "Reapply it with") || strings.Contains(html, `class="faultline"`) {
		t.Error("an undone pivot is not shown as one")
	}
}

var (
	anID   = regexp.MustCompile(`\sid="([^"]*)"`)
	aLink  = regexp.MustCompile(`href="#([^"]*)"`)
	aStyle = regexp.MustCompile(`<[^>]*\s(?:style|on\w+)=`)
)

func doubled(html string) []string {
	seen, twice := map[string]bool{}, []string(nil)
	for _, m := range anID.FindAllStringSubmatch(html, -1) {
		if seen[m[1]] {
			twice = append(twice, m[1])
		}
		seen[m[1]] = true
	}
	return twice
}

func dangling(html string) []string {
	ids, broken := map[string]bool{}, []string(nil)
	for _, m := range anID.FindAllStringSubmatch(html, -1) {
		ids[m[1]] = true
	}
	for _, m := range aLink.FindAllStringSubmatch(html, -1) {
		if !ids[m[1]] {
			broken = append(broken, m[1])
		}
	}
	return broken
}

// Sizes on the page are those that the engine measures: the window now, and both sides of each
// receipt.
func TestStrata_areWhatTheEngineMeasures(t *testing.T) {
	check := func(t *testing.T, c Content) {
		t.Helper()
		s := historyOf(&c)
		overhead := c.Report.Window.Overhead
		if got, want := s.Now.Amounts.Shown(), display.StateOf(&c.Report).Used; got != want {
			t.Errorf("the strata of now have %d tokens, the window %d", got, want)
		}
		if got, want := s.Now.Amounts[len(s.Now.Amounts)-1], c.Report.Window.ElidedTokens; got != want {
			t.Errorf("the strata of now have %d tokens elided, the window %d", got, want)
		}
		for _, f := range s.Pivots {
			for _, r := range c.State.Receipts {
				if r.Marker == c.Session.Messages[f.Marker].ID && (f.Before != r.TokensBefore+overhead ||
					f.After != r.TokensAfter+overhead) {
					t.Errorf("pivot %s: the strata fall from %d to %d, the receipt says %d to %d", r.Marker, f.Before,
						f.After, r.TokensBefore, r.TokensAfter)
				}
			}
		}
		for i, m := range append(s.Moments, s.Now) {
			for k, n := range m.Amounts {
				if n < 0 {
					t.Errorf("after message %d there are %d tokens of %s", i, n, s.Layers[k].Name)
				}
			}
		}
	}
	t.Run("a session that grew", func(t *testing.T) { check(t, deskWith(t, example(t), rule.Ledger{}).content()) })
	t.Run("pruned, folded, gone on, folded again, undone", func(t *testing.T) {
		d := deskWith(t, example(t), rule.Ledger{})
		if _, err := d.engine.Prune(t.Context(), d.id, false); err != nil {
			t.Fatal(err)
		}
		check(t, d.content())
		if _, err := d.engine.Compact(t.Context(), d.id, winnow.CompactOptions{}); err != nil {
			t.Fatal(err)
		}
		check(t, d.content())
		for i := range 3 {
			more := example(t).Messages[:30]
			for k := range more {
				more[k].ID += fmt.Sprintf("_%d", i)
				for j := range more[k].Parts {
					more[k].Parts[j].ID += fmt.Sprintf("_%d", i)
				}
			}
			if err := d.engine.Append(t.Context(), d.id, more...); err != nil {
				t.Fatal(err)
			}
		}
		check(t, d.content())
		if _, err := d.engine.Compact(t.Context(), d.id, winnow.CompactOptions{}); err != nil {
			t.Fatal(err)
		}
		check(t, d.content())
		if _, err := d.engine.Undo(t.Context(), d.id, ""); err != nil {
			t.Fatal(err)
		}
		check(t, d.content())
	})
	t.Run("a placeholder that is longer than what it stands for", func(t *testing.T) {
		elided := func(part, message, shown string) rule.Elision {
			return rule.Elision{Part: part, Message: message, Field: rule.Output, Rule: "mark",
				Because: "it was marked", Shown: shown}
		}
		failed := elided("prt_5", "msg_2", strings.Repeat("longer than that ", 9))
		failed.Field = rule.Error
		check(t, deskWith(t, small(), rule.NewLedger(elided("prt_4", "msg_2", "[gone]"), failed)).content())
	})
	t.Run("recorded sessions", func(t *testing.T) {
		for _, name := range []string{"pi/ef706663-compact.jsonl.gz", "pi/00d8dfb2-large-session.jsonl.gz",
			"claude-code-damaged/81300114-images-in-user-messages.jsonl.gz"} {
			doc, err := all.Read(outside.Read(t, outside.Path(t, "corpus", name)))
			if err != nil {
				t.Fatal(err)
			}
			c := deskWith(t, doc.Session, doc.Ledger).content()
			check(t, c)
			html := written(t, c)
			if broken := dangling(html); len(broken) > 0 {
				t.Errorf("%s: links lead nowhere: %v", name, broken)
			}
		}
	})
}

// evil is text that would like to be more than text.
const evil = "</script></style><script>window.pwned=1</script><img src=x onerror=window.pwned=2>{{.}}${alert(1)}\"'`--><!--]]>" +
	"\x1b[31mred\x1b[0m \x00 \xff\xfe \u202eesrever\u202c \u2066x\u2069 \U000e0041 \u200b \r\n &lt;script&gt; javascript:alert(1)"

// hostile is a session in which every text is evil, with a line of a million characters.
func hostile() session.Session {
	s := small()
	s.Info.Title, s.Info.Directory = evil, evil
	for i := range s.Messages {
		m := &s.Messages[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Text != "" {
				p.Text = evil + p.Text
			}
			if p.Type == session.ToolPart {
				p.Tool, p.CallID = evil, evil
				p.State.Input, _ = json.Marshal(map[string]string{"filePath": evil, evil: evil}, session.ReadOptions())
				p.State.Error = evil
				p.State.Attachments = []session.Part{{Type: session.FilePart, Filename: evil, Mime: evil, URL: "javascript:" + evil}}
			}
		}
	}
	s.Messages[1].Parts[2].State.Output = evil + strings.Repeat("x", 1<<20) + evil
	s.Messages[1].Parts[4].Reason = evil
	s.Messages[3].Error, _ = json.Marshal(evil, session.ReadOptions())
	return s
}

func hostileContent(t testing.TB) Content {
	d := deskWith(t, hostile(), rule.NewLedger(rule.Elision{Part: "prt_5", Message: "msg_2", Field: rule.Output, Rule: evil, Because: evil, Shown: evil}))
	if _, err := d.engine.Pin(t.Context(), d.id, rule.Pin{Text: evil, Note: evil}); err != nil {
		t.Fatal(err)
	}
	c := d.content()
	c.Name, c.Source, c.Product, c.Remark = evil, evil, evil, evil
	c.Damaged = []format.Damage{{Line: 1, Reason: evil}}
	c.Done = &pivot.Receipt{ID: evil, Kind: pivot.Compaction, Policy: evil, Trigger: evil, Summarizer: evil, Notes: []string{evil}, Undo: evil, Gone: map[string]int{evil: 4}, TokensBefore: 9, TokensAfter: 3}
	return c
}

func TestWrite_hostileTextStaysText(t *testing.T) {
	html := written(t, hostileContent(t))
	if !utf8.ValidString(html) {
		t.Error("the page is not UTF-8")
	}
	for what, bad := range map[string]string{
		"a script": "<script>window.pwned", "an image": "<img", "a NUL": "\x00", "an escape sequence": "\x1b", "an override": "\u202e", "an isolate": "\u2066",
		"an invisible tag": "\U000e0041", "a zero-width space": "\u200b", "a bare carriage return": "\r",
	} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %s", what)
		}
	}
	// Its own style and script aside, no tag has a style or a handler, and there are as many
	// scripts as there must be.
	body := strings.NewReplacer(style, "", script, "").Replace(html)
	if found := aStyle.FindString(body); found != "" {
		t.Errorf("a tag has a style or a handler: %.200s", found)
	}
	if got, want := strings.Count(strings.ToLower(body), "<script"), 1+len(keptTexts.FindAllString(body, -1)); got != want {
		t.Errorf("there are %d scripts, want %d", got, want)
	}
	for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if !strings.HasPrefix(m[1], "#") {
			t.Errorf("there is a link to %.100s", m[1])
		}
	}
	long := ""
	for _, text := range unpacked(t, html) {
		if len(text) > 1<<20 {
			long = text
		}
	}
	if !strings.HasPrefix(long, "</script></style><script>window.pwned") || strings.Contains(long, "\u202e") || !strings.Contains(long, "⟨U+202E⟩") {
		t.Errorf("the long line is not kept as legible data: %.200q", long)
	}
}

func TestWrite_ofAPruning(t *testing.T) {
	d := deskWith(t, example(t), rule.Ledger{})
	outcome, err := d.engine.Prune(t.Context(), d.id, false)
	if err != nil {
		t.Fatal(err)
	}
	c := d.content()
	c.Done = outcome.Pruned
	html := written(t, c)
	r := outcome.Pruned
	n := r.Parts()
	for _, want := range []string{
		fmt.Sprintf("%s; %d parts left out", display.Shrunk(r.TokensBefore, r.TokensAfter, c.Report.Window.Overhead), n),
		`<section id="prunings"`, ". <span class=\"undo\">undo with <code>winnow undo session.json " + r.ID + "</code></span>", `<path class="l-elided"`, "left out, not sent " + quantity.Number(r.Saved),
		"winnow undo session.json " + r.ID + "</code>", fmt.Sprintf("with %d more parts that went at once", n-1),
		"<h5>The model is shown, ",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if got := strings.Count(html, `class="s-elided"`); got != n {
		t.Errorf("%d parts are shown as elided, want %d", got, n)
	}
	if _, err := d.engine.Undo(t.Context(), d.id, r.ID); err != nil {
		t.Fatal(err)
	}
	want := "reapply it with <code>winnow redo session.json " + r.ID
	if html := written(t, d.content()); !strings.Contains(html, want) || strings.Contains(html, "winnow undo session.json "+r.ID) {
		t.Errorf("an undone pruning is not shown as one: want %q and no undo", want)
	}
}

func TestWrite_ofWhatWasNotWrittenShowsNoCommands(t *testing.T) {
	c := folded(t)
	c.Source, c.Done.Undo = "", ""
	if html := written(t, c); strings.Contains(html, "<code>winnow") || strings.Contains(html, "Undo with") {
		at := max(strings.Index(html, "<code>winnow"), strings.Index(html, "Undo with"))
		t.Errorf("the page shows commands that fail: … %s …", html[max(0, at-100):min(len(html), at+200)])
	}
}

func TestWrite_ofNothing(t *testing.T) {
	s := session.Session{Info: session.Info{ID: "ses_empty"}}
	html := written(t, deskWith(t, s, rule.Ledger{}).content())
	if !strings.Contains(html, "Nothing here yet") || !strings.HasSuffix(html, "</html>\n") {
		t.Errorf("the page of an empty session: %.300s", html)
	}
}

func TestWrite_refusesPiecesOfTwoMoments(t *testing.T) {
	c := deskWith(t, small(), rule.Ledger{}).content()
	c.Parts = c.Parts[1:]
	var b bytes.Buffer
	if err := Write(&b, c); err == nil || b.Len() > 0 || !strings.Contains(err.Error(), "meanwhile") {
		t.Errorf("%d bytes were written, the error is %v", b.Len(), err)
	}
}

func TestIs_tellsAPageFromOtherFiles(t *testing.T) {
	html := written(t, deskWith(t, small(), rule.Ledger{}).content())
	if !Is([]byte(html)[:512]) {
		t.Error("a page is not known as one")
	}
	for _, other := range []string{"", "<!doctype html>\n<html><body>", `{"info":{}}`} {
		if Is([]byte(other)) {
			t.Errorf("%q is taken for a page", other)
		}
	}
}

func TestVisible_writesOutWhatActsUnseen(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\n":      "plain\ttext\n",
		"a\r\nb\rc":          "a\nb␍c",
		"\x1b[31mred":        "␛[31mred",
		"nul \x00":           "nul ␀",
		"bad \xff utf":       "bad � utf",
		"\u202eright":        "⟨U+202E⟩right",
		"tag \U000e0041":     "tag ⟨U+E0041⟩",
		"größe 日本 👩‍🔧 עברית": "größe 日本 👩‍🔧 עברית",
		"c1 \u009b31m":       "c1 ⟨U+009B⟩31m",
	} {
		if got := visible(text); got != want {
			t.Errorf("visible(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLine_isOneLineWithoutColour(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"  two\n\tlines ", 40, "two lines"},
		{"\x1b[1;31mFAIL\x1b[0m it", 40, "FAIL it"},
		{"a long sentence", 7, "a long…"},
		{"\x1b[ never ends", 40, "␛[ never ends"},
		{strings.Repeat("é", 100), 10, strings.Repeat("é", 9) + "…"},
	} {
		if got := line(c.text, c.most); got != c.want {
			t.Errorf("line(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func TestArguments_areSetOneBelowTheOther(t *testing.T) {
	for text, want := range map[string]string{
		`{"path":"a.go","limit":5}`:           "path: a.go\nlimit: 5",
		`{"content":"one\ntwo\n","path":"a"}`: "content:\none\ntwo\npath: a",
		`{"cut":`:                             `{"cut":`,
		`"text"`:                              `"text"`,
		`{}`:                                  ``,
	} {
		if got := arguments(text); got != want {
			t.Errorf("arguments(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestProse_setsWhatASummaryHas(t *testing.T) {
	got := string(prose("# Goal\n\n- one `x<y`\n  goes on\n  - deep\n\n> said\n\n```go\na < b\n```\n**bold** and ` odd\n<script>"))
	want := "<h4>Goal</h4><ul><li>one <code>x&lt;y</code>\ngoes on<li class=\"deep\">deep</ul>\n<blockquote>said\n</blockquote>\n<pre>a &lt; b\n</pre>\n" +
		"<p><strong>bold</strong> and ` odd\n&lt;script&gt;\n</p>\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("prose (-want +got):\n%s", diff)
	}
}

func TestProse_setsNumberedListsAndTables(t *testing.T) {
	got := string(prose("1. **keep** it\n   - deep\n2) then\n\n3.14 is no item\n\n| a | b |\n|---|:-:|\n| `x|y` | <i> \\| z |\n"))
	want := "<ol><li value=\"1\"><strong>keep</strong> it</ol>\n<ul><li class=\"deep\">deep</ul>\n<ol><li value=\"2\">then</ol>\n<p>3.14 is no item\n</p>\n" +
		"<table><tr><td>a<td>b\n<tr><td><code>x|y</code><td>&lt;i&gt; | z\n</table>\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("prose (-want +got):\n%s", diff)
	}
}

// The name for people that a call has is cut after 80 characters; the page has room for the file's
// name, which stands at the end.
func TestHeading_hasTheEndOfALongPath(t *testing.T) {
	s := small()
	path := "/home/keeper/tower/" + strings.Repeat("stairs/", 9) + "lamp room.txt"
	s.Messages[1].Parts[2].State.Input = []byte(`{"limit":5,"filePath":"` + path + `"}`)
	html := written(t, deskWith(t, s, rule.Ledger{}).content())
	if want := strings.TrimPrefix(path, "/home/keeper/tower/") + "</span>"; !strings.Contains(html, want) {
		t.Errorf("the page does not have the heading %q", want)
	}
}

func TestFailure_isToldInWords(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":"APIError","data":{"message":"overloaded","statusCode":529}}`: "APIError: overloaded",
		`{"message":"too long"}`: "too long",
		`{"name":"Aborted"}`:     "Aborted",
		`{"code":7}`:             `{"code":7}`,
		`"plain"`:                `"plain"`,
	} {
		if got := failure([]byte(text)); got != want {
			t.Errorf("failure(%s) = %q, want %q", text, got, want)
		}
	}
}

// The name of a layer lies within it from its first letter to its last.
func TestChart_namesStayInTheirLayers(t *testing.T) {
	columns := make([]column, 20)
	below, above := make([]curve, 20), make([]curve, 20)
	for i := range columns {
		columns[i] = column{x: float64(i) * 50, width: 50}
		above[i].end = 10
	}
	above[18].end, above[19].end = 100, 100
	y := func(tokens float64) float64 { return chartHeight - 2*tokens }
	if got := name(display.Layer{Class: "l-elided", Name: "left out, not sent"}, columns, above, below, y); len(got) != 1 || got[0].Y != chartHeight-10+4 {
		t.Errorf("the name is at %v, want it low, where the layer is long enough", got)
	}
	for i := range above[:18] {
		above[i].end = 0
	}
	if got := name(display.Layer{Class: "l-elided", Name: "left out, not sent"}, columns, above, below, y); got != nil {
		t.Errorf("a layer that is short has its name at %v, want it in the legend alone", got)
	}
}

// BenchmarkWrite is what a user waits for once a session is read and looked at.
func BenchmarkWrite(b *testing.B) {
	c := deskWith(b, large(20<<20), rule.Ledger{}).content()
	b.SetBytes(20 << 20)
	for b.Loop() {
		if err := Write(io.Discard, c); err != nil {
			b.Fatal(err)
		}
	}
}

// A secret stands in a title, in a text, in a call, in a result that is kept as data, in a pin and
// in what an elision shows in its place.
func TestPage_masksSecrets(t *testing.T) {
	key := "sk-ant-api03-" + strings.Repeat("Tide7lamp", 10)
	s := small()
	s.Info.Title = "The lamp of " + key
	for i := range s.Messages {
		for j := range s.Messages[i].Parts {
			p := &s.Messages[i].Parts[j]
			switch {
			case p.State != nil:
				p.State.Input, p.State.Output, p.State.Title = jsontext.Value(`{"command":"deploy `+key+`"}`), strings.Repeat("the tide comes in\n", 2_000)+key, key
			case p.Text != "":
				p.Text += " " + key
			}
		}
	}
	c := deskWith(t, s, rule.Ledger{}).content()
	c.State.Ledger = rule.NewLedger(rule.Elision{Part: s.Messages[0].Parts[0].ID, Field: rule.Whole, Shown: key})
	html := written(t, c)
	kept := strings.Join(unpacked(t, html), "\n")
	if strings.Contains(html+kept, "Tide7lamp") {
		t.Error("the page has a secret in it")
	}
	if !strings.Contains(html, "sk-ant-[masked]") || !strings.Contains(kept, "sk-ant-[masked]") || !strings.Contains(html, "masked on this page") {
		t.Error("the page does not say that anything was masked")
	}
	if strings.Contains(c.Session.Info.Title, "masked") {
		t.Error("the content itself was changed")
	}
	c.KeepSecrets = true
	if html := written(t, c); !strings.Contains(html, "Tide7lamp") || strings.Contains(html, "masked on this page") {
		t.Error("KeepSecrets keeps none")
	}
}
