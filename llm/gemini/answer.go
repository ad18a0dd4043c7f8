package gemini

import (
	"encoding/base64"
	stdjson "encoding/json"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// answer is what has arrived.
type answer struct {
	delta  func(string)
	parts  []session.Part
	calls  int
	reason genai.FinishReason
	usage  session.Usage
}

// blocked is the reason of an answer that was refused before it began.
const blocked genai.FinishReason = "BLOCKED"

func (a *answer) take(chunk *genai.GenerateContentResponse) {
	if u := chunk.UsageMetadata; u != nil { // each report counts from the beginning
		a.usage = count(u)
	}
	if f := chunk.PromptFeedback; f != nil && f.BlockReason != "" && f.BlockReason != genai.BlockedReasonUnspecified {
		a.reason = blocked
	}
	for _, candidate := range chunk.Candidates {
		if candidate == nil || candidate.Index != 0 {
			continue
		}
		if candidate.Content != nil {
			for _, p := range candidate.Content.Parts {
				a.part(p)
			}
		}
		if candidate.FinishReason != "" && candidate.FinishReason != genai.FinishReasonUnspecified {
			a.reason = candidate.FinishReason
		}
	}
}

// count reads a report of usage: the prompt's tokens include those that were read from the cache, the answer's exclude its thoughts.
func count(u *genai.GenerateContentResponseUsageMetadata) session.Usage {
	prompt := int64(u.PromptTokenCount) + int64(u.ToolUsePromptTokenCount)
	thoughts := int64(u.ThoughtsTokenCount)
	usage := upstream.Split(prompt, int64(u.CachedContentTokenCount), 0, int64(u.CandidatesTokenCount)+thoughts, thoughts, 0)
	usage.Total = int(u.TotalTokenCount)
	return usage
}

// part takes a part. Texts and thoughts come in pieces, which are put together; what has a signature stays by itself, as Google
// wants it back. A signature that comes after its text, with nothing, belongs to that.
func (a *answer) part(p *genai.Part) {
	if p == nil {
		return
	}
	signature := ""
	if len(p.ThoughtSignature) > 0 {
		signature = base64.StdEncoding.EncodeToString(p.ThoughtSignature)
	}
	metadata := wire.Metadata("google", "thoughtSignature", signature)
	switch {
	case p.FunctionCall != nil:
		a.call(p.FunctionCall, metadata)
	case p.InlineData != nil:
		media := wire.Media{Mime: p.InlineData.MIMEType, Name: p.InlineData.DisplayName, Data: base64.StdEncoding.EncodeToString(p.InlineData.Data)}
		a.parts = append(a.parts, media.FilePart())
	case p.ExecutableCode != nil, p.CodeExecutionResult != nil, p.FileData != nil:
		if raw, err := stdjson.Marshal(p); err == nil { // the SDK's types are made for it: it leaves out what is empty
			a.parts = append(a.parts, wire.OpaquePart("gemini", "part", raw))
		}
	case p.Thought:
		a.text(session.ReasoningPart, p.Text, metadata)
	default:
		if a.delta != nil && p.Text != "" {
			a.delta(p.Text)
		}
		a.text(session.TextPart, p.Text, metadata)
	}
}

func (a *answer) text(kind session.PartType, text string, metadata jsontext.Value) {
	if text == "" && metadata == nil {
		return
	}
	if n := len(a.parts); n > 0 && a.parts[n-1].Type == kind && a.parts[n-1].Metadata == nil && (text == "" || metadata == nil) {
		a.parts[n-1].Text += text
		a.parts[n-1].Metadata = metadata
		return
	}
	a.parts = append(a.parts, session.Part{Type: kind, Text: text, Metadata: metadata})
}

// call takes a call, which comes whole. The API leaves out ids at will.
func (a *answer) call(c *genai.FunctionCall, metadata jsontext.Value) {
	a.calls++
	id := c.ID
	if id == "" {
		id = "call_" + strconv.Itoa(a.calls)
	}
	arguments := ""
	if raw, err := json.Marshal(c.Args, json.Deterministic(true), json.FormatNilMapAsNull(false)); err == nil {
		arguments = string(raw)
	}
	a.parts = append(a.parts, upstream.Tool(id, c.Name, arguments, metadata))
}

// whole is the answer as far as it arrived.
func (a *answer) whole(m model.Model) llm.Answer {
	return llm.Answer{Parts: a.parts, Finish: a.finish(), Model: m.String(), Usage: a.usage, Cost: upstream.Cost(m, a.usage)}
}

func (a *answer) finish() llm.Finish {
	switch a.reason {
	case genai.FinishReasonStop:
		if a.calls > 0 {
			return llm.Calls
		}
		return llm.Stop
	case genai.FinishReasonMaxTokens:
		return llm.Length
	case blocked, genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonLanguage, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent, genai.FinishReasonSPII, genai.FinishReasonImageSafety, genai.FinishReasonImageProhibitedContent,
		"MODEL_ARMOR":
		return llm.Refused
	}
	return llm.Other
}
