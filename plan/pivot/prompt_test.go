package pivot

import (
	"strings"
	"testing"
)

// What S001 ("Compaction Agent Prompt", "Default Summary Prompt") and S003 (6.1, 6.2) ask the two
// prompts to say, point by point, and the words in which ours say it.
func TestPrompts_haveEveryPointOfTheSpecification(t *testing.T) {
	letter := Settings{SummaryAlone: true}
	for _, layer := range []struct {
		name, text string
		points     map[string]string
	}{
		{"system prompt under classic and aggressive", System(letter), map[string]string{
			"S003 6.1 the task is to summarise conversations": "You summarise conversations",
			"S003 4.2 no tools": "You have no tools.",
			"S003 4.2 no side effects: the work is not continued":     "You do not continue the work",
			"questions in the conversation are not answered":          "you do not answer questions",
			"only the summary is put out":                             "the summary and nothing else",
			"S001, S003 6.1 detailed but concise":                     "detailed one that is still concise",
			"S003 6.1 what helps to continue":                         "Choose what helps to carry on:",
			"S001, S003 6.1 what was done":                            "- the work that is finished",
			"S001, S003 6.1 what is being worked on":                  "- the work in progress",
			"S001, S003 6.1 the files that are modified":              "- the files that were or are being modified",
			"S001, S003 6.1 what comes next":                          "- the next steps",
			"S001, S003 6.1 requests":                                 "- what the user asked for",
			"S001, S003 6.1 constraints and preferences that persist": "the constraints and preferences that still apply",
			"S001, S003 6.1 technical decisions and why":              "- the technical decisions that matter, each with its reason",
			"S001, S003 6.1 comprehensive enough for context":         "enough context to work from",
			"S001, S003 6.1 quickly understood":                       "short enough to be understood quickly",
		}},
		{"instruction under classic and aggressive", Instruction(letter, "", ""), map[string]string{
			"S001, S003 6.2 a prompt from which to continue":     "the prompt from which a new session will continue",
			"S001, S003 6.2 it is about the conversation above":  "our conversation above",
			"S001, S003 6.2 the new session has no access to it": "sees nothing of the conversation, only what you write",
			"S001, S003 6.2 detailed, on what helps to continue": "Be detailed about whatever helps it to continue",
			"S001, S003 6.2 what was done":                       "what we did",
			"S001, S003 6.2 what is being done":                  "what we are doing",
			"S001, S003 6.2 the files":                           "which files we are working on",
			"S001, S003 6.2 what comes next":                     "what we will do next",
		}},
		{"system prompt under balanced", System(Settings{}), map[string]string{
			"S003 4.2 no tools":                              "You have no tools",
			"S003 4.2 the work is not continued":             "you do not continue the task",
			"only the summary is put out":                    "you only write the notes",
			"S003 6.1 what was done":                         "what was done",
			"S003 6.1 what is being worked on":               "what is being worked on",
			"S003 6.1 the files that are modified":           "which files matter and what was changed in them",
			"S003 6.1 what comes next":                       "what comes next",
			"S003 6.1 requests, constraints and preferences": "what the user asked for and which constraints and preferences persist",
			"S003 6.1 technical decisions and why":           "which technical decisions were made and why",
			"S003 6.1 comprehensive but concise":             "as short as completeness allows",
		}},
	} {
		for point, words := range layer.points {
			if !strings.Contains(layer.text, words) {
				t.Errorf("%s: %s: it does not say %q", layer.name, point, words)
			}
		}
	}
}

// Either prompt can be replaced under every policy; context lines and a focus stay, and the letter
// asks the same when there is an earlier summary.
func TestPrompts_canBeReplaced(t *testing.T) {
	for name, s := range map[string]Settings{"balanced": {}, "classic": {SummaryAlone: true}} {
		own := s
		own.System, own.Prompt, own.Context = "OWN SYSTEM", "OWN PROMPT", []string{"The branch is lamp."}
		if got := System(own); got != "OWN SYSTEM" {
			t.Errorf("%s: the system prompt is %q", name, got)
		}
		for _, previous := range []string{"", "NOTES"} {
			want := "OWN PROMPT\n\nThe user asks to dwell on: the lamp\n\nThe branch is lamp."
			if got := Instruction(own, previous, "the lamp"); got != want {
				t.Errorf("%s: the instruction is %q, want %q", name, got, want)
			}
		}
		if again := Instruction(s, "NOTES", "") == Instruction(s, "", ""); again != s.SummaryAlone {
			t.Errorf("%s: the instruction is the same after an earlier summary: %v", name, again)
		}
	}
}
