package session

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/outside"
)

func TestOutline_isWhatItWasWrittenAs(t *testing.T) {
	want := Outline{Title: "Mend the lamp", Body: "It burns.", Diffs: []FileDiff{{File: "a", Before: "1\n", After: "2\n", Patch: "@@", Additions: 1, Deletions: 1, Status: "modified"}}}
	m := user(Part{Type: TextPart, Text: "mend"})
	m.Summary = want.Value()
	got, ok := m.Outline()
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOutline_ofOtherMessagesThereIsNone(t *testing.T) {
	for name, summary := range map[string]jsontext.Value{"nothing": nil, "a flag": jsontext.Value("true"), "no object": jsontext.Value(`"x"`), "damaged": jsontext.Value(`{"diffs":3}`)} {
		m := user()
		m.Summary = summary
		if got, ok := m.Outline(); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
	answer := Message{MessageInfo: MessageInfo{Role: Assistant, Summary: jsontext.Value(`{"title":"x"}`)}}
	if _, ok := answer.Outline(); ok {
		t.Error("an answer has one")
	}
}

func TestOutline_ofAnExport(t *testing.T) {
	var s Session
	if err := json.Unmarshal(outside.Read(t, outside.Path(t, "fixtures", "opencode-export.json")), &s, ReadOptions()); err != nil {
		t.Fatal(err)
	}
	o, ok := s.Messages[0].Outline()
	if !ok || len(o.Diffs) != 2 || o.Diffs[0].File != "NOTES.md" || o.Diffs[0].Additions != 60 || o.Diffs[1].Status != "modified" || o.Diffs[1].Patch == "" {
		t.Errorf("the outline is %+v", o)
	}
	if from, to := Snapshots(s.Messages); from == "" || to == "" || from == to {
		t.Errorf("the snapshots are %q and %q", from, to)
	}
}
