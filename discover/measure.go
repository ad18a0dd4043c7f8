package discover

import (
	"context"
	"os"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/format/openhands"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plainfile"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// measure reads a session whole.
func measure(ctx context.Context, f *Found, models *model.Catalogue) (err error) {
	defer guard(&err)
	doc, err := read(ctx, f)
	if err != nil {
		return err
	}
	info := doc.Session.Info
	f.Messages, f.Damaged = len(doc.Session.Messages), len(doc.Damaged)
	if doc.Counts.Messages > 0 && f.session == "" {
		f.Messages = doc.Counts.Messages
	}
	if title := titleOf(doc); title != "" {
		f.Title = title
	}
	if f.Project == "" {
		f.Project = info.Directory
	}
	if f.ID == "" {
		f.ID = info.ID
	}
	account(f, doc.Session.Messages, models)
	f.Measured = true
	return nil
}

func read(ctx context.Context, f *Found) (*format.Document, error) {
	if f.session != "" {
		store, err := opencodedb.Open(f.path)
		if err != nil {
			return nil, err
		}
		return store.Read(ctx, f.session)
	}
	if f.folder {
		folder, ok := openhands.Conversation(f.path)
		if !ok {
			return nil, &os.PathError{Op: "read", Path: f.path, Err: os.ErrNotExist}
		}
		return folder.Read()
	}
	data, _, err := plainfile.Read(f.path, 0)
	if err != nil {
		return nil, err
	}
	return all.Read(data)
}

// account sums what the messages report, and estimates what they do not.
func account(f *Found, messages []session.Message, models *model.Catalogue) {
	var used session.Usage
	reported, costed := false, false
	cost, priced := 0.0, 0.0
	known := map[string]model.Model{}
	for i := range messages {
		m := &messages[i]
		if m.Cost != nil {
			cost += *m.Cost
			costed = true
		}
		if m.Tokens == nil || *usageOf(m) == (model.Usage{}) {
			continue
		}
		reported = true
		used = used.Add(*m.Tokens)
		if m.Cost != nil && *m.Cost > 0 {
			continue
		}
		name := m.Answers().String()
		reader, ok := known[name]
		if !ok {
			reader = models.Lookup(name)
			known[name] = reader
		}
		priced += reader.Cost(*usageOf(m)) // 0 where the prices are not known
	}
	f.Tokens, f.TokensEstimated = used.Prompt()+used.Output+used.Reasoning, false
	if !reported {
		f.Tokens = rule.NewFacts(token.Linear{}).Total(messages)
		f.TokensEstimated = f.Tokens > 0
	}
	f.Cost, f.CostEstimated = cost, false
	if !(costed && cost > 0) && priced > 0 {
		f.Cost, f.CostEstimated = priced, true
	}
}

func usageOf(m *session.Message) *model.Usage {
	u := m.Tokens
	return &model.Usage{Input: u.Input, Output: u.Output, Reasoning: u.Reasoning, CacheRead: u.Cache.Read, CacheWrite: u.Cache.Write}
}
