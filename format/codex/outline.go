package codex

import (
	"bytes"
	"errors"
	"iter"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/text/span"
)

var _ format.Outliner = Format{}

// Outline reads a rollout's lines. See format.Outliner.
func (Format) Outline() format.Outline { return &outlining{} }

// ReadStretch reads lines none of which was rolled back. See format.Outliner.
func (f Format) ReadStretch(src []byte) (*format.Document, error) { return f.Read(src) }

type outlining struct {
	paid   tally
	uses   []format.Use
	counts format.Counts
	known  bool  // the head of the session was read
	open   int   // calls that wait for their result
	step   bool  // the model is writing
	turns  []int // lines with which the user's turns begin
	talks  []int // lines that are messages in the product's terms
	number int
}

func (o *outlining) Line(text []byte) error {
	o.number++
	o.counts.Entries++
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	l := line{number: o.number}
	if err := scanLine(text, &l); err != nil {
		return errors.New(reason(err))
	}
	use, err := o.line(text, &l)
	if err != nil {
		return errors.New(reason(err))
	}
	o.uses = append(o.uses, use)
	return nil
}

func (o *outlining) line(text []byte, l *line) (format.Use, error) {
	payload := l.payload.Of(text)
	o.paid.note(l.kind, payload)
	switch l.kind {
	case metaLine:
		if o.known {
			return format.Inside, nil
		}
		o.known = true
		return format.Always, nil
	case turnLine:
		return format.Lasts, nil
	case compactedLine:
		o.open, o.step = 0, false
		return format.Inside, nil // what the line before it reported is its own
	case eventLine:
		return o.event(payload)
	case itemLine:
		var it item
		if err := decode(payload, &it); err != nil {
			return 0, err
		}
		if bytes.Contains(l.metadata.Of(text), []byte(`"compaction_output":true`)) {
			it.count(&o.counts)
			o.counts.Aside++
			return format.Inside, nil
		}
		return o.item(&it), nil
	}
	return format.Inside, nil
}

func (o *outlining) event(payload []byte) (format.Use, error) {
	if !bytes.Contains(payload[:min(len(payload), 200)], []byte("thread_rolled_back")) {
		return format.Inside, nil
	}
	var back struct {
		Type  string `json:"type"`
		Turns int    `json:"num_turns"`
	}
	if err := decode(payload, &back); err != nil || back.Type != "thread_rolled_back" {
		return format.Inside, err
	}
	n := min(max(back.Turns, 0), len(o.turns))
	if n > 0 {
		from := o.turns[len(o.turns)-n]
		o.turns = o.turns[:len(o.turns)-n]
		for i := from; i < len(o.uses); i++ {
			o.uses[i] = format.Aside
		}
		for len(o.talks) > 0 && o.talks[len(o.talks)-1] >= from {
			o.talks = o.talks[:len(o.talks)-1]
			o.counts.Aside++
		}
	}
	return format.Aside, nil
}

func (o *outlining) item(it *item) format.Use {
	it.count(&o.counts)
	at, use := len(o.uses), format.Inside
	switch {
	case it.Type == "message" && it.Role != "assistant":
		o.talks = append(o.talks, at)
		if it.byUser() {
			o.turns, o.open = append(o.turns, at), 0
			use = format.Begins
		}
		o.step = false
	case it.isOutput():
		o.open, o.step = max(0, o.open-1), false
	default:
		if !o.step {
			o.talks = append(o.talks, at)
			if o.open == 0 {
				use = format.Begins
			}
		}
		o.step = true
		if it.isCall() && !it.serverSide() {
			o.open++
		}
	}
	return use
}

// byUser reports whether the user wrote any of a message.
func (it *item) byUser() bool {
	if it.Role != "user" {
		return false
	}
	if it.Content.Kind() == '"' {
		return it.written(0, span.String(it.Content))
	}
	for i, c := range contents(it.Content) {
		if !c.odd && it.written(i, c.Text+c.Refusal) {
			return true
		}
	}
	return false
}

func (o *outlining) End() ([]format.Use, format.Counts) { return o.uses, o.counts }

// Requests are those that the file reports, each once. See format.Biller.
func (o *outlining) Requests() iter.Seq[bill.Request] { return slices.Values(o.paid.requests) }
