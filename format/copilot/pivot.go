package copilot

import (
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
)

// leave takes the messages from one on out of the session. They were paid for.
func (r *reader) leave(from int) {
	left := r.Session.Messages[min(from, len(r.Session.Messages)):]
	for i := range left {
		r.Counts.Aside++
		for _, request := range bill.Requests(&left[i]) {
			request.Kind = bill.Left
			r.Beside = append(r.Beside, request)
		}
	}
	r.Leave(len(r.Session.Messages) - len(left))
	r.tail, r.LastAsk = min(r.tail, len(r.Session.Messages)), ""
	for i := range r.Session.Messages {
		if m := &r.Session.Messages[i]; m.Written() {
			r.LastAsk = m.ID
		}
	}
}

// compacted adds a pivot. The model goes on while the product summarises: what came after the
// beginning stays verbatim.
func (r *reader) compacted(e *event) error {
	c, err := into[compaction](e)
	if err != nil {
		return err
	}
	from := r.tail
	ours := r.mark != nil && r.mark.Message != nil
	if ours {
		at, ok := r.starts[r.mark.Message.ID]
		if from = at; !ok {
			from = -1
		}
	} else {
		r.tail = -1
	}
	if !c.Success || c.Summary == "" && !ours {
		if c.Took != nil {
			r.Beside = append(r.Beside, request(e, c.Took, bill.Wasted))
		}
		return nil
	}
	if from < 0 {
		from = len(r.Session.Messages)
	}
	r.Tail(len(r.Session.Messages), from)
	asked, marker := r.LastAsk, r.id(e)
	if !ours {
		r.IsTheirs(marker)
	}
	r.Model = r.last
	m := r.Compaction(marker, marker+"-summary", e.Timestamp, session.Part{Auto: c.Trigger != "manual"})
	r.LastAsk = asked
	if c.Took != nil {
		m.Tokens = c.Took.tokens()
	}
	r.Add(m, session.Part{Type: session.TextPart, Text: c.Summary})
	return nil
}
