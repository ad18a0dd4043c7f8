package shaping

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/codex"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/plainfile"
)

// Codex is the name of the agent whose hooks Result answers.
const Codex = "codex"

// Ran is what Codex tells its hook PostToolUse.
type Ran struct {
	Event    string         `json:"hook_event_name"`
	Session  string         `json:"session_id"`
	Rollout  string         `json:"transcript_path"`
	Call     string         `json:"tool_use_id"`
	Response jsontext.Value `json:"tool_response"`
}

// Instead is what Codex then sends its model as the result, under a label of its own.
type Instead struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

// mostRollout is how many bytes of a rollout are read.
const mostRollout = 256 << 20

// Result decides what Codex sends as the result of a call that has just ended, nil to send it as it
// is. Codex keeps what is sent, and nothing else: the store keeps the whole text.
func (s *Shaper) Result(ctx context.Context, r *Ran) (*Instead, error) {
	var text string
	if r.Event != "PostToolUse" || json.Unmarshal(r.Response, &text) != nil || text == "" {
		return nil, nil // nothing that is text
	}
	source, _, err := plainfile.Read(r.Rollout, mostRollout)
	if err != nil {
		return nil, err
	}
	doc, err := codex.Format{}.Read(source)
	if err != nil {
		return nil, err
	}
	id := cmp.Or(doc.Session.Info.ID, r.Session)
	doc.Session.Info.ID = id
	part, ended := ending(doc, r.Call, text)
	if part == nil {
		return nil, nil // it is not in the rollout yet
	}
	if _, err := s.keep(ctx, doc); err != nil {
		return nil, err
	}
	shown, err := s.first(ctx, doc, ended, part.ID)
	if err != nil || shown == text {
		return nil, err
	}
	keeper, ok := s.Engine.Store().(store.Keeper)
	if !ok {
		return nil, errors.New("this store keeps no whole texts")
	}
	if err := keeper.Keep(ctx, id, part.ID, text); err != nil {
		return nil, fmt.Errorf("keep the whole result: %w", err)
	}
	return &Instead{"block", shown}, nil
}

// ending finds a call, and gives the log up to it with this as its result.
func ending(doc *format.Document, call, text string) (*session.Part, []session.Message) {
	messages := doc.Session.Messages
	for i := len(messages) - 1; i >= 0; i-- {
		for j := range messages[i].Parts {
			p := messages[i].Parts[j]
			if p.Type != session.ToolPart || p.CallID != call || p.State == nil || p.State.Final() {
				continue
			}
			ended := append([]session.Message(nil), messages[:i+1]...)
			ended[i].Parts = append([]session.Part(nil), ended[i].Parts...)
			state := *p.State
			state.Status, state.Output = session.Completed, text
			p.State = &state
			ended[i].Parts[j] = p
			return &p, ended
		}
	}
	return nil, nil
}

// first is how the result of a part is sent for the first time, where nothing else may change.
func (s *Shaper) first(ctx context.Context, doc *format.Document, ended []session.Message, part string) (string,
	error) {
	e, err := s.Scratch()
	if err != nil {
		return "", err
	}
	defer e.Close()
	log := doc.Session
	log.Messages, log.Info.Recall = ended, true
	if err := e.Import(ctx, log, doc.Ledger, nil); err != nil {
		return "", err
	}
	if _, err := e.Begin(ctx, log.Info.ID, winnow.BeginOptions{Held: true}); err != nil {
		return "", err
	}
	_, state, err := e.Session(ctx, log.Info.ID)
	if err != nil {
		return "", err
	}
	shown := ""
	for i := range ended {
		for j := range ended[i].Parts {
			if p := &ended[i].Parts[j]; p.ID == part {
				shown = p.State.Output
			}
		}
	}
	for _, e := range edits(ended, state.Ledger) {
		if e.Part == part && e.Result != nil {
			shown = *e.Result
		}
	}
	return shown, nil
}
