package winnow

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Pin keeps a part, a whole message, or a text through every elision and every pivot. The pin's id and time are filled in and returned. What of it
// is elided is shown again.
func (e *Engine) Pin(ctx context.Context, id string, pin rule.Pin) (rule.Pin, error) {
	given := pin
	err := e.change(ctx, "pin", id, func(l *live) (store.Change, error) {
		pin = given
		var c store.Change
		var kept []session.Part
		switch {
		case count(pin.Part != "", pin.Message != "", strings.TrimSpace(pin.Text) != "") != 1:
			return c, &Error{Code: BadInput, Op: "pin", Session: id, Err: errors.New("a pin is a part, a message or a text"), Hint: "give one of them"}
		case pin.Part != "":
			_, p := l.find(pin.Part)
			if p == nil {
				return c, notFound("pin", id, "part "+pin.Part)
			}
			pin.Part, kept = p.ID, []session.Part{*p}
		case pin.Message != "":
			at := session.Index(l.log, pin.Message)
			if at < 0 {
				return c, notFound("pin", id, "message "+pin.Message)
			}
			kept = l.log[at].Parts
		}
		for i := range kept {
			c.Restore = append(c.Restore, keysOf(l.state.Ledger.Of(kept[i].ID))...)
		}
		now := e.config.Now()
		pin.ID, pin.Time = e.ids.New("pin", now), millis(now)
		c.Pin = []rule.Pin{pin}
		return c, nil
	}, nil)
	return pin, err
}

func count(all ...bool) (n int) {
	for _, yes := range all {
		if yes {
			n++
		}
	}
	return n
}

// Unpin forgets a pin, named by its id, by its part or message, or by its text. NotFound names the pins that there are.
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

// pinnedTokens is what pins take beside the messages that stay: their texts, and the parts that a pivot has folded or would fold.
func (l *live) pinnedTokens(window []session.Message) int {
	if len(l.state.Pins) == 0 {
		return 0
	}
	blocks := pivot.PinnedBlocks(l.log, l.state.Pins, func(message string) bool { return session.Index(window, message) >= 0 })
	return l.facts.Count(strings.Join(blocks.Lines(), "\n"))
}
