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
	by, _ := c.Misses()
	if len(by) == 0 {
		return
	}
	pg.heading("Missed the cache", display.MissedSentence(c))
	var rows [][]span
	row := func(s style, what string, tokens int, cost float64, why string) {
		dollars := quantity.Unknown
		if cost > 0 {
			dollars = quantity.Dollars(cost)
		}
		rows = append(rows, []span{say(s, what), figure(s, tokens), say(s, dollars), say(faint, why)})
	}
	for _, sum := range by {
		row(normal, quantity.Count(sum.Requests, "request"), sum.Tokens, sum.Cost, display.Cause(sum.Cause))
	}
	for _, r := range display.DearestMisses(c, mostMisses) {
		row(faint, "step "+quantity.Number(r.Step), r.Miss.Tokens, r.Miss.Cost, display.Why(r.Miss))
	}
	pg.grid(2, "<>><", rows...)
}
