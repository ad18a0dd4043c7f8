package body

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// Write writes the session of a change as a request body.
//
// A document that nothing changed is its source again, byte for byte. Otherwise the change is
// spliced into the body that the session was read from, and every byte around it stays: unknown
// members, cache markers, spaces. Of a recording, which cannot hold a change, the one request that
// is the session is written. What the body's JSON lost at its end stays lost.
//
// A body has no room for what is left out or folded: it holds what the model is sent, and the log
// stays in the file that it was read from. Read again, a written body shows placeholders as plain
// results and the summary as a synthetic message of the user's, and has no ledger.
//
// With a pivot, one message of the user's with the summary replaces the messages before the tail.
// Without a document of this format to change, dialect says how a new body is written, from the
// messages alone: it names no tools and no system prompt, which sessions do not hold.
func Write(w io.Writer, from *format.Document, change format.Change, dialect Dialect) error {
	n := nativeOf(from, dialect.Format)
	if n == nil || !extends(change.Session.Messages, n.Decoded.Messages) {
		body, err := whole(change, dialect)
		if err != nil {
			return err
		}
		_, err = w.Write(append(body, '\n'))
		return err
	}
	body, err := n.Splice(change)
	if err != nil {
		return err
	}
	if bytes.Equal(body, n.Decoded.Text) {
		_, err := w.Write(from.Source)
		return err
	}
	if err := n.Accepted(body); err != nil {
		return err
	}
	_, err = w.Write(body)
	return err
}

// Splice is the body with a change in it. The change's session must begin with the body's messages.
func (n *Native) Splice(change format.Change) ([]byte, error) {
	p := plan{
		Native: n, change: change, window: windowOf(change),
		edits: map[int][]span.Edit{}, blocks: map[int][]span.Span{}, gone: map[int]bool{},
	}
	return p.body()
}

// Accepted is an error if the provider would refuse the changed body and not the one that was read.
func (n *Native) Accepted(changed []byte) error {
	if after := n.Dialect.Check(changed); after != nil && n.Dialect.Check(n.Decoded.Text) == nil {
		return fmt.Errorf("write %s body: the provider would refuse the changed body: %w", n.Dialect.Kind, after)
	}
	return nil
}

// nativeOf is what a document holds for this format; nil when another format read it.
func nativeOf(from *format.Document, name string) *Native {
	if from == nil || from.Format != name {
		return nil
	}
	n, _ := from.Native.(*Native)
	return n
}

// extends reports whether a session begins with these messages.
func extends(messages, read []session.Message) bool {
	same := func(a, b session.Message) bool { return a.ID == b.ID }
	return len(messages) >= len(read) && slices.EqualFunc(messages[:len(read)], read, same)
}

func whole(change format.Change, dialect Dialect) ([]byte, error) {
	w := windowOf(change)
	messages := view.Render(w.messages, change.Ledger)
	if w.summary != "" {
		messages = append([]session.Message{summaryMessage(w.summary)}, messages...)
	}
	body, err := dialect.Encode(messages, wire.Options{Model: modelOf(change.Session)})
	if err != nil {
		return nil, err
	}
	return body.JSON()
}

func modelOf(s session.Session) string {
	if m := s.Info.Model; m != nil {
		return cmp.Or(m.ID, m.ModelID)
	}
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if s.Messages[i].ModelID != "" {
			return s.Messages[i].ModelID
		}
	}
	return ""
}
