package winnow

import (
	"context"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
)

// ForbidOffline leaves the engine without the offline summariser to fall back to.
func (e *Engine) ForbidOffline() { e.policy.Offline = false }

// Short forms of Edit, for tests.

func (e *Engine) Discard(ctx context.Context, id string, targets ...string) (Edited, error) {
	return e.Edit(ctx, id, edit.Request{Discard: targets})
}

func (e *Engine) Distill(ctx context.Context, id string, distillations ...edit.Distillation) (Edited, error) {
	return e.Edit(ctx, id, edit.Request{Distill: distillations})
}

func (e *Engine) RestoreEach(ctx context.Context, id string, targets ...string) (Edited, error) {
	return e.Edit(ctx, id, edit.Request{Restore: targets})
}

func (e *Engine) Restore(ctx context.Context, id string, parts ...string) (*pivot.Receipt, error) {
	done, err := e.Edit(ctx, id, edit.Request{Restore: parts, All: true})
	return done.Receipt, err
}

func (e *Engine) RestoreFields(ctx context.Context, id string, keys ...rule.Key) ([]rule.Elision, error) {
	done, err := e.Edit(ctx, id, edit.Request{Fields: keys})
	return done.Replaced, err
}

// Short forms of Look, for tests.

func (e *Engine) Inspect(ctx context.Context, id string) (report.Report, error) {
	return Look(ctx, e, id, report.Inspect)
}

func (e *Engine) Explain(ctx context.Context, id, part string) (report.Explanation, error) {
	return Look(ctx, e, id, report.Explain(part))
}

func (e *Engine) Whole(ctx context.Context, id, part string) (report.Whole, error) {
	w, err := Look(ctx, e, id, report.Read(part))
	if err != nil {
		return w, err
	}
	if text, kept, err := store.Kept(ctx, e.config.Store, id, w.Part.ID); kept || err != nil {
		w.Text, w.Kept = text, kept
		return w, err
	}
	return w, nil
}

func (e *Engine) Parts(ctx context.Context, id string) ([]report.Part, error) {
	return Look(ctx, e, id, report.Parts)
}

func (e *Engine) Gauge(ctx context.Context, id string) (report.Gauge, error) {
	return Look(ctx, e, id, report.Measure)
}

func (e *Engine) Requests(ctx context.Context, id string) ([]report.Request, error) {
	return Look(ctx, e, id, report.Requests)
}

func (e *Engine) Constraints(ctx context.Context, id string) ([]report.Instruction, error) {
	return Look(ctx, e, id, report.Instructions)
}

func (e *Engine) Handles(ctx context.Context, id string) ([]edit.Named, error) {
	return Look(ctx, e, id, edit.Handles)
}

func (e *Engine) Receipts(ctx context.Context, id string) ([]pivot.Receipt, error) {
	_, state, err := e.Session(ctx, id)
	return state.Receipts, err
}

func (e *Engine) Pending(ctx context.Context, id string) (*session.Message, error) {
	s, state, err := e.Session(ctx, id)
	if at := view.Pending(s.Messages, state.Undone); err == nil && at >= 0 {
		return &s.Messages[at], nil
	}
	return nil, err
}

// Short forms of Compact and Amend, for tests.

func (e *Engine) Publish(ctx context.Context, id string) (*pivot.Receipt, error) {
	return e.Compact(ctx, id, CompactOptions{Prepared: true})
}

func (e *Engine) Schedule(ctx context.Context, id string, auto bool) (session.Message, error) {
	if _, err := e.Compact(ctx, id, CompactOptions{Later: true, Auto: auto}); err != nil {
		return session.Message{}, err
	}
	marker, err := e.Pending(ctx, id)
	return *marker, err
}

func (e *Engine) Charge(ctx context.Context, id string, spent ...store.Spend) error {
	return e.Amend(ctx, id, Amendment{Spent: spent})
}

func (e *Engine) Rename(ctx context.Context, id, title string) error {
	return e.Amend(ctx, id, Amendment{Title: title})
}

func (e *Engine) Keep(ctx context.Context, id, part, text string) (handle string, err error) {
	if err := e.Amend(ctx, id, Amendment{Kept: map[string]string{part: text}}); err != nil {
		return "", err
	}
	w, err := Look(ctx, e, id, report.Read(part))
	return w.Handle, err
}
