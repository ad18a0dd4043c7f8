package sdk_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
	wireanthropic "github.com/winnowhq/winnow/wire/anthropic"
	wiregemini "github.com/winnowhq/winnow/wire/gemini"
	wirechat "github.com/winnowhq/winnow/wire/openaichat"
	wireresponses "github.com/winnowhq/winnow/wire/responses"
)

// conversation has every kind of piece that a body can hold.
func conversation() []session.Message {
	pixel := "data:image/png;base64,iVBORw0KGgo="
	message := func(role session.Role, parts ...session.Part) session.Message {
		m := session.Message{Parts: parts}
		m.Role, m.ProviderID, m.ModelID = role, "p", "m"
		return m
	}
	text := func(s string) session.Part { return session.Part{Type: session.TextPart, Text: s} }
	call := func(id string, state session.ToolState) session.Part {
		return session.Part{ID: id, Type: session.ToolPart, CallID: id, Tool: "read", State: &state}
	}
	thought := session.Part{Type: session.ReasoningPart, Text: "Let me see.", Metadata: jsontext.Value(
		`{"anthropic":{"signature":"c2ln"},"openai":{"itemId":"rs_1","reasoningEncryptedContent":"ZW5j"},` +
			`"google":{"thoughtSignature":"c2ln"}}`)}
	return []session.Message{
		message(session.User, text("What is <in> “a.go”? 🙂"), session.Part{Type: session.FilePart, Mime: "image/png",
			Filename: "p.png", URL: pixel},
			session.Part{Type: session.FilePart, Mime: "application/pdf", Filename: "d.pdf",
				URL: "data:application/pdf;base64,JVBERi0="}),
		message(session.Assistant, thought, text("I read."),
			call("c1", session.ToolState{Status: session.Completed,
				Input: jsontext.Value(`{"path":"a.go","line":12345678901}`), Output: "package a"}),
			call("c2", session.ToolState{Status: session.Failed, Input: jsontext.Value(`{}`), Error: "no such file"}),
			call("c3", session.ToolState{Status: session.Completed, Input: jsontext.Value(`{"path":"p.png"}`),
				Output:      "a picture",
				Attachments: []session.Part{{Type: session.FilePart, Mime: "image/png", URL: pixel}}})),
		message(session.Assistant, text("It is a package.")),
		message(session.User, text("Go on.")),
	}
}

// What we write has the form of the libraries' own types: nothing of it is lost on the way through
// them.
func TestBody_decodesWithTheirTypes(t *testing.T) {
	options := wire.Options{Model: "m", Provider: "p", System: "You help.", MaxTokens: 500}
	type pair struct {
		body   []byte
		err    error
		theirs any
		decode func([]byte) *wire.Decoded
	}
	through := map[string]pair{}
	a, err := wireanthropic.Encode(conversation(), options)
	if err != nil {
		t.Fatal(err)
	}
	a.Tools = jsontext.Value(`[{"name":"read","description":"Reads.","input_schema":{"type":"object",` +
		`"properties":{"path":{"type":"string"}}}}]`)
	a.Elements = wireanthropic.Cached(a.Elements)
	body, err := a.JSON()
	through["anthropic"] = pair{body, err, &anthropic.MessageNewParams{}, wireanthropic.Decode}
	c, err := wirechat.Encode(conversation(), options)
	if err != nil {
		t.Fatal(err)
	}
	c.Tools = jsontext.Value(`[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}]`)
	body, err = c.JSON()
	through["chat"] = pair{body, err, &openai.ChatCompletionNewParams{}, wirechat.Decode}
	r, err := wireresponses.Encode(conversation(), options)
	if err != nil {
		t.Fatal(err)
	}
	r.Tools = jsontext.Value(`[{"type":"function","name":"read","strict":false,"parameters":{"type":"object"}}]`)
	body, err = r.JSON()
	through["responses"] = pair{body, err, &responses.ResponseNewParams{}, wireresponses.Decode}
	g, err := wiregemini.Encode(conversation(), options)
	if err != nil {
		t.Fatal(err)
	}
	g.Tools = jsontext.Value(`[{"functionDeclarations":[{"name":"read","parameters":{"type":"OBJECT"}}]}]`)
	body, err = g.JSON()
	through["gemini"] = pair{body, err, &geminiBody{}, wiregemini.Decode}

	for name, p := range through {
		if p.err != nil {
			t.Fatal(p.err)
		}
		if err := json.Unmarshal(p.body, p.theirs); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := json.Marshal(p.theirs)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		before, after := told(p.decode(p.body)), told(p.decode(again))
		if diff := cmp.Diff(before, after); diff != "" || len(before) < 8 {
			t.Errorf("%s (-ours +through theirs):\n%s\n%s\n%s", name, diff, p.body, again)
		}
	}
}

// geminiBody is a request body: the library has types for what is in it alone.
type geminiBody struct {
	SystemInstruction *genai.Content          `json:"systemInstruction,omitempty"`
	Tools             []*genai.Tool           `json:"tools,omitempty"`
	GenerationConfig  *genai.GenerationConfig `json:"generationConfig,omitempty"`
	Contents          []*genai.Content        `json:"contents"`
}

// told is what a body says, a line for each piece.
func told(d *wire.Decoded) []string {
	lines := []string{fmt.Sprintf("%s %d %s", d.Model, d.MaxTokens, d.System)}
	for _, s := range d.Skipped {
		lines = append(lines, "skipped: "+s.Reason)
	}
	for _, m := range d.Messages {
		for _, p := range m.Parts {
			line := fmt.Sprintf("%s %s %q %s %s", m.Role, p.Type, p.Text, p.Mime, p.URL)
			thought := wire.ThoughtOf(&p)
			line += fmt.Sprint(" ", thought.Signature, thought.Encrypted, thought.Google)
			if p.State != nil {
				input := any(map[string]any{}) // as which a call without arguments counts
				json.Unmarshal(p.State.Input, &input)
				line += fmt.Sprintf(" %s %s %v %s %q %d", p.CallID, p.Tool, input, p.State.Status, p.State.Result(),
					len(p.State.Attachments))
			}
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
