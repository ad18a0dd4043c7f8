package qwen

import (
	"bytes"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/format/internal/gemini"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// record is what a line says. Spans count from the beginning of the line.
type record struct {
	raw    []byte         // without our elisions
	shown  []byte         // with them, as it is in the file; nil if there are none
	line   int            // 1-based
	whole  span.Span      // in the file, line break included
	at     span.Span      // of the JSON in the file
	marks  *marks         // nil if there are none
	have   []rule.Elision // which show in it
	said   *content       // what its message says
	copies []repeat       // of other contents, in its compressed history

	UUID       string `json:"uuid"`
	Parent     string `json:"parentUuid"`
	Session    string `json:"sessionId"`
	Timestamp  string `json:"timestamp"`
	Kind       string `json:"type"` // user, assistant, tool_result, system
	Subtype    string `json:"subtype"`
	Provenance string `json:"provenance"` // who wrote it; older versions do not say
	Cwd        string `json:"cwd"`
	Version    string `json:"version"`
	Branch     string `json:"gitBranch"`
	Model      string `json:"model"`

	Message struct {
		Parts span.Span `json:"parts"`
	} `json:"message"`
	Usage   *usage    `json:"usageMetadata"`
	Payload span.Span `json:"systemPayload"`
	Result  struct {
		Status string `json:"status"`
	} `json:"toolCallResult"`
	Winnow span.Span `json:"winnow"`
}

// repeat is a content of a compressed history that repeats one that was said.
type repeat struct {
	at    int    // in the history
	parts []byte // without our elisions
	slots []gemini.Slot
}

// usage are the counts of one request. The prompt has the cached ones in it, the candidates may
// have the thoughts in them.
type usage struct {
	Prompt     int `json:"promptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
	Cached     int `json:"cachedContentTokenCount"`
	Total      int `json:"totalTokenCount"`
}

func (u *usage) canonical() *session.Usage {
	if u == nil {
		return nil
	}
	out := &session.Usage{
		Total: u.Total, Input: max(0, u.Prompt-u.Cached), Output: u.Candidates, Reasoning: u.Thoughts,
		Cache: session.CacheUsage{Read: u.Cached},
	}
	if u.Total > 0 && u.Total < u.Prompt+u.Candidates+u.Thoughts && u.Candidates >= u.Thoughts {
		out.Output -= u.Thoughts
	}
	return out
}

// parse reads a line. What was read before an error is kept.
func parse(line []byte) (record, error) {
	r := record{raw: line}
	if span.Kind(line) != '{' {
		return r, span.ErrNotObject
	}
	err := span.Decode(line, &r)
	return r, err
}

// owned reports whether a record is one of this product's.
func (r *record) owned() bool {
	if r.UUID == "" || r.Session == "" {
		return false
	}
	return span.Kind(r.Message.Parts.Of(r.raw)) == '[' || !r.Payload.Empty() || r.Kind == "tool_result" ||
		bytes.Contains(r.raw, []byte(`"message":{"role":"user","parts":[`)) // in a line that is cut
}

// speaks reports whether a record is a message.
func (r *record) speaks() bool {
	return r.Kind == "user" || r.Kind == "assistant" || r.Kind == "tool_result"
}

// silent says why a message is not in the log, "" if it may be.
func (r *record) silent() string {
	switch {
	case !r.speaks():
		return ""
	case r.UUID == "":
		return "a message without a uuid"
	case span.Kind(r.Message.Parts.Of(r.raw)) != '[':
		return "a message without parts"
	}
	return ""
}

// linked reports whether the product takes a record for one of the conversation.
func (r *record) linked() bool {
	beside := r.Kind == "system" && (strings.HasPrefix(r.Subtype, "session_artifact_") ||
		r.Subtype == "session_sources_snapshot" || strings.HasPrefix(r.Subtype, "managed_session_"))
	return r.UUID != "" && !beside
}

// lines reads every line of the file.
func (r *reader) lines() {
	for l := range span.Lines(r.Source) {
		if l.Text.Empty() {
			continue
		}
		one, err := parse(l.Text.Of(r.Source))
		if err != nil {
			r.Damaged = append(r.Damaged, jsonl.Damage(l, span.Reason(err, "the line")))
			continue
		}
		if reason := one.silent(); reason != "" {
			r.Damaged = append(r.Damaged, jsonl.Damage(l, reason))
		}
		r.Counts.Entries++
		one.line, one.whole, one.at = l.Number, l.Whole, l.Text
		one.unmark()
		if one.marks != nil {
			one.have = one.marks.Elisions
		}
		r.records = append(r.records, one)
	}
}

// branch finds the positions of the records that the product would resume, in their order: the
// newest one, and from it along the parents. Records with the same uuid are pieces of one. If a
// parent is missing, the product ends the conversation; here it goes on at the record before, for
// nothing shows that that was left.
func (r *reader) branch() {
	pieces := map[string][]int{}
	before := make([]int, len(r.records)) // the record of the conversation before each, -1
	last := -1
	for i := range r.records {
		before[i] = last
		if one := &r.records[i]; one.linked() {
			pieces[one.UUID] = append(pieces[one.UUID], i)
			last = i
		}
	}
	var path []int
	seen := map[string]bool{}
	for last >= 0 {
		uuid := r.records[last].UUID
		if seen[uuid] {
			break
		}
		seen[uuid] = true
		all := pieces[uuid]
		for _, i := range slices.Backward(all) {
			path = append(path, i)
		}
		first := all[0]
		parent := r.records[first].Parent
		if parent == "" {
			break
		}
		if at, known := pieces[parent]; known {
			last = at[0]
		} else {
			last = before[first]
		}
	}
	slices.Reverse(path)
	r.path = path
}

// event is what the product notes of a request.
type event struct {
	Event struct {
		Name     string `json:"event.name"`
		Model    string `json:"model"`
		Agent    string `json:"subagent_name"`
		Input    int    `json:"input_token_count"`
		Output   int    `json:"output_token_count"`
		Cached   int    `json:"cached_content_token_count"`
		Thoughts int    `json:"thoughts_token_count"`
		Total    int    `json:"total_token_count"`
	} `json:"uiEvent"`
}

// spend lists the requests that no message of the session answers: of sub-agents, for summaries,
// and of branches that were left. An answer is noted before its message is.
func (r *reader) spend(active map[int]bool) {
	var open []bill.Request // noted, and no message so far
	settle := func(kind bill.Kind, requests []bill.Request) {
		for _, one := range requests {
			one.Kind = kind
			r.Beside = append(r.Beside, one)
		}
	}
	for i := range r.records {
		one := &r.records[i]
		request := bill.Request{ID: one.UUID, Time: jsonl.Millis(one.Timestamp)}
		switch {
		case one.Kind == "assistant":
			settle(bill.Left, open[:max(0, len(open)-1)])
			open = nil
			if !active[i] && one.Usage != nil {
				request.Model, request.Usage = transcript.ModelOf(one.Model).String(), one.Usage.canonical()
				settle(bill.Left, []bill.Request{request})
			}
		case one.Kind != "system":
		case one.Subtype == "chat_compression":
			settle(bill.Summary, open)
			open = nil
		case one.Subtype == "ui_telemetry":
			var note event
			e := &note.Event
			if span.Decode(one.Payload.Of(one.raw), &note) != nil || e.Name != "qwen-code.api_response" {
				continue
			}
			took := usage{e.Input, e.Output, e.Thoughts, e.Cached, e.Total}
			request.Model, request.Usage = transcript.ModelOf(e.Model).String(), took.canonical()
			if e.Agent != "" {
				settle(bill.Agent, []bill.Request{request})
			} else {
				open = append(open, request)
			}
		}
	}
	settle(bill.Left, open)
}
