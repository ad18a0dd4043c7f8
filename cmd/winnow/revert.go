package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// revert goes back to before a message of the user's: the files of the folder become what they were when it was said, and a new session begins that has what
// was said before it. The old session stays as it is, and the files as they are now are kept as well.
func (b *workbench) revert(ctx context.Context, id, message string) (newID, told string, err error) {
	s, state, err := b.engine.Session(ctx, id)
	if err != nil {
		return "", "", err
	}
	at := session.Index(s.Messages, message)
	if at < 0 || s.Messages[at].Role != session.User {
		return "", "", fmt.Errorf("session %s has no message %s of yours", id, message)
	}
	told = "no file was changed since"
	if tree, _ := session.Snapshots(s.Messages[at:]); tree != "" {
		done, err := b.files.Restore(ctx, tree)
		if err != nil {
			return "", "", fmt.Errorf("the files: %w", err)
		}
		if n := len(done.Changed); n > 0 {
			told = plural(n, "file is", "files are") + " as before"
		}
		if n := len(done.Kept); n > 0 {
			told += "; " + plural(n, "newer file stays, it is ignored or large", "newer files stay, they are ignored or large")
		}
	}
	newID, err = b.fork(ctx, s, state, at)
	if err != nil {
		return "", "", fmt.Errorf("%s, but the session could not be cut: %w", told, err)
	}
	return newID, fmt.Sprintf("back to before that message: %s. Session %s stays as it was", told, id), nil
}

// fork begins a session with the first messages of another one, and what was decided about them.
func (b *workbench) fork(ctx context.Context, s session.Session, state store.State, end int) (string, error) {
	kept := map[string]bool{}
	fork := session.Session{Info: s.Info, Messages: slices.Clone(s.Messages[:end])}
	fork.Info.ID, fork.Info.Time = "", session.Lifetime{}
	for _, m := range fork.Messages {
		kept[m.ID] = true
		for _, p := range m.Parts {
			kept[p.ID] = true
		}
	}
	var elisions []rule.Elision
	for _, el := range state.Ledger.All() {
		if kept[el.Part] {
			elisions = append(elisions, el)
		}
	}
	id, err := b.engine.Create(ctx, fork.Info)
	if err != nil {
		return "", err
	}
	change := store.Change{Base: 1, Append: fork.Messages, Commit: elisions}
	for i := range change.Append {
		m := &change.Append[i]
		m.SessionID, m.Parts = id, slices.Clone(m.Parts)
		for j := range m.Parts {
			m.Parts[j].SessionID = id
		}
	}
	for _, p := range state.Pins {
		if p.Part == "" && p.Message == "" || kept[p.Part] || kept[p.Message] {
			change.Pin = append(change.Pin, p)
		}
	}
	for _, marker := range slices.Sorted(maps.Keys(state.Undone)) {
		if kept[marker] {
			change.Undo = append(change.Undo, marker)
		}
	}
	change.Dismiss = slices.Sorted(maps.Keys(state.Dismissed))
	if _, err := b.store.Apply(ctx, id, change); err != nil {
		return "", errors.Join(err, b.store.Delete(context.WithoutCancel(ctx), id))
	}
	return id, nil
}
