package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// claudeResults answers what is sent of results in the place of all of them: see rule.FirstSend.
func claudeResults(ctx context.Context, a *cli.App, path string, given []toolResult) (out shortResults, err error) {
	out.Results = []toolResult{}
	settings, err := a.Settings()
	if err != nil {
		return out, err
	}
	settings.Settings = settings.ForAgent(claude, false)
	settings.Compaction.Auto = false // the product says when
	s, err := source.Read(ctx, a, path)
	if err != nil {
		return out, err
	}
	parts := map[string]string{} // id of a part → its call
	for _, r := range given {
		if _, p := session.FindPart(s.Doc.Session.Messages, r.Call); p != nil && p.State != nil && !p.State.Final() {
			p.State.Status, p.State.Output = session.Completed, r.Text
			parts[p.ID] = r.Call
		}
	}
	if err := s.Start(ctx, a, settings); err != nil {
		return out, err
	}
	defer s.Close()
	if _, err := s.Engine.Begin(ctx, s.ID, winnow.BeginOptions{Held: true}); err != nil {
		return out, err
	}
	_, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return out, err
	}
	var found []firstSent
	for _, e := range state.Ledger.All() {
		if call, ours := parts[e.Part]; ours && slices.Contains(rule.FirstSends(), e.Rule) {
			e.Shown = strings.ToValidUTF8(e.Shown, "\uFFFD")
			out.Results = append(out.Results, toolResult{call, e.Shown})
			at := slices.IndexFunc(given, func(r toolResult) bool { return r.Call == call })
			found = append(found, firstSent{e, given[at].Text})
		}
	}
	if len(found) > 0 {
		if err := keepFirstSent(ctx, a, path, s.ID, found, state.Receipts); err != nil {
			return out, err
		}
	}
	return out, nil
}

// firstSent is a result that was shortened before it was sent for the first time.
type firstSent struct {
	rule.Elision
	Whole string // what the tool gave
}

// keepFirstSent writes into the store what was left out of results, before it is left out: that it
// was, the receipt of it, and the whole text, which the product's file keeps in another form only.
// The log of the store has of such a result what the product has: what was sent.
func keepFirstSent(ctx context.Context, a *cli.App, path, id string, found []firstSent,
	receipts []pivot.Receipt) error {
	if err := importFile(ctx, a, path); err != nil {
		return err
	}
	kept, err := source.OpenStore(ctx, a, source.Making)
	if err != nil {
		return err
	}
	defer kept.Close()
	keeper, ok := kept.(store.Keeper)
	if !ok {
		return errors.New("this store keeps no whole texts")
	}
	change := store.Change{}
	for _, f := range found {
		if err := keeper.Keep(ctx, id, f.Part, f.Whole); err != nil {
			return fmt.Errorf("keep the whole result: %w", err)
		}
		change.Commit = append(change.Commit, f.Elision)
	}
	if n := len(receipts); n > 0 {
		change.Receipt = &receipts[n-1]
	}
	for range 64 { // other processes add to the session
		if change.Base, err = kept.Revision(ctx, id); err != nil {
			return err
		}
		if _, err = kept.Apply(ctx, id, change); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return err
}

// unsent is a ledger without what the log shows already: a result that was shortened before the
// product wrote it down is not to be shortened in its file again.
func unsent(log session.Session, ledger rule.Ledger) rule.Ledger {
	parts := session.PartsByID(log.Messages)
	var done []rule.Key
	for _, e := range ledger.All() {
		if p := parts[e.Part]; p != nil && p.State != nil && e.Field == rule.ResultField(p) &&
			p.State.Result() == e.Shown {
			done = append(done, e.Key())
		}
	}
	return ledger.Without(done...)
}
