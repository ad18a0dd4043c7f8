package codex

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// sessionMeta reads the head of a rollout.
func (r *reader) sessionMeta(payload []byte, m *mark) error {
	var meta struct {
		ID        string `json:"id"`
		Timestamp string `json:"timestamp"`
		Cwd       string `json:"cwd"`
		Version   string `json:"cli_version"`
		Provider  string `json:"model_provider"`
		Parent    string `json:"parent_thread_id"`
		Forked    string `json:"forked_from_id"`
	}
	if err := decode(payload, &meta); err != nil {
		return err
	}
	if r.meta { // a fork repeats the head of what it was forked from
		return nil
	}
	r.meta = true
	r.provider, r.cwd = meta.Provider, meta.Cwd
	info := &r.doc.Session.Info
	if m != nil && m.Info != nil {
		*info, r.doc.Session.Unknown = *m.Info, m.Session
		return nil
	}
	info.ID, info.Directory, info.Version = meta.ID, meta.Cwd, meta.Version
	info.ParentID = cmp.Or(meta.Parent, meta.Forked)
	info.Time.Created = jsonl.Millis(meta.Timestamp)
	return nil
}

// event reads what events tell that items do not: where turns begin and end, what was rolled back,
// and in older files what a request cost. Messages in events repeat response items.
func (r *reader) event(payload []byte) error {
	switch typeOf(payload) {
	case "task_started", "turn_started":
		r.endTurn()
		r.inTurn = true
	case "task_complete", "turn_complete":
		r.endTurn()
		r.doc.Failed = span.String(span.Get(payload, "error", "message"))
	case "turn_aborted":
		r.endTurn()
	case "thread_rolled_back":
		var back struct {
			Turns int `json:"num_turns"`
		}
		if err := decode(payload, &back); err != nil {
			return err
		}
		r.endTurn()
		r.rollBack(back.Turns)
	case "token_count":
		u, found, err := r.count.usage(eventLine, payload)
		if found {
			r.usage(u)
		}
		return err
	}
	return nil
}

// usage notes what a request took on the step that it belongs to: the open one, or in some older
// versions, which write the count first, the one to come.
func (r *reader) usage(u usage) {
	tokens := u.canonical()
	if r.step >= 0 && r.doc.Session.Messages[r.step].Tokens == nil {
		r.doc.Session.Messages[r.step].Tokens = &tokens
		return
	}
	r.unclaimed()
	r.pending = &tokens
}

// unclaimed notes that a request was paid for whose answer is not in the log.
func (r *reader) unclaimed() {
	if r.pending == nil {
		return
	}
	id := fmt.Sprintf("unclaimed-%d", len(r.doc.Beside)+1)
	r.doc.Beside = append(r.doc.Beside, request(id, bill.Left, r.provider, r.model, r.pending))
	r.pending = nil
}

func (r *reader) endStep() { r.step, r.answered = -1, false }

// endTurn closes what a turn leaves open. A compaction in a turn without any message was asked for
// by hand.
func (r *reader) endTurn() {
	r.endStep()
	r.unclaimed()
	if r.compaction >= 0 && r.inTurn && !r.spoken && r.compaction < len(r.doc.Session.Messages) {
		if marker := r.doc.Session.Messages[r.compaction].Marker(); marker != nil {
			marker.Auto = false
		}
	}
	r.compaction, r.spoken, r.inTurn = -1, false, false
}

// rollBack takes the newest turns out of the session. They stay in the file.
func (r *reader) rollBack(turns int) {
	messages := r.doc.Session.Messages
	from := len(messages)
	for i := len(messages) - 1; i >= 0 && turns > 0; i-- {
		if messages[i].Written() {
			turns--
			from = i
		}
	}
	r.doc.Counts.Aside += len(messages) - from
	for id, c := range r.calls {
		if c.message >= from {
			delete(r.calls, id)
		}
	}
	for i := from; i < len(messages); i++ {
		for _, paid := range bill.Requests(&messages[i]) {
			paid.Kind = bill.Left
			r.doc.Beside = append(r.doc.Beside, paid)
		}
	}
	r.doc.Session.Messages = messages[:from]
}

// counting finds what requests took in the lines of a rollout, which older versions tell in events.
type counting struct {
	records bool // usage records have been seen: what events count repeats them
	total   int  // of the last event, to tell a repeated one
}

// usage is what a line says that a request took, if it says so.
func (c *counting) usage(kind lineKind, payload []byte) (u usage, found bool, err error) {
	switch kind {
	case usageLine:
		var record struct {
			Usage usage `json:"usage"`
		}
		if err = decode(payload, &record); err == nil {
			c.records = true
		}
		return record.Usage, err == nil, err
	case eventLine:
		if c.records || !bytes.Contains(payload, []byte(`"token_count"`)) {
			break
		}
		var count struct {
			Type string `json:"type"`
			Info struct {
				Total usage `json:"total_token_usage"`
				Last  usage `json:"last_token_usage"`
			} `json:"info"`
		}
		err = decode(payload, &count)
		if err != nil || count.Type != "token_count" || count.Info.Total.Total == c.total {
			break
		}
		c.total = count.Info.Total.Total
		return count.Info.Last, true, nil
	}
	return u, false, err
}

// tally lists the requests that the lines of a rollout report, one after the other, whatever became
// of their answers.
type tally struct {
	counting
	provider, model string
	requests        []bill.Request
}

// note adds what a line says. What cannot be read is reported elsewhere.
func (t *tally) note(kind lineKind, payload []byte) {
	var head struct {
		Provider string `json:"model_provider"`
		Model    string `json:"model"`
	}
	switch kind {
	case metaLine:
		if t.provider == "" && decode(payload, &head) == nil {
			t.provider = cmp.Or(head.Provider, "openai")
		}
	case turnLine:
		if decode(payload, &head) == nil {
			t.model = cmp.Or(head.Model, t.model)
		}
	default:
		if u, found, _ := t.usage(kind, payload); found {
			id := fmt.Sprintf("request-%d", len(t.requests)+1)
			tokens := u.canonical()
			t.requests = append(t.requests, request(id, bill.Step, t.provider, t.model, &tokens))
		}
	}
}

func request(id string, kind bill.Kind, provider, model string, tokens *session.Usage) bill.Request {
	by := session.ModelRef{ProviderID: provider, ModelID: model}
	return bill.Request{ID: id, Kind: kind, Model: by.String(), Usage: tokens}
}
