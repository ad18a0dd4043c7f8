package rpc

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/store/report"
)

// PruneMessages asks for the messages that are to be sent in the place of a conversation's. It keeps
// no session: each request hands in the whole conversation, or what came back with the messages since.
type PruneMessages struct {
	// Messages are those of Anthropic's Messages API, OpenAI's Chat Completions or Responses, or
	// Gemini's.
	Messages []jsontext.Value `json:"messages"`
	// Model is the model that reads them, "provider/id": its window and its prices decide. Default: a
	// model of 128,000 tokens without known prices.
	Model string `json:"model,omitzero"`
	// Besides is how many tokens of each request are not messages: the system prompt and the tools.
	Besides int `json:"besides,omitzero"`
	// Keep leaves out old results of tools, and never folds the past into a summary.
	Keep bool `json:"keep,omitzero"`
}

// PrunedMessages are the messages to send.
type PrunedMessages struct {
	Messages []jsontext.Value `json:"messages"`
	// From is, for each message, the place from 0 of the one that was handed in and stays as it is; -1
	// for one that was changed, or that is new: the summary.
	From []int       `json:"from"`
	Sent report.Sent `json:"sent"`
}

func (s *Server) pruneMessages(c *call, p PruneMessages) (PrunedMessages, error) {
	in := make([]json.RawMessage, len(p.Messages))
	for i, m := range p.Messages {
		in[i] = json.RawMessage(m)
	}
	out, sent, err := winnow.Prune(c.ctx, in, winnow.Options{Model: p.Model, Besides: p.Besides, Keep: p.Keep,
		Settings: s.config.Settings})
	if err != nil {
		return PrunedMessages{}, err
	}
	pruned := PrunedMessages{Messages: []jsontext.Value{}, From: []int{}, Sent: sent}
	next := 0
	for _, m := range out {
		from := -1
		for at := next; at < len(in) && from < 0; at++ {
			if bytes.Equal(in[at], m) {
				from, next = at, at+1
			}
		}
		pruned.Messages, pruned.From = append(pruned.Messages, jsontext.Value(m)), append(pruned.From, from)
	}
	return pruned, nil
}
