package source

import (
	"strings"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/store"
	asking "github.com/winnowhq/winnow/summarize/model"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/token/counters"
)

// Engine makes an engine on a store, nil for one in memory.
func Engine(a *cli.App, kept store.Store, settings winnow.Settings) (*winnow.Engine, store.Store, error) {
	c, err := Config(a, kept, settings)
	if err != nil {
		return nil, nil, err
	}
	e, err := winnow.Open(c)
	if err != nil {
		return nil, nil, err
	}
	return e, e.Store(), nil
}

// Config is what an engine of this command is made from.
func Config(a *cli.App, kept store.Store, settings winnow.Settings) (winnow.Config, error) {
	models, err := Models(a)
	if err != nil {
		return winnow.Config{}, err
	}
	counter, err := TokenCounter(a, settings)
	if err != nil {
		return winnow.Config{}, err
	}
	return winnow.Config{Settings: &settings, Store: kept, Models: models, Model: a.Model, Counter: counter, Now: a.Env.Now, ForceModel: a.Model != "",
		SummarizerFor: summarizerFor(a, settings)}, nil
}

// TokenCounter is the counter that was asked for, nil for the engine's own choice.
func TokenCounter(a *cli.App, settings winnow.Settings) (token.Counter, error) {
	if settings.Counter == "auto" {
		return nil, nil
	}
	c, err := counters.New(settings.Counter)
	if err != nil {
		return nil, cli.Misuse(err)
	}
	return token.NewMemo(c, 0), nil
}

// Models is the catalogue with the user's overrides.
func Models(a *cli.App) (*model.Catalogue, error) {
	return model.Default(), nil
}

// clientFor makes the client that asks a model by its name, and says which model that is: by its provider, what the settings say of that, and the
// key in the environment. Failures that pass are tried again.
func clientFor(a *cli.App, name string, models *model.Catalogue, settings winnow.Settings) (llm.Client, model.Model, error) {
	set, err := a.Providers(settings)
	if err != nil {
		return nil, model.Model{}, err
	}
	client, m, err := set.Open(models, name)
	if a.Env.Client != nil && (err == nil || m.Provider != "") {
		client, err = a.Env.Client(m)
	}
	if err != nil {
		return nil, m, err
	}
	return llm.Retry(client, llm.RetryOptions{}), m, nil
}

// summarizerFor makes the summariser that asks a model, nil where none is asked. A command that has always been free stays so: with "auto" only a
// model that was configured is asked, not whichever the session names.
func summarizerFor(a *cli.App, settings winnow.Settings) func(model.Model) (pivot.Summarizer, error) {
	how, configured := settings.Compaction.Summarizer, settings.Compaction.Model
	if how == "offline" || how == "auto" && configured == "" {
		return nil
	}
	return func(m model.Model) (pivot.Summarizer, error) {
		models, err := Models(a)
		if err != nil {
			return nil, err
		}
		name := m.String()
		switch provider, id, _ := strings.Cut(configured, "/"); {
		case configured != "" && models.At(provider, id).String() == name:
			name = configured // as it is written: it may be another name of the provider
		case how == "auto":
			return nil, nil // not this one
		case a.Model != "":
			name = a.Model
		}
		client, asked, err := clientFor(a, name, models, settings)
		if err != nil {
			return nil, err
		}
		longest := time.Duration(settings.Providers[asked.Provider].Longest) * time.Second // 0 takes what is usual
		return asking.New(client, asked, asking.Options{Longest: longest}), nil
	}
}
