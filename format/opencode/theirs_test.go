package opencode

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
)

func TestRead_knowsWhoseACompactionIs(t *testing.T) {
	doc := read(t, testdata(t, "session.json"))
	change := unchanged(doc)
	change.Session = folded(doc)
	m := change.Session.Messages
	summary := &m[len(m)-2]
	summary.Parts = summary.Parts[:1] // nothing was carried over, so that only the note tells
	ours := write(t, doc, change)
	if got := read(t, ours).Theirs; got["msg_e1"] {
		t.Errorf("of a compaction that was written here: theirs are %v", got)
	}
	theirs := bytes.Replace(ours, []byte(`"summary": true
            }`), []byte(`"other": 1
            }`), 1)
	if bytes.Equal(theirs, ours) {
		t.Fatalf("the summary has no note:\n%s", ours)
	}
	if got := read(t, theirs).Theirs; !got["msg_e1"] {
		t.Errorf("of one without a note: theirs are %v", got)
	}

	// A compaction of the second generation is the product's, and stays so in an export.
	settled := read(t, []byte(secondGeneration))
	if len(settled.Theirs) == 0 {
		t.Fatal("the product made no compaction there")
	}
	again := unchanged(settled)
	again.Session = oneMore(settled).Session
	if diff := cmp.Diff(settled.Theirs, read(t, write(t, settled, again)).Theirs); diff != "" {
		t.Errorf("written as an export (-want +got):\n%s", diff)
	}
}

func TestCompare_findsWhatAChangeDoes(t *testing.T) {
	doc := read(t, testdata(t, "session.json"))
	part := doc.Session.Messages[1].Parts[2].ID
	change := unchanged(doc)
	change.Ledger = mark(doc, part)
	change.Session = folded(doc)
	d, err := Compare(doc, change)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Markings) != 1 || d.Markings[0].Part != part || d.Added != 3 || len(d.Removed) != 0 || d.Session != doc.Session.Info.ID {
		t.Errorf("%+v: want one marking and three messages", d)
	}
	marked, ok := d.Markings[0].On(d.Markings[0].was)
	if diff := cmp.Diff([]string{`+"compacted": 77`}, lines(d.Markings[0].was, marked)); diff != "" || !ok {
		t.Errorf("the part (-want +got):\n%s", diff)
	}
	for _, other := range []string{`{}`, `[]`, ``, `{"id":"prt_x"}`, `{"state":{"time":{"compacted":"x"}}}`} {
		if _, ok := d.Markings[0].On([]byte(other)); ok {
			t.Errorf("%s passes for the part", other)
		}
	}

	back := read(t, write(t, doc, change))
	undone := format.Change{Session: back.Session, Ledger: back.Ledger, Undone: map[string]bool{"msg_e1": true}}
	if d, err = Compare(back, undone); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"msg_e1", "msg_e2", "msg_e3"}, d.Removed); diff != "" || len(d.Markings) != 0 {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
	if gone := read(t, d.Gone); len(gone.Session.Messages) != 3 || gone.Session.Info.ID != doc.Session.Info.ID {
		t.Errorf("what is gone: %s", d.Gone)
	}
}
