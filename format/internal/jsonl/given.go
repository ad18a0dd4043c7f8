package jsonl

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/winnowhq/winnow/session"
)

// Without returns a message as a file keeps it beside what its product reads: without what the
// parts that the product's own members give have in the same way. at holds the position of each
// part among those, -1 for none; from holds it for each part that something was left out of.
func Without(m *session.Message, native []session.Part, at []int) (rest *session.Message, from []int) {
	kept := *m
	kept.Parts = append([]session.Part(nil), m.Parts...)
	from = make([]int, len(m.Parts))
	for i := range kept.Parts {
		from[i] = -1
		if at[i] < 0 || at[i] >= len(native) {
			continue
		}
		if n := &native[at[i]]; fits(&kept.Parts[i], n) {
			from[i] = at[i]
			omit(&kept.Parts[i], n)
		}
	}
	return &kept, from
}

// Given is the message that Without was given: what it left out is taken from the parts that the
// product's own members give now.
func Given(rest *session.Message, from []int, native []session.Part) session.Message {
	m := *rest
	m.Parts = make([]session.Part, 0, len(rest.Parts))
	for i, p := range rest.Parts {
		if i < len(from) && from[i] >= 0 {
			if from[i] >= len(native) {
				continue
			}
			if p.State != nil { // rest stays as it is
				state := *p.State
				state.Attachments = slices.Clone(state.Attachments)
				p.State = &state
			}
			fill(&p, &native[from[i]])
		}
		m.Parts = append(m.Parts, p)
	}
	return m
}

// omit takes out of a part what the part that the entry gives has in the same way; fill puts it
// back.
func omit(p *session.Part, native *session.Part) {
	drop := func(text *string, native string) {
		if *text == native {
			*text = ""
		}
	}
	drop(&p.Text, native.Text)
	drop(&p.URL, native.URL)
	if p.State == nil || native.State == nil {
		return
	}
	s, n := *p.State, native.State
	p.State = &s
	drop(&s.Output, n.Output)
	drop(&s.Error, n.Error)
	if bytes.Equal(s.Input, n.Input) {
		s.Input = nil
	}
	if len(s.Attachments) == len(n.Attachments) {
		s.Attachments = slices.Clone(s.Attachments)
		for i := range s.Attachments {
			drop(&s.Attachments[i].URL, n.Attachments[i].URL)
		}
	}
}

// fits reports whether fill undoes omit: a field that is empty in the part must be empty in the
// entry's too.
func fits(p *session.Part, native *session.Part) bool {
	if p.Type != native.Type || p.Text == "" && native.Text != "" || p.URL == "" && native.URL != "" {
		return false
	}
	if p.State == nil || native.State == nil {
		return p.State == nil && native.State == nil
	}
	s, n := p.State, native.State
	if s.Output == "" && n.Output != "" || s.Error == "" && n.Error != "" || len(s.Input) == 0 && len(n.Input) != 0 {
		return false
	}
	return string(s.Input) == string(n.Input) || string(s.Input) != "{}" // an absent input is written as {}
}

func fill(p *session.Part, native *session.Part) {
	p.Text, p.URL = cmp.Or(p.Text, native.Text), cmp.Or(p.URL, native.URL)
	s, n := p.State, native.State
	if s == nil || n == nil {
		return
	}
	if n.Final() && !s.Final() { // the result came after the message was written
		p.State = n
		return
	}
	s.Output, s.Error = cmp.Or(s.Output, n.Output), cmp.Or(s.Error, n.Error)
	if len(s.Input) == 0 || string(s.Input) == "{}" {
		s.Input = n.Input
	}
	for i := range min(len(s.Attachments), len(n.Attachments)) {
		s.Attachments[i].URL = cmp.Or(s.Attachments[i].URL, n.Attachments[i].URL)
	}
}
