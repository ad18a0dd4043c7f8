package body

import (
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// elide turns the elisions of the parts of some messages into edits in place.
func (p *plan) elide(messages []session.Message) {
	if p.change.Ledger.Len() == 0 {
		return
	}
	for i := range messages {
		for j := range messages[i].Parts {
			part := &messages[i].Parts[j]
			elisions := p.change.Ledger.Of(part.ID)
			if len(elisions) == 0 {
				continue
			}
			place := p.Decoded.Places[part.ID]
			for _, e := range elisions {
				if part.Type == session.ToolPart {
					p.elideCall(part, place, e)
				} else {
					p.elidePart(part, place, e)
				}
			}
		}
	}
}

func (p *plan) elideCall(part *session.Part, place wire.Place, e rule.Elision) {
	shown, _ := view.Apply(*part, e) // a call stays, however little is left of it
	switch {
	case shown.State == nil:
	case e.Field == rule.Input:
		with := []byte(shown.State.Input)
		if place.Quoted {
			with = span.Quote(string(with))
		}
		p.write(place.Element, place.Input, with)
	case place.ResultElement < 0 || place.NoResultValue: // there is nothing to replace
	default:
		p.write(place.ResultElement, place.Result, p.result(place, shown.State.Result()))
		p.write(place.ResultElement, place.Files, []byte("[]"))
	}
}

func (p *plan) elidePart(part *session.Part, place wire.Place, e rule.Elision) {
	switch {
	case e.Shown == "" || part.Type == session.ReasoningPart: // reasoning is signed: all of it or nothing
		p.remove(place.Element, place.Block)
	case !place.Text.Empty():
		p.write(place.Element, place.Text, span.Quote(e.Shown))
	case place.Bare:
		p.write(place.Element, place.Block, span.Quote(e.Shown))
	default:
		p.write(place.Element, place.Block, p.Dialect.Block(p.Decoded.Elements[place.Element].Role, e.Shown))
	}
}

func (p *plan) write(element int, at span.Span, with []byte) {
	if !at.Empty() {
		p.edits[element] = append(p.edits[element], span.Edit{Span: at, With: with})
	}
}

// result writes what is shown of a result in the form that the result had. Blocks that are neither
// text nor media stay.
func (p *plan) result(place wire.Place, shown string) []byte {
	switch {
	case place.Object:
		return span.Make("output", shown)
	case len(place.Keep) == 0:
		return span.Quote(shown)
	}
	list := append([]byte{'['}, p.Dialect.Block("tool", shown)...)
	for _, keep := range place.Keep {
		list = append(append(list, ','), keep.Of(p.Decoded.Text)...)
	}
	return append(list, ']')
}
