package claudecode

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/session"
)

// spending is what the requests of a file took, once each. The product writes an entry for each block of an answer and repeats the usage in it, as it was by
// then; it copies entries behind a compaction and into the session that goes on with another; and entries of several sub-agents come in turns.
type spending struct {
	scan     *scanner
	requests []request
	by       map[string]int // key → position in requests
	model    string         // the newest, by its name with its provider: most requests have the same
}

type request struct {
	bill.Request
	side bool // of a sub-agent
}

func newSpending(s *scanner) *spending { return &spending{scan: s, by: map[string]int{}} }

// note takes in an entry; side tells whether it is a sub-agent's.
func (s *spending) note(e *entry, side bool) {
	switch {
	case e.kind == "assistant":
		s.add(keyOf(e), e.model, e.time, e.usage, side)
	case e.kind == "progress" && bytes.Contains(e.data, []byte(`"agent_progress"`)):
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
		if json.Unmarshal(e.data, &data, session.ReadOptions()) != nil || data.Type != "agent_progress" || data.Message.Type != "assistant" || data.Message.Message.ID == "" {
			return
		}
		m := data.Message.Message
		s.add(m.ID, m.Model, e.time, m.Usage, true)
	}
}

// keyOf tells one request from others.
func keyOf(e *entry) string {
	switch {
	case e.messageID != "":
		return e.messageID
	case e.uuid != "":
		return e.uuid
	}
	return fmt.Sprintf("line-%d", e.line)
}

func (s *spending) add(key, model string, time session.Millis, usage []byte, side bool) {
	reported := s.scan.tokens(usage)
	at, known := s.by[key]
	if !known {
		at = len(s.requests)
		s.by[key] = at
		s.requests = append(s.requests, request{bill.Request{ID: key, Time: time}, side})
		if pass := s.scan.compaction(usage); pass != nil {
			s.requests = append(s.requests, request{bill.Request{ID: key + ":compaction", Kind: bill.Summary, Time: time, Model: named(model), Usage: pass}, side})
		}
	}
	r := &s.requests[at]
	if name := named(model); name != s.model {
		s.model = name
	}
	if model != "" {
		r.Model = s.model
	}
	r.side = r.side && side
	if reported != nil && (r.Usage == nil || reported.Output >= r.Usage.Output) {
		r.Usage = reported // it grows while the answer comes in
	}
}

// usage is what the request of an entry took, nil where nothing that can be read says so.
func (s *spending) usage(e *entry) *session.Usage {
	if at, known := s.by[keyOf(e)]; known {
		return s.requests[at].Usage
	}
	return nil
}

// list are the requests that were billed: those of the log, by a function of their keys, and those beside it.
func (s *spending) list(inLog func(key string) bool) (log, beside []bill.Request) {
	log = make([]bill.Request, 0, len(s.requests))
	for i := range s.requests {
		r := s.requests[i].Request
		switch {
		case r.Model == "" && r.Usage == nil || isSynthetic(r.Model):
			continue
		case r.Kind == bill.Summary:
			beside = append(beside, r)
			continue
		case inLog(r.ID):
			r.Kind = bill.Step
			log = append(log, r)
			continue
		case s.requests[i].side:
			r.Kind = bill.Agent
		default:
			r.Kind = bill.Left
		}
		beside = append(beside, r)
	}
	return log, beside
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

// tokens is what the provider reported: nil where it cannot be read, numbers that are too large included.
func (s *scanner) tokens(usage []byte) *session.Usage {
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
	switch {
	case reported.Speed != "" && reported.Speed != "standard":
		u.Tier = reported.Speed
	case reported.Tier != "" && reported.Tier != "standard":
		u.Tier = reported.Tier
	case reported.Place != "" && reported.Place != "not_available" && reported.Place != "global":
		u.Tier = reported.Place
	}
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
	return &session.Usage{Input: c.Input, Output: c.Output, Cache: session.CacheUsage{Read: c.Read, Write: write, Write1h: c.Written.Hour}}
}

// compaction is what the provider took to compact the conversation before it answered, which the rest of the usage is without; nil where it did not.
func (s *scanner) compaction(usage []byte) *session.Usage {
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
