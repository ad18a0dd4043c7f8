package edit

import (
	"fmt"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

func (b *batch) restore() {
	gone := map[rule.Key]bool{}
	for _, t := range b.targets {
		if t.settled {
			continue
		}
		if _, in := b.at[t.message.ID]; !in {
			b.quote(t)
			continue
		}
		standing := b.standing(t.part)
		if len(standing) == 0 {
			t.already("it is shown whole")
			continue
		}
		before := b.shownTokens(t.part, b.next)
		others := map[string]bool{}
		for _, el := range standing {
			if el.Part != t.Part && !others[el.Part] && !gone[el.Key()] {
				others[el.Part] = true
				_, p := session.FindPart(b.s.Log, el.Part)
				before += b.shownTokens(p, b.next)
			}
			if !gone[el.Key()] {
				gone[el.Key()] = true
				b.Replaced = append(b.Replaced, el)
			}
		}
		b.next = b.next.Without(keysOf(standing)...)
		t.OK, t.settled = true, true
		t.Saved = before - b.shownTokens(t.part, b.next)
		for part := range others {
			_, p := session.FindPart(b.s.Log, part)
			t.Saved -= b.shownTokens(p, b.next)
		}
		if n := len(others); n > 0 {
			t.Reason = fmt.Sprintf("with %d more that its summary stood for", n)
		}
	}
}

// quote shows again what a compaction folded, if there is room for it.
func (b *batch) quote(t *target) {
	s := b.s
	if why := b.shown.Refuse(s.Log, s.State.Undone, t.message, t.part); why != nil {
		if t.refuse(why.Code, why.Reason); why.Code == rule.Already {
			t.already(why.Reason)
		}
		return
	}
	parts := append(b.Quote[:len(b.Quote):len(b.Quote)], t.Part)
	before, after := b.quotation(b.Quote), b.quotation(parts)
	if why := NoRoom(s, append(b.window, after...), s.State.Ledger.Without(keysOf(b.Replaced)...)); why != nil {
		t.refuse(why.Code, why.Reason)
		return
	}
	size := func(quoted []session.Message) int { return view.Tokens(quoted, rule.Ledger{}, s.Facts) }
	t.OK, t.settled, t.Saved = true, true, size(before)-size(after)
	t.Reason = "quoted behind the summary, with its place in the session"
	b.Quote = parts
}

// quotation is the message that would quote some parts.
func (b *batch) quotation(parts []string) []session.Message {
	if len(parts) == 0 {
		return nil
	}
	unnamed := pivot.Identity{NewID: func(string) string { return "" }}
	q := pivot.QuoteRestored(b.s.Log, parts...)
	return []session.Message{pivot.QuotationMessage(unnamed, "", nil, session.Note{}, q)}
}

// standing are the elisions of a part, and those of the parts whose summary it shows.
func (b *batch) standing(p *session.Part) []rule.Elision {
	ledger := b.s.State.Ledger
	all := ledger.Of(p.ID)
	if len(all) == 0 {
		return nil
	}
	for _, el := range ledger.All() {
		if el.Part != p.ID && b.marks.LeansOn(el, p) {
			all = append(all, ledger.Of(el.Part)...)
		}
	}
	return all
}
