package storetest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// behavesLikeModel applies random changes to a session and to a model of it, and compares all that
// can be read.
func behavesLikeModel(t *testing.T, s store.Store) {
	var runs atomic.Int64
	rapid.Check(t, func(r *rapid.T) {
		id := fmt.Sprint("run-", runs.Add(1))
		m := &model{t: t, s: s, state: store.State{Info: session.Info{ID: id}, Revision: 1}}
		if err := s.Create(t.Context(), m.state.Info); err != nil {
			r.Fatal(err)
		}
		r.Repeat(map[string]func(*rapid.T){
			"apply": m.apply,
			"stale": m.stale,
			"":      m.compare,
		})
	})
}

type model struct {
	t     *testing.T
	s     store.Store
	state store.State
	log   []session.Message
	// copies are the session as readers had it at some time.
	copies []store.Copy
}

var (
	someID   = rapid.SampledFrom([]string{"a", "b", "c", "d", "e\x00"})
	someText = rapid.OneOf(rapid.Just(""), rapid.Just("\xff\x00"), rapid.StringN(0, 20, 80),
		rapid.Map(rapid.IntRange(4090, 4100), func(n int) string { return string(make([]byte, n)) }))
	someKey = rapid.Custom(func(r *rapid.T) rule.Key {
		return rule.Key{Part: someID.Draw(r, "part"), Field: rapid.SampledFrom([]rule.Field{rule.Output,
			rule.Input}).Draw(r, "field")}
	})
	someElision = rapid.Custom(func(r *rapid.T) rule.Elision {
		k := someKey.Draw(r, "key")
		return rule.Elision{Part: k.Part, Field: k.Field, Shown: someText.Draw(r, "shown"),
			Saves: rapid.Int().Draw(r, "saves")}
	})
	somePart = rapid.Custom(func(r *rapid.T) session.Part {
		p := session.Part{ID: someID.Draw(r, "part"), Type: session.TextPart}
		if rapid.Bool().Draw(r, "tool") {
			p.Type, p.State = session.ToolPart, &session.ToolState{Status: session.Completed,
				Output: someText.Draw(r, "output")}
		} else {
			p.Text = someText.Draw(r, "text")
		}
		return p
	})
	someMessage = rapid.Custom(func(r *rapid.T) session.Message {
		m := session.Message{MessageInfo: session.MessageInfo{ID: someID.Draw(r, "id"), Role: session.User}}
		if parts := rapid.SliceOfN(somePart, 0, 3).Draw(r, "parts"); len(parts) > 0 {
			m.Parts = parts
		}
		return m
	})
	somePin = rapid.Custom(func(r *rapid.T) rule.Pin {
		return rule.Pin{ID: someID.Draw(r, "pin"),
			Text: someText.Draw(r, "text")}
	})
)

// change draws a change on the present revision.
func (m *model) change(r *rapid.T) store.Change {
	few := func(label string) int { return rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(r, label) }
	n := func(label string) (int, int) { k := few(label); return k, k }
	draw := func(label string) []string {
		a, b := n(label)
		return rapid.SliceOfN(someID, a, b).Draw(r, label)
	}
	c := store.Change{Base: m.state.Revision}
	c.Append = rapid.SliceOfN(someMessage, 0, 3).Draw(r, "append")
	a, b := n("updates")
	c.Update = rapid.SliceOfN(someMessage, a, b).Draw(r, "update")
	a, b = n("commits")
	c.Commit = rapid.SliceOfN(someElision, a, b).Draw(r, "commit")
	a, b = n("restores")
	c.Restore = rapid.SliceOfN(someKey, a, b).Draw(r, "restore")
	a, b = n("pins")
	c.Pin = rapid.SliceOfN(somePin, a, b).Draw(r, "pin")
	c.Undo, c.Redo, c.Unpin = draw("undo"), draw("redo"), draw("unpin")
	c.Dismiss, c.Undismiss = draw("dismiss"), draw("undismiss")
	for range few("spends") {
		c.Spend = append(c.Spend, store.Spend{Kind: "step", Cost: rapid.Float64().Draw(r, "cost"),
			Inherited: rapid.Bool().Draw(r, "inherited")})
	}
	if spent := len(m.state.Spent); spent > 0 && rapid.Bool().Draw(r, "vain") {
		c.Vain = []int{rapid.IntRange(0, spent-1).Draw(r, "in vain")}
	}
	if rapid.Bool().Draw(r, "prepared") {
		c.Prepared = &store.Prepared{Pivot: rapid.SampledFrom([]string{"", "a", "b\x00"}).Draw(r, "pivot"),
			Written: rapid.SampledFrom([]string{"", "\xff"}).Draw(r, "written")}
	}
	for range few("receipts") {
		c.Receipts = append(c.Receipts, pivot.Receipt{ID: someID.Draw(r, "receipt of several")})
	}
	if rapid.Bool().Draw(r, "receipt") {
		c.Receipt = &pivot.Receipt{ID: someID.Draw(r, "receipt"), Notes: []string{someText.Draw(r, "note")}}
	}
	if rapid.Bool().Draw(r, "info") {
		c.Info = &session.Info{ID: m.state.Info.ID, Title: someText.Draw(r, "title")}
	}
	return c
}

func (m *model) apply(r *rapid.T) {
	c := m.change(r)
	revision, err := m.s.Apply(m.t.Context(), m.state.Info.ID, c)
	log := append(slices.Clone(m.log), c.Append...)
	for _, u := range c.Update {
		at := session.Index(log, u.ID)
		if at < 0 {
			if err == nil {
				r.Fatalf("an update of the missing message %q was applied", u.ID)
			}
			return // and the comparison finds nothing changed
		}
		log[at] = u
	}
	if err != nil {
		r.Fatal(err)
	}
	m.log = log
	if revision != m.state.Revision+1 {
		r.Fatalf("revision %d, want %d", revision, m.state.Revision+1)
	}
	m.state = m.state.After(&c)
}

// stale applies a change that was decided on another revision.
func (m *model) stale(r *rapid.T) {
	c := m.change(r)
	c.Base += rapid.SampledFrom([]int64{1, 5, -m.state.Revision - 1}).Draw(r, "off")
	if _, err := m.s.Apply(m.t.Context(), m.state.Info.ID, c); err == nil {
		r.Fatalf("a change on revision %d was applied at %d", c.Base, m.state.Revision)
	}
}

func (m *model) compare(r *rapid.T) {
	got, err := m.s.State(m.t.Context(), m.state.Info.ID)
	if err != nil {
		r.Fatal(err)
	}
	want := m.state
	if len(want.Pins) == 0 {
		want.Pins = got.Pins[:0]
	}
	if len(want.Undone) == 0 {
		want.Undone = nil
	}
	if len(want.Dismissed) == 0 {
		want.Dismissed = nil
	}
	if diff := diffOf(want, got); diff != "" {
		r.Fatalf("state (-want +got):\n%s", diff)
	}
	read := make([]session.Message, 0, len(m.log))
	for message, err := range m.s.Messages(m.t.Context(), m.state.Info.ID) {
		if err != nil {
			r.Fatal(err)
		}
		read = append(read, message)
	}
	slices.Reverse(read)
	if diff := diffOf(append([]session.Message{}, m.log...), read); diff != "" {
		r.Fatalf("log (-want +got):\n%s", diff)
	}
	m.resume(r, want)
}

// resume reads the session for somebody who has it as it was at some time: read, or changed by himself.
func (m *model) resume(r *rapid.T, want store.State) {
	m.copies = append(m.copies, store.Copy{State: m.state, Log: slices.Clone(m.log)})
	before := rapid.SampledFrom(m.copies).Draw(r, "before")
	if before.Origin == "" {
		read, _, err := new(store.Reading).Read(m.t.Context(), m.s, m.state.Info.ID, store.Copy{})
		if err != nil {
			r.Fatal(err)
		}
		before.Origin = read.Origin
	}
	had := append([]session.Message{}, before.Log...)
	now, from, err := new(store.Reading).Read(m.t.Context(), m.s, m.state.Info.ID, before)
	if err != nil {
		r.Fatal(err)
	}
	if diff := diffOf(want, now.State); diff != "" {
		r.Fatalf("state, from revision %d on (-want +got):\n%s", before.State.Revision, diff)
	}
	if diff := diffOf(append([]session.Message{}, m.log...), now.Log); diff != "" {
		r.Fatalf("log, from revision %d on (-want +got):\n%s", before.State.Revision, diff)
	}
	if diff := diffOf(had, append([]session.Message{}, before.Log...)) +
		diffOf(had[:from], append([]session.Message{}, now.Log[:from]...)); diff != "" {
		r.Fatalf("before position %d (-want +got):\n%s", from, diff)
	}
	m.copies = append(m.copies, now)
}
