package advise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// Aside is a request that belonged to no conversation, as the gateway saw it: for a title and the
// like.
type Aside struct {
	Client  string // name and version
	Session string // with which it was written down
	Usage   session.Usage
	Model   model.Model // that answered
	Small   model.Model // its provider's model for small tasks, the same where there is no cheaper one
}

// A short request has no more tokens than these. What is longer is no title.
const (
	shortPrompt = 20_000
	shortAnswer = 1_000
)

// chores are the settings of the clients that choose the model for such requests: what to write,
// and where.
var chores = []struct{ client, line, where string }{
	{"opencode", `"small_model": "%[1]s/%[2]s"`, "opencode.json"},
	{"claude", `"env": {"ANTHROPIC_DEFAULT_HAIKU_MODEL": "%[2]s"}`, "~/.claude/settings.json"},
}

// findModels finds short requests beside conversations that a dear model answered although its
// provider has one for small tasks, by client and model. That is all that is said of dear models:
// what a session was worth is not in its log.
//
// Cost: of these requests. Gain: that, less what the same tokens cost of the provider's small
// model. Error: over the sessions with which they were written down; and that model may make other
// tokens of the same text.
func findModels(asides []Aside) (found []Finding) {
	type place struct{ client, model string }
	families, all := map[string]map[string]bool{}, map[place][]Aside{}
	for _, x := range asides {
		client, _, _ := strings.Cut(x.Client, "/")
		if families[client] == nil {
			families[client] = map[string]bool{}
		}
		families[client][x.Session] = true
		if x.Usage.Prompt() <= shortPrompt && x.Usage.Output+x.Usage.Reasoning <= shortAnswer {
			at := place{client, x.Model.String()}
			all[at] = append(all[at], x)
		}
	}
	for at, short := range all {
		i := slices.IndexFunc(chores, func(c struct{ client, line, where string }) bool {
			return strings.HasPrefix(strings.ToLower(at.client), c.client)
		})
		small := short[0].Small
		if i < 0 || small.String() == at.model {
			continue
		}
		x := sample{gains: map[string]float64{}, families: len(families[at.client])}
		for _, one := range short {
			dear, known := one.Model.Cost(bill.Usage(one.Usage))
			cheap, priced := small.Cost(bill.Usage(one.Usage))
			if known && priced {
				x.gains[one.Session] += dear - cheap
				x.cost, x.gain = x.cost+dear, x.gain+dear-cheap
			}
		}
		found = append(found, Finding{Kind: Models, Cost: x.cost, Gain: x.gain, Error: x.error(true),
			Title: fmt.Sprintf("%s had titles and the like written by %s", at.client, at.model),
			Evidence: []string{fmt.Sprintf("%s that belonged to no conversation, in %s; for small tasks its provider "+
				"has %s.",
				quantity.Count(len(short), "short request"), quantity.Count(len(x.gains), "session"), small.String())},
			Change: "have a small model write them",
			Line:   fmt.Sprintf(chores[i].line, small.Provider, small.ID), Where: chores[i].where})
	}
	slices.SortFunc(found, func(a, b Finding) int { return cmp.Compare(a.Title, b.Title) })
	return found
}
