package torture

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
)

// op is one operation on a store. What it does follows from its number, the seed, and what is in
// the store.
type op struct {
	N    int    `json:"n"`
	Kind string `json:"kind"`
}

// background is what is done between the operations of interest, with how often.
var background = []string{
	"append", "append", "append", "append", "append", "append", "update", "update", "observe", "observe", "prune", "endturn", "compact", "compact",
	"undo", "undo", "redo", "restore", "pin", "unpin", "schedule", "execute", "import", "delete", "search", "keep", "fork", "rename", "dismiss", "undismiss", "charge", "publish", "aside",
}

// prelude is what makes an operation of interest one that writes.
var prelude = map[string][]string{
	"prune": {"append", "big", "append"}, "compact": {"big", "append"}, "undo": {"big", "append", "compact"}, "redo": {"big", "append", "compact", "undo"},
	"restore": {"big", "append", "append", "prune"}, "update": {"append"}, "observe": {"append"}, "unpin": {"pin"}, "search": {"big", "append", "update"},
	"keep": {"append"}, "fork": {"big", "append", "keep", "keep", "compact", "append"}, "dismiss": {"append", "append"}, "undismiss": {"append", "dismiss"}, "publish": {"big", "append"}, "aside": {"import"},
	"execute": {"big", "append", "schedule"},
}

// worker does operations through the engine, the same ones for the same seed: in the process that
// is killed, and in the model.
type worker struct {
	seed    uint64
	session string // that most operations are about
	engine  *winnow.Engine
	store   store.Store
	now     time.Time
	dice    *rand.ChaCha8
}

// mainSession is the session of the kill loop.
const mainSession = "ses_main"

func newWorker(seed uint64, kept store.Store) (*worker, error) {
	w := &worker{seed: seed, session: mainSession, store: kept}
	c := configOf(seed, kept)
	c.Now, c.Random = func() time.Time { return w.now }, w
	w.begin(0)
	var err error
	w.engine, err = winnow.Open(c)
	return w, err
}

// configOf is the configuration of an engine with so little room that there is always something to
// prune and to fold.
func configOf(seed uint64, kept store.Store) winnow.Config {
	settings := settings.Default()
	settings.Policy = []string{"balanced", "balanced", "classic", "aggressive"}[seed%4]
	settings.Compaction.Protect, settings.Compaction.Minimum, settings.Compaction.ProtectTurns = 600, 100, 1
	keep := 800
	settings.Compaction.Keep = &keep
	var writer pivot.Summarizer // offline
	if seed%8 >= 4 {
		writer = waitedFor{offline.New(), seed%8 >= 6}
	}
	return winnow.Config{
		Summarizer: writer, Queue: seed%16 >= 8, // of classic and aggressive
		Settings: &settings, Store: kept, Counter: token.Chars4{}, Model: "p/m", ForceModel: true,
		Models: &model.Catalogue{Models: []model.Model{{Provider: "p", ID: "m", Limits: model.Limits{Context: 24_000, Output: 4_000}}}},
	}
}

// waitedFor is a summariser that passes for one that takes its time, so that summaries are
// prepared, and that costs something where it is to, so that this comes with the change. It writes
// the same for the same log.
type waitedFor struct {
	pivot.Summarizer
	costs bool // a fold that fails then records what it cost all the same
}

func (waitedFor) Name() string { return "p/slow" }

func (w waitedFor) Summarize(ctx context.Context, r pivot.Request) (pivot.Answer, error) {
	a, err := w.Summarizer.Summarize(ctx, r)
	if !w.costs {
		return a, err
	}
	a.Usage, a.Cost = session.Usage{Input: 100 * len(r.Messages), Output: len(a.Text)}, float64(len(r.Messages))/1000
	return a, err
}

// Read gives the randomness of ids: that of the operation under way.
func (w *worker) Read(b []byte) (int, error) { return w.dice.Read(b) }

// timeOf is the time of an operation.
func timeOf(n int) time.Time {
	return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
}

// begin sets clock and dice for an operation.
func (w *worker) begin(n int) *rand.Rand {
	w.now = timeOf(n)
	key := func(stream byte) (k [32]byte) {
		copy(k[:], fmt.Sprintf("%c %d %d", stream, w.seed, n))
		return k
	}
	w.dice = rand.NewChaCha8(key('i'))
	return rand.New(rand.NewChaCha8(key('o')))
}

// do does an operation, and returns how it ended: "ok", or the code of an error that may be.
func (w *worker) do(ctx context.Context, o op) (string, error) {
	r := w.begin(o.N)
	err := w.run(ctx, o, r)
	switch code := winnow.CodeOf(err); code {
	case "":
		return "ok", err
	case winnow.NothingToFold, winnow.NoProgress, winnow.Already, winnow.NotFound, winnow.Busy, winnow.TooLarge, winnow.NotKept, winnow.Undone:
		return string(code), nil
	}
	return "failed", err
}

func (w *worker) run(ctx context.Context, o op, r *rand.Rand) error {
	e, id := w.engine, w.session
	switch o.Kind {
	case "create":
		_, err := e.Create(ctx, session.Info{ID: id, Title: "the session that is tortured"})
		return err
	case "append", "big":
		return e.Append(ctx, id, appended(o, r)...)
	case "prune":
		_, err := e.Prune(ctx, id, false)
		return err
	case "endturn":
		_, err := e.EndTurn(ctx, id)
		return err
	case "compact":
		_, err := e.Compact(ctx, id, winnow.CompactOptions{Auto: r.IntN(2) == 0, Focus: strings.Repeat("the parser", r.IntN(2))})
		return err
	case "schedule":
		_, err := e.Compact(ctx, id, winnow.CompactOptions{Later: true, Auto: r.IntN(2) == 0})
		return err
	case "execute":
		_, err := e.Compact(ctx, id, winnow.CompactOptions{Waiting: true})
		return err
	case "undo":
		_, err := e.Undo(ctx, id, "")
		return err
	case "redo":
		_, err := e.Redo(ctx, id, "")
		return err
	case "search": // takes up what came in since the last time; a store in memory has no index
		if s, ok := w.store.(store.Searcher); ok {
			return s.Index(ctx, nil)
		}
		return nil
	case "import":
		s, ledger, source := someSession(o.N, r)
		return e.Import(ctx, s, ledger, source)
	case "rename":
		return e.Amend(ctx, id, winnow.Amendment{Title: fmt.Sprint("renamed by ", o.N)})
	case "charge":
		return e.Amend(ctx, id, winnow.Amendment{Spent: []store.Spend{{Time: session.Millis(w.now.UnixMilli()), Kind: "headline", Model: "p/m", Usage: session.Usage{Input: r.IntN(900), Output: o.N}, Cost: float64(o.N)},
			{Time: session.Millis(w.now.UnixMilli()), Kind: "summary", Model: "p/m", Failed: true}}})
	case "publish":
		if err := e.Prepare(ctx, id); err != nil {
			return err
		}
		_, err := e.Compact(ctx, id, winnow.CompactOptions{Prepared: true})
		return err
	case "dismiss", "undismiss":
		all, err := winnow.Look(ctx, e, id, report.Instructions)
		at := slices.IndexFunc(all, func(c report.Instruction) bool { return c.Dismissed == (o.Kind == "undismiss") })
		if err != nil || at < 0 {
			return err
		}
		if which := fmt.Sprint(all[at].Number); o.Kind == "undismiss" {
			_, err = e.Dismiss(ctx, id, false, which)
		} else {
			_, err = e.Dismiss(ctx, id, true, which)
		}
		return err
	case "aside":
		return w.aside(ctx, o, r)
	case "delete":
		list, err := w.store.List(ctx)
		if err != nil {
			return err
		}
		if len(list) <= 3 {
			return nil
		}
		oldest := "~"
		for _, l := range list {
			if l.Info.ID != w.session {
				oldest = min(oldest, l.Info.ID)
			}
		}
		return w.store.Delete(ctx, oldest)
	}
	log, state, err := e.Session(ctx, id)
	if err != nil {
		return err
	}
	switch o.Kind {
	case "update":
		for i := len(log.Messages) - 1; i >= 0; i-- {
			if m := log.Messages[i]; m.Role == session.Assistant && !m.IsSummary() && len(m.Parts) > 0 {
				m.Parts = append([]session.Part(nil), m.Parts...)
				last := &m.Parts[len(m.Parts)-1]
				if last.State != nil {
					changed := *last.State
					changed.Status, changed.Output = session.Completed, fmt.Sprint("updated by ", o.N, "\n", someText(r, 6000))
					last.State = &changed
				} else {
					last.Text += fmt.Sprint("\nupdated by ", o.N)
				}
				return e.Update(ctx, id, m)
			}
		}
	case "keep":
		var calls []string
		for i := range log.Messages {
			for _, p := range log.Messages[i].Parts {
				if p.State != nil {
					calls = append(calls, p.ID)
				}
			}
		}
		if len(calls) == 0 {
			return nil
		}
		err := e.Amend(ctx, id, winnow.Amendment{Kept: map[string]string{calls[max(0, len(calls)-1-r.IntN(4))]: someText(r, 20_000)}})
		return err
	case "fork":
		before := ""
		for i := len(log.Messages) - 1; i >= 0 && r.IntN(4) > 0; i-- {
			if m := &log.Messages[i]; m.Written() {
				before = m.ID
			}
		}
		_, err := e.Fork(ctx, id, before)
		return err
	case "observe":
		_, err := e.Observe(ctx, id, session.Usage{Input: r.IntN(26_000), Output: r.IntN(500)})
		if winnow.CodeOf(err) == winnow.BadInput { // nothing to report for yet
			return nil
		}
		return err
	case "restore":
		if all := state.Ledger.All(); len(all) > 0 {
			_, err := e.Edit(ctx, id, edit.Request{Restore: []string{all[r.IntN(len(all))].Part}, All: true})
			return err
		}
	case "pin":
		pin := rule.Pin{Text: fmt.Sprint("never forget ", o.N)}
		if all := state.Ledger.All(); len(all) > 0 && r.IntN(2) == 0 {
			pin = rule.Pin{Part: all[r.IntN(len(all))].Part}
		}
		_, err := e.Pin(ctx, id, pin)
		return err
	case "unpin":
		if len(state.Pins) > 0 {
			return e.Unpin(ctx, id, state.Pins[r.IntN(len(state.Pins))].ID)
		}
	default:
		return fmt.Errorf("there is no operation %q", o.Kind)
	}
	return nil
}

// aside imports a session under the id of another one that was imported before, which goes on under
// another id, with the file that it was found in.
func (w *worker) aside(ctx context.Context, o op, r *rand.Rand) error {
	list, err := w.store.List(ctx)
	if err != nil {
		return err
	}
	newest := ""
	for _, l := range list {
		if strings.HasPrefix(l.Info.ID, "ses_imported_") && !strings.Contains(l.Info.ID, "~") {
			newest = max(newest, l.Info.ID)
		}
	}
	if newest == "" {
		return nil
	}
	s, ledger, source := someSession(o.N, r)
	s.Info.ID = newest
	_, err = w.store.Apply(ctx, newest, store.Change{
		Create: &s.Info, Aside: fmt.Sprint(newest, "~", o.N), Append: s.Messages, Commit: ledger.All(), Source: source,
		File: &store.File{Path: source.Path, Size: int64(len(source.Data)), Modified: 5, Seen: int64(o.N), Session: newest, Messages: len(s.Messages)},
	})
	return err
}

// appended is what an operation appends.
func appended(o op, r *rand.Rand) []session.Message {
	if o.Kind == "big" {
		return someMessages(o.N, r, 5, 9000)
	}
	return someMessages(o.N, r, 1+r.IntN(6), 200+r.IntN(3000))
}

// someMessages are messages of a conversation: a request, calls with results of about that many
// bytes, an answer.
func someMessages(n int, r *rand.Rand, count, size int) []session.Message {
	all := make([]session.Message, count)
	for i := range all {
		id := fmt.Sprintf("msg_%d_%d", n, i)
		part := session.Part{ID: fmt.Sprintf("prt_%d_%d", n, i), Type: session.TextPart}
		m := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant, ProviderID: "p", ModelID: "m", Finish: "stop"}}
		switch {
		case i == 0 && r.IntN(3) > 0:
			m.MessageInfo = session.MessageInfo{ID: id, Role: session.User}
			part.Text = fmt.Sprintf("Request %d: %s\n\nNever touch the file f%d.go.", n, someText(r, 300), n%5)
		case r.IntN(4) == 0:
			part.Text = fmt.Sprintf("Answer %d.%d: %s", n, i, someText(r, size/4))
		default:
			m.Finish = "tool-calls"
			part.Type, part.Tool, part.CallID = session.ToolPart, []string{"read", "bash", "grep"}[r.IntN(3)], fmt.Sprintf("call_%d_%d", n, i)
			part.State = &session.ToolState{Status: session.Completed, Input: fmt.Appendf(nil, `{"filePath":"/repo/f%d.go"}`, r.IntN(9)), Output: someText(r, size)}
			if r.IntN(6) == 0 {
				part.State.Status, part.State.Output, part.State.Error = session.Failed, "", someText(r, size/2)
			}
		}
		m.Parts = []session.Part{part}
		if r.IntN(20) == 0 {
			m.Parts = append(m.Parts, session.Part{ID: part.ID + "x", Type: session.TextPart, Text: "not UTF-8: \xff\xfe, NUL: \x00, end"})
		}
		all[i] = m
	}
	return all
}

// someText is text of up to twice that many bytes. A fifth of it was seen before, so that contents
// are shared.
func someText(r *rand.Rand, size int) string {
	if r.IntN(5) == 0 {
		return strings.Repeat("the same text again\n", size/20+1)
	}
	var b strings.Builder
	for want := r.IntN(2*size + 1); b.Len() < want; {
		fmt.Fprintf(&b, "line %x of %x\n", r.Uint32(), r.Uint64())
	}
	return b.String()
}

// someSession is a session to import, with marks, and the file that it came from.
func someSession(n int, r *rand.Rand) (session.Session, rule.Ledger, *store.Source) {
	s := session.Session{Info: session.Info{ID: fmt.Sprint("ses_imported_", n), Title: "imported"}}
	s.Messages = someMessages(n, r, 4+r.IntN(12), 1500)
	var marks []rule.Elision
	for i := range s.Messages {
		for j := range s.Messages[i].Parts {
			p := &s.Messages[i].Parts[j]
			p.SessionID, p.MessageID = s.Info.ID, s.Messages[i].ID
			if p.State != nil && p.State.Status == session.Completed && r.IntN(4) == 0 {
				marks = append(marks, rule.Elision{Part: p.ID, Message: p.MessageID, Field: rule.Output, Rule: rule.Mark, Shown: "[gone]", Saves: 9})
			}
		}
		s.Messages[i].SessionID = s.Info.ID
		s.Messages[i].Time.Created = session.Millis(1000 * i)
	}
	source := &store.Source{Format: "opencode", Path: fmt.Sprint("/sessions/", n, ".json"), Data: bytes.Repeat([]byte(s.Info.ID), 2000+r.IntN(4000))}
	return s, rule.NewLedger(marks...), source
}
