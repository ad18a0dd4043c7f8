package source

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store"
	asking "github.com/winnowhq/winnow/summarize/model"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/token/bpe"
)

// work gives a session an engine on a store, or on one in memory if kept is nil, with the hooks of
// the settings.
func (s *Session) work(ctx context.Context, a *cli.App, kept store.Store, settings config.Settings) error {
	c, err := Config(a, kept, settings)
	if err != nil {
		return err
	}
	hooks := a.Hooks(settings, s.dry, func(_, what string) { a.Warn("%s", what) })
	c.Hooks = hooks.Hooks()
	if s.Engine, err = winnow.Open(c); err != nil {
		return err
	}
	watch := hooks.Watch(s.Engine)
	s.told = func(happened bool) {
		watch.Close()
		if happened {
			a.Show() // what the command says does not wait for them
			watch.Run(ctx)
		}
	}
	return nil
}

// Config is what an engine of this command is made from.
func Config(a *cli.App, kept store.Store, settings config.Settings) (winnow.Config, error) {
	counter, err := TokenCounter(settings)
	return winnow.Config{Settings: &settings.Settings, Store: kept, Models: settings.Catalogue(model.Default()),
		Model: a.Model, Counter: counter, Now: a.Env.Now, ForceModel: a.Model != "",
		SummarizerFor: summarizerFor(a, settings)}, err
}

// TokenCounter is the counter that the settings name, nil for the engine's own choice.
func TokenCounter(settings config.Settings) (token.Counter, error) {
	if settings.Counter == "auto" {
		return nil, nil
	}
	c, err := bpe.Named(settings.Counter)
	if err != nil {
		return nil, cli.Misuse(err)
	}
	return token.NewMemo(c, 0), nil
}

// Client makes the client that asks a model by its name, and says which model that is.
func Client(a *cli.App, set *providers.Set, models *model.Catalogue, name string) (llm.Client, model.Model, error) {
	client, m, err := set.Open(models, name)
	if a.Env.Client != nil && (err == nil || m.Provider != "") {
		client, err = a.Env.Client(m)
	}
	return client, m, err
}

// summarizerFor makes the summariser that asks a model, nil if none is asked. A command that has
// always been free stays free: with "auto" only a configured model is asked, not the one that the
// session names.
func summarizerFor(a *cli.App, settings config.Settings) func(model.Model) (pivot.Summarizer, error) {
	how, configured := settings.Compaction.Summarizer, settings.SummaryModels()
	if how != "llm" && len(configured) == 0 {
		return nil
	}
	return func(m model.Model) (pivot.Summarizer, error) {
		models, name := settings.Catalogue(model.Default()), m.String()
		i := slices.IndexFunc(configured, func(written string) bool {
			provider, id, _ := strings.Cut(written, "/")
			return models.At(provider, id).String() == name
		})
		switch {
		case i >= 0:
			name = configured[i] // as it is written: it may be another name of the provider
		case how != "llm":
			return nil, nil // not this one
		case a.Model != "":
			name = a.Model
		}
		set, err := a.Providers(settings)
		if err != nil {
			return nil, err
		}
		client, asked, err := Client(a, set, models, name)
		if err != nil {
			return nil, err
		}
		longest := time.Duration(settings.Providers[asked.Provider].Longest) * time.Second // 0 is the usual time
		return asking.New(llm.Retry(client, llm.RetryOptions{}), asked,
			asking.Options{Longest: longest, Temperature: settings.Compaction.Temperature}), nil
	}
}
