package discover

import (
	"cmp"
	"context"
	"os"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/cline"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/format/openhands"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/plainfile"
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
	if f.Product != cline.Name || f.Title == "" { // a file of Cline's bears no title
		f.Title = cmp.Or(titleOf(doc), f.Title)
	}
	f.Project, f.ID = cmp.Or(f.Project, info.Directory), cmp.Or(f.ID, info.ID)
	account(f, doc, models)
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

// account sums what the requests took, and estimates the tokens of what does not say.
func account(f *Found, doc *format.Document, models *model.Catalogue) {
	prices := bill.NewPrices(models.Lookup)
	sums := bill.Of(doc.Session.Messages, doc.Beside, prices)
	all := sums.Total()
	f.Spent = spent(doc, prices)
	// The product has summed up what its messages do not say.
	if (all.Requests == 0 || all.Dollars() == nil) && f.session != "" && f.Tokens > 0 {
		if f.Cost == nil {
			f.Uncosted = max(1, all.Requests)
		} else {
			f.Spent = []report.Spending{{Requests: max(1, all.Requests), Cost: *f.Cost}}
		}
		return
	}
	f.Tokens, f.TokensEstimated = all.Usage.Prompt()+all.Usage.Output+all.Usage.Reasoning, false
	if f.Tokens == 0 {
		f.Tokens = rule.NewFacts(token.Linear{}).Total(doc.Session.Messages)
		f.TokensEstimated = f.Tokens > 0
	}
	f.Cost, f.Uncosted, f.Agents = all.Dollars(), all.Unknown(), sums.Agents.Cost
	f.CostEstimated = all.Cost > 0
}

// spent sums up what the requests cost, by hour and model.
func spent(doc *format.Document, prices *bill.Prices) []report.Spending {
	var all []report.Request
	add := func(r bill.Request) {
		all = append(all, report.Request{Time: r.Time, Kind: string(r.Kind), Model: r.Model, Bill: prices.Of(r)})
	}
	for i := range doc.Session.Messages {
		for _, r := range bill.Requests(&doc.Session.Messages[i]) {
			add(r)
		}
	}
	for _, r := range doc.Beside {
		add(r)
	}
	return report.Spendings(all)
}
