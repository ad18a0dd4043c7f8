package hook

import (
	"bytes"
	"cmp"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// Version is that of the documents: it grows when a member changes its meaning. Members may be
// added without.
const Version = 1

// Input is what a hook reads. Which members are set depends on the hook.
type Input struct {
	Version   int    `json:"version"`
	Hook      string `json:"hook"`
	SessionID string `json:"sessionID"`
	Directory string `json:"directory"` // the session's working folder, "" if unknown
	DryRun    bool   `json:"dryRun,omitzero"`

	*Folding `json:",inline"` // of session.compacting

	Time     session.Millis `json:"time,omitzero"`      // when it happened
	Receipt  *pivot.Receipt `json:"receipt,omitzero"`   // of session.compacted
	Elisions []Elision      `json:"elisions,omitempty"` // of elision.committed
}

// Folding is what is about to be folded.
type Folding struct {
	Trigger      string   `json:"trigger"` // auto, manual
	Rejected     bool     `json:"rejected"`
	Policy       string   `json:"policy"`
	Model        string   `json:"model"`
	Messages     int      `json:"messages"`
	Tokens       int      `json:"tokens"`
	TailMessages int      `json:"tailMessages"`
	Budget       int      `json:"budget"`
	System       string   `json:"system"`
	Prompt       string   `json:"prompt"`
	Context      []string `json:"context"`
	Focus        string   `json:"focus"`
}

// Elision is one part of which less is shown.
type Elision struct {
	Part    string `json:"part"`
	Message string `json:"message"`
	Field   string `json:"field"`
	Rule    string `json:"rule"`
	Tokens  int    `json:"tokens"` // saved
}

// Output is what session.compacting may print.
type Output struct {
	Context  []string `json:"context"`
	System   string   `json:"system"`
	Prompt   string   `json:"prompt"`
	Result   string   `json:"result"`
	Cancel   bool     `json:"cancel"`
	Reason   string   `json:"reason"`
	Continue *bool    `json:"continue"`
}

func elisions(committed []rule.Elision) []Elision {
	list := make([]Elision, len(committed))
	for i, el := range committed {
		list[i] = Elision{Part: el.Part, Message: el.Message, Field: string(el.Field), Rule: el.Rule, Tokens: el.Saves}
	}
	return list
}

// read reads what a hook printed. Nothing changes nothing.
func read(printed []byte) (o Output, err error) {
	if len(bytes.TrimSpace(printed)) == 0 {
		return o, nil
	}
	err = json.Unmarshal(printed, &o, json.RejectUnknownMembers(true))
	return o, err
}

// result is what the engine makes of it.
func (o Output) result() (winnow.CompactingResult, error) {
	if o.Cancel {
		return winnow.CompactingResult{}, errors.New(cmp.Or(o.Reason, "it gave no reason"))
	}
	r := winnow.CompactingResult{Context: o.Context, System: o.System, Prompt: o.Prompt}
	if strings.TrimSpace(o.Result) != "" {
		r.Answer = &pivot.Answer{Text: o.Result, Finish: "stop", Model: "hook"}
	}
	return r, nil
}

// counts reports why the engine would not take a summary, so that it can be asked for elsewhere.
// The policies of the letter take any.
func counts(a *pivot.Answer, c winnow.Compacting) error {
	if a == nil || !policy.Sound(c.Policy) {
		return nil
	}
	return pivot.Validate(*a, token.Linear{}.Count(a.Text), c.Tokens)
}
