package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
)

// Live is what a gateway knows of a request that it relayed, beyond what it took.
type Live struct {
	// Billed is what it cost by the provider's report, in US dollars.
	Billed bill.Dollars `json:"billed"`
	// Otherwise is an estimate of what it would have cost the other way, in US dollars: with
	// nothing left out of it or of those before it; if it was only observed, with what the session
	// leaves out left out.
	Otherwise bill.Estimate `json:",embed"`
	// Missed is how much of Otherwise would not have been paid, because the request asks again for
	// what was left out, or carries it a second time.
	Missed float64 `json:"missed,omitzero"`

	// Person is who asked within a tenant, "" if nobody is named.
	Person string `json:"person,omitzero"`

	Observed bool `json:"observed,omitzero"` // it was relayed untouched, to see what could be saved
	Unpriced bool `json:"unpriced,omitzero"` // no usage, or no price: the amounts are 0
	// Estimated: the provider did not report all that it took, and a budget had to be kept.
	Estimated bool `json:"estimated,omitzero"`

	Edited bool `json:"edited,omitzero"` // something was left out of it, or would have been
	Resent bool `json:"resent,omitzero"` // it was refused with an edit, and sent once more without
	Beside bool `json:"beside,omitzero"` // it belongs to no conversation: for a title and the like
	Warm   bool `json:"warm,omitzero"`   // it only kept the provider's cache, for nobody who asked
	// Bridged is how much of Otherwise is for writing the prompt to the cache again, had
	// winnow not kept it there.
	Bridged float64 `json:"bridged,omitzero"`
	// Rewritten is how many tokens were written to the provider's cache again because of what was
	// decided before the request.
	Rewritten int `json:"rewritten,omitzero"`

	// Without is the conversation as it would have been with nothing left out.
	Without *bill.Conversation `json:"without,omitempty"`

	Rules map[string]Share `json:"rules,omitempty"` // by rule; Compaction counts folded messages
	Again []Again          `json:"again,omitempty"` // what it gave back
}

// Share is what one rule has to do with a request.
type Share struct {
	Tokens int     `json:"tokens,omitzero"` // that it leaves out of it
	Net    float64 `json:"net,omitzero"`    // US dollars of the difference that Live tells
}

// Compaction stands among the rules for what summaries replaced, KeepWarm for what keeping the
// provider's cache cost and saved.
const (
	Compaction = "compaction"
	KeepWarm   = "keepWarm"
)

// Again is an output that gave an agent back pruned text.
type Again struct {
	Part   string `json:"part"`           // id
	Rule   string `json:"rule,omitzero"`  // that had left it out, "" if unknown
	Tokens int    `json:"tokens"`         // of the output
	Asked  bool   `json:"asked,omitzero"` // winnow was asked for it; else the agent repeated a call
}

// Saved is what the request cost less than it would have otherwise, net; of one that was only
// observed, what it could have. In US dollars, negative when negative.
func (l *Live) Saved() float64 {
	if l.Observed {
		return -l.Otherwise.Over(l.Billed)
	}
	return l.Otherwise.Over(l.Billed) - l.Missed
}

// LeftOut is how many tokens were left out of the request, or would have been.
func (l *Live) LeftOut() (tokens int) {
	for _, s := range l.Rules {
		tokens += s.Tokens
	}
	return tokens
}

// Account is a session with its requests.
type Account struct {
	Info  session.Info
	Spent []Spend // oldest first
}

// Beside begins the ids of sessions that have no log, only requests beside all
// conversations: of one person on one day.
const Beside = "live_beside_"

// BesideID is the id of such a session, for a day such as 20060102.
func BesideID(day, person string) string {
	sum := sha256.Sum256([]byte(person))
	return Beside + day + "_" + hex.EncodeToString(sum[:4])
}

// Relayer is a store that finds the sessions that a gateway works on without reading the others.
// Not every store is one.
type Relayer interface {
	// Relayed returns the sessions of which a gateway relayed requests since a time, the one with
	// the newest of them first, each with all that was ever spent on it; only those that are
	// wanted, which it asks in that order, nil wants all.
	Relayed(ctx context.Context, since session.Millis, wanted func(session.Info) bool) ([]Account, error)
}

// Relayed does what Relayer does, in any store.
func Relayed(ctx context.Context, s Store, since session.Millis, wanted func(session.Info) bool) ([]Account, error) {
	if relayer, ok := s.(Relayer); ok {
		return relayer.Relayed(ctx, since, wanted)
	}
	list, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	var all []Account
	newest := map[string]session.Millis{}
	for _, l := range list {
		state, err := s.State(ctx, l.Info.ID)
		if errors.Is(err, ErrNotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		relayed := false
		for i := range state.Spent {
			if spent := &state.Spent[i]; spent.Live != nil && spent.Time >= since {
				relayed, newest[l.Info.ID] = true, max(newest[l.Info.ID], spent.Time)
			}
		}
		if relayed {
			all = append(all, Account{state.Info, state.Spent})
		}
	}
	slices.SortFunc(all, func(a, b Account) int {
		return cmp.Or(cmp.Compare(newest[b.Info.ID], newest[a.Info.ID]), cmp.Compare(a.Info.ID, b.Info.ID))
	})
	return slices.DeleteFunc(all, func(a Account) bool { return wanted != nil && !wanted(a.Info) }), nil
}
