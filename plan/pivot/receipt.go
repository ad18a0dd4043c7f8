package pivot

import (
	"cmp"
	"slices"

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
	ID        string         `json:"id"`        // its id, which "winnow undo SRC ID" takes
	SessionID string         `json:"sessionID"` // id of the session
	Kind      Kind           `json:"kind"`      // "compaction", "pruning", "restore" or "pin"
	Time      session.Millis `json:"time"`      // when it was made
	Policy    string         `json:"policy"`    // the policy in force
	// Why it was made: "manual"; "turn" and "step" (one ended); "threshold" (the window overflows);
	// "rejected" (the provider rejected the request as too long); "background" (the window was
	// about to overflow, and the summary had been written while the work went on); "cold" (the
	// provider's cache held nothing of the prompt, so it cost nothing extra); "pays" (it saves more
	// than it costs to write the prompt to the cache again); "first-send" (no request had it yet,
	// and it says nothing new); "asked" (the agent asked for it, and its turn had ended);
	// "discard"; "distill"; "restore"; "pin"; or "imported" for a pivot or a restore that came with
	// a file.
	Trigger string `json:"trigger"`

	Log int `json:"log,omitzero"` // for a pruning: messages that the log had at the time

	MessagesBefore int `json:"messagesBefore"` // messages in the window before
	MessagesAfter  int `json:"messagesAfter"`  // messages in the window afterwards
	TokensBefore   int `json:"tokensBefore"`   // tokens of the rendered view before
	TokensAfter    int `json:"tokensAfter"`    // tokens of the rendered view afterwards
	// The budget of the view in tokens; omitted if it is unlimited.
	Usable int `json:"usable,omitzero"`
	// Tokens of the model for each that the counter estimates, as learned from reports by then. All
	// tokens of the receipt are scaled by it; omitted, it is 1.
	Scale float64 `json:"scale,omitzero"`

	Marker    string `json:"marker,omitzero"`    // id of the marker of the pivot
	Summary   string `json:"summary,omitzero"`   // id of the message with the summary
	TailStart string `json:"tailStart,omitzero"` // id of the first message that stays verbatim
	Folded    int    `json:"folded,omitzero"`    // messages that the summary replaces
	Tail      int    `json:"tail,omitzero"`      // messages that stay verbatim
	// Tokens that the summary now replaces, by kind as in "tokens.byKind" of "inspect".
	Gone    map[string]int `json:"gone,omitempty"`
	Carried Carried        `json:"carried,omitzero"` // the counts of everything carried over under the summary
	// Who wrote the summary: "offline", "provider/model", or "hook".
	Summarizer string `json:"summarizer,omitzero"`
	// The usage that the provider reported for each summary call, even a failed one.
	Usage    []session.Usage `json:"usage,omitempty"`
	Cost     float64         `json:"cost,omitzero"`     // US dollars for all summary calls
	Duration float64         `json:"duration,omitzero"` // seconds that it took
	// Whether the summary was written before it was needed; its cost was recorded then.
	Prepared bool `json:"prepared,omitzero"`
	// Sentences: how it was made to fit, which text was rejected, which model was asked instead.
	Notes []string `json:"notes,omitempty"`
	// Words that a model wrote into the summary although they occur nowhere in the summarised
	// messages. The summary shows them struck through.
	Struck []Struck `json:"struck,omitempty"`

	// The elisions that were committed with it; undo removes them, redo commits them again.
	Committed []rule.Elision `json:"committed,omitempty"`
	// The elisions that it replaced, for example a summary by a newer one, or that a restore or a
	// pin took back; undo brings them back.
	Replaced []rule.Elision `json:"replaced,omitempty"`
	Saved    int            `json:"saved,omitzero"` // tokens by which the view became smaller
	// For a pruning: tokens of the messages in the provider's cache that must be written to it
	// again.
	Rewritten int `json:"rewritten,omitzero"`

	// For a restore: ids of the folded parts that are now quoted after the summary.
	Quoted []string  `json:"quoted,omitempty"`
	Pinned *rule.Pin `json:"pinned,omitempty"` // for a pin: the pin
	// For a compaction: the receipts of restores whose parts did not fit; these parts are folded
	// again.
	LetGo []string `json:"letGo,omitempty"`
	Money *Money   `json:"money,omitzero"` // its savings and its cost in US dollars

	// Parts with reasoning that an undo or redo left out: their model takes reasoning only after
	// the exact prompt that it was made for. They are shown again when that undo or redo is taken
	// back.
	Unbound int `json:"unbound,omitzero"`

	Undo string `json:"undo,omitzero"` // the command that takes it back
}

// Struck is one claim of a summary that nothing supports.
type Struck struct {
	Kind string `json:"kind"` // "path", "command", "identifier" or "number"
	Text string `json:"text"` // the words
}

// Carried counts what the engine wrote below a summary.
type Carried struct {
	Pins        int `json:"pins"`         // pins
	Constraints int `json:"constraints"`  // instructions of the user
	Messages    int `json:"userMessages"` // messages of the user
	Todos       int `json:"todos"`        // entries of the list of tasks
	Skills      int `json:"skills"`       // skills
	Files       int `json:"files"`        // files
	Failures    int `json:"failures"`     // failures
	Hot         int `json:"hot,omitzero"` // calls and pieces of files, verbatim
	Recallable  int `json:"recallable"`   // parts that can be recalled
	Tokens      int `json:"tokens"`       // tokens of all of it
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

// Keep leaves of what was committed and replaced only what a fork of the session has. The receipt
// claims no more than that saves.
func (r *Receipt) Keep(has func(rule.Elision) bool) {
	lost := func(el rule.Elision) bool { return !has(el) }
	saved := rule.Saves(r.Committed)
	r.Committed = slices.DeleteFunc(slices.Clone(r.Committed), lost)
	r.Replaced = slices.DeleteFunc(slices.Clone(r.Replaced), lost)
	if saved -= rule.Saves(r.Committed); saved > 0 {
		less := min(r.Saved, int(float64(saved)*cmp.Or(r.Scale, 1)))
		r.Saved, r.TokensAfter, r.Money = r.Saved-less, r.TokensAfter+less, nil
	}
}
