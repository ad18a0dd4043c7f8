package stories

import (
	"context"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
)

// engine is an engine with short forms of what tests ask of it, and what it was made from.
type engine struct {
	*winnow.Engine
	config winnow.Config
}

// launch makes an engine.
func launch(c winnow.Config) (*engine, error) {
	e, err := winnow.Open(c)
	return &engine{e, c}, err
}

// Short forms of Edit.

func (e *engine) Discard(ctx context.Context, id string, targets ...string) (winnow.Edited, error) {
	return e.Edit(ctx, id, edit.Request{Discard: targets})
}

func (e *engine) Distill(ctx context.Context, id string, distillations ...edit.Distillation) (winnow.Edited, error) {
	return e.Edit(ctx, id, edit.Request{Distill: distillations})
}

func (e *engine) RestoreEach(ctx context.Context, id string, targets ...string) (winnow.Edited, error) {
	return e.Edit(ctx, id, edit.Request{Restore: targets})
}

func (e *engine) Restore(ctx context.Context, id string, parts ...string) (*pivot.Receipt, error) {
	done, err := e.Edit(ctx, id, edit.Request{Restore: parts, All: true})
	return done.Receipt, err
}

func (e *engine) RestoreFields(ctx context.Context, id string, keys ...rule.Key) ([]rule.Elision, error) {
	done, err := e.Edit(ctx, id, edit.Request{Fields: keys})
	return done.Replaced, err
}

// Short forms of Look.

func (e *engine) Inspect(ctx context.Context, id string) (report.Report, error) {
	return winnow.Look(ctx, e.Engine, id, report.Inspect)
}

func (e *engine) Explain(ctx context.Context, id, part string) (report.Explanation, error) {
	return winnow.Look(ctx, e.Engine, id, report.Explain(part))
}

func (e *engine) Whole(ctx context.Context, id, part string) (report.Whole, error) {
	w, err := winnow.Look(ctx, e.Engine, id, report.Read(part))
	if err != nil {
		return w, err
	}
	if text, kept, err := store.Kept(ctx, e.Store(), id, w.Part.ID); kept || err != nil {
		w.Text, w.Kept = text, kept
		return w, err
	}
	return w, nil
}

func (e *engine) Parts(ctx context.Context, id string) ([]report.Part, error) {
	return winnow.Look(ctx, e.Engine, id, report.Parts)
}

func (e *engine) Gauge(ctx context.Context, id string) (report.Gauge, error) {
	return winnow.Look(ctx, e.Engine, id, report.Measure)
}

func (e *engine) Requests(ctx context.Context, id string) ([]report.Request, error) {
	return winnow.Look(ctx, e.Engine, id, report.Requests)
}

func (e *engine) Constraints(ctx context.Context, id string) ([]report.Instruction, error) {
	return winnow.Look(ctx, e.Engine, id, report.Instructions)
}

func (e *engine) Handles(ctx context.Context, id string) ([]edit.Named, error) {
	return winnow.Look(ctx, e.Engine, id, edit.Handles)
}

func (e *engine) Receipts(ctx context.Context, id string) ([]pivot.Receipt, error) {
	_, state, err := e.Session(ctx, id)
	return state.Receipts, err
}

func (e *engine) Pending(ctx context.Context, id string) (*session.Message, error) {
	s, state, err := e.Session(ctx, id)
	if at := view.Pending(s.Messages, state.Undone); err == nil && at >= 0 {
		return &s.Messages[at], nil
	}
	return nil, err
}

// Short forms of Compact and Amend.

func (e *engine) Publish(ctx context.Context, id string) (*pivot.Receipt, error) {
	return e.Compact(ctx, id, winnow.CompactOptions{Prepared: true})
}

func (e *engine) Schedule(ctx context.Context, id string, auto bool) (session.Message, error) {
	if _, err := e.Compact(ctx, id, winnow.CompactOptions{Later: true, Auto: auto}); err != nil {
		return session.Message{}, err
	}
	marker, err := e.Pending(ctx, id)
	return *marker, err
}

func (e *engine) Charge(ctx context.Context, id string, spent ...store.Spend) error {
	return e.Amend(ctx, id, winnow.Amendment{Spent: spent})
}

func (e *engine) Rename(ctx context.Context, id, title string) error {
	return e.Amend(ctx, id, winnow.Amendment{Title: title})
}

func (e *engine) Keep(ctx context.Context, id, part, text string) (handle string, err error) {
	if err := e.Amend(ctx, id, winnow.Amendment{Kept: map[string]string{part: text}}); err != nil {
		return "", err
	}
	w, err := winnow.Look(ctx, e.Engine, id, report.Read(part))
	return w.Handle, err
}
