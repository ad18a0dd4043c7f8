package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/shaping"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

func shapeCommand(a *cli.App) *cobra.Command {
	var product string
	products := append([]string{claude, shaping.Codex}, shaping.Products()...)
	cmd := &cobra.Command{
		Use:   "shape --product PRODUCT",
		Short: "Answer an agent that asks what to send",
		Long: `shape reads one JSON object on standard input, which an agent hands over before a request to
its model, when it compacts, or with the result of a tool. It keeps the session in the store, and prints
one JSON object: what is to stand in place of what was handed over. What winnow install puts into
` + strings.Join(products, ", ") + ` calls it; docs/json.md describes both objects. If it fails, the
agent sends what it would send without winnow.`,
		Example: `  winnow shape --product pi < handed.json`,
		Args:    cli.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(products, product) {
				return cli.Usage("--product must be %s, not %q", strings.Join(products, " or "), product)
			}
			err := runShape(cmd.Context(), a, product)
			if product == shaping.Codex && err != nil { // an exit code other than 0 would be Codex's to act on
				a.Warn("%v", err)
				return nil
			}
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&product, "product", "", "who asks: "+strings.Join(products, ", "))
	cli.Complete(cmd, "product", products...)
	return cmd
}

func runShape(ctx context.Context, a *cli.App, product string) error {
	text, err := io.ReadAll(a.Env.Stdin)
	if err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	if product == claude {
		answer, err := claudeAnswer(ctx, a, text)
		if err != nil {
			return err
		}
		return a.Line(answer)
	}
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	sub := len(span.Get(span.Get(text, "session"), "parentID")) > 0 // OpenCode's
	settings.Settings = settings.ForAgent(product, sub)
	settings.Compaction.Auto = false // the agent says when
	kept, err := source.OpenStore(ctx, a, source.Making)
	if err != nil {
		return err
	}
	defer kept.Close()
	c, err := source.Config(a, kept, settings)
	if err != nil {
		return err
	}
	scratch := c
	scratch.Store = nil
	hooks := a.Hooks(settings, false, func(_, what string) { a.Warn("%s", what) })
	c.Hooks = transport.Hooks(hooks.Hooks())
	engine, err := winnow.Open(c)
	if err != nil {
		return err
	}
	defer engine.Close()
	s := shaping.Shaper{Engine: engine, Now: a.Env.Now,
		Scratch: func() (*winnow.Engine, error) { return winnow.Open(scratch) }}
	watch := hooks.Watch(engine)
	answer, err := shaped(ctx, &s, product, text)
	watch.Close()
	if err != nil {
		return err
	}
	if answer == nil {
		return nil
	}
	if err := a.Line(answer); err != nil {
		return err
	}
	a.Show() // the agent does not wait for the hooks
	watch.Run(ctx)
	return nil
}

// shaped answers an agent, nil if there is nothing to say.
func shaped(ctx context.Context, s *shaping.Shaper, product string, text []byte) (any, error) {
	if product == shaping.Codex {
		var ran shaping.Ran
		if err := json.Unmarshal(text, &ran, session.ReadOptions()); err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		instead, err := s.Result(ctx, &ran)
		if instead == nil {
			return nil, err
		}
		return instead, err
	}
	var handed shaping.Handed
	if err := json.Unmarshal(text, &handed, session.ReadOptions()); err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	answer, err := s.Shape(ctx, product, &handed)
	if err != nil {
		return nil, err
	}
	return answer, nil
}
