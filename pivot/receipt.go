package pivot

import (
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// Kind says what a receipt is for.
type Kind string

const (
	Compaction Kind = "compaction" // a pivot was published
	Pruning    Kind = "pruning"    // elisions were committed
	Restoring  Kind = "restore"    // parts that a summary stands for are shown again behind it
	Pinning    Kind = "pin"        // a pin changed what is shown
)

// Receipt is what one compaction or commit did: before, after, what went, what it cost, how to undo
// it. Token figures are of the rendered view, by the session's counter, with everything that stands
// in place of what went counted.
type Receipt struct {
	ID        string         `json:"id"`
	SessionID string         `json:"sessionID"`
	Kind      Kind           `json:"kind"`
	Time      session.Millis `json:"time"`
	Policy    string         `json:"policy"`
	// Trigger is why it was made: "manual", "turn" and "step" (one ended), "threshold" (the window
	// overflows), "rejected" (a request was too long), "cold" (the provider's cache held nothing of
	// the prompt, so that it cost nothing extra), "background" (it was about to overflow, and the
	// summary had been written while the work went on), "pays" (the schedule finds that it saves
	// more than it costs to write the prompt again), "discard", "distill", "restore", "pin",
	// "imported".
	Trigger string `json:"trigger"`

	// Log is how many messages the log had then; 0: not known.
	Log int `json:"log,omitzero"`

	MessagesBefore int `json:"messagesBefore"`
	MessagesAfter  int `json:"messagesAfter"`
	TokensBefore   int `json:"tokensBefore"`
	TokensAfter    int `json:"tokensAfter"`
	// Usable is the budget that the view was to fit; 0 is unlimited.
	Usable int `json:"usable,omitzero"`

	// Of a compaction.
	Marker    string `json:"marker,omitzero"` // id; Undo takes it
	Summary   string `json:"summary,omitzero"`
	TailStart string `json:"tailStart,omitzero"`
	Folded    int    `json:"folded,omitzero"` // messages that the summary now represents
	Tail      int    `json:"tail,omitzero"`   // messages that stay verbatim
	// tokens by kind: user, assistant, reasoning, tool output, tool input, files
	Gone       map[string]int  `json:"gone,omitempty"`
	Carried    Carried         `json:"carried,omitzero"`
	Summarizer string          `json:"summarizer,omitzero"`
	Usage      []session.Usage `json:"usage,omitempty"` // of every summary call, the failed ones too
	Cost       float64         `json:"cost,omitzero"`   // US dollars, of all calls
	Duration   float64         `json:"duration,omitzero"`
	Notes      []string        `json:"notes,omitempty"` // what was done to make it fit, what was rejected
	// Struck are the paths, commands, identifiers and numbers that a model wrote into the summary
	// and that occur nowhere in what it summarised. In the summary they are struck through.
	Struck []Struck `json:"struck,omitempty"`

	// Committed are the elisions that were committed with it. Undo takes them back, redo commits
	// them again.
	Committed []rule.Elision `json:"committed,omitempty"`
	// Replaced are the elisions that gave way to them: a summary to a newer one. Undo commits them
	// again.
	Replaced []rule.Elision `json:"replaced,omitempty"`
	Saved    int            `json:"saved,omitzero"` // TokensBefore − TokensAfter
	// Rewritten is how many tokens of the messages the provider's cache had that must be written to
	// it again, of a pruning.
	Rewritten int `json:"rewritten,omitzero"`

	// Quoted are the parts that a restore shows again, by id; Pinned is the pin of a pinning.
	Quoted []string  `json:"quoted,omitempty"`
	Pinned *rule.Pin `json:"pinned,omitempty"`
	// LetGo are the receipts of restores whose parts a compaction could not keep, for lack of room:
	// they are folded again.
	LetGo []string `json:"letGo,omitempty"`
	// Money is what it comes to in US dollars; nil in receipts of versions that did not say.
	Money *Money `json:"money,omitzero"`

	// Undo says how to take it back.
	Undo string `json:"undo,omitzero"`
}

// Struck is one claim of a summary that nothing bears out.
type Struck struct {
	Kind string `json:"kind"` // path, command, identifier, number
	Text string `json:"text"`
}

// Carried counts what the engine wrote under a summary itself.
type Carried struct {
	Pins        int `json:"pins"`
	Constraints int `json:"constraints"`
	Messages    int `json:"userMessages"`
	Todos       int `json:"todos"`
	Skills      int `json:"skills"`
	Files       int `json:"files"`
	Failures    int `json:"failures"`
	Hot         int `json:"hot,omitzero"` // calls and pieces of files, word for word
	Recallable  int `json:"recallable"`
	Tokens      int `json:"tokens"`
}

// Parts is how many parts are shown with less because of it: several elisions may be about one.
func (r *Receipt) Parts() int {
	parts := make(map[string]bool, len(r.Committed))
	for i := range r.Committed {
		parts[r.Committed[i].Part] = true
	}
	return len(parts)
}
