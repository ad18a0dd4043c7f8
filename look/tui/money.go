package tui

import (
	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// paidGlyphs tell the stretches of a bill apart without colour, in the order of display.Bills.
var paidGlyphs = [...]string{"█", "▓", "░", "▒", "·"}

// mostMisses is how many of the dearest misses are listed.
const mostMisses = 3

// money says what the bill was for, and what missed the provider's cache.
func (pg *page) money(r report.Report) {
	c := r.Costs
	if c == nil {
		return
	}
	pg.heading("Bill", display.Billed(&r))
	usage := r.Bill.Total().Usage
	tokens := []int{usage.Cache.Read, usage.Cache.Write, usage.Input, usage.Output + usage.Reasoning, 0}
	var segments []segment
	var rows [][]span
	for i, paid := range display.Bills() {
		dollars, tone := paid.Of(&c.Split), toned(paid.Tone)
		segments = append(segments, segment{int(1e6 * dollars / c.Total), paidGlyphs[i], tone})
		if dollars <= 0 {
			continue
		}
		row := []span{say(tone, paidGlyphs[i]), say(normal, paid.Name), say(normal, quantity.Dollars(dollars)),
			say(strong, quantity.Share(dollars/c.Total)), say(faint, "")}
		if tokens[i] > 0 {
			row[len(row)-1] = say(faint, quantity.Count(tokens[i], "token"))
		}
		rows = append(rows, row)
	}
	pg.add(append(line{say(normal, "  ")}, stacked(segments, min(72, pg.width-4))...)...)
	pg.grid(2, ".<>><", rows...)
	pg.missed(c)
}

// missed lists why requests missed the cache, and the dearest of them.
func (pg *page) missed(c *report.Costs) {
	causes, dearest := display.Misses(c, mostMisses)
	if len(causes) == 0 {
		return
	}
	pg.heading("Missed the cache", display.MissedSentence(c))
	var rows [][]span
	for i, m := range append(causes, dearest...) {
		s := normal
		if i >= len(causes) {
			s = faint
		}
		rows = append(rows, []span{say(s, m.What), say(s, m.Tokens), say(s, m.Cost), say(faint, m.Why)})
	}
	pg.grid(2, "<>><", rows...)
}
