package copilot

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// The events of a compaction. The product keeps verbatim what came after the beginning.
const (
	startEvent    = "session.compaction_start"
	completeEvent = "session.compaction_complete"
	// standInEvent is the end of a compaction whose tail a newer one cuts into: the product must
	// not count it, because it counts the messages from the newest beginning on.
	standInEvent = "winnow.compaction_complete"
	// keptEvent is a message that the product has no form for. It ignores events of other types.
	keptEvent = "winnow.message"
)

// mark is the member "winnow" of an event: what the product's own members cannot say. The product
// ignores it.
type mark struct {
	// Session is set in the first event of a file that was written for a session from elsewhere:
	// the session without its messages.
	Session *session.Session `json:"session,omitzero"`

	// Message is the message that the event was written for, in a compaction its marker. What the
	// event itself says is left out of it: From has, for each part, the position among the parts
	// that the event gives, -1 for one that it does not give.
	Message *session.Message `json:"message,omitzero"`
	From    []int            `json:"from,omitzero"`
	// Answer and AnswerFrom are Message and From of the summary, in a compaction.
	Answer     *session.Message `json:"answer,omitzero"`
	AnswerFrom []int            `json:"answerFrom,omitzero"`
	// Of is the id of the message that the event continues, or of the marker whose tail begins.
	Of string `json:"of,omitzero"`

	// Elisions are the committed elisions of what the event holds, Original is the data that they
	// replaced.
	Elisions []elided       `json:"elisions,omitzero"`
	Original jsontext.Value `json:"original,omitzero"`
}

// elided is an elision with its position in the ledger.
type elided struct {
	rule.Elision `json:"elision"`
	Order        int `json:"order"`
}

// readMark reads a winnow member. It returns nil for one that it does not understand.
func readMark(raw jsontext.Value) *mark {
	if raw.Kind() != '{' {
		return nil
	}
	var m mark
	if json.Unmarshal(raw, &m, session.ReadOptions()) != nil {
		return nil
	}
	return &m
}

// continued is the message that the line continues, nil if it is one of its own.
func (r *reader) continued() *session.Message {
	if r.mark == nil || r.mark.Of == "" {
		return nil
	}
	at, ok := r.byID[r.mark.Of]
	if !ok || at >= len(r.Session.Messages) || r.Session.Messages[at].Role != session.Assistant {
		return nil
	}
	return &r.Session.Messages[at]
}

// noted notes where the messages from one on are that the line gave, and what its mark says of
// them.
func (r *reader) noted(before int) {
	at := len(r.lines) - 1
	if m := r.continued(); m != nil {
		r.place(r.byID[r.mark.Of], at)
	}
	for i := before; i < len(r.Session.Messages); i++ {
		m := &r.Session.Messages[i]
		r.byID[m.ID] = i
		r.place(i, at)
	}
	if r.mark == nil || before == len(r.Session.Messages) {
		return
	}
	if m := r.mark.Message; m != nil {
		r.restores = append(r.restores, restore{before, m, r.mark.From})
		r.byID[m.ID] = before
	}
	if m := r.mark.Answer; m != nil && before+1 < len(r.Session.Messages) {
		r.restores = append(r.restores, restore{before + 1, m, r.mark.AnswerFrom})
		r.byID[m.ID] = before + 1
	}
}

// place notes that the parts of a message which have no line yet are on this one.
func (r *reader) place(message, line int) {
	for j := range r.Session.Messages[message].Parts {
		at := transcript.Place{Message: message, Part: j}
		if _, ok := r.spots[at]; !ok {
			r.spots[at] = line
		}
	}
	own := transcript.Place{Message: message, Part: -1} // the message itself
	if _, ok := r.spots[own]; !ok {
		r.spots[own] = line
	}
}

// finish gives messages back that marks hold, finds where parts are, and reads the ledger.
func (r *reader) finish() {
	from := map[int][]int{}
	log := r.Session.Messages
	for _, back := range r.restores {
		if back.message >= len(log) || back.as.Role != log[back.message].Role {
			continue // the user went back to before it
		}
		was := log[back.message].Marker()
		m := jsonl.Given(back.as, back.from, log[back.message].Parts)
		if marker := m.Marker(); marker != nil && was != nil {
			marker.TailStartID = was.TailStartID
		}
		log[back.message], from[back.message] = m, append([]int{}, back.from...)
	}
	for i := range r.lines {
		if m := r.lines[i].mark; m != nil && m.Session != nil {
			r.Session = *m.Session
			r.Session.Messages = log
		}
	}
	for i := range log {
		m := &log[i]
		r.owner[m.ID] = r.spots[transcript.Place{Message: i, Part: -1}]
		owner := &r.lines[r.owner[m.ID]]
		owner.messages = append(owner.messages, m.ID)
		for j := range m.Parts {
			native := j
			if kept, ok := from[i]; ok {
				if native = -1; j < len(kept) {
					native = kept[j]
				}
			}
			s := shown{i, r.owner[m.ID], -1}
			if at, ok := r.spots[transcript.Place{Message: i, Part: native}]; ok && native >= 0 {
				s.line = at
			}
			if at, ok := r.results[transcript.Place{Message: i, Part: native}]; ok {
				s.result = at
			}
			r.parts[m.Parts[j].ID] = s
		}
	}
	r.tails(log)
	r.ledger()
}

// tails names the messages that tails begin with as they are called now.
func (r *reader) tails(log []session.Message) {
	for i := range log {
		if marker := log[i].Marker(); marker != nil {
			if at, ok := r.byID[marker.TailStartID]; ok && at < i {
				marker.TailStartID = log[at].ID
			}
		}
	}
}

// ledger reads the elisions that are noted, in the order of their commits.
func (r *reader) ledger() {
	var all []elided
	for i := range r.lines {
		if r.lines[i].mark != nil {
			all = append(all, r.lines[i].mark.Elisions...)
		}
	}
	slices.SortStableFunc(all, func(a, b elided) int { return cmp.Compare(a.Order, b.Order) })
	seen := map[rule.Key]bool{}
	var found []rule.Elision
	for _, e := range all {
		if at, ok := r.parts[e.Part]; ok && !seen[e.Key()] {
			seen[e.Key()], e.Message = true, r.Session.Messages[at.message].ID
			found = append(found, e.Elision)
		}
	}
	r.Ledger = rule.NewLedger(found...)
}
