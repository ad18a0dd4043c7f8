package main

import (
	"strings"
	"sync"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/pivot"
	asking "github.com/winnowhq/winnow/summarize/model"
	"github.com/winnowhq/winnow/token"
)

// clientFor makes the client that asks a model by its name, and says which model that is: by its provider, what the settings say of that, and the
// key in the environment. Failures that pass are tried again.
func (a *app) clientFor(name string, models *model.Catalogue, settings config.Settings) (llm.Client, model.Model, error) {
	set, err := a.providers(settings)
	if err != nil {
		return nil, model.Model{}, err
	}
	client, m, err := set.Open(models, name)
	if a.env.Client != nil && (err == nil || m.Provider != "") {
		client, err = a.env.Client(m)
	}
	if err != nil {
		return nil, m, err
	}
	return llm.Retry(client, llm.RetryOptions{}), m, nil
}

// providers are those that are known and those of the settings.
func (a *app) providers(settings config.Settings) (*providers.Set, error) {
	defined := make(map[string]providers.Provider, len(settings.Providers))
	for name, p := range settings.Providers {
		defined[name] = providers.Provider{Protocol: providers.Protocol(p.Protocol), BaseURL: p.BaseURL, KeyEnv: p.KeyEnv, Headers: p.Headers,
			Idle: p.Idle, Longest: p.Longest, MaxTokens: p.MaxTokens, Body: p.Body}
	}
	return providers.New(a.env.Getenv, defined)
}

// summarizerFor makes the summariser that asks a model, nil where none is asked. A command that has always been free stays so: with "auto" only a
// model that was configured is asked, not whichever the session names.
func (a *app) summarizerFor(settings config.Settings) func(model.Model) (pivot.Summarizer, error) {
	how, configured := settings.Compaction.Summarizer, settings.Compaction.Model
	if how == "offline" || how == "auto" && configured == "" {
		return nil
	}
	return func(m model.Model) (pivot.Summarizer, error) {
		models, err := a.models()
		if err != nil {
			return nil, err
		}
		name := m.String()
		switch provider, id, _ := strings.Cut(configured, "/"); {
		case configured != "" && models.At(provider, id).String() == name:
			name = configured // as it is written: it may be another name of the provider
		case how == "auto":
			return nil, nil // not this one
		case a.model != "":
			name = a.model
		}
		client, asked, err := a.clientFor(name, models, settings)
		if err != nil {
			return nil, err
		}
		longest := time.Duration(settings.Providers[asked.Provider].Longest) * time.Second // 0 takes what is usual
		return asking.New(client, asked, asking.Options{Longest: longest}), nil
	}
}

// watch shows on a terminal how much of a summary is written; the returned function ends it and wipes it away.
func (a *app) watch(e *winnow.Engine, what string) func() {
	if !a.env.StderrTerminal || a.quiet {
		return func() {}
	}
	wipe := a.progress(what)
	events := e.Subscribe(0)
	var shown sync.WaitGroup
	shown.Go(func() {
		request, written := 0, 0
		for event := range events.C {
			if event.Type != winnow.CompactionDelta {
				continue
			}
			if event.Request != request {
				request, written = event.Request, 0
			}
			written += len(event.Text)
			a.say("%s… %s tokens written", what, token.Grouped((written+2)/4))
		}
	})
	return func() {
		events.Close()
		shown.Wait()
		wipe()
	}
}

// summarizers are the words for --summarizer.
var summarizers = []string{"auto", "llm", "offline"}

func noSummarizer(name string) error {
	return usage("there is no summariser %q; use %s", name, strings.Join(summarizers, ", "))
}
