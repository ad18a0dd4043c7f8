package rule

// Rule finds what may be left out of a window. It is a pure function: the same window gives the
// same elisions.
type Rule interface {
	// Name is what elisions, refusals and the configuration call it.
	Name() string
	Find(w Window) Found
}

// Free is a rule whose elisions need not stay for others that went because of them.
type Free interface{ Free() bool }

// Found is what a rule found, and what it left alone although it looked at it.
type Found struct {
	Elisions []Elision
	Refusals []Refusal
}

// Code names a reason for which nothing was done. It is stable: programs may branch on it.
type Code string

const (
	BelowMinimum Code = "below-minimum" // the saving is not worth a commit
	Protected    Code = "protected"     // a tool, a path or a pin that must stay
	Recent       Code = "recent"        // within the newest tokens or turns, which stay
	Unprofitable Code = "unprofitable"  // it would cost more than it saves
	NoProgress   Code = "no-progress"   // doing it again would change nothing
	NotFinal     Code = "not-final"     // the call has not ended
	Disabled     Code = "disabled"      // switched off in the configuration
	Fits         Code = "fits"          // there is room
	Already      Code = "already"       // it is elided
	TooSmall     Code = "too-small"     // the placeholder would be as large
	Restored     Code = "restored"      // somebody took the elision back
	Covers       Code = "covers"        // it is the latest copy of parts that were elided
	Uncovered    Code = "uncovered"     // the part that makes it redundant is elided itself
	Unheeded     Code = "unheeded"      // the product that has the session would send it all the same
)

// Refusal says why something was left alone. Part is empty when it speaks of the whole session.
type Refusal struct {
	// The reason as a word: "below-minimum", "protected", "disabled", …; "unheeded" if a running
	// OpenCode would send it all the same.
	Code   Code   `json:"code"`
	Rule   string `json:"rule,omitzero"`   // the rule that refused
	Part   string `json:"part,omitzero"`   // id of the part
	Reason string `json:"reason"`          // the reason as a sentence
	Tokens int    `json:"tokens,omitzero"` // the tokens at stake
}
