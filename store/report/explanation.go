package report

import (
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Explanation says of one part why it is shown, elided, protected or a candidate.
type Explanation struct {
	Part    string `json:"part"`    // id of the part
	Message string `json:"message"` // id of its message
	// Its short name, which commands accept in place of the id.
	Handle string `json:"handle,omitzero"`
	Type   string `json:"type"`          // type of the part
	Tool   string `json:"tool,omitzero"` // for a call: the tool
	// For a call: the file, command or address that it was called on.
	Target string `json:"target,omitzero"`
	// The model request that it belongs to, 1-based; 0 before the first.
	Step   int `json:"step"`
	Turn   int `json:"turn"`   // its turn, 1-based; 0 before the first
	Tokens int `json:"tokens"` // its tokens in the log
	// Its tokens in the view; for a folded part that is shown again, those of the quotation.
	Shown int  `json:"shownTokens"`
	Zone  Zone `json:"zone"` // its zone, as in "strata.zones" of "inspect"
	// The rule that left it out, would leave it out, or found it and let it stay.
	Rule    string `json:"rule,omitzero"`
	Because string `json:"because"` // the reason, a sentence
	Findings
	Kept   *Kept   `json:"kept,omitzero"`   // the protection that keeps it
	Pinned bool    `json:"pinned"`          // whether it is pinned
	Quoted *Quoted `json:"quoted,omitzero"` // for a folded part that is shown again: where
	Undo   string  `json:"undo,omitzero"`   // the command that shows it whole again
	// The text that the model sees now: the result of a call, or the text of another part.
	Text   string  `json:"text"`
	Pieces []Piece `json:"pieces"` // its texts; for attachments, names and types
}

// Findings are what rules say of one part.
type Findings struct {
	// The committed elisions of this part, each of another field.
	Elisions   []Reason       `json:"elisions"`
	Candidates []Reason       `json:"candidates"`         // the elisions that rules would make
	Candidate  *rule.Elision  `json:"candidate,omitzero"` // the first of the candidates
	Refusals   []rule.Refusal `json:"refusals"`           // why rules that found it let it stay
	StandsFor  []Ref          `json:"standsFor"`          // parts that were left out because this one shows the same
	// Parts that would be left out because this one shows the same.
	WouldStandFor []Ref `json:"wouldStandFor"`
}

// Quoted is how a folded part is shown again: by a message behind the summary, because it was
// restored or is pinned.
type Quoted struct {
	Message string         `json:"message"`      // id of the message that quotes it
	By      string         `json:"by"`           // id of the receipt of the restore, or of the pin
	Pin     bool           `json:"pin,omitzero"` // whether it is a pin
	Time    session.Millis `json:"time"`         // when it was restored or pinned
	Undo    string         `json:"undo"`         // the command that takes it back
}

// Reason is an elision of a part, one that stands or one that a rule would make, with what it takes
// to judge it.
type Reason struct {
	rule.Elision
	Covering []Ref  `json:"covering"`        // the parts that make it redundant
	Switch   string `json:"switch,omitzero"` // the configuration key that turns the rule off

	// Steps that have begun since it was committed, as far as the log has times.
	StepsSince int `json:"stepsSince"`
	// Turns that have begun since it was committed, as far as the log has times.
	TurnsSince int    `json:"turnsSince"`
	Receipt    string `json:"receipt,omitzero"` // id of the receipt of the commit
	// How many parts that commit left out or shortened, including this one.
	Together int    `json:"together,omitzero"`
	Undo     string `json:"undo,omitzero"` // the command that undoes all of them

	// For a candidate: when it may be left out, or what it waits for.
	When string `json:"when,omitzero"`
	// For a candidate: whether it was left out before and restored. Only pruning on demand leaves
	// it out again.
	Restored bool `json:"restored,omitzero"`
}

// Ref names a part of the log for people.
type Ref struct {
	Part   string `json:"part"`            // id of the part
	Handle string `json:"handle,omitzero"` // its short name
	Type   string `json:"type"`            // type of the part
	Tool   string `json:"tool,omitzero"`   // for a call: the tool
	// For a call: the file, command or address that it was called on.
	Target string `json:"target,omitzero"`
	Step   int    `json:"step"` // its step; 0 before the first
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
