package all_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/lavish"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/report"
)

func TestMain(m *testing.M) { lavish.Checks(m, 50) }

// asker is somebody who folds a session and wants things back: restores, pins, undoes and redoes
// what was done, under one policy.
type asker struct {
	*rapid.T
	engine                *winnow.Engine
	store                 *memory.Store
	policy                string
	scale                 int // by how much outputs, and the limits that go by their size, are smaller than usual
	id                    string
	n                     int
	parts                 []session.Part // that were said
	messages              []string
	folds, quoted, pinned int
}

func newAsker(t *rapid.T, policy string) *asker {
	a := &asker{T: t, store: memory.New(), policy: policy}
	a.scale = rapid.SampledFrom([]int{10, 10, 10, 10, 10, 10, 10, 1}).Draw(t, "scale")
	a.open()
	id, err := a.engine.Create(context.Background(), session.Info{Title: "asked", Directory: "/repo"})
	if err != nil {
		t.Fatal(err)
	}
	a.id = id
	return a
}

func (a *asker) open() {
	settings := settings.Default()
	settings.Policy = a.policy
	if a.scale > 1 {
		c, keep := &settings.Compaction, pivot.MaxKeep*2/3/a.scale
		c.Keep, c.Protect, c.Minimum, c.UserMessages = &keep, c.Protect/a.scale, c.Minimum/a.scale, c.UserMessages/a.scale
	}
	e, err := winnow.Open(winnow.Config{Store: a.store, Settings: &settings})
	if err != nil {
		a.Fatal(err)
	}
	a.engine = e
}

func (a *asker) append(role session.Role, p session.Part) {
	a.n++
	m := session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("msg_%024d", a.n), Role: role, Time: session.MessageTime{Created: session.Millis(1_700_000_000_000 + 1000*a.n)}}}
	if role == session.Assistant {
		m.Finish, m.ProviderID, m.ModelID = "stop", "anthropic", "claude-sonnet-4-5"
	}
	p.ID, p.MessageID = fmt.Sprintf("prt_%024d", a.n), m.ID
	m.Parts = []session.Part{p}
	before := a.view()
	if err := a.engine.Append(context.Background(), a.id, m); err != nil {
		a.Fatal(err)
	}
	a.begins(before, "a message more")
	a.parts, a.messages = append(a.parts, p), append(a.messages, m.ID)
}

func (a *asker) User(*rapid.T) {
	a.append(session.User, session.Part{Type: session.TextPart, Text: fmt.Sprintf("Request %d.\n\n> quoted\n  and more", a.n)})
}

func (a *asker) Step(*rapid.T) {
	state := &session.ToolState{Status: session.Completed, Input: []byte(fmt.Sprintf(`{"filePath":"/repo/f%d.go"}`, a.n%4))}
	words := rapid.SampledFrom([]int{3, 300, 9000 / a.scale}).Draw(a.T, "size")
	state.Output = fmt.Sprintf("output %d begins\n\n", a.n) + strings.Repeat("code ", words) + fmt.Sprintf("\n\toutput %d ends", a.n)
	a.append(session.Assistant, session.Part{Type: session.ToolPart, Tool: "read", CallID: fmt.Sprintf("toolu_%d", a.n), State: state})
}

func (a *asker) Picture(*rapid.T) {
	a.append(session.User, session.Part{Type: session.FilePart, Mime: "image/png", URL: "data:image/png;base64," + base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "\x89PNG\r\n\x1a\n%d", a.n))})
}

// view is what the model is sent, checked against an engine that reads all of it anew.
func (a *asker) view() [][]byte {
	v, err := a.engine.View(context.Background(), a.id)
	if err != nil {
		a.Fatal(err)
	}
	if err := view.Check(v.Messages); err != nil {
		a.Fatal(err)
	}
	own := a.engine
	a.open()
	again, err := a.engine.View(context.Background(), a.id)
	if err != nil {
		a.Fatal(err)
	}
	a.engine = own
	bytes := encoded(a, v.Messages)
	if fresh := encoded(a, again.Messages); !slices.EqualFunc(bytes, fresh, slices.Equal) || v.Tokens != again.Tokens {
		a.Fatalf("after a restart the view has %d messages and %d tokens, before %d and %d", len(fresh), again.Tokens, len(bytes), v.Tokens)
	}
	return bytes
}

func encoded(a *asker, messages []session.Message) [][]byte {
	var all [][]byte
	for i := range messages {
		text, err := json.Marshal(messages[i].Parts)
		if err != nil {
			a.Fatal(err)
		}
		all = append(all, append([]byte(messages[i].ID+string(messages[i].Role)), text...))
	}
	return all
}

// begins checks that the view still begins with what it was.
func (a *asker) begins(before [][]byte, when string) {
	after := a.view()
	if len(after) < len(before) || !slices.EqualFunc(before, after[:len(before)], slices.Equal) {
		a.Fatalf("with %s the view does not begin with what it was", when)
	}
}

func (a *asker) same(want [][]byte, when string) {
	if got := a.view(); !slices.EqualFunc(want, got, slices.Equal) {
		a.Fatalf("%s the view is not what it was (-want +got):\n%s", when, cmp.Diff(fmt.Sprintf("%s", want), fmt.Sprintf("%s", got)))
	}
}

// turn takes back what a receipt is for, and makes it count again, and looks whether that changes
// what it should to the byte.
func (a *asker) turn(before [][]byte, receipt string) {
	after := a.view()
	ctx := context.Background()
	if _, err := a.engine.Undo(ctx, a.id, receipt); err != nil {
		a.Fatal(err)
	}
	a.same(before, "undone,")
	if _, err := a.engine.Undo(ctx, a.id, receipt); winnow.CodeOf(err) != winnow.Already {
		a.Fatalf("undone twice: %v", err)
	}
	if _, err := a.engine.Redo(ctx, a.id, receipt); err != nil {
		a.Fatal(err)
	}
	a.same(after, "redone,")
}

func (a *asker) state() (session.Session, store.State) {
	s, state, err := a.engine.Session(context.Background(), a.id)
	if err != nil {
		a.Fatal(err)
	}
	return s, state
}

func (a *asker) Fold(*rapid.T) {
	before := a.view()
	receipt, err := a.engine.Compact(context.Background(), a.id, winnow.CompactOptions{Auto: rapid.Bool().Draw(a.T, "auto")})
	switch code := winnow.CodeOf(err); {
	case code == winnow.NothingToFold || code == winnow.NoProgress:
		return
	case err != nil:
		a.Fatal(err)
	}
	a.folds++
	a.held()
	a.turn(before, receipt.ID)
}

func (a *asker) Prune(*rapid.T) {
	if _, err := a.engine.Prune(context.Background(), a.id, false); err != nil {
		a.Fatal(err)
	}
}

func (a *asker) part(label string) *session.Part {
	if len(a.parts) == 0 {
		return nil
	}
	return &a.parts[rapid.IntRange(0, len(a.parts)-1).Draw(a.T, label)]
}

func (a *asker) Restore(*rapid.T) {
	p := a.part("restored")
	if p == nil {
		return
	}
	before := a.view()
	done, err := a.engine.Edit(context.Background(), a.id, edit.Request{Restore: []string{p.ID}, All: true})
	if winnow.CodeOf(err) == winnow.Already {
		a.same(before, "refused,")
		return
	}
	if err != nil {
		a.Fatal(err)
	}
	if slices.EqualFunc(before, a.view(), slices.Equal) {
		a.Fatalf("it says that it restored %s, and changed nothing", p.ID)
	}
	if len(done.Receipt.Quoted) == 0 {
		return
	}
	a.quoted++
	a.begins(before, "a folded part restored")
	now, err := a.engine.View(context.Background(), a.id)
	if err != nil || now.Tokens != done.Receipt.TokensAfter {
		a.Fatalf("the receipt says %d tokens, the view has %d, %v", done.Receipt.TokensAfter, now.Tokens, err)
	}
	if _, err := a.engine.Edit(context.Background(), a.id, edit.Request{Restore: []string{p.ID}, All: true}); winnow.CodeOf(err) != winnow.Already {
		a.Fatalf("restored twice: %v", err)
	}
	a.turn(before, done.Receipt.ID)
}

func (a *asker) Pin(*rapid.T) {
	pin := rule.Pin{Text: fmt.Sprintf("my text %d\n  and more", rapid.IntRange(0, 3).Draw(a.T, "text"))}
	if p := a.part("pinned"); p != nil && rapid.IntRange(0, 2).Draw(a.T, "what") > 0 {
		if pin = (rule.Pin{Part: p.ID}); rapid.Bool().Draw(a.T, "message") {
			pin = rule.Pin{Message: p.MessageID}
		}
	}
	before, _ := a.view(), 0
	_, was := a.state()
	_, err := a.engine.Pin(context.Background(), a.id, pin)
	if winnow.CodeOf(err) == winnow.Already {
		a.same(before, "refused,")
		return
	}
	if err != nil {
		a.Fatal(err)
	}
	a.pinned++
	_, state := a.state()
	if len(state.Receipts) == len(was.Receipts) {
		a.same(before, "pinned without a receipt,")
		return
	}
	a.held()
	a.turn(before, state.Receipts[len(state.Receipts)-1].ID)
}

func (a *asker) Unpin(*rapid.T) {
	_, state := a.state()
	if len(state.Pins) == 0 {
		return
	}
	if err := a.engine.Unpin(context.Background(), a.id, rapid.SampledFrom(state.Pins).Draw(a.T, "unpinned").ID); err != nil {
		a.Fatal(err)
	}
}

func (a *asker) Undo(*rapid.T) { a.turnBack(a.engine.Undo) }
func (a *asker) Redo(*rapid.T) { a.turnBack(a.engine.Redo) }

// turnBack undoes or redoes the newest thing, or any.
func (a *asker) turnBack(do func(context.Context, string, string) (*pivot.Receipt, error)) {
	_, state := a.state()
	what := ""
	if len(state.Receipts) > 0 && rapid.Bool().Draw(a.T, "named") {
		what = rapid.SampledFrom(state.Receipts).Draw(a.T, "receipt").ID
	}
	if _, err := do(context.Background(), a.id, what); err != nil && winnow.CodeOf(err) != winnow.Already && winnow.CodeOf(err) != winnow.NotFound {
		a.Fatal(err)
	}
}

// held checks that everything that is pinned or was restored is word for word in the view.
func (a *asker) held() {
	log, state := a.state()
	window := view.Window(log.Messages, state.Undone)
	var quoted strings.Builder
	files := map[string]bool{}
	in := map[string]bool{}
	for i := range window {
		m := &window[i]
		in[m.ID] = true
		for _, p := range m.Parts {
			if n, _ := p.Note(); n.Replay != "" {
				in[n.Replay] = true
			}
		}
		if _, kept := m.Kept(); kept {
			quoted.WriteString("\n" + strings.ReplaceAll("\n"+m.Parts[0].Text, "\n> ", "\n") + "\n")
			for _, p := range m.Parts[1:] {
				files[p.URL] = true
			}
		}
	}
	has := func(what, text string) {
		if !strings.Contains(quoted.String(), "\n"+text+"\n") {
			a.Fatalf("%s is not in the view: %q is not in\n%s", what, text, quoted.String())
		}
	}
	part := func(what, id string) {
		m, p := session.FindPart(log.Messages, id)
		switch {
		case in[m.ID] && state.Ledger.Touches(p.ID):
			a.Fatalf("%s is elided", what)
		case in[m.ID]:
		case p.Type == session.FilePart:
			if !files[p.URL] {
				a.Fatalf("%s is not in the view", what)
			}
		case p.State != nil:
			has(what, p.State.Output)
		default:
			has(what, p.Text)
		}
	}
	for _, pin := range state.Pins {
		if pin.Text != "" {
			has("the pinned text", pin.Text)
		}
		for _, id := range pivot.PinParts(log.Messages, pin) {
			part("what is pinned", id)
		}
	}
	for i := range state.Receipts {
		if r := &state.Receipts[i]; r.Kind == pivot.Restoring && report.Stands(state, r) {
			for _, id := range r.Quoted {
				if m, _ := session.FindPart(log.Messages, id); !in[m.ID] {
					part("what was restored", id)
				}
			}
		}
	}
}

// Written writes the session as each product's file, and reads it again: it says the same.
func (a *asker) Written(*rapid.T) {
	log, state := a.state()
	v, err := a.engine.View(context.Background(), a.id)
	if err != nil {
		a.Fatal(err)
	}
	for _, name := range all.Writable() {
		f, err := all.Named(name)
		if err != nil {
			a.Fatal(err)
		}
		var out bytes.Buffer
		if err := f.Write(&out, nil, format.Change{Session: log, Ledger: state.Ledger, Undone: state.Undone}); err != nil {
			a.Fatalf("%s: %v", name, err)
		}
		if out.Len() == 0 || len(v.Messages) == 0 {
			continue
		}
		again, err := f.Read(out.Bytes())
		if err != nil {
			a.Fatalf("%s: %v", name, err)
		}
		shown := view.Render(view.Window(again.Session.Messages, nil), again.Ledger)
		if diff := cmp.Diff(said(v.Messages), said(flat(shown))); diff != "" {
			a.Fatalf("%s: what is read back says something else (-engine +file):\n%s", name, diff)
		}
		for i := range shown {
			at := session.Index(v.Messages, shown[i].ID)
			if n, kept := shown[i].Kept(); kept && at >= 0 {
				if was, _ := v.Messages[at].Kept(); was.Kept != n.Kept || !slices.Equal(was.Quotes, n.Quotes) {
					a.Fatalf("%s: what a quotation is there for became %+v, was %+v", name, n, was)
				}
			}
		}
	}
}

// flat is a view with the arguments of its calls on one line: OpenCode's file is indented.
func flat(messages []session.Message) []session.Message {
	for i := range messages {
		messages[i].Parts = slices.Clone(messages[i].Parts)
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			if p.State == nil {
				continue
			}
			var b bytes.Buffer
			if state := *p.State; json.Compact(&b, state.Input) == nil {
				state.Input = b.Bytes()
				p.State = &state
			}
		}
	}
	return messages
}

// Whatever is folded, restored, pinned, undone and redone, in whatever order and under whatever
// policy: what is pinned and restored is in the view word for word, undo gives the bytes from
// before, what comes later changes nothing of what stands, and each product's file says the same.
func TestKept_isInTheViewUnderEveryPolicy(t *testing.T) {
	for _, policy := range []string{"classic", "aggressive", "balanced"} {
		t.Run(policy, func(t *testing.T) {
			ran, folds, quoted, pinned := 0, 0, 0, 0
			rapid.Check(t, func(r *rapid.T) {
				ran++
				a := newAsker(r, policy)
				for range 3 {
					a.User(r)
					a.Step(r)
				}
				r.Repeat(map[string]func(*rapid.T){
					"user": a.User, "step": a.Step, "step again": a.Step, "picture": a.Picture, "fold": a.Fold, "fold again": a.Fold, "prune": a.Prune, "restore": a.Restore,
					"restore again": a.Restore, "pin": a.Pin, "unpin": a.Unpin, "undo": a.Undo, "redo": a.Redo, "written": a.Written, "": func(*rapid.T) { a.held() },
				})
				folds, quoted, pinned = folds+a.folds, quoted+a.quoted, pinned+a.pinned
			})
			t.Logf("%d folds, %d parts restored, %d pins", folds, quoted, pinned)
			const enough = 50 // with few checks, chance may leave something out
			if !t.Failed() && ran >= enough && (folds == 0 || quoted == 0 || pinned == 0) {
				t.Error("something was never done")
			}
		})
	}
}

// A pivot that was undone, and what was restored and undone, is in no product's file, also where
// the session comes from elsewhere.
func TestWrite_leavesOutWhatWasUndone(t *testing.T) {
	text := func(id string, role session.Role, text string, note session.Note) session.Message {
		p := session.Part{ID: "prt_" + id, MessageID: "msg_" + id, Type: session.TextPart, Text: text}
		if note.Kept != "" {
			p.Synthetic, p.Metadata = true, note.Metadata()
		}
		return session.Message{MessageInfo: session.MessageInfo{ID: "msg_" + id, Role: role, Time: session.MessageTime{Created: 1_700_000_000_000}}, Parts: []session.Part{p}}
	}
	marker := text("0003", session.User, "", session.Note{})
	marker.Parts = []session.Part{{ID: "prt_0003", MessageID: marker.ID, Type: session.CompactionPart}}
	summary := text("0004", session.Assistant, "THE SUMMARY", session.Note{})
	summary.ParentID, summary.Summary, summary.Finish = marker.ID, []byte("true"), "stop"
	log := []session.Message{
		text("0001", session.User, "Begin.", session.Note{}), text("0002", session.Assistant, "Begun.", session.Note{}), marker, summary,
		text("0005", session.User, "QUOTED WITH THE PIVOT", session.Note{Kept: "rcp_1", Pivot: marker.ID}), text("0006", session.User, "QUOTED ALONE", session.Note{Kept: "rcp_2"}),
		text("0007", session.User, "KEPT", session.Note{Kept: "pin_1", Pin: true}),
	}
	for _, name := range all.Writable() {
		f, err := all.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		change := format.Change{Session: session.Session{Info: session.Info{ID: "ses_1"}, Messages: log}, Undone: map[string]bool{marker.ID: true, "rcp_2": true}}
		if err := f.Write(&out, nil, change); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, gone := range []string{"THE SUMMARY", "QUOTED"} {
			if bytes.Contains(out.Bytes(), []byte(gone)) {
				t.Errorf("%s: %q was undone and is written", name, gone)
			}
		}
		again, err := f.Read(out.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		last := again.Session.Messages[len(again.Session.Messages)-1]
		if n, kept := last.Kept(); !kept || !n.Pin || n.Kept != "pin_1" {
			t.Errorf("%s: a quotation is read back as %+v", name, last)
		}
	}
}
