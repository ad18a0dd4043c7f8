package recall

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
)

const handedOn = OpenSummary + `## Goal
- Build the exporter.

## Constraints and preferences
- "Amounts are shown in cents."
- Use tabs for the indentation of all the files
- Skill that was loaded: go
- (2 more left out)

` + CarryTitle + `

## ` + PinsTitle + `

> ## not a heading

## ` + RulesTitle + `

- Never push to main.
- Indent all files with tabs.

## ` + MessagesTitle + `

> Build the exporter.
>
> It has two parts.
[since then: port: now 8080]

[3 messages in between are in the log]

> Go on.

## ` + TodosTitle + `

- write (the) tests (in_progress)

## ` + FilesTitle + `

- a: b.go: written, edited 3 times (+5 −2 lines), moved from c.go
- d.go: perhaps deleted

## ` + CallsTitle + `

- bash {"command":"make"}
- bash:
  - command:
    > a
- and 4 that only looked

## ` + PutTitle + `

Put into b.go:

> x
` + CloseSummary

func user(id, text string) session.Message {
	return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User},
		Parts: []session.Part{{ID: id + ":0", Type: session.TextPart, Text: text}}}
}

func TestRestore_readsBackWhatACarryOverSays(t *testing.T) {
	log := []session.Message{user("m1", handedOn), user("m2", "And the importer.")}
	restored, l := Restore(log, func(string) bool { return false })
	var texts []string
	for i := range restored {
		texts = append(texts, restored[i].Text())
	}
	if want := []string{"Build the exporter.\n\nIt has two parts.", "Go on.", "", "", "And the importer."}; !slices.Equal(texts, want) {
		t.Errorf("the messages are %q, want %q", texts, want)
	}
	var rules []string
	for _, c := range Constraints(log) {
		rules = append(rules, c.Text)
	}
	if want := []string{"Never push to main.", "Indent all files with tabs.", "Amounts are shown in cents."}; !slices.Equal(rules, want) {
		t.Errorf("the rules are %q, want %q: the summary says one of them in other words", rules, want)
	}
	if todos := Todos(restored); len(todos) != 1 || todos[0].Text != "write (the) tests" || todos[0].Status != "in_progress" {
		t.Errorf("the todos are %+v", todos)
	}
	wantFiles := []File{{Path: "a: b.go", Creates: 1, Edits: 3, Added: 5, Removed: 2, From: "c.go", Last: "edit", MessageID: "m1", PartID: "m1:0"},
		{Path: "d.go", Perhaps: "delete", MessageID: "m1", PartID: "m1:0"}}
	if diff := cmp.Diff(wantFiles, l.Files); diff != "" {
		t.Error(diff)
	}
	if len(l.Calls) != 2 || len(l.Calls[1]) != 3 || len(l.Put) != 1 || !slices.Equal(l.Pins, []string{"> ## not a heading"}) ||
		!slices.Equal(l.Notes[l.Messages[0]], []string{"port: now 8080"}) {
		t.Errorf("calls %q, put %q, pins %q, notes %q", l.Calls, l.Put, l.Pins, l.Notes)
	}
	if log[0].Parts[0].Synthetic {
		t.Error("the log was changed")
	}
}

// A log that has what a summary represents is not read twice: a rule that was taken back would
// stand again.
func TestHanded_leavesOutSummariesOfTheLogItself(t *testing.T) {
	marker := session.Message{MessageInfo: session.MessageInfo{ID: "m2", Role: session.User}, Parts: []session.Part{{Type: session.CompactionPart}}}
	summary := session.Message{MessageInfo: session.MessageInfo{ID: "m3", Role: session.Assistant, ParentID: "m2", Summary: []byte("true"), Finish: "stop"},
		Parts: []session.Part{{ID: "m3:0", Type: session.TextPart, Text: handedOn}}}
	if got := Handed([]session.Message{user("m1", "Build it."), marker, summary}); got != nil {
		t.Errorf("%v is read back although the log has it", got)
	}
	if got := Handed([]session.Message{marker, summary, user("m4", "Go on.")}); len(got) != 1 {
		t.Errorf("%v is read back of a log that begins with a summary, want one place", got)
	}
}

func FuzzRestore(f *testing.F) {
	f.Add(handedOn)
	f.Add(PinnedTitle + "\n\n> a\n> b")
	f.Fuzz(func(t *testing.T, text string) {
		log := []session.Message{user("m1", text)}
		restored, _ := Restore(log, func(string) bool { return false })
		for _, c := range Constraints(restored) {
			if strings.Contains(c.Text, "\n") {
				t.Errorf("%q is a rule of several lines", c.Text)
			}
		}
		WithoutHanded(log)
	})
}
