package change

import (
	"context"
	"slices"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// PinTexts pins texts, and returns the receipts of those that changed the view. A text that is
// pinned already is left as it is.
func PinTexts(ctx context.Context, s *source.Session, texts []string) (made []pivot.Receipt, err error) {
	for _, text := range texts {
		p, err := s.Engine.Pin(ctx, s.ID, rule.Pin{Text: text})
		if winnow.CodeOf(err) == winnow.Already {
			continue
		}
		if err != nil {
			return nil, err
		}
		r, err := ReceiptOf(ctx, s, p)
		if err != nil {
			return nil, err
		}
		if r != nil {
			made = append(made, *r)
		}
	}
	return made, nil
}

// ReceiptOf is the receipt of a pin, nil if it did not change the view.
func ReceiptOf(ctx context.Context, s *source.Session, p rule.Pin) (*pivot.Receipt, error) {
	_, state, err := s.Engine.Session(ctx, s.ID)
	for i := range state.Receipts {
		if r := &state.Receipts[i]; r.Pinned != nil && r.Pinned.ID == p.ID {
			return r, err
		}
	}
	return nil, err
}

// recallPins gives a session that was read from a file its pins: what it quotes because it was
// pinned.
func recallPins(ctx context.Context, s *source.Session) error {
	log, _, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return err
	}
	var pins []rule.Pin
	for i := range log.Messages {
		m := &log.Messages[i]
		n, kept := m.Kept()
		if !kept || !n.Pin || slices.ContainsFunc(pins, func(p rule.Pin) bool { return p.ID == n.Kept }) {
			continue
		}
		pin := rule.Pin{ID: n.Kept, Time: m.Time.Created}
		if len(n.Quotes) == 0 {
			pin.Text = pivot.PinnedText(m.Parts[0].Text)
		} else if of, _ := session.FindPart(log.Messages, n.Quotes[0]); len(n.Quotes) == 1 || of == nil {
			pin.Part = n.Quotes[0]
		} else {
			pin.Message = of.ID
		}
		pins = append(pins, pin)
	}
	if len(pins) == 0 {
		return nil
	}
	return s.Apply(ctx, store.Change{Pin: pins})
}
