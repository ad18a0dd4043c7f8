// Package source finds what SRC on the command line stands for (a file, a folder, a session in a
// database or in the store), reads it, and opens an engine on it.
package source

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/opencodeserver"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
)

// Session is a session that a command works on, with an engine that has it.
type Session struct {
	Engine *winnow.Engine
	ID     string
	Store  store.Store

	// Of a file.
	Path   string // "-" for standard input
	Stat   fs.FileInfo
	Doc    *format.Document
	Stored bool                   // in a store of OpenCode's or a folder of OpenHands', which are never written to
	Live   *opencodeserver.Server // the running OpenCode that it was read from, which is told of changes

	Restores  []Restore      // of parts that were left out, which made the file what it is
	Undone    []Undoing      // what was undone in it, the newest last
	Grown     bool           // the file has more lines since
	Exact     []byte         // what is to be written, if that is known
	Claim     *inplace.Claim // on the file, if it is to be replaced
	Unsettled []string       // what became of what others wrote to it meanwhile
	Written   bool           // the session was written to a file: what was done to it counts

	dry  bool                // nothing that is done counts
	told func(happened bool) // tells the hooks what happened, once nothing more does
}

// Restore is one restore of parts in a file.
type Restore struct {
	Receipt pivot.Receipt `json:"receipt"`
	From    string        `json:"from"` // the file as it was before, or its original if it was replaced
	Hash    string        `json:"hash"` // SHA-256 of it
}

// Undoing is one undo in a file: what it takes to make what was undone count again.
type Undoing struct {
	ID      string     `json:"id"`      // of what was undone: a marker, a receipt, or the time of a pruning
	Kind    pivot.Kind `json:"kind"`    // of that
	Marker  string     `json:"marker"`  // of a compaction
	Receipt string     `json:"receipt"` // if one was known
	Parts   []string   `json:"parts"`   // that were shown otherwise because of it
	// From is the file as it was before, or its original if it was replaced. Its first Bytes bytes,
	// without compression, have the SHA-256 Hash.
	From  string `json:"from"`
	Bytes int    `json:"bytes"`
	Hash  string `json:"hash"`
	// Size is how many bytes were written, and Written their SHA-256. What came later is behind
	// them.
	Size    int    `json:"size"`
	Written string `json:"written"`

	Restores []Restore `json:"restores"` // that were remembered of From
}

// FromFile reports whether the session came from a file; otherwise it is in the store.
func (s *Session) FromFile() bool { return s.Doc != nil }

// Close closes the engine, the store and the claim.
func (s *Session) Close() error {
	if s.told != nil {
		s.told(!s.dry && (!s.FromFile() || s.Written))
	}
	err := errors.Join(s.Engine.Close(), s.Store.Close())
	if s.Claim != nil {
		err = errors.Join(err, s.Claim.Close())
	}
	return err
}

// Become makes the session that of another document of its format: what was done to it before is
// forgotten.
func (s *Session) Become(ctx context.Context, a *cli.App, doc *format.Document) error {
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	if s.told != nil {
		s.told(false)
	}
	if err := errors.Join(s.Engine.Close(), s.Store.Close()); err != nil {
		return err
	}
	doc.Session.Info.ID = s.ID
	s.Doc = doc
	return s.Start(ctx, a, settings)
}

// Policy is the policy in force.
func (s *Session) Policy(ctx context.Context) (policy.Policy, error) {
	return winnow.Look(ctx, s.Engine, s.ID, func(r *report.Session) (policy.Policy, error) { return r.Policy, nil })
}

// Done is the end of a command that read this session: after damage the work is done in part.
func (s *Session) Done() error {
	if len(s.Unsettled) > 0 && s.Live != nil {
		return cli.Incomplete("the session was changed in part; the command can be run again for what is left:\n  " +
			strings.Join(s.Unsettled, "\n  "))
	}
	if len(s.Unsettled) > 0 {
		return cli.Incomplete("the file was replaced, but:\n  " + strings.Join(s.Unsettled, "\n  "))
	}
	if s.Doc != nil && len(s.Doc.Damaged) > 0 {
		return cli.Partly{Damaged: s.Doc.Damaged}
	}
	return nil
}

// Tell prints the result of a command that read this session, and is its end.
func (s *Session) Tell(a *cli.App, document any, show func()) error {
	if err := a.Tell(document, show); err != nil {
		return err
	}
	return s.Done()
}

// Format is the name of the file's format, "" for a session in the store.
func (s *Session) Format() string {
	if s.Doc == nil {
		return ""
	}
	return s.Doc.Format
}

// Damaged are the pieces of the file that could not be read.
func (s *Session) Damaged() []format.Damage {
	if s.Doc == nil {
		return []format.Damage{}
	}
	return append([]format.Damage{}, s.Doc.Damaged...)
}

// Title names a session for people: its file, or its id.
func (s *Session) Title() string {
	if s.Path != "" && s.Path != "-" && !s.Stored {
		return filepath.Base(s.Path)
	}
	return s.ID
}

// Apply changes a session without the engine.
func (s *Session) Apply(ctx context.Context, c store.Change) error {
	_, now, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return err
	}
	c.Base = now.Revision
	_, err = s.Store.Apply(ctx, s.ID, c)
	return err
}

// Open finds SRC and opens it to look at it.
func Open(ctx context.Context, a *cli.App, src string) (*Session, error) {
	return open(ctx, a, src, Reading, false)
}

// OpenFor opens SRC to change it. With dry the change must leave no trace: a session of the store
// is copied into memory.
func OpenFor(ctx context.Context, a *cli.App, src string, dry bool) (*Session, error) {
	if !dry {
		return open(ctx, a, src, Changing, false)
	}
	s, err := open(ctx, a, src, Reading, true)
	if err != nil || s.FromFile() {
		return s, err
	}
	defer s.Close()
	log, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	settings, err := a.Settings()
	if err != nil {
		return nil, err
	}
	copied := &Session{ID: s.ID, dry: true}
	if err := copied.inMemory(ctx, a, settings); err != nil {
		return nil, err
	}
	if err := copied.Engine.Import(ctx, log, state.Ledger, nil, state.Spent...); err != nil {
		return nil, err
	}
	if len(state.Pins)+len(state.Dismissed)+len(state.Undone) == 0 {
		return copied, nil
	}
	return copied, copied.Apply(ctx, store.Change{Pin: state.Pins, Dismiss: slices.Sorted(maps.Keys(state.Dismissed)),
		Undo: slices.Sorted(maps.Keys(state.Undone))})
}

func open(ctx context.Context, a *cli.App, src string, want Access, dry bool) (*Session, error) {
	settings, err := a.Settings()
	if err != nil {
		return nil, err
	}
	if src, err = Resolve(ctx, a, src); err != nil {
		return nil, err
	}
	s, err := Read(ctx, a, src)
	if errors.Is(err, fs.ErrNotExist) && !LooksLikePath(src) {
		return OpenStored(ctx, a, src, want, settings)
	}
	if err != nil {
		return nil, err
	}
	s.dry = dry
	return s, s.Start(ctx, a, settings)
}

// Start gives a session that was read from a file an engine.
func (s *Session) Start(ctx context.Context, a *cli.App, settings config.Settings) error {
	if err := s.inMemory(ctx, a, settings); err != nil {
		return err
	}
	defer a.Progress("looking at " + s.Path)()
	return s.Engine.Import(ctx, s.Doc.Session, s.Doc.Ledger, nil, report.Beside(s.Doc.Beside)...)
}

// inMemory gives a session an engine on a store in memory.
func (s *Session) inMemory(ctx context.Context, a *cli.App, settings config.Settings) error {
	err := s.work(ctx, a, nil, settings)
	if err == nil {
		s.Store = s.Engine.Store()
	}
	return err
}

// ModelOf is the model that reads a session.
func ModelOf(ctx context.Context, s *Session) (model.Model, error) {
	return winnow.Look(ctx, s.Engine, s.ID, func(s *report.Session) (model.Model, error) { return s.Model, nil })
}

// Preview is what a compaction would bring, and what that is worth. Nobody is asked for a summary.
// An error is the engine's reason why there is nothing to do.
func Preview(ctx context.Context, s *Session) (winnow.Preview, *pivot.Money, error) {
	p, err := s.Engine.Preview(ctx, s.ID, winnow.CompactOptions{})
	if err != nil {
		return p, nil, err
	}
	of, err := ModelOf(ctx, s)
	if err != nil {
		return p, nil, err
	}
	return p, pivot.NewMoney(of, pivot.Change{Before: p.TokensBefore + p.Overhead, After: p.TokensAfter + p.Overhead,
		Rewritten: p.TokensAfter}, summaryCost(p)), nil
}

// summaryCost is the cost of the calls for the summary of a preview, nil if no price is known.
func summaryCost(p winnow.Preview) *float64 {
	cost := new(float64)
	if summary := p.Summary; summary != nil && summary.Calls > 0 {
		if cost = &summary.Cost; *cost == 0 {
			return nil
		}
	}
	return cost
}

// LooksLikePath reports whether a word is a path rather than an id.
func LooksLikePath(src string) bool {
	return strings.ContainsAny(src, `/\`) || filepath.Ext(src) != ""
}
