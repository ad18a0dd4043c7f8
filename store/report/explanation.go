package report

import (
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Explanation says of one part why it is shown, elided, protected or a candidate.
type Explanation struct {
	Part    string `json:"part"`
	Message string `json:"message"`
	// Handle is its short name, which every command takes in place of the id.
	Handle string `json:"handle,omitzero"`
	Type   string `json:"type"`
	Tool   string `json:"tool,omitzero"`
	Target string `json:"target,omitzero"`
	Step   int    `json:"step"`        // model request that it belongs to, 1-based; 0 before the first
	Turn   int    `json:"turn"`        // 1-based; 0 before the first
	Tokens int    `json:"tokens"`      // as the log has it
	Shown  int    `json:"shownTokens"` // as the model sees it; of a folded part that is shown again, its quotation
	// Zone is where it stands.
	Zone Zone `json:"zone"`
	// Rule is the one that elided it, would, or found it and let it stay; empty when none looked at
	// it.
	Rule string `json:"rule,omitzero"`
	// Because is the reason, a sentence.
	Because string `json:"because"`
	Findings
	// Kept says what protects it, nil when nothing does.
	Kept   *Kept `json:"kept,omitzero"`
	Pinned bool  `json:"pinned"`
	// Quoted says where a part that a summary stands for is shown again, nil where it is not.
	Quoted *Quoted `json:"quoted,omitzero"`
	// Undo says how to have it shown whole.
	Undo string `json:"undo,omitzero"`
	// Text is what the model sees of it now, the result of a tool call or the text of another part.
	Text string `json:"text"`
	// Pieces are its texts as the log has them and as the model is shown them.
	Pieces []Piece `json:"pieces"`
}

// Findings are what rules say of one part.
type Findings struct {
	// Elisions stand on it, each of another field; Candidates would.
	Elisions   []Reason `json:"elisions"`
	Candidates []Reason `json:"candidates"`
	// Candidate is the first of the candidates.
	Candidate *rule.Elision `json:"candidate,omitzero"`
	// Refusals are why rules that found it let it stay.
	Refusals []rule.Refusal `json:"refusals"`
	// StandsFor are the parts that were elided because this one shows what they showed;
	// WouldStandFor those that would be.
	StandsFor     []Ref `json:"standsFor"`
	WouldStandFor []Ref `json:"wouldStandFor"`
}

// Quoted is how a folded part is shown again: by a message behind the summary, because it was
// restored or is pinned.
type Quoted struct {
	Message string         `json:"message"` // that quotes it
	By      string         `json:"by"`      // the receipt of the restore, or the pin
	Pin     bool           `json:"pin,omitzero"`
	Time    session.Millis `json:"time"` // of the restore or the pin
	Undo    string         `json:"undo"`
}

// Reason is an elision of a part, one that stands or one that a rule would make, with what it takes
// to judge it.
type Reason struct {
	rule.Elision
	// Covering are the parts that make this one redundant.
	Covering []Ref `json:"covering"`
	// Switch is the key of the configuration that turns the rule off.
	Switch string `json:"switch,omitzero"`

	// Of an elision that stands: how many steps and turns began since it was committed, as far as
	// the log has times; the receipt of the commit, "" when there is none, how many parts are shown
	// with less since that commit, this one included, and the command that takes all of them back.
	StepsSince int    `json:"stepsSince"`
	TurnsSince int    `json:"turnsSince"`
	Receipt    string `json:"receipt,omitzero"`
	Together   int    `json:"together,omitzero"`
	Undo       string `json:"undo,omitzero"`

	// When a candidate may go: with the next request, or what it waits for, with figures.
	When string `json:"when,omitzero"`
	// Restored: of a candidate that stood before and was taken back. Only pruning on demand takes
	// it again.
	Restored bool `json:"restored,omitzero"`
}

// Ref names a part of the log for people.
type Ref struct {
	Part   string `json:"part"`
	Handle string `json:"handle,omitzero"`
	Type   string `json:"type"`
	Tool   string `json:"tool,omitzero"`
	Target string `json:"target,omitzero"`
	Step   int    `json:"step"` // 0 before the first
}

// String is "read src/a.go (step 41, k3f9a2)".
func (r Ref) String() string {
	what, where := r.Type, ""
	if r.Tool != "" {
		what = strings.TrimSpace(r.Tool + " " + rule.Shorten(strings.Join(strings.Fields(r.Target), " "), 60))
	}
	if r.Step > 0 {
		where = "step " + strconv.Itoa(r.Step) + ", "
	}
	return what + " (" + where + r.Name() + ")"
}

// Name is the handle, or the id of a part that has none.
func (r Ref) Name() string {
	if r.Handle != "" {
		return r.Handle
	}
	return r.Part
}

// Part explains one part of a log, as Explain does, and itemises its size.
type Part struct {
	Explanation
	// Whole is its size as the log has it; Rendered what of it the ledger leaves, also of a part
	// before the window.
	Whole, Rendered rule.Size
}
