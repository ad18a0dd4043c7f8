package pivot

import (
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Kind says what a receipt is about.
type Kind string

const (
	Compaction Kind = "compaction" // a pivot was published
	Pruning    Kind = "pruning"    // elisions were committed
	Restoring  Kind = "restore"    // parts that a summary replaced are shown again after it
	Pinning    Kind = "pin"        // a pin changed what is shown
)

// FirstSend is the Receipt.Trigger of what was left out of a request before any request had it: the
// prompt stays as it was as far as it was sent.
const FirstSend = "first-send"

// Receipt records one compaction or commit: before, after, what went, what it cost, how to undo it.
// Token figures describe the rendered view, placeholders included, as the session's counter
// measures it.
type Receipt struct {
	ID        string         `json:"id"`
	SessionID string         `json:"sessionID"`
	Kind      Kind           `json:"kind"`
	Time      session.Millis `json:"time"`
	Policy    string         `json:"policy"`
	// Trigger is why it was made: "manual", "turn" and "step" (one ended), "threshold" (the window
	// overflows), "rejected" (a request was too long), "cold" (the provider's cache held nothing of
	// the prompt, so it cost nothing extra), "background" (the window was about to overflow, and
	// the summary had been written while the work went on), "pays" (it saves more than writing the
	// prompt again costs), FirstSend, "discard", "distill", "restore", "pin", "imported".
	Trigger string `json:"trigger"`

	// Log is how many messages the log had at the time; 0 if unknown.
	Log int `json:"log,omitzero"`

	MessagesBefore int `json:"messagesBefore"`
	MessagesAfter  int `json:"messagesAfter"`
	TokensBefore   int `json:"tokensBefore"`
	TokensAfter    int `json:"tokensAfter"`
	// Usable is the budget that the view had to fit; 0 means unlimited.
	Usable int `json:"usable,omitzero"`
	// Scale is what was learned of the model by then: its tokens for each that the counter
	// estimates. All tokens of the receipt are scaled by it. 0 is 1.
	Scale float64 `json:"scale,omitzero"`

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
	// Prepared: the summary was written before it was needed, and Cost recorded then.
	Prepared bool     `json:"prepared,omitzero"`
	Notes    []string `json:"notes,omitempty"` // what was done to make it fit, what was rejected
	// Struck are the paths, commands, identifiers and numbers in a model's summary that do not
	// occur in what it summarises. The summary shows them struck through.
	Struck []Struck `json:"struck,omitempty"`

	// Committed are the elisions that were committed with it. Undo removes them, redo commits them
	// again.
	Committed []rule.Elision `json:"committed,omitempty"`
	// Replaced are the elisions that these replaced: an older summary by a newer one. Undo commits
	// them again.
	Replaced []rule.Elision `json:"replaced,omitempty"`
	Saved    int            `json:"saved,omitzero"` // TokensBefore − TokensAfter
	// Rewritten is how many cached tokens a pruning makes the provider write again.
	Rewritten int `json:"rewritten,omitzero"`

	// Quoted are the parts that a restore shows again, by id; Pinned is the pin of a pinning.
	Quoted []string  `json:"quoted,omitempty"`
	Pinned *rule.Pin `json:"pinned,omitempty"`
	// LetGo are the receipts of restores that a compaction had no room to keep: their parts are
	// folded again.
	LetGo []string `json:"letGo,omitempty"`
	// Money is what a compaction or a pruning costs and saves in US dollars, at the price of the
	// model that reads the session. Unknown amounts are nil.
	Money *Money `json:"money,omitzero"`

	// Unbound counts, in what undo and redo return, the parts with reasoning that they left out:
	// they were made since, and their model takes them only behind the exact prompt that they were
	// made for. They are shown again when that is turned back.
	Unbound int `json:"unbound,omitzero"`

	// Undo says how to undo it.
	Undo string `json:"undo,omitzero"`
}

// Struck is one claim of a summary that nothing supports.
type Struck struct {
	Kind string `json:"kind"` // path, command, identifier, number
	Text string `json:"text"`
}

// Carried counts what the engine wrote below a summary.
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

// Parts counts the parts that are shown with less because of it: several elisions may concern one
// part.
func (r *Receipt) Parts() int {
	parts := make(map[string]bool, len(r.Committed))
	for i := range r.Committed {
		parts[r.Committed[i].Part] = true
	}
	return len(parts)
}
