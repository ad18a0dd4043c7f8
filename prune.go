package winnow

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// Options tell Prune about the model and the rest of the request.
type Options struct {
	// Model is "provider/id" of the model that reads the messages: its window and its prices decide.
	// Default: a model of 128,000 tokens without known prices.
	Model string
	// Besides is how many tokens of each request are not messages: the system prompt, where it is
	// none of the messages, and the definitions of the tools. Default: 0.
	Besides int
	// Keep never folds the past into a summary: old results of tools are left out, and nothing else.
	Keep bool
	// Settings are what a configuration file can say. Default: settings.Default().
	Settings *settings.Settings
}

// Prune returns the messages that are to be sent to a model in the place of a conversation's: old
// results of tools are left out where that pays, and the past is folded into a summary, written
// without a model, where the rest would not fit. The messages are those of Anthropic's
// Messages API, OpenAI's Chat Completions or Responses, or Gemini's: as any type that marshals to
// them and back, such as those of the providers' libraries, map[string]any or json.RawMessage.
// Messages that stay as they are come back as they were handed in, and none of those is changed.
//
// It keeps no state, and tells no time: the same messages give the same result, and messages behind
// them change an earlier result only where that pays for writing the provider's cache again. So a program may hand in its whole history before each request, or go on with what
// came back. Undo, receipts, recall, summaries by a model and what a pause allows need an Engine.
//
// An error has the code BadInput or BadConfig, and goes with the messages as they were handed in.
func Prune[M any](ctx context.Context, messages []M, o Options) ([]M, report.Sent, error) {
	elements := make([][]byte, len(messages))
	for i := range messages {
		text, err := json.Marshal(messages[i]) // the libraries' own types marshal for this package
		if err != nil {
			return messages, report.Sent{}, fail(BadInput, "prune", "", "", "message %d: %w", i+1, err)
		}
		elements[i] = text
	}
	if len(messages) == 0 {
		return messages, report.Sent{}, nil
	}
	pruned, r, err := prune(ctx, span.Array(elements), o)
	if err != nil {
		return messages, report.Sent{}, err
	}
	var out []M
	next := 0
	for element := range pruned.Values() {
		at := next
		for at < len(elements) && !bytes.Equal(elements[at], element.Bytes()) {
			at++
		}
		if at < len(elements) {
			out, next = append(out, messages[at]), at+1
			continue
		}
		var made M
		if err := json.Unmarshal(element.Bytes(), &made); err != nil {
			return messages, report.Sent{}, fail(BadInput, "prune", "", "", "%T cannot be made from JSON: %w", made, err)
		}
		out = append(out, made)
	}
	return out, r, nil
}

// prune is Prune of a list of messages as JSON.
func prune(ctx context.Context, list []byte, o Options) (wire.Value, report.Sent, error) {
	text, none := list, wire.Value{}
	if body.Sniff(text) == "" {
		text = span.Make("contents", list) // a bare list of Gemini's is not known by itself
	}
	dialect, ok := body.Of(body.Sniff(text))
	if !ok {
		return none, report.Sent{}, fail(BadInput, "prune", "", "hand them in as Anthropic, OpenAI or Gemini have them",
			"the messages are of no API that is known")
	}
	doc, err := body.Read(text, dialect)
	if err != nil {
		return none, report.Sent{}, fail(BadInput, "prune", "", "", "%w", err)
	}
	s := settings.Default()
	if o.Settings != nil {
		s = *o.Settings
	}
	s.Compaction.Auto = s.Compaction.Auto && !o.Keep
	began := time.UnixMilli(1)
	e, err := Open(Config{Settings: &s, Model: o.Model, ForceModel: o.Model != "",
		Now: func() time.Time { return began }, Random: zeros{}})
	if err != nil {
		return none, report.Sent{}, err
	}
	defer e.Close()
	pruned, r, err := e.replay(ctx, doc, o.Besides)
	if list := wire.ValueOf(pruned); list.Kind() == '[' {
		return list, r, err
	}
	return wire.ValueOf(pruned).Get("contents"), r, err
}

// replay goes through the requests of a conversation, so that each is decided on as it was then,
// and returns the text of the document with the decisions in it.
func (e *Engine) replay(ctx context.Context, doc *format.Document, besides int) (text []byte, r report.Sent, err error) {
	id, err := e.Create(ctx, doc.Session.Info)
	if err != nil {
		return nil, r, err
	}
	said := doc.Session.Messages
	m := e.models.Lookup(e.modelName(doc.Session.Info, said))
	if m.BindingUnknown && reasons(said) {
		// What is unknown may refuse its reasoning behind another prompt.
		r, err = Look(ctx, e, id, report.SentOf(said))
		return doc.Source, report.Sent{Before: r.Before, After: r.Before}, err
	}
	for i := range said {
		if said[i].Role == session.Assistant {
			err = e.answered(ctx, id, said[i], besides, inRound(m, said[:i]), inRound(m, said[:min(i+2, len(said))]))
		} else {
			err = e.Append(ctx, id, said[i])
		}
		if err != nil {
			return nil, r, err
		}
	}
	if _, err := e.Begin(ctx, id, BeginOptions{Fold: !inRound(m, said)}); err != nil {
		return nil, r, err
	}
	s, state, err := e.Session(ctx, id)
	if err != nil {
		return nil, r, err
	}
	change := format.Change{Session: doc.Session, Ledger: state.Ledger}
	change.Session.Messages = slices.Concat(said, body.Folded(s.Messages, state.Undone))
	n := doc.Native.(*body.Native)
	if text, err = n.Splice(change); err == nil {
		err = n.Accepted(text)
	}
	if err != nil {
		return nil, r, fail(BadInput, "prune", "", "", "%w", err)
	}
	r, err = Look(ctx, e, id, report.SentOf(said))
	return text, r, err
}

// reasons reports whether messages hold reasoning.
func reasons(messages []session.Message) bool {
	return slices.ContainsFunc(messages, func(m session.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p session.Part) bool { return p.Type == session.ReasoningPart })
	})
}

// inRound reports whether nothing may be folded behind messages, because they end in a round of
// calls, and a model that binds its reasoning has that of the round back as it was made.
func inRound(m model.Model, messages []session.Message) bool {
	return m.BoundReasoning && len(messages) > 0 && messages[len(messages)-1].Role == session.Assistant
}

// answered is a request with all that came before, and its answer with what its calls gave back.
// within and goesOn are whether a round of calls is under way before and behind the answer.
func (e *Engine) answered(
	ctx context.Context, id string, answer session.Message, besides int, within, goesOn bool,
) error {
	if _, err := e.Begin(ctx, id, BeginOptions{Fold: !within}); err != nil {
		return err
	}
	view, err := e.View(ctx, id)
	if err != nil {
		return err
	}
	if err := e.Append(ctx, id, answer); err != nil {
		return err
	}
	usage := session.Usage{Input: view.Tokens + besides}
	if goesOn {
		return e.Amend(ctx, id, Amendment{Spent: []store.Spend{{Kind: "step", Model: view.Model, Usage: usage}}})
	}
	_, err = e.Observe(ctx, id, usage)
	return err
}

// zeros are the random part of ids that nobody sees.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
