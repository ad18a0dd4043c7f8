package pivot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Quotation is what one pin or restore shows after a summary: parts word for word, each with its
// place in the session, or a text of its own.
type Quotation struct {
	Text  string
	Parts []string       // ids of the parts that are in it
	Files []session.Part // pictures and documents that are attached to the text
	// Missing are parts that cannot be shown: files whose bytes are not in the log, and markers
	// without text.
	Missing []string
}

// Titles of quotations.
const (
	restoredTitle = "# Shown again from before the summary"
	pinnedTitle   = recall.PinnedTitle
)

// QuoteRestored quotes parts to show again.
func QuoteRestored(log []session.Message, parts ...string) Quotation {
	return quoteParts(log, restoredTitle, parts)
}

// QuotePin quotes what a pin keeps, except for parts that are already shown.
func QuotePin(log []session.Message, pin rule.Pin, shown func(part string) bool) Quotation {
	if pin.Text != "" {
		return Quotation{Text: pinnedTitle + "\n\n" + new(Pinned).quoted(pin.Text)}
	}
	var parts []string
	for _, part := range PinParts(log, pin) {
		if !shown(part) {
			parts = append(parts, part)
		}
	}
	return quoteParts(log, pinnedTitle, parts)
}

// PinnedText returns the text that a quotation of QuotePin shows.
func PinnedText(quotation string) string {
	quoted := strings.TrimPrefix(strings.TrimPrefix(quotation, pinnedTitle+"\n\n"), "> ")
	return strings.ReplaceAll(quoted, "\n> ", "\n")
}

// PinParts returns the ids of the parts that a pin keeps: its own part, or all parts of its
// message.
func PinParts(log []session.Message, pin rule.Pin) (parts []string) {
	if pin.Part != "" {
		if _, p := session.FindPart(log, pin.Part); p != nil {
			return []string{p.ID}
		}
		return nil
	}
	if at := session.Index(log, pin.Message); at >= 0 {
		for j := range log[at].Parts {
			parts = append(parts, log[at].Parts[j].ID)
		}
	}
	return parts
}

func quoteParts(log []session.Message, title string, parts []string) Quotation {
	var q Quotation
	blocks := []string{title}
	p := Pinned{parts: map[string]bool{}, files: &q.Files}
	last := ""
	for _, id := range parts {
		m, part := session.FindPart(log, id)
		if part == nil || lost(part) {
			q.Missing = append(q.Missing, id)
			continue
		}
		n := len(p.Blocks)
		if p.add(m, part); len(p.Blocks) == n {
			q.Missing = append(q.Missing, id)
			continue
		}
		if m.ID != last {
			blocks, last = append(blocks, place(log, m.ID)), m.ID
		}
		blocks, q.Parts = append(blocks, p.Blocks[n]), append(q.Parts, id)
	}
	if len(q.Parts) > 0 {
		q.Text = strings.Join(blocks, "\n\n")
	}
	return q
}

// place names the position of a message in the session.
func place(log []session.Message, message string) string {
	at := session.Index(log, message)
	turn := 0
	for _, t := range session.Turns(log[:at+1]) {
		if t.Start <= at {
			turn++
		}
	}
	return fmt.Sprintf("Turn %d, message %d of the session:", turn, at+1)
}

// lost reports whether a part is a file whose bytes are not in the log.
func lost(p *session.Part) bool {
	if p.Type != session.FilePart {
		return false
	}
	if _, text := dataText(p.URL); text && strings.HasPrefix(p.Mime, "text/") {
		return false
	}
	return !attachable(p)
}

// attachable reports whether a file can be attached to a text: a picture or a document with its
// bytes.
func attachable(p *session.Part) bool { return p.IsMedia() && strings.HasPrefix(p.URL, "data:") }

// QuotationMessage returns the message that shows a quotation: a synthetic user message with the
// agent and model of the last one. note says which pin or restore, and which pivot, it belongs to.
func QuotationMessage(id Identity, sessionID string, last *session.Message, note session.Note,
	q Quotation) session.Message {
	note.Quotes = q.Parts
	m := id.message(sessionID, last)
	p := id.part(m, session.TextPart)
	p.Text, p.Synthetic, p.Metadata = q.Text, true, note.Metadata()
	m.Parts = []session.Part{p}
	for _, f := range q.Files {
		p := id.part(m, session.FilePart)
		p.Mime, p.Filename, p.URL, p.Synthetic = f.Mime, f.Filename, f.URL, true
		m.Parts = append(m.Parts, p)
	}
	return m
}

// CopyQuotations copies the folded messages that show something again, so that they follow a new
// marker: a compaction loses neither a pin nor a restore. The copies have the same text, byte for
// byte. With pinsOnly there is no room for restores: letGo lists the receipts of the restores that
// are folded.
func CopyQuotations(id Identity, marker session.Message, fold []session.Message,
	pinsOnly bool) (again []session.Message, letGo []string) {
	for i := range fold {
		note, kept := fold[i].Kept()
		if !kept {
			continue
		}
		if pinsOnly && !note.Pin {
			letGo = append(letGo, note.Kept)
			continue
		}
		m := fold[i]
		m.ID, m.Time = id.NewID(session.MessageID), session.MessageTime{Created: id.Now}
		m.Parts = slices.Clone(m.Parts)
		note.Pivot = marker.ID
		for j := range m.Parts {
			p := &m.Parts[j]
			if _, noted := p.Note(); noted {
				p.Metadata = note.Metadata()
			}
			p.ID, p.MessageID = id.NewID(session.PartID), m.ID
		}
		again = append(again, m)
	}
	return again, letGo
}

func isQuotation(m *session.Message) bool {
	_, kept := m.Kept()
	return kept
}

// WithoutQuotations drops the messages that show something again: they are not part of what
// happened, and no summary should repeat them.
func WithoutQuotations(messages []session.Message) []session.Message {
	return slices.DeleteFunc(slices.Clone(messages), func(m session.Message) bool { return isQuotation(&m) })
}
