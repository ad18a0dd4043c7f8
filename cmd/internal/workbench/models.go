package workbench

import (
	"context"
	"errors"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	asking "github.com/winnowhq/winnow/summarize/model"
)

// Advice says what to do about a provider that refuses, "" if the error says it.
func (b *Bench) Advice(err error) string {
	var e *llm.Error
	if !errors.As(err, &e) {
		return ""
	}
	switch e.Kind {
	case llm.Auth:
		if variable := b.set.KeyEnv(e.Provider); variable != "" {
			return "check the key in " + variable
		}
		return "check providers." + e.Provider + " in the configuration: its headers are sent with each request"
	case llm.Rejected:
		if e.Status == 404 {
			return "`winnow config models` lists known models; choose another one with --model, or /model in the chat"
		}
	case llm.Network:
		return "check the connection, and providers." + e.Provider + ".baseURL if it is set"
	}
	return ""
}

// reader is the model that a session was last read by, "" when it names none.
func reader(s session.Session) string {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if m := &s.Messages[i]; !m.IsSummary() {
			if ref := m.Answers(); ref != nil && ref.ProviderID != "" {
				return ref.String()
			}
		}
	}
	if ref := s.Info.Model; ref != nil && ref.ProviderID != "" {
		return ref.String()
	}
	return ""
}

// client makes the client of a model, which does not repeat requests that fail.
func (b *Bench) client(name string) (llm.Client, model.Model, error) {
	return source.Client(b.app, b.set, b.Models, name)
}

// titler makes what gives finished turns titles, if the settings name a model for it.
func (b *Bench) titler() {
	switch b.settings.Titles {
	case "", "off", "auto":
		return
	}
	client, m, err := b.client(b.settings.Titles)
	if err != nil {
		b.Notices = append(b.Notices, "titles are made offline: "+err.Error())
		return
	}
	b.headlines = agent.HeadlinesBy(client, m)
}

// titlesBeside makes the same of a small model beside the one that works, nil if none is known.
// Only a provider that gets the session anyway is asked, and never one that stands in another's
// place.
func (b *Bench) titlesBeside(m model.Model) func(context.Context, agent.Told) (agent.Headline, error) {
	small, ok := b.Models.Small(m)
	if b.settings.Titles != "auto" || !ok || !b.set.Own(m.Provider) {
		return nil
	}
	client, small, err := b.client(small.String())
	if err != nil {
		return nil
	}
	return agent.HeadlinesBy(client, small)
}

// summarizer makes the summariser. A session that asks a model anyway also has its summaries from a
// model, unless the settings want them offline.
func (b *Bench) summarizer() func(model.Model) (pivot.Summarizer, error) {
	if b.settings.Compaction.Summarizer == "offline" {
		return nil
	}
	return func(m model.Model) (pivot.Summarizer, error) {
		client, asked, err := b.client(m.String())
		if err != nil {
			return nil, err
		}
		return asking.New(llm.Retry(client, llm.RetryOptions{}), asked,
			asking.Options{Temperature: b.settings.Compaction.Temperature}), nil
	}
}

// Offered are the models that /model lists: those whose provider can be asked as things are.
func (b *Bench) Offered() []string {
	can := map[string]bool{}
	var names []string
	for _, m := range b.Models.Models {
		ok, known := can[m.Provider]
		if !known {
			_, err := b.set.Client(m.Provider)
			ok = err == nil
			can[m.Provider] = ok
		}
		if ok {
			names = append(names, m.String())
		}
	}
	return names
}
