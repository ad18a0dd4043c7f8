package tworuns

import "github.com/winnowhq/winnow/session"

// price is what a provider asks for a million tokens, in US dollars.
type price struct {
	input, output, read, write, writeHour float64

	above int // tokens of a prompt beyond which all of the request is billed by then; 0: never
	then  *price
}

// prices are those of the providers' own pages.
var prices = map[string]price{
	"claude-sonnet-4-5": {input: 3, output: 15, read: 0.30, write: 3.75, writeHour: 6, above: 200_000,
		then: &price{input: 6, output: 22.50, read: 0.60, write: 7.50, writeHour: 12}},
	"claude-opus-5-5":  {input: 4, output: 20, read: 0.20, write: 5, writeHour: 8},
	"gpt-4.1":          {input: 2, output: 8, read: 0.50},
	"gemini-2.5-flash": {input: 0.30, output: 2.50, read: 0.03},
}

// of is what a request cost, in US dollars.
func (p price) of(u session.Usage) float64 {
	if p.above > 0 && u.Input+u.Cache.Read+u.Cache.Write > p.above {
		p = *p.then
	}
	short := u.Cache.Write - u.Cache.Write1h
	return (float64(u.Input)*p.input + float64(u.Output+u.Reasoning)*p.output + float64(u.Cache.Read)*p.read +
		float64(short)*p.write + float64(u.Cache.Write1h)*p.writeHour) / 1e6
}

// Bill is the price of a request by its provider's own page, in US dollars. The model is
// one of those that scenes know.
func Bill(model string, u session.Usage) float64 { return prices[model].of(u) }
