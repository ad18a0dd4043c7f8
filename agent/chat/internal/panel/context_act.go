package panel

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// act does something about the chosen row, beside the program, and reads the window again. What it
// did is said with its effect in tokens.
func (p *contextPanel) act(do func(ctx context.Context, row contextRow) (did deed, err error)) tea.Cmd {
	row := p.row()
	if p.busy || row == nil {
		return nil
	}
	if row.part == nil && row.members == nil {
		p.said, p.wrong = "every request begins with it: another agent or fewer tools make it smaller", true
		return nil
	}
	chosen := *row
	return p.begin(func(ctx context.Context) (string, *deed, error) {
		did, err := do(ctx, chosen)
		if err != nil || did.back == nil {
			return did.what, nil, err
		}
		return did.what, &did, nil
	})
}

// begin does something beside the program, and reads the window again.
func (p *contextPanel) begin(do func(ctx context.Context) (what string, did *deed, err error)) tea.Cmd {
	p.busy = true
	again := p.shown()
	return func() tea.Msg {
		before := sizeOf(p.ctx, p.engine, p.id)
		what, did, err := do(p.ctx)
		what += effect(sizeOf(p.ctx, p.engine, p.id) - before)
		return p.read(again, func() {
			if did != nil {
				what += " · u takes it back"
				p.done = append(p.done, *did)
			}
			p.tell(what, err)
		})
	}
}

// effect says what something did to the window.
func effect(tokens int) string {
	switch {
	case tokens < 0:
		return ": −" + quantity.Count(-tokens, "token")
	case tokens > 0:
		return ": +" + quantity.Count(tokens, "token")
	}
	return ": the window did not change in size"
}

// of are the parts of a row.
func (r contextRow) of() []*report.Part {
	if r.part != nil {
		return []*report.Part{r.part}
	}
	return r.members
}

func (r contextRow) ids() []string {
	var ids []string
	for _, x := range r.of() {
		ids = append(ids, x.Part)
	}
	return ids
}

// label is how a row is called in a sentence.
func (r contextRow) label() string {
	if r.part == nil {
		return tui.Cut(r.name, 40)
	}
	return cmp.Or(draw.OneLine(r.part.Handle), r.part.Part)
}

// elide leaves parts out, with a placeholder in the place of each.
func (p *contextPanel) elide(ctx context.Context, row contextRow) (deed, error) {
	out, err := p.engine.Edit(ctx, p.id, edit.Request{Discard: row.ids()})
	if err != nil {
		return deed{}, err
	}
	done, why := counted(out)
	if done == 0 {
		return deed{}, fmt.Errorf("%s stays as it is: %s", row.label(), why)
	}
	did := deed{what: row.label() + " is left out"}
	if n := len(out.Targets); n > 1 {
		did.what = fmt.Sprintf("%s: %s of %s left out", row.label(), quantity.Number(done), quantity.Count(n, "part"))
		if why != "" {
			did.what += " (" + why + ")"
		}
	}
	did.back = p.undoOf(out)
	return did, nil
}

// undoOf takes an edit back, nil if it has no receipt.
func (p *contextPanel) undoOf(out winnow.Edited) func(ctx context.Context) error {
	if out.Receipt == nil {
		return nil
	}
	return func(ctx context.Context) error {
		_, err := p.engine.Undo(ctx, p.id, out.Receipt.ID)
		return err
	}
}

// counted is how many targets are other now than they were, and why the first of the others is not.
func counted(out winnow.Edited) (done int, why string) {
	for _, t := range out.Targets {
		if t.OK && t.Code != winnow.Already {
			done++
		} else if why == "" {
			why = draw.OneLine(t.Reason)
		}
	}
	return done, why
}

// restore shows parts whole again.
func (p *contextPanel) restore(ctx context.Context, row contextRow) (deed, error) {
	var elided []*report.Part
	var ids []string
	for _, x := range row.of() {
		if len(x.Elisions) > 0 {
			elided, ids = append(elided, x), append(ids, x.Part)
		}
	}
	if len(ids) == 0 {
		return deed{}, fmt.Errorf("%s is shown whole", row.label())
	}
	out, err := p.engine.Edit(ctx, p.id, edit.Request{Restore: ids})
	if err != nil {
		return deed{}, err
	}
	done, why := counted(out)
	if done == 0 {
		return deed{}, fmt.Errorf("%s stays as it is: %s", row.label(), why)
	}
	did := deed{what: row.label() + " is shown whole again", back: p.again(elided)}
	if row.part == nil {
		did.what = fmt.Sprintf("%s: %s shown whole again", row.label(), quantity.Count(done, "part"))
	}
	return did, nil
}

// again leaves parts out that were shown whole: by doing their commit again where all of it was
// taken back, and each by itself where others of the commit still stand.
func (p *contextPanel) again(parts []*report.Part) func(ctx context.Context) error {
	restored, whole := map[string]int{}, map[string]bool{}
	for _, x := range parts {
		if r := x.Elisions[0]; r.Receipt != "" {
			restored[r.Receipt]++
			whole[r.Receipt] = restored[r.Receipt] == r.Together
		}
	}
	var single []string
	for _, x := range parts {
		if !whole[x.Elisions[0].Receipt] {
			single = append(single, x.Part)
		}
	}
	return func(ctx context.Context) error {
		for receipt, all := range whole {
			if !all {
				continue
			}
			if _, err := p.engine.Redo(ctx, p.id, receipt); err != nil && winnow.CodeOf(err) != winnow.Already {
				return err
			}
		}
		if len(single) == 0 {
			return nil
		}
		out, err := p.engine.Edit(ctx, p.id, edit.Request{Discard: single})
		if err != nil {
			return err
		}
		if done, why := counted(out); done == 0 {
			return errors.New(why)
		}
		return nil
	}
}

// pin keeps a part through every elision and every compaction, or lets go of it.
func (p *contextPanel) pin(ctx context.Context, row contextRow) (deed, error) {
	x := row.part
	if x == nil {
		return deed{}, errors.New("open the group and pin the parts that matter: what is pinned never gets smaller")
	}
	if x.Pinned {
		return p.unpin(ctx, row)
	}
	pin, err := p.engine.Pin(ctx, p.id, rule.Pin{Part: x.Part})
	if err != nil {
		return deed{}, err
	}
	return deed{what: row.label() + " is pinned", back: func(ctx context.Context) error {
		if err := p.engine.Unpin(ctx, p.id, pin.ID); err != nil || len(x.Elisions) == 0 {
			return err
		}
		return p.again([]*report.Part{x})(ctx)
	}}, nil
}

// unpin lets go of a part: of its own pin, or of that of its message.
func (p *contextPanel) unpin(ctx context.Context, row contextRow) (deed, error) {
	x, pin := row.part, rule.Pin{Part: row.part.Part}
	what := row.label() + " is not pinned any more"
	err := p.engine.Unpin(ctx, p.id, x.Part)
	if winnow.CodeOf(err) == winnow.NotFound {
		pin, what = rule.Pin{Message: x.Message}, "its message is not pinned any more"
		err = p.engine.Unpin(ctx, p.id, x.Message)
	}
	if err != nil {
		return deed{}, err
	}
	return deed{what: what, back: func(ctx context.Context) error {
		_, err := p.engine.Pin(ctx, p.id, pin)
		return err
	}}, nil
}

// undo takes back what was done from this panel, the newest first.
func (p *contextPanel) undo() tea.Cmd {
	if p.busy {
		return nil
	}
	if len(p.done) == 0 {
		p.said, p.wrong = "nothing was done here yet; /undo takes back what was done before", true
		return nil
	}
	last := p.done[len(p.done)-1]
	p.done = p.done[:len(p.done)-1]
	return p.begin(func(ctx context.Context) (string, *deed, error) {
		return "taken back: " + last.what, nil, last.back(ctx)
	})
}
