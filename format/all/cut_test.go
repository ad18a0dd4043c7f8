package all_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// reported are the positions behind steps with a report, and the largest prompt among them.
func reported(log []session.Message) (ends []int, largest int) {
	for i := range log {
		if m := &log[i]; m.Role == session.Assistant && m.Tokens != nil && m.Tokens.Prompt() > 0 {
			ends, largest = append(ends, i+1), max(largest, m.Tokens.Prompt())
		}
	}
	return ends, largest
}

// cutOf is what is seen of a session's first messages.
func cutOf(t *testing.T, doc *format.Document, log []session.Message) *report.Cut {
	t.Helper()
	engine, err := winnow.Open(winnow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	one := doc.Session
	one.Messages = log
	if err := engine.Import(context.Background(), one, doc.Ledger, nil); err != nil {
		t.Fatal(err)
	}
	look := func(s *report.Session) (*report.Cut, error) { return s.Cut(), nil }
	cut, err := winnow.Look(context.Background(), engine, one.Info.ID, look)
	if err != nil {
		t.Fatal(err)
	}
	return cut
}

// some of them, spread evenly, and the last.
func some(ends []int) (chosen []int) {
	const most = 8
	for i, end := range ends {
		if i == len(ends)-1 || i%(len(ends)/most+1) == 0 {
			chosen = append(chosen, end)
		}
	}
	return chosen
}

// No provider of a recorded session cut what it was sent, at any moment of it. (All of them were
// tried once; here are some.)
func TestCut_ofNoRecordedSession(t *testing.T) {
	for _, path := range outside.Sessions(t) {
		doc := read(t, path)
		log := doc.Session.Messages
		ends, _ := reported(log)
		for _, end := range some(ends) {
			if cut := cutOf(t, doc, slices.Clone(log[:end])); cut != nil {
				t.Errorf("%s, %d of %d messages: %+v", filepath.Base(path), end, len(log), cut)
			}
		}
	}
}

// The same sessions, of a server whose window is half of the largest prompt that they have.
func TestCut_ofRecordedSessionsThatAServerCut(t *testing.T) {
	found, tried := 0, 0
	for _, path := range outside.Sessions(t) {
		doc := read(t, path)
		ends, largest := reported(doc.Session.Messages)
		if len(ends) < 20 || len(doc.Ledger.All()) > 0 {
			continue
		}
		tried++
		log := slices.Clone(doc.Session.Messages)
		for _, end := range ends {
			usage := *log[end-1].Tokens
			usage.Input, usage.Cache.Read, usage.Cache.Write = min(usage.Prompt(), largest/2), 0, 0
			log[end-1].Tokens = &usage
		}
		for _, end := range some(ends) {
			if cut := cutOf(t, doc, slices.Clone(log[:end])); cut != nil {
				found++
				if cut.Reported != largest/2 {
					t.Errorf("%s, %d messages: %+v, the window is %d", filepath.Base(path), end, cut, largest/2)
				}
				break
			}
		}
	}
	if t.Logf("%d of %d", found, tried); 3*found < 2*tried {
		t.Errorf("%d of %d are found, want two thirds", found, tried)
	}
}
