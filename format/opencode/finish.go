package opencode

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// noted is a note, and the part that has it.
type noted struct {
	message, part int // positions in the log
	note          partNote
}

// complete fills in what a message's parts should have and do not. The source stays as it is.
func (r *reader) complete(m *session.Message) {
	if m.ID == "" {
		m.ID = derivedID(session.MessageID, r.doc.Session.Info.ID, r.unnamed)
		r.unnamed++
	}
	m.SessionID = cmp.Or(m.SessionID, r.doc.Session.Info.ID)
	at := len(r.doc.Session.Messages)
	r.doc.Counts.Messages++
	for j := range m.Parts {
		p := &m.Parts[j]
		if p.ID == "" {
			p.ID = derivedID(session.PartID, m.ID, j)
		}
		p.SessionID = cmp.Or(p.SessionID, m.SessionID)
		p.MessageID = cmp.Or(p.MessageID, m.ID)
		if note, ok := noteOf(p); ok {
			r.restore(p, note)
			r.notes = append(r.notes, noted{at, j, note})
			r.name(p.ID, note.ID)
			r.name(m.ID, note.Message)
		}
		if p.Type != session.ToolPart {
			continue
		}
		r.doc.Counts.ToolCalls++
		if p.State != nil && p.State.Final() {
			r.doc.Counts.ToolResults++
		}
	}
}

// restore gives a part back what the product had no place for.
func (r *reader) restore(p *session.Part, note partNote) {
	if len(note.Part) > 0 {
		var original session.Part
		if unmarshal(note.Part, &original) == nil && original.Type != "" {
			original.ID, original.SessionID, original.MessageID = p.ID, p.SessionID, p.MessageID
			*p = original
			return
		}
	}
	if note.Wrapped && p.State != nil {
		if inner := span.Get(p.State.Input, "input"); len(inner) > 0 {
			p.State.Input = slices.Clone(inner)
		}
	}
}

// name remembers the id that an id of the file was made from.
func (r *reader) name(given, original string) {
	if original == "" || original == given {
		return
	}
	if r.ids == nil {
		r.ids = map[string]string{}
	}
	r.ids[given] = original
}

// sessionNote reads the note on the session.
func (r *reader) sessionNote() {
	r.identify()
	info := &r.doc.Session.Info
	note, ok := noteOfSession(info)
	if !ok {
		return
	}
	r.name(info.ID, note.Session)
	r.name(info.ParentID, note.Parent)
	for given, original := range note.IDs {
		r.name(given, original)
	}
}

// identify gives a session without an id one.
func (r *reader) identify() {
	if info := &r.doc.Session.Info; info.ID == "" {
		info.ID = derivedID(session.SessionID, info.Title, 0)
	}
}

func noteOfSession(info *session.Info) (note sessionNote, ok bool) {
	return note, readNote(span.Get(info.Unknown, "metadata"), &note)
}

// finish restores ids and the ledger once everything was read.
func (r *reader) finish() {
	s := &r.doc.Session
	r.revert()
	marked := rule.Marks(s.Messages) // by the ids of the file, translated with them below
	if len(r.ids) > 0 {
		r.rename()
	}
	type committed struct {
		rule.Elision
		n int
	}
	var found []committed
	explained := map[string]bool{}
	for _, k := range r.notes {
		if k.message >= len(s.Messages) || k.part >= len(s.Messages[k.message].Parts) {
			continue // taken back
		}
		m := &s.Messages[k.message]
		p := &m.Parts[k.part]
		for _, kept := range k.note.Elisions {
			e := kept.elision(m.ID, p.ID)
			if marks(e, p) {
				if p.State.Time == nil || p.State.Time.Compacted == 0 {
					continue // the product, or its user, took the mark away
				}
				explained[p.ID] = true
			}
			found = append(found, committed{e, kept.N})
		}
	}
	if note, ok := noteOfSession(&s.Info); ok {
		messageOf := map[string]string{}
		for i := range s.Messages {
			for j := range s.Messages[i].Parts {
				messageOf[s.Messages[i].Parts[j].ID] = s.Messages[i].ID
			}
		}
		for _, kept := range note.Elisions {
			id := r.original(kept.Part)
			if message, ok := messageOf[id]; ok {
				found = append(found, committed{kept.elision(message, id), kept.N})
			}
		}
	}
	for _, e := range marked {
		e.Part, e.Message = r.original(e.Part), r.original(e.Message)
		if !explained[e.Part] {
			found = append(found, committed{e, 0})
		}
	}
	slices.SortStableFunc(found, func(a, b committed) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.n, b.n))
	})
	elisions := make([]rule.Elision, len(found))
	for i, c := range found {
		elisions[i] = c.Elision
	}
	r.doc.Ledger = rule.NewLedger(elisions...)
	r.theirs()

	slices.SortStableFunc(r.doc.Damaged, func(a, b format.Damage) int { return cmp.Compare(a.Offset, b.Offset) })
}

// theirs finds the compactions that the product made: those whose summary nothing says that another
// wrote.
func (r *reader) theirs() {
	for i := range r.doc.Session.Messages {
		m := &r.doc.Session.Messages[i]
		if !m.Completes() || m.ParentID == "" {
			continue
		}
		ours := slices.ContainsFunc(m.Parts, func(p session.Part) bool {
			note, _ := noteOf(&p)
			carried, _ := p.Note()
			return note.Summary || carried.Carry
		})
		if !ours {
			r.doc.IsTheirs(m.ParentID)
		}
	}
}

// revert leaves out of the log what the user took back. The file has it until the next prompt, with
// which the product deletes the message that info.revert names, or its parts from one on, and all
// that follows.
func (r *reader) revert() {
	s := &r.doc.Session
	var to struct {
		MessageID string `json:"messageID"`
		PartID    string `json:"partID"`
	}
	if text := span.Get(s.Info.Unknown, "revert"); len(text) == 0 || unmarshal(text, &to) != nil {
		return
	}
	at := session.Index(s.Messages, to.MessageID)
	if at < 0 {
		return
	}
	r.native.reverted = true
	from := slices.IndexFunc(s.Messages[at].Parts, func(p session.Part) bool { return p.ID == to.PartID })
	if to.PartID != "" && from >= 0 {
		s.Messages[at].Parts = s.Messages[at].Parts[:from]
		for i := range r.native.entries {
			e := &r.native.entries[i]
			for j := range e.parts {
				if p := &e.parts[j]; e.at == at && p.at >= from {
					p.at, p.aside, e.trimmed = -1, true, true
				}
			}
		}
		at++
	}
	for i := range r.native.entries {
		if e := &r.native.entries[i]; e.at >= at {
			e.at, e.aside = -1, true
		}
	}
	r.doc.Counts.Aside = len(s.Messages) - at
	s.Messages = s.Messages[:at]
}

func (r *reader) original(id string) string { return cmp.Or(r.ids[id], id) }

// rename gives messages and parts the ids that they had before they were written for the product.
func (r *reader) rename() {
	s := &r.doc.Session
	s.Info.ID, s.Info.ParentID = r.original(s.Info.ID), r.original(s.Info.ParentID)
	for i := range s.Messages {
		m := &s.Messages[i]
		m.ID, m.SessionID, m.ParentID = r.original(m.ID), r.original(m.SessionID), r.original(m.ParentID)
		for j := range m.Parts {
			r.renamePart(&m.Parts[j])
		}
	}
	r.native.original, r.native.given = r.ids, make(map[string]string, len(r.ids))
	for given, original := range r.ids {
		r.native.given[original] = given
	}
}

func (r *reader) renamePart(p *session.Part) {
	p.ID, p.SessionID, p.MessageID = r.original(p.ID), r.original(p.SessionID), r.original(p.MessageID)
	p.TailStartID = r.original(p.TailStartID)
	if p.State != nil {
		for i := range p.State.Attachments {
			r.renamePart(&p.State.Attachments[i])
		}
	}
}

// derivedID makes an id that depends on what it is for alone, so that reading a file again gives
// the same.
func derivedID(prefix, of string, n int) string {
	return session.FormatID(prefix, uint64(n), fingerprint(fmt.Sprintf("%s of %s, %d", prefix, of, n)))
}

func fingerprint(text string) [14]byte {
	sum := sha256.Sum256([]byte(text))
	return [14]byte(sum[:14])
}
