package format

import (
	"testing"

	"github.com/winnowhq/winnow/session"
)

func TestAilmentOf(t *testing.T) {
	for text, want := range map[string]string{
		"Prompt is too long": TooLong,
		"Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.": TooLong,
		"400 This model's maximum context length is 3894 tokens. However, your messages resulted in 8941 tokens.":           TooLong,
		"Error running remote compact task: {\"error\":{\"message\":\"Your input exceeds the context window\"}}":            Unfolded,
		"Error during compaction: Error: Conversation too long. Press esc twice to go up a few messages and try again.":     Unfolded,
		"Session too large to compact - context exceeds model limit even after stripping media":                             Unfolded,
		"Autocompact is thrashing: the context refilled to the limit within 3 turns of the previous compact":                Loop,
		"messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 7340032 bytes > 5242880 bytes":               Image,
		"At least one of the image dimensions exceed max allowed size: 8000 pixels":                                         Image,
		"An image in the conversation exceeds the dimension limit for many-image requests (2000px).":                        Image,
		"Invalid image in your last message. Please remove it and try again.":                                               Image,
		"messages.1.content.0: Invalid `signature` in `thinking` block":                                                     Thinking,
		"The encrypted content for item rs_1 could not be verified.":                                                        Thinking,
		"`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1":                                 Unpaired,
		"No tool output found for function call call_1.":                                                                    Unpaired,
		"unexpected `tool_use_id` found in `tool_result` blocks: toolu_1":                                                   Unpaired,
		"Overloaded": "", "": "", "Connection error.": "", "Rate limit reached, too many tokens per minute": "",
	} {
		if got := AilmentOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestDocument_Failure(t *testing.T) {
	text := []session.Part{{Type: session.TextPart, Text: "hi"}}
	user := session.Message{MessageInfo: session.MessageInfo{Role: session.User}, Parts: text}
	answer := session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant}, Parts: text}
	failed := answer
	failed.Error = []byte(`{"name":"APIError","data":{"message":"Prompt is too long"}}`)
	aborted := answer
	aborted.Error = []byte(`{"name":"MessageAbortedError","data":{"message":"aborted"}}`)
	summary := answer
	summary.Summary, summary.Finish = []byte("true"), "stop"
	for name, c := range map[string]struct {
		log    []session.Message
		beside string
		want   string
	}{
		"nothing":                     {},
		"answered":                    {log: []session.Message{user, failed, user, answer}},
		"refused":                     {log: []session.Message{user, answer, user, failed}, want: "Prompt is too long"},
		"refused, then aborted":       {log: []session.Message{user, answer, user, failed, user, aborted}, want: "Prompt is too long"},
		"folded since":                {log: []session.Message{user, failed, user, summary}},
		"refused, outside of the log": {log: []session.Message{user, answer, user}, beside: "full", want: "full"},
	} {
		d := Document{Session: session.Session{Messages: c.log}, Failed: c.beside}
		if got, is := d.Failure(); got.Text != c.want || is != (c.want != "") {
			t.Errorf("%s: %q, want %q", name, got.Text, c.want)
		}
	}
}

// FuzzAilmentOf: no text of a stranger's takes long, or ends the program.
func FuzzAilmentOf(f *testing.F) {
	for _, seed := range []string{"Prompt is too long", "image exceeds", `{"error":{"message":"x"}}`, "\x00\xff", "thinking"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		code := AilmentOf(text)
		d := Document{Source: []byte(text), Damaged: []Damage{{Line: 1, Bytes: len(text)}}, Failed: text}
		if failure, is := d.Failure(); is != (text != "") || AilmentOf(failure.Text) != code {
			t.Errorf("%q: %q, %v", text, failure.Text, is)
		}
		_, _ = TornLine(&d)
	})
}
