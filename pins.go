package winnow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/edit"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Pin keeps a part, a whole message, or a text through every elision and every pivot, under every policy. The pin's id and time are filled in and returned. It takes
// effect at once: what of it is elided is shown again, and a text, or what a summary stands for, is quoted behind the summary. Where that changed the view
// there is a receipt, and Undo takes it back, as Unpin does.
//
// Already where the same is pinned, with that pin; TooLarge where the view would not fit any more; NotKept, Undone where there is nothing to show.
func (e *Engine) Pin(ctx context.Context, id string, pin rule.Pin) (rule.Pin, error) {
	given := pin
	var receipt *pivot.Receipt
	err := e.change(ctx, "pin", id, func(l *live) (c store.Change, err error) {
		var replaced []rule.Elision
		if pin, replaced, err = l.pinned(id, given); err != nil {
			return c, err
		}
		for i := range l.state.Pins {
			if samePin(l.state.Pins[i], pin) {
				pin = l.state.Pins[i]
				return c, &Error{Code: Already, Op: "pin", Session: id, Err: fmt.Errorf("that is pinned already, as %s", pin.ID)}
			}
		}
		now := e.config.Now()
		pin.ID, pin.Time = e.ids.New("pin", now), millis(now)
		c.Restore, c.Pin = keysOf(replaced), []rule.Pin{pin}
		c.Append = l.unheld(e.identity(), c, "")
		if why := l.unshown(c, pin); why != nil {
			return c, refusedTo("pin", id, "it cannot be shown", why)
		}
		receipt = nil
		if len(c.Append) == 0 && len(replaced) == 0 {
			return c, nil // it is in the view as it is
		}
		if len(c.Append) > 0 {
			if why := e.roomFor(l, c); why != nil {
				return c, refusedTo("pin", id, "it is too large to be pinned", why)
			}
		}
		copied := pin
		receipt = &pivot.Receipt{ID: e.ids.New("rcp", now), Kind: pivot.Pinning, Trigger: "pin", Pinned: &copied, Replaced: replaced}
		e.measured(l, c, receipt, millis(now))
		c.Receipt = receipt
		return c, nil
	}, func(*live) {
		if receipt != nil {
			event := e.event(id, ElisionUndone)
			event.Elisions, event.Receipt = keysOf(receipt.Replaced), receipt
			e.bus.publish(event)
		}
	})
	return pin, err
}

// pinned is a pin as it is stored, and the elisions that it takes back.
func (l *live) pinned(id string, pin rule.Pin) (_ rule.Pin, replaced []rule.Elision, err error) {
	var kept []session.Part
	switch {
	case count(pin.Part != "", pin.Message != "", strings.TrimSpace(pin.Text) != "") != 1:
		return pin, nil, &Error{Code: BadInput, Op: "pin", Session: id, Err: errors.New("a pin is a part, a message or a text"), Hint: "give one of them"}
	case pin.Part != "":
		_, p := l.find(pin.Part)
		if p == nil {
			return pin, nil, notFound("pin", id, "part "+pin.Part)
		}
		pin.Part, kept = p.ID, []session.Part{*p}
	case pin.Message != "":
		at := session.Index(l.log, pin.Message)
		if at < 0 {
			return pin, nil, notFound("pin", id, "message "+pin.Message)
		}
		kept = l.log[at].Parts
	}
	for i := range kept {
		replaced = append(replaced, l.state.Ledger.Of(kept[i].ID)...)
	}
	return pin, replaced, nil
}

// unshown says why a change would not bring a pin into the view, nil when it does.
func (l *live) unshown(c store.Change, pin rule.Pin) *rule.Refusal {
	if pin.Text != "" {
		return nil
	}
	_, log, window := l.with(c)
	shown := edit.QuotedIn(window)
	var why *rule.Refusal
	for _, part := range pivot.PinParts(log, pin) {
		m, p := session.FindPart(log, part)
		if shown.Window[m.ID] || shown.Parts[part] != "" {
			return nil
		}
		why = shown.Refuse(l.log, l.state.Undone, m, p)
	}
	return why
}

func count(all ...bool) (n int) {
	for _, yes := range all {
		if yes {
			n++
		}
	}
	return n
}

// Unpin forgets a pin, named by its id, by its part or message, or by its text, and with it what was quoted for it. NotFound names the pins that there are.
func (e *Engine) Unpin(ctx context.Context, id, pin string) error {
	return e.change(ctx, "unpin", id, func(l *live) (store.Change, error) {
		var c store.Change
		part := ""
		if _, p := l.find(pin); p != nil {
			part = p.ID
		}
		for _, p := range l.state.Pins {
			if p.ID == pin || p.Part != "" && (p.Part == pin || p.Part == part) || p.Message != "" && p.Message == pin || p.Text != "" && p.Text == pin {
				c.Unpin = append(c.Unpin, p.ID)
			}
		}
		if c.Unpin == nil {
			return c, &Error{Code: NotFound, Op: "unpin", Session: id, Err: fmt.Errorf("there is no pin %s", pin), Hint: pinsOf(l.state.Pins)}
		}
		for i := range l.log {
			if n, kept := l.log[i].Kept(); kept && slices.Contains(c.Unpin, n.Kept) && !slices.Contains(c.Undo, n.Kept) {
				c.Undo = append(c.Undo, n.Kept)
			}
		}
		c.Append = l.unheld(e.identity(), c, "") // another pin may hold what this one quoted
		return c, nil
	}, nil)
}

// pinsOf says which pins there are, for an error.
func pinsOf(pins []rule.Pin) string {
	const most = 8
	if len(pins) == 0 {
		return "nothing is pinned in this session"
	}
	var names []string
	for _, p := range pins[:min(len(pins), most)] {
		switch {
		case p.Part != "":
			names = append(names, p.ID+" (part "+p.Part+")")
		case p.Message != "":
			names = append(names, p.ID+" (message "+p.Message+")")
		default:
			names = append(names, fmt.Sprintf("%s (%q)", p.ID, rule.Shorten(p.Text, 40)))
		}
	}
	text := "there are: " + strings.Join(names, ", ")
	if n := len(pins) - most; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}
