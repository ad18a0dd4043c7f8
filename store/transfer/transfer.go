// Package transfer copies sessions from one store to another, with everything that belongs to them.
package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Options say how to copy. The zero value is ready.
type Options struct {
	// Update replaces sessions that the other store has with another content. Without it they are
	// left as they are, and counted as different.
	Update bool
	// Tell, which may be nil, is called before each session and at the end.
	Tell func(Progress)
}

// Progress is how far copying is.
type Progress struct{ Done, All int }

// Result is what came of copying.
type Result struct {
	Copied    int      // sessions that the other store did not have
	Updated   int      // that were replaced
	Same      int      // that it had already, with the same content
	Different []string // ids of those that it has with another content, and that were left
	Files     int      // how many files that were read before were noted
	Kept      int      // texts beside the log that were copied
}

// Copy copies all sessions of a store, and which files they were read from: the log, decisions,
// pins, receipts, spends, the source, kept texts. Revisions count anew. Each session is written
// whole or not at all, and then read from both and compared; one that is there already is only
// compared. So copying that was interrupted can be run again and goes on where it stopped. A
// session that changes meanwhile is copied as it was at some moment, or is an error.
func Copy(ctx context.Context, from, to store.Store, o Options) (r Result, err error) {
	list, err := from.List(ctx)
	if err != nil {
		return r, err
	}
	// The one changed last is written last, so that the lists of both have the same order.
	slices.Reverse(list)
	for i, l := range list {
		if o.Tell != nil {
			o.Tell(Progress{i, len(list)})
		}
		if err := r.session(ctx, from, to, l.Info.ID, o.Update); err != nil {
			return r, fmt.Errorf("session %s: %w", l.Info.ID, err)
		}
	}
	if o.Tell != nil {
		o.Tell(Progress{len(list), len(list)})
	}
	return r, r.files(ctx, from, to)
}

// whole is all that a store has of a session.
type whole struct {
	state    store.State
	messages []session.Message
	source   *store.Source
}

func read(ctx context.Context, s store.Store, id string) (w whole, err error) {
	// A session that is written to while it is read is read again.
	for range 5 {
		if w.state, err = s.State(ctx, id); err != nil {
			return w, err
		}
		if w.messages, err = collect(s.Messages(ctx, id)); err != nil {
			return w, err
		}
		if w.source, err = s.Source(ctx, id); err != nil {
			return w, err
		}
		revision, err := s.Revision(ctx, id)
		if err != nil {
			return w, err
		}
		if revision == w.state.Revision {
			w.state.Revision = 0
			return w, nil
		}
	}
	return w, errors.New("it changes while it is read; end what writes to it")
}

func collect(messages iter.Seq2[session.Message, error]) (all []session.Message, err error) {
	for m, err := range messages {
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	slices.Reverse(all)
	return all, nil
}

// equal reports whether two stores have the same. A ledger is compared by its elisions.
func (w *whole) equal(other *whole) bool {
	a, b := w.state, other.state
	if !slices.Equal(a.Ledger.All(), b.Ledger.All()) {
		return false
	}
	a.Ledger = b.Ledger
	return reflect.DeepEqual(normal(a), normal(b)) && reflect.DeepEqual(w.messages, other.messages) &&
		sameSource(w.source, other.source)
}

// normal is a state in which an empty list is nil.
func normal(s store.State) store.State {
	if len(s.Pins) == 0 {
		s.Pins = nil
	}
	if len(s.Receipts) == 0 {
		s.Receipts = nil
	}
	if len(s.Spent) == 0 {
		s.Spent = nil
	}
	return s
}

func sameSource(a, b *store.Source) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Format == b.Format && a.Path == b.Path && string(a.Data) == string(b.Data)
}

func (r *Result) session(ctx context.Context, from, to store.Store, id string, update bool) error {
	want, err := read(ctx, from, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	have, err := read(ctx, to, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		if err := write(ctx, to, id, &want); err != nil {
			return err
		}
		r.Copied++
	case err != nil:
		return fmt.Errorf("in the store to copy to: %w", err)
	case have.equal(&want):
		r.Same++
	case !update:
		r.Different = append(r.Different, id)
		return nil
	default:
		if err := to.Delete(ctx, id); err != nil {
			return err
		}
		if err := write(ctx, to, id, &want); err != nil {
			return err
		}
		r.Updated++
	}
	return r.texts(ctx, from, to, id)
}

// write creates a session, and reads it again.
func write(ctx context.Context, to store.Store, id string, w *whole) error {
	c := store.Change{Create: &w.state.Info, Append: w.messages, Commit: w.state.Ledger.All(), Pin: w.state.Pins,
		Undo: slices.Sorted(maps.Keys(w.state.Undone)), Dismiss: slices.Sorted(maps.Keys(w.state.Dismissed)),
		Receipts: w.state.Receipts, Spend: w.state.Spent, Source: w.source,
		Prepared: w.state.Prepared}
	if _, err := to.Apply(ctx, id, c); err != nil {
		return err
	}
	have, err := read(ctx, to, id)
	if err != nil {
		return err
	}
	if !have.equal(w) {
		return errors.New("what was written is read back otherwise; it is left there, to be looked at")
	}
	return nil
}

// texts copies the texts that are kept beside the log.
func (r *Result) texts(ctx context.Context, from, to store.Store, id string) error {
	source, ok := from.(store.Keeper)
	if !ok {
		return nil
	}
	parts, err := source.KeptParts(ctx, id)
	if err != nil || len(parts) == 0 {
		return err
	}
	target, ok := to.(store.Keeper)
	if !ok {
		return errors.New("the store to copy to keeps no texts beside the log")
	}
	for _, part := range parts {
		want, err := source.Kept(ctx, id, part)
		if err != nil {
			return err
		}
		have, err := target.Kept(ctx, id, part)
		if err == nil && have == want {
			continue
		}
		if err != nil && !errors.Is(err, store.ErrNotKept) {
			return err
		}
		if err := target.Keep(ctx, id, part, want); err != nil {
			return err
		}
		if have, err = target.Kept(ctx, id, part); err != nil {
			return err
		} else if have != want {
			return fmt.Errorf("the text kept for %s is read back otherwise", part)
		}
		r.Kept++
	}
	return nil
}

// files copies which files were read.
func (r *Result) files(ctx context.Context, from, to store.Store) error {
	source, ok := from.(store.Filer)
	target, also := to.(store.Filer)
	if !ok || !also {
		return nil
	}
	want, err := source.Files(ctx)
	if err != nil {
		return err
	}
	have, err := target.Files(ctx)
	if err != nil {
		return err
	}
	var missing []store.File
	for path, f := range want {
		if have[path] != f && !slices.Contains(r.Different, f.Session) {
			missing = append(missing, f)
		}
	}
	slices.SortFunc(missing, func(a, b store.File) int { return cmp.Compare(a.Path, b.Path) })
	r.Files = len(missing)
	if len(missing) == 0 {
		return nil
	}
	return target.SetFiles(ctx, missing...)
}
