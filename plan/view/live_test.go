package view_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// However a log grew, whatever was updated: the live view is the one that is rendered from scratch.
func TestLive_isTheViewFromScratch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source, ledger := random(t)
		facts := rule.NewFacts(token.Chars4{})
		undone := map[string]bool{}
		var live view.Live
		var log []session.Message
		for len(source) > 0 {
			dirty := len(log)
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0: // an update
				if len(log) > 0 {
					dirty = rapid.IntRange(0, len(log)-1).Draw(t, "updated")
					m := log[dirty]
					parts := append([]session.Part(nil), m.Parts...)
					if parts[0].State != nil {
						state := *parts[0].State
						state.Output += "more"
						parts[0].State = &state
					} else {
						parts[0].Text += "more"
					}
					m.Parts = parts
					log = append([]session.Message(nil), log...)
					log[dirty] = m
				}
			case 1: // something undone
				if len(log) > 0 {
					undone[log[rapid.IntRange(0, len(log)-1).Draw(t, "undone")].ID] = true
					live.Reset()
				}
			default:
				n := rapid.IntRange(1, len(source)).Draw(t, "appended")
				log = append(log, source[:n]...)
				source = source[n:]
			}
			live.Sync(log, undone, ledger, facts, dirty)
			window := view.Window(log, undone)
			want := view.Render(window, ledger)
			if diff := cmp.Diff(texts(want), texts(live.Rendered())); diff != "" {
				t.Fatalf("rendered (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(ids(window), ids(live.Window())); diff != "" {
				t.Fatalf("window (-want +got):\n%s", diff)
			}
			if got, want := live.Tokens(), view.Tokens(window, ledger, facts); got != want {
				t.Fatalf("%d tokens, want %d", got, want)
			}
			if got, want := live.Check() != nil, view.Check(want) != nil; got != want {
				t.Fatalf("refused %v, want %v", got, want)
			}
		}
	})
}

// What stands before a part is what a measure of everything before it finds.
func TestLive_Before(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source, ledger := random(t)
		facts := rule.NewFacts(token.Chars4{})
		var live view.Live
		var log []session.Message
		for len(source) > 0 {
			dirty := len(log)
			if dirty > 0 && rapid.Bool().Draw(t, "updated") { // the window is cut back, and its index with it
				dirty = rapid.IntRange(0, dirty-1).Draw(t, "dirty")
			}
			n := rapid.IntRange(1, len(source)).Draw(t, "appended")
			log = append(log, source[:n]...)
			source = source[n:]
			live.Sync(log, nil, ledger, facts, dirty)
			window, before := live.Window(), 0
			for i := range window {
				m := &window[i]
				at := before
				for j := range m.Parts {
					p := &m.Parts[j]
					for _, field := range []rule.Field{rule.Output, rule.Error, rule.Attachments, rule.Input, rule.Text, rule.Whole} {
						want := at
						if field == rule.Output || field == rule.Error || field == rule.Attachments {
							want += view.Part(p, ledger, facts).Input
						}
						got, ok := live.Before(rule.Elision{Part: p.ID, Message: m.ID, Field: field}, ledger, facts)
						if !ok || got != want {
							t.Fatalf("%d tokens before the %s of part %s, in the window: %t; want %d", got, field, p.ID, ok, want)
						}
					}
					at += view.Part(p, ledger, facts).Total()
				}
				before = view.Tokens(window[:i+1], ledger, facts)
			}
			if at, ok := live.Before(rule.Elision{Part: "none", Message: "none"}, ledger, facts); ok {
				t.Fatalf("a part that is not there stands behind %d tokens", at)
			}
		}
	})
}
