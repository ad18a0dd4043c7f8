// Package retrieve finds what was left out of a session by its handle, in whichever session has it,
// and gives it back: all of it, or a region.
package retrieve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
)

// Live is what the ids of sessions begin with that an agent is working on through the gateway.
const Live = "live_"

// together is how much later than another one a session must have been used for a handle that both
// have to be taken for its own: agents may be at work side by side.
const together = time.Hour

// Found is a part of a session.
type Found struct {
	Session session.Info
	Used    session.Millis // time of the session's newest message
	report.Whole
	// Hidden: the model is not shown all of it: it was left out, or a summary stands for it.
	Hidden bool
}

// Whole returns a part of a session, named by its id, its call's id or its handle. Its text is what
// was kept of it beside the log, else what the log has.
func Whole(ctx context.Context, e *winnow.Engine, id, part string) (report.Whole, error) {
	w, err := winnow.Look(ctx, e, id, report.Read(part))
	if err != nil {
		return report.Whole{}, err
	}
	if text, kept, err := store.Kept(ctx, e.Store(), id, w.Part.ID); kept || err != nil {
		w.Text, w.Kept = text, kept
		return w, err
	}
	return w, nil
}

// In finds a part in a session.
func In(ctx context.Context, e *winnow.Engine, id, name string) (Found, error) {
	w, err := Whole(ctx, e, id, name)
	if err != nil {
		return Found{}, err
	}
	return winnow.Look(ctx, e, id, func(s *report.Session) (Found, error) {
		f := Found{Session: s.State.Info, Whole: w, Hidden: len(w.Elided) > 0 || w.Kept}
		f.Hidden = f.Hidden || session.Index(s.View.Window(), w.Part.MessageID) < 0
		return f, nil
	})
}

// Find finds a part in the sessions of the store: in those that an agent is working on through the
// gateway, else in any. Of several it is the one that was used last. Those that were used within
// the same hour count alike: then it is the one out of which the part was left, and *Ambiguous if
// that is said of different texts.
func Find(ctx context.Context, e *winnow.Engine, name string) (Found, error) {
	list, err := Sessions(ctx, e)
	if err != nil {
		return Found{}, err
	}
	for _, wanted := range []bool{true, false} {
		var found []Found
		for _, s := range list {
			switch {
			case s.Live != wanted:
				continue
			case len(found) > 0 && found[0].Used-s.Used > session.Millis(together.Milliseconds()):
				return only(name, found)
			}
			has, err := names(ctx, e.Store(), s.Info.ID, name)
			if err != nil {
				continue // it cannot be read; another one may have it
			}
			if has {
				f, err := In(ctx, e, s.Info.ID, name)
				if err != nil {
					return Found{}, err
				}
				f.Used = s.Used
				found = append(found, f)
			}
		}
		if len(found) > 0 {
			return only(name, found)
		}
	}
	return Found{}, &winnow.Error{Code: winnow.NotFound, Op: "recall",
		Err:  fmt.Errorf("no session has a part %s", rule.Shorten(name, 40)),
		Hint: "handles stand in placeholders, as in [winnow HANDLE: …]"}
}

// Newest is the session that an agent worked on last through the gateway, else the newest of all.
func Newest(ctx context.Context, e *winnow.Engine) (session.Info, error) {
	list, err := Sessions(ctx, e)
	if err != nil {
		return session.Info{}, err
	}
	if len(list) == 0 {
		return session.Info{}, &winnow.Error{Code: winnow.NotFound, Op: "recall",
			Err: fmt.Errorf("there is no session in the store")}
	}
	return list[0].Info, nil
}

// Ambiguous says that several sessions have a handle.
type Ambiguous struct {
	Name  string
	Found []Found
}

func (a *Ambiguous) Error() string {
	words := make([]string, len(a.Found))
	for i, f := range a.Found {
		words[i] = fmt.Sprintf("%s (%s)", f.Session.ID, rule.Shorten(strings.TrimSpace(
			cmp.Or(f.Part.Tool, string(f.Part.Type))+" "+strings.Join(strings.Fields(f.Target), " ")), 60))
	}
	return fmt.Sprintf("%s is something else in each of %d sessions: %s", rule.Shorten(a.Name, 40), len(a.Found),
		strings.Join(words, ", "))
}

// only is the one that a name means.
func only(name string, found []Found) (Found, error) {
	if slices.ContainsFunc(found, func(f Found) bool { return f.Hidden }) {
		found = slices.DeleteFunc(found, func(f Found) bool { return !f.Hidden })
	}
	for _, f := range found[1:] {
		if f.Everything() != found[0].Everything() {
			return Found{}, &Ambiguous{name, found}
		}
	}
	return found[0], nil
}

// Missed notes that the agent needed a part after it had been left out, and got this much of it.
func Missed(ctx context.Context, e *winnow.Engine, f Found, text string) error {
	tokens, err := winnow.Look(ctx, e, f.Session.ID, func(s *report.Session) (int, error) {
		return s.Facts.Count(text), nil
	})
	if err != nil {
		return err
	}
	return e.Amend(ctx, f.Session.ID, winnow.Amendment{Missed: []session.Missed{{Part: f.Part.ID, Tokens: tokens}}})
}

// Session is one that is stored.
type Session struct {
	Info session.Info
	Live bool           // an agent works on it through the gateway, or did
	Used session.Millis // time of its newest message
}

// Sessions lists what is stored: those that the gateway made, and those that were forked from them,
// then the others; in each group the one that was used last first.
func Sessions(ctx context.Context, e *winnow.Engine) ([]Session, error) {
	list, err := e.Store().List(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(l store.Listing) bool { return strings.HasPrefix(l.Info.ID, store.Beside) })
	parents := make(map[string]string, len(list))
	for _, l := range list {
		parents[l.Info.ID] = l.Info.ParentID
	}
	all := make([]Session, len(list))
	for i, l := range list {
		all[i] = Session{Info: l.Info, Used: l.Info.Time.Updated}
		for id, n := l.Info.ID, 0; id != "" && n <= len(list); id, n = parents[id], n+1 {
			all[i].Live = all[i].Live || strings.HasPrefix(id, Live)
		}
		for m, err := range e.Store().Messages(ctx, l.Info.ID) {
			if err == nil {
				all[i].Used = max(all[i].Used, m.Time.Created, m.Time.Completed)
			}
			break
		}
	}
	slices.SortStableFunc(all, func(a, b Session) int {
		if a.Live != b.Live {
			if a.Live {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Used, a.Used)
	})
	return all, ctx.Err()
}

// names reports whether a name is that of a part of a session.
func names(ctx context.Context, kept store.Store, id, name string) (bool, error) {
	messages := kept.Messages
	if sketcher, ok := kept.(store.Sketcher); ok {
		messages = sketcher.Sketch
	}
	var log []session.Message
	for m, err := range messages(ctx, id) {
		if err != nil {
			return false, err
		}
		log = append(log, m)
	}
	slices.Reverse(log)
	var handles rule.Handles
	_, p := report.Find(log, &handles, name)
	return p != nil, nil
}
