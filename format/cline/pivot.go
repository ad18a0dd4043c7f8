package cline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// summaryHead is what the product writes before a summary.
const summaryHead = "Context summary:\n\n"

// hold keeps a pivot for its place in the log: behind the last of the records that its mark names,
// or here if there is none any more.
func (r *reader) hold(at int) {
	behind := at
	after := r.records[at].mark.After
	for i := at + 1; i < len(r.records) && after != ""; i++ {
		if m := &r.records[i]; !m.damaged && splitOf(m.ID, after) {
			behind = i
		}
	}
	r.held = append(r.held, held{record: at, behind: behind, tail: len(r.Session.Messages)})
}

// release puts the pivots into the log that are behind this record.
func (r *reader) release(at int) {
	r.held = slices.DeleteFunc(r.held, func(h held) bool {
		if h.behind != at {
			return false
		}
		r.pivot(h)
		return true
	})
}

// pivot appends a marker and its summary.
func (r *reader) pivot(h held) {
	rec := &r.records[h.record]
	before := len(r.Session.Messages)
	marker := r.begin(session.User, rec, h.record)
	r.add(marker, session.Part{Type: session.CompactionPart}, spot{h.record, -1})
	if h.tail < before {
		r.restores[len(r.restores)-1].tail = h.tail
	}
	if rec.mark.Theirs {
		r.IsTheirs(rec.mark.Message.ID)
	}
	answer := r.Message(session.Assistant, rec.mark.Answer.ID, "")
	r.byID[answer.ID] = before + 1
	rec.messages = append(rec.messages, before+1)
	for i, b := range blocksOf(rec.Content) {
		if b.Type != "text" {
			continue
		}
		if i == 0 {
			b.Text = strings.TrimPrefix(b.Text, summaryHead)
		}
		r.add(answer, session.Part{Type: session.TextPart, Text: b.Text}, spot{h.record, b.at})
	}
	r.restores = append(r.restores, restore{before + 1, rec.mark.Answer, rec.mark.AnswerFrom, -1})
}

// finish gives messages back that marks hold, finds where their parts are, and reads the ledger.
func (r *reader) finish() {
	from := map[int][]int{}
	for _, back := range r.restores {
		m := jsonl.Given(back.as, back.from, r.Session.Messages[back.message].Parts)
		r.Session.Messages[back.message] = m
		r.byID[m.ID], from[back.message] = back.message, back.from
		if back.from == nil {
			from[back.message] = []int{}
		}
	}
	for _, back := range r.restores { // by position: the product gives new ids to what it splits
		if marker := r.Session.Messages[back.message].Marker(); marker != nil {
			marker.TailStartID = ""
			if back.tail >= 0 {
				marker.TailStartID = r.Session.Messages[back.tail].ID
			}
		}
	}
	owner := make([]int, len(r.Session.Messages))
	for i := range slices.Backward(r.records) {
		for _, at := range r.records[i].messages {
			owner[at] = i
		}
	}
	last := func(id string, record int) {
		if at, ok := r.last[id]; record >= 0 && !r.records[record].at.Empty() && (!ok || at < record) {
			r.last[id] = record
		}
	}
	for i := range r.Session.Messages {
		m := &r.Session.Messages[i]
		last(m.ID, owner[i])
		for j := range m.Parts {
			native := j
			if kept, ok := from[i]; ok {
				if native = -1; j < len(kept) {
					native = kept[j]
				}
			}
			s := shown{i, spot{owner[i], -1}, spot{-1, -1}}
			if here, ok := r.spots[transcript.Place{Message: i, Part: native}]; ok {
				s.part = here
			}
			if result, ok := r.results[transcript.Place{Message: i, Part: native}]; ok {
				s.result = result
			}
			r.parts[m.Parts[j].ID] = s
			last(m.ID, s.part.record)
			last(m.ID, s.result.record)
		}
	}
	for i := range r.records {
		if mark := r.records[i].mark; mark != nil && mark.Session != nil {
			messages := r.Session.Messages
			r.Session = *mark.Session
			r.Session.Messages = messages
		}
	}
	r.ledger()
}

// ledger reads the elisions that are noted, in the order of their commits. What is shown of a call
// may be noted at its result too.
func (r *reader) ledger() {
	var all []elided
	for i := range r.records {
		if r.records[i].mark != nil {
			all = append(all, r.records[i].mark.Elisions...)
		}
	}
	slices.SortStableFunc(all, func(a, b elided) int { return cmp.Compare(a.Order, b.Order) })
	seen := map[rule.Key]bool{}
	var found []rule.Elision
	for _, e := range all {
		at, ok := r.parts[e.Part]
		if !ok || seen[e.Key()] {
			continue
		}
		seen[e.Key()], e.Message = true, r.Session.Messages[at.message].ID
		found = append(found, e.Elision)
	}
	r.Ledger = rule.NewLedger(found...)
}

// runs is how many prompts of the user's a record stands for, as the product counts them.
func (r *reader) runs(rec *record) int {
	switch {
	case rec.Role != "user" || rec.hidden && (rec.mark == nil || !rec.mark.Folded):
		return 0
	case rec.Metadata.Runs != nil:
		return *rec.Metadata.Runs
	}
	for _, at := range rec.messages {
		if r.Session.Messages[at].Written() {
			return 1
		}
	}
	return 0
}
