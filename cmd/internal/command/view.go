package command

import (
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
	"github.com/winnowhq/winnow/wire/gemini"
	"github.com/winnowhq/winnow/wire/openaichat"
	"github.com/winnowhq/winnow/wire/responses"
)

// viewed is the JSON document of view.
type viewed struct {
	Source string `json:"source"` // SRC as it was given
	As     string `json:"as"`     // "text", "anthropic", "openai", "responses" or "gemini"
	Model  string `json:"model"`  // "provider/id"
	Tokens int    `json:"tokens"` // tokens of the view
	// A list in the shape of the provider's request body; with "text" one string.
	Messages jsontext.Value `json:"messages"`
}

type encoder func([]session.Message, wire.Options) (jsontext.Value, error)

// encoders write messages down for a provider, as the JSON list that a request body holds.
var encoders = map[string]encoder{
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

func viewCommand(a *cli.App) *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use:   "view SRC",
		Short: "Print the exact messages that the model would be sent",
		Example: `  winnow view session.jsonl
  winnow view session.jsonl --as anthropic --json`,
		Args: cli.Exactly(1, "one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error { return runView(cmd.Context(), a, args[0], as) },
	}
	defer cli.Complete(cmd, "as", "text", "anthropic", "openai", "responses", "gemini")
	cmd.Flags().StringVar(&as, "as", "text", "text, anthropic, openai (chat completions), responses or gemini")
	return cmd
}

func runView(ctx context.Context, a *cli.App, src, as string) error {
	encode := encoders[as]
	if encode == nil && as != "text" {
		return cli.Usage("messages cannot be written as %q; use text, anthropic, openai, responses or gemini", as)
	}
	s, err := source.Open(ctx, a, src)
	if err != nil {
		return err
	}
	defer s.Close()
	v, err := s.Engine.View(ctx, s.ID)
	if err != nil {
		return err
	}
	text, err := render(v, encode)
	if err == nil && a.JSON {
		doc := viewed{Source: src, As: as, Model: v.Model, Tokens: v.Tokens, Messages: text}
		if encode == nil {
			doc.Messages, err = jsontext.AppendQuote(nil, string(text))
		}
		err = errors.Join(err, a.Print(doc))
	} else if err == nil {
		_, err = a.Data().Write(append(text, '\n'))
	}
	if err != nil {
		return err
	}
	return s.Done()
}

func render(v winnow.View, encode encoder) (jsontext.Value, error) {
	if encode == nil {
		return jsontext.Value(strings.TrimRight(pivot.Transcript(v.Messages), "\n")), nil
	}
	_, id, _ := strings.Cut(v.Model, "/")
	return encode(v.Messages, wire.Options{Model: id})
}
