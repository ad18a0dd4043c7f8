package main

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/span"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
	"github.com/winnowhq/winnow/wire/gemini"
	"github.com/winnowhq/winnow/wire/openaichat"
	"github.com/winnowhq/winnow/wire/responses"
)

// viewed is the JSON document of view.
type viewed struct {
	Source   string         `json:"source"`
	As       string         `json:"as"`
	Model    string         `json:"model"`
	Tokens   int            `json:"tokens"`
	Messages jsontext.Value `json:"messages"` // in the shape of the provider; with --as text one string
}

// encoders write messages down for a provider, as the JSON list that a request body holds.
var encoders = map[string]func([]session.Message, wire.Options) (jsontext.Value, error){
	"anthropic": func(m []session.Message, o wire.Options) (jsontext.Value, error) {
		b, err := anthropic.Encode(m, o)
		return span.Array(b.Elements), err
	},
	"openai": func(m []session.Message, o wire.Options) (jsontext.Value, error) {
		b, err := openaichat.Encode(m, o)
		return span.Array(b.Elements), err
	},
	"responses": func(m []session.Message, o wire.Options) (jsontext.Value, error) {
		b, err := responses.Encode(m, o)
		return span.Array(b.Elements), err
	},
	"gemini": func(m []session.Message, o wire.Options) (jsontext.Value, error) {
		b, err := gemini.Encode(m, o)
		return span.Array(b.Elements), err
	},
}

func (a *app) viewCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use:   "view SRC",
		Short: "Print the exact messages that the model would be sent",
		Example: `  winnow view session.jsonl
  winnow view session.jsonl --as anthropic --json`,
		Args: exactly(1, "one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runView(cmd.Context(), args[0], as) },
	}
	defer complete(cmd, "as", "text", "anthropic", "openai", "responses", "gemini")
	cmd.Flags().StringVar(&as, "as", "text", "text, anthropic, openai (chat completions), responses or gemini")
	return cmd
}

func (a *app) runView(ctx context.Context, src, as string) error {
	encode := encoders[as]
	if encode == nil && as != "text" {
		return usage("messages cannot be written as %q; use text, anthropic, openai, responses or gemini", as)
	}
	s, err := a.open(ctx, src)
	if err != nil {
		return err
	}
	defer s.Close()
	v, err := s.engine.View(ctx, s.id)
	if err != nil {
		return err
	}
	text, err := render(v, encode)
	if err != nil {
		return err
	}
	switch {
	case a.json:
		if encode == nil {
			if text, err = jsontext.AppendQuote(nil, string(text)); err != nil {
				return err
			}
		}
		err = a.print(viewed{Source: src, As: as, Model: v.Model, Tokens: v.Tokens, Messages: text})
	default:
		_, err = a.data().Write(append(text, '\n'))
	}
	if err != nil {
		return err
	}
	return s.done()
}

func render(v winnow.View, encode func([]session.Message, wire.Options) (jsontext.Value, error)) (jsontext.Value, error) {
	if encode == nil {
		return jsontext.Value(strings.TrimRight(pivot.Transcript(v.Messages), "\n")), nil
	}
	_, id, _ := strings.Cut(v.Model, "/")
	return encode(v.Messages, wire.Options{Model: id})
}
