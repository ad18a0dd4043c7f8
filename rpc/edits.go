package rpc

import (
	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store/edit"
)

// Compact folds the past into a summary.
type Compact struct {
	Of
	// Focus is what the summary is to dwell on.
	Focus string `json:"focus,omitzero"`
	// To is how many tokens the view may have afterwards, 0 without a bound.
	To int `json:"to,omitzero"`
	// Auto appends the message that asks the model to go on.
	Auto bool `json:"auto,omitzero"`
	// Later only appends a marker, a task that waits in the log.
	Later bool `json:"later,omitzero"`
	// Waiting only executes a marker that waits, and does nothing without one.
	Waiting bool `json:"waiting,omitzero"`
	// Prepared only makes a summary count that prepare has written, and does nothing without one.
	Prepared bool `json:"prepared,omitzero"`
}

// Receipted is what was done.
type Receipted struct {
	// Receipt is missing if nothing was done.
	Receipt *pivot.Receipt `json:"receipt,omitzero"`
}

func (s *Server) compact(c *call, p Compact) (Receipted, error) {
	r, err := s.engine.Compact(c.ctx, p.Session, winnow.CompactOptions{Focus: p.Focus, To: p.To, Auto: p.Auto,
		Later: p.Later, Waiting: p.Waiting, Prepared: p.Prepared})
	return Receipted{r}, err
}

// Prepare writes the summary of a fold that is near, beside the other requests of the session.
// Nothing is stored.
type Prepare struct{ Of }

func (s *Server) prepare(c *call, p Prepare) (Nothing, error) {
	return Nothing{}, s.engine.Prepare(c.ctx, p.Session)
}

// Preview says what compact would do, without asking a model and without writing anything.
type Preview struct {
	Of
	// Focus and To are those of compact.
	Focus string `json:"focus,omitzero"`
	To    int    `json:"to,omitzero"`
}

func (s *Server) preview(c *call, p Preview) (winnow.Preview, error) {
	return s.engine.Preview(c.ctx, p.Session, winnow.CompactOptions{Focus: p.Focus, To: p.To})
}

// Prune leaves out what can go. If compaction.prune is off it does nothing, unless it is forced.
type Prune struct {
	Of
	// Force prunes although compaction.prune is off.
	Force bool `json:"force,omitzero"`
}

func (s *Server) prune(c *call, p Prune) (Outcome, error) {
	o, err := s.engine.Prune(c.ctx, p.Session, p.Force)
	return s.outcome(c.ctx, p.Session, o, err)
}

// Discard leaves parts out, with a placeholder in the place of each.
type Discard struct {
	Of
	// Parts are ids of parts, ids of calls, or handles.
	Parts []string `json:"parts"`
}

func (s *Server) discard(c *call, p Discard) (winnow.Edited, error) {
	return s.engine.Edit(c.ctx, p.Session, edit.Request{Discard: p.Parts})
}

// Restore shows parts whole again that were left out or folded.
type Restore struct {
	Of
	// Parts are ids of parts, ids of calls, or handles.
	Parts []string `json:"parts"`
}

func (s *Server) restore(c *call, p Restore) (winnow.Edited, error) {
	return s.engine.Edit(c.ctx, p.Session, edit.Request{Restore: p.Parts})
}

// Distill shows a summary in the place of the parts that it was made from.
type Distill struct {
	Of
	// Distillations are the summaries with the parts that each is for.
	Distillations []edit.Distillation `json:"distillations"`
}

func (s *Server) distill(c *call, p Distill) (winnow.Edited, error) {
	return s.engine.Edit(c.ctx, p.Session, edit.Request{Distill: p.Distillations})
}

// Pin keeps a part, a message or a text through every pruning and compaction.
type Pin struct {
	Of
	// Part, Message and Text: one of them is given.
	Part    string `json:"part,omitzero"`
	Message string `json:"message,omitzero"`
	Text    string `json:"text,omitzero"`
	// Note is why, for people.
	Note string `json:"note,omitzero"`
}

// Pinned is a pin that is in the store.
type Pinned struct {
	Pin rule.Pin `json:"pin"`
}

func (s *Server) pin(c *call, p Pin) (Pinned, error) {
	pin, err := s.engine.Pin(c.ctx, p.Session, rule.Pin{Part: p.Part, Message: p.Message, Text: p.Text, Note: p.Note})
	return Pinned{pin}, err
}

// Unpin forgets a pin, named by its id, by its part or message, or by its text.
type Unpin struct {
	Of
	// Pin is the id of the pin, its part, its message, or its text.
	Pin string `json:"pin"`
}

func (s *Server) unpin(c *call, p Unpin) (Nothing, error) {
	return Nothing{}, s.engine.Unpin(c.ctx, p.Session, p.Pin)
}

// Undo takes back what a receipt is for: a compaction, a pruning, a restore or a pin.
type Undo struct {
	Of
	// Receipt is the id of the receipt, or of the marker of a compaction; "" is the newest.
	Receipt string `json:"receipt,omitzero"`
}

// Redo makes count again what was undone.
type Redo struct {
	Of
	// Receipt is the id of the receipt, or of the marker of a compaction; "" is the one that was
	// undone last, whatever it is for.
	Receipt string `json:"receipt,omitzero"`
}

func (s *Server) undo(c *call, p Undo) (Receipted, error) {
	r, err := s.engine.Undo(c.ctx, p.Session, p.Receipt)
	return Receipted{r}, err
}

func (s *Server) redo(c *call, p Redo) (Receipted, error) {
	r, err := s.engine.Redo(c.ctx, p.Session, p.Receipt)
	return Receipted{r}, err
}
