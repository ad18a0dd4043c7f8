package claudecode

import (
	"iter"
	"math"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/session"
)

// paid are requests in a few dozen bytes each, without a pointer in them: a file may have a
// million.
type paid struct {
	requests []request
	texts    []string // models and tiers; the first is the empty one
	numbers  map[string]int32
	large    map[int32]*session.Usage // position of a request → a report with numbers that do not fit
}

type request struct {
	time                                       session.Millis
	input, output, read, write, hour, searches uint32
	model, tier                                int32 // among the texts
	reported                                   bool
	compacts                                   bool // the conversation, before the request that it is a part of
	side                                       bool // of a sub-agent
}

func newPaid() paid {
	return paid{texts: []string{""}, numbers: map[string]int32{"": 0}, large: map[int32]*session.Usage{}}
}

// text returns the number of a text.
func (p *paid) text(text string) int32 {
	n, known := p.numbers[text]
	if !known {
		n = int32(len(p.texts))
		p.texts = append(p.texts, text)
		p.numbers[text] = n
	}
	return n
}

// report says what a request took, instead of what was said before.
func (p *paid) report(at int32, u *session.Usage) {
	r := &p.requests[at]
	r.reported = true
	delete(p.large, at)
	for _, n := range []int{u.Input, u.Output, u.Cache.Read, u.Cache.Write, u.Cache.Write1h, u.Searches} {
		if n < 0 || uint64(n) > math.MaxUint32 {
			p.large[at] = u
			return
		}
	}
	r.input, r.output, r.searches, r.tier = uint32(u.Input), uint32(u.Output), uint32(u.Searches), p.text(u.Tier)
	r.read, r.write, r.hour = uint32(u.Cache.Read), uint32(u.Cache.Write), uint32(u.Cache.Write1h)
}

// usageOf is what a request took, nil if that is unknown.
func (p *paid) usageOf(at int32) *session.Usage {
	r := &p.requests[at]
	if u, large := p.large[at]; large || !r.reported {
		return u
	}
	return &session.Usage{
		Input: int(r.input), Output: int(r.output), Searches: int(r.searches), Tier: p.texts[r.tier],
		Cache: session.CacheUsage{Read: int(r.read), Write: int(r.write), Write1h: int(r.hour)},
	}
}

// all yields the requests that were billed, each with its position, by a function that tells which
// of them the log has. They are without their ids.
func (p *paid) all(inLog func(at int32) bool) iter.Seq2[int32, bill.Request] {
	return func(yield func(int32, bill.Request) bool) {
		for i := range p.requests {
			at, from := int32(i), &p.requests[i]
			r := bill.Request{Kind: bill.Left, Time: from.time, Model: p.texts[from.model], Usage: p.usageOf(int32(i))}
			switch {
			case r.Model == "" && r.Usage == nil || isSynthetic(r.Model):
				continue
			case from.compacts:
				r.Kind = bill.Summary
			case inLog(at):
				r.Kind = bill.Step
			case from.side:
				r.Kind = bill.Agent
			}
			if !yield(at, r) {
				return
			}
		}
	}
}
