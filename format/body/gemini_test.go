package body_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/internal/bodytest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/wire/gemini"
)

func TestGemini_format(t *testing.T) { bodytest.Run(t, body.GeminiBody{}, gemini.Check) }

const geminiSmall = `{"systemInstruction": {"parts": [{"text": "You help."}]},
 "contents": [
  {"role": "user", "parts": [{"text": "<session_context>\nToday is Monday.\n</session_context>"}, {"text": "fix it"}]},
  {"role": "model", "parts": [{"text": "I look."}, {"functionCall": {"name": "read_file", "args": {"path": "a.go"}}}]},
  {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {"output": "a long output"}}}]},
  {"role": "model", "parts": [{"text": "It is fixed."}]},
  {"role": "user", "parts": [{"text": "thanks"}]}
 ], "generationConfig": {"temperature": 0}}
`

func TestGemini_write(t *testing.T) {
	doc := bodytest.Read(t, body.GeminiBody{}, []byte(geminiSmall))
	if doc.Session.Info.Title != "fix it" || len(doc.Session.Messages) != 4 || doc.Counts.ToolCalls != 1 {
		t.Fatalf("got %+v", doc.Session)
	}
	change := bodytest.Unchanged(doc)
	call := doc.Session.Messages[1].Parts[1].ID
	change.Ledger = change.Ledger.With(rule.Elision{Part: call, Field: rule.Output, Shown: "[left out]"})
	want := strings.Replace(geminiSmall, `{"output": "a long output"}`, `{"output":"[left out]"}`, 1)
	if got := string(bodytest.Write(t, body.GeminiBody{}, doc, change)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	folded := bodytest.Unchanged(doc)
	folded.Session.Messages = append(folded.Session.Messages[:len(folded.Session.Messages):len(folded.Session.Messages)],
		bodytest.Marker("k", doc.Session.Messages[3].ID), bodytest.Summary("s", "k", "We read a.go and fixed it."))
	got := bodytest.Write(t, body.GeminiBody{}, doc, folded)
	if err := gemini.Check(got); err != nil {
		t.Error(err)
	}
	text := string(got)
	for _, part := range []string{"Today is Monday.", "We read a.go and fixed it.", `{"text": "thanks"}`, `"temperature": 0`, "You help."} {
		if strings.Count(text, part) != 1 {
			t.Errorf("%q is %d times in\n%s", part, strings.Count(text, part), text)
		}
	}
	if strings.Contains(text, "fix it") || strings.Contains(text, "functionCall") {
		t.Errorf("the past is still in\n%s", text)
	}
}

func FuzzGemini(f *testing.F) {
	f.Add([]byte(geminiSmall), "m0003", uint8(2))
	f.Add([]byte(`{"method":"POST","url":"/v1beta/models/x:generateContent","body":"{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"a\"}]}]}"}`), "", uint8(0))
	f.Add([]byte(`{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"x"`), "m0001", uint8(1))
	f.Fuzz(func(t *testing.T, src []byte, tail string, elide uint8) {
		(body.GeminiBody{}).Detect(src)
		doc, err := (body.GeminiBody{}).Read(src)
		if err != nil {
			return
		}
		if got := bodytest.Write(t, body.GeminiBody{}, doc, bodytest.Unchanged(doc)); !bytes.Equal(got, src) {
			t.Fatalf("unchanged, got %q, want %q", got, src)
		}
		bodytest.Stir(t, body.GeminiBody{}, doc, tail, elide)
	})
}
