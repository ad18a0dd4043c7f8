package session

import (
	"strings"
	"testing"
)

// A log in words: u a message of the user's, a an answer, t one with a call, s a summary, f an answer that failed with nothing, b one that broke off, c one that broke off
// in a call.
func TestUnsent_beginsBehindTheNewestAnswerOrWithItsCalls(t *testing.T) {
	for log, want := range map[string]int{
		"":            0,
		"u":           0,
		"u u":         0,
		"u a":         2,
		"u a u":       2,
		"u a u u":     2,
		"u t":         1,
		"u t t":       2,
		"u t t u u":   2,
		"u t a":       3,
		"u t f":       1,
		"u t f f u":   1,
		"u f":         0,
		"u t b":       3,
		"u t b u":     3,
		"u t c":       2,
		"u a s u":     2,
		"u t s":       1,
		"s u":         0,
		"u t u f u b": 6,
	} {
		var messages []Message
		for _, word := range strings.Fields(log) {
			m := Message{MessageInfo: MessageInfo{Role: Assistant, Finish: "stop"}, Parts: []Part{{Type: StepStartPart}, {Type: TextPart, Text: "So."}}}
			switch word {
			case "u":
				m.Role, m.Finish = User, ""
			case "t":
				m.Parts = append(m.Parts, Part{Type: ToolPart, State: &ToolState{Status: Completed, Output: "it"}})
			case "c":
				m.Error = []byte(`{"name":"MessageAbortedError"}`)
				m.Parts = []Part{{Type: ToolPart, State: &ToolState{Status: Failed, Error: "it"}}}
			case "s":
				m.Summary = []byte("true")
			case "f":
				m.Error, m.Parts = []byte(`{"name":"ContextOverflowError"}`), []Part{{Type: StepStartPart}, {Type: TextPart, Text: " \n"}}
			case "b":
				m.Error = []byte(`{"name":"MessageAbortedError"}`)
			}
			messages = append(messages, m)
		}
		if got := Unsent(messages); got != want {
			t.Errorf("in %q it begins at %d, want %d", log, got, want)
		}
	}
}
