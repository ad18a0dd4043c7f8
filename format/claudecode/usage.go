package claudecode

import (
	"bytes"
	"fmt"
	"iter"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// spending is what the requests of a file took, once each. The product writes an entry for each
// block of an answer and repeats the usage in it, as it was by then; it copies entries behind a
// compaction and into the session that goes on with another; and entries of several sub-agents come
// in turns.
type spending struct {
	paid
	names *format.Names
	by    []int32  // name of a key → position of its request, plus one
	ids   []string // of the requests, where they are kept
	keep  bool
	model string // the newest, as it is written: most requests have the same
	known int32  // and the number of its name with its provider
}

// newSpending numbers the keys of requests with names.
func newSpending(names *format.Names) *spending {
	return &spending{paid: newPaid(), names: names}
}

// note notes an entry; side is set if it is a sub-agent's. It returns the position of the
// request that a model's entry answers, -1 for other entries.
func (s *spending) note(e *entry, side bool) int32 {
	switch {
	case e.Kind == "assistant":
		return s.add(keyOf(e), e.Message.Model, e.time, e.of(e.Message.Usage), side)
	case e.Kind == "progress" && bytes.Contains(e.of(e.Data), []byte(`"agent_progress"`)):
		var data struct {
			Type    string `json:"type"`
			Message struct {
				Type    string `json:"type"`
				Message struct {
					ID    string         `json:"id"`
					Model string         `json:"model"`
					Usage jsontext.Value `json:"usage"`
				} `json:"message"`
			} `json:"message"`
		}
		err := json.Unmarshal(e.of(e.Data), &data, session.ReadOptions())
		m := &data.Message.Message
		if err == nil && data.Type == "agent_progress" && data.Message.Type == "assistant" && m.ID != "" {
			s.add(m.ID, m.Model, e.time, m.Usage, true)
		}
	}
	return -1
}

// keyOf tells one request from others.
func keyOf(e *entry) string {
	switch {
	case e.Message.ID != "":
		return e.Message.ID
	case e.UUID != "":
		return e.UUID
	}
	return fmt.Sprintf("line-%d", e.line)
}

func (s *spending) add(key, model string, time session.Millis, usage []byte, side bool) int32 {
	reported := tokens(usage)
	if model != s.model {
		s.model, s.known = model, s.text(named(model))
	}
	n := s.names.Of(key)
	at, known := s.find(n)
	if !known {
		at = s.begin(key, request{time: time, side: side})
		s.by[n] = at + 1
		if pass := compactionUsage(usage); pass != nil {
			s.report(s.begin(key+":compaction", request{time: time, side: side, model: s.known, compacts: true}), pass)
		}
	}
	r := &s.requests[at]
	if model != "" {
		r.model = s.known
	}
	r.side = r.side && side
	if before := s.usageOf(at); reported != nil && (before == nil || reported.Output >= before.Output) {
		s.report(at, reported) // it grows while the answer comes in
	}
	return at
}

// find returns the position of the request whose key has this name.
func (s *spending) find(key name) (at int32, known bool) {
	if short := int(key) + 1 - len(s.by); short > 0 {
		s.by = append(s.by, make([]int32, short)...)
	}
	return s.by[key] - 1, s.by[key] > 0
}

// begin adds a request and returns its position.
func (s *spending) begin(id string, r request) int32 {
	s.requests = append(s.requests, r)
	if s.keep {
		s.ids = append(s.ids, id)
	}
	return int32(len(s.requests) - 1)
}

// usage is what the request of an entry took, nil if that is unknown.
func (s *spending) usage(e *entry) *session.Usage {
	if at, known := s.find(s.names.Of(keyOf(e))); known {
		return s.usageOf(at)
	}
	return nil
}

// Synthetic is what the product writes in the place of a model over what it says itself.
const synthetic = "<synthetic>"

func isSynthetic(name string) bool { return name == synthetic }

// named is a model with its provider.
func named(model string) string {
	if model == "" || isSynthetic(model) {
		return model
	}
	return "anthropic/" + model
}

// tokens is what the provider reported: nil if it cannot be read, as when a number is too large.
func tokens(usage []byte) *session.Usage {
	var reported struct {
		counts
		Speed string `json:"speed"`
		Tier  string `json:"service_tier"`
		Place string `json:"inference_geo"`
		Tools struct {
			Searches int `json:"web_search_requests"`
		} `json:"server_tool_use"`
	}
	if len(usage) == 0 || json.Unmarshal(usage, &reported, session.ReadOptions()) != nil {
		return nil
	}
	u := reported.usage()
	u.Searches = reported.Tools.Searches
	u.Tier = wire.Service(reported.Speed, reported.Tier, reported.Place)
	return u
}

// counts are the tokens of one pass of a request.
type counts struct {
	Input   int `json:"input_tokens"`
	Output  int `json:"output_tokens"`
	Read    int `json:"cache_read_input_tokens"`
	Write   int `json:"cache_creation_input_tokens"`
	Written struct {
		Minutes int `json:"ephemeral_5m_input_tokens"`
		Hour    int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

func (c *counts) usage() *session.Usage {
	write := c.Write
	if write == 0 {
		write = c.Written.Minutes + c.Written.Hour
	}
	cache := session.CacheUsage{Read: c.Read, Write: write, Write1h: c.Written.Hour}
	return &session.Usage{Input: c.Input, Output: c.Output, Cache: cache}
}

// compactionUsage is what the provider took to compact the conversation before it answered, which
// the rest of the usage does not include; nil if it did not.
func compactionUsage(usage []byte) *session.Usage {
	if !bytes.Contains(usage, []byte(`"compaction"`)) {
		return nil
	}
	var reported struct {
		Passes []struct {
			Type string `json:"type"`
			counts
		} `json:"iterations"`
	}
	if json.Unmarshal(usage, &reported, session.ReadOptions()) != nil {
		return nil
	}
	for i := range reported.Passes {
		if p := &reported.Passes[i]; p.Type == "compaction" {
			return p.usage()
		}
	}
	return nil
}

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
