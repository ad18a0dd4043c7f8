package pivot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Limits of what is carried over: enough to go on from, and at most a screenful each.
const (
	maxFiles      = 40
	maxFailures   = 12
	maxRecallable = 20
	minRecallable = 200 // tokens; smaller outputs are had quicker by doing the call again
	firstMessage  = 2_000
)

// Carrying is what a carry-over is made from.
type Carrying struct {
	Log  []session.Message // the whole log up to the marker
	Cut  Cut
	Pins []rule.Pin
	// Dismissed are the instructions that the user dismissed, by recall.Key.
	Dismissed map[string]bool
	Summary   string // by the summariser: text in it is not repeated
	Facts     *rule.Facts
	Settings  Settings
	// Guard says which files are never quoted; text that an elision in Ledger hides is not quoted
	// either. Both may be empty.
	Guard  *rule.Guard
	Ledger rule.Ledger
	// Texts has what was read of the log before; nil: nothing.
	Texts *recall.Texts
	// Directory is the session's working folder; "" is the one in which the log begins.
	Directory string
	// Recall: the agent can run "winnow recall", as session.Info has it.
	Recall bool
	// Mask removes secrets from what is carried over; nil leaves them. Pins are not masked:
	// somebody chose their exact text.
	Mask func(string) string

	history recall.History  // of Log
	before  recall.Ledger   // facts from before the beginning of Log
	staying map[string]bool // messages kept verbatim in the tail or repeated as the replay
}

// Carry writes what must not depend on the summary alone: the user's instructions and messages word
// for word (newest first up to the budget, and always the first), open todos, loaded instructions,
// files with their last state, unresolved errors, the text that the work continues with, and the
// ids of what can be recalled. It returns "" if there is nothing to carry, or if the settings ask
// for the summary alone.
func Carry(c Carrying) (string, Carried) {
	var carried Carried
	if c.Settings.SummaryAlone {
		return "", carried
	}
	c.staying = staying(c.Cut)
	c.Directory = cmp.Or(c.Directory, call.Directory(c.Log))
	c.Log, c.before = recall.Restore(c.Log, c.stays)
	c.history = recall.Read(c.Texts, nil, c.Log, nil)
	var b strings.Builder
	section := func(title string, lines []string) int {
		if len(lines) > 0 {
			text := strings.Join(lines, "\n")
			if c.Mask != nil {
				text = c.Mask(text)
			}
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", title, text)
		}
		return len(lines)
	}
	pinned := PinnedBlocks(c.Log, c.Pins, c.stays)
	carried.Pins = pinned.Pins // each in a message of its own after the summary: see Kept
	if len(c.before.Pins) > 0 {
		pinned.texts = append(pinned.texts, c.before.Pins...)
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", recall.PinsTitle, strings.Join(c.before.Pins, "\n\n"))
	}
	carried.Constraints = section(recall.RulesTitle, c.constraints(pinned))
	messages, quoted := c.messages(pinned)
	section(recall.MessagesTitle, messages)
	carried.Messages = len(quoted)
	section(recall.RemarksTitle, c.remarks(pinned, quoted))
	carried.Todos = section(recall.TodosTitle, c.todos())
	carried.Skills = section(recall.SkillsTitle, c.skills())
	carried.Files = section(recall.FilesTitle, c.files())
	carried.Failures = section(recall.FailuresTitle, c.failures())
	hot, pieces := c.hot(pinned)
	for i, lines := range hot {
		section(hotTitles[i], lines)
	}
	carried.Hot = pieces
	left := "Left out here, still in the log"
	if c.Recall {
		left += ": \"winnow recall ID\" shows it"
	}
	carried.Recallable = section(left, c.recallable(pinned))
	if b.Len() == 0 {
		return "", carried
	}
	text := recall.CarryTitle + "\n" + b.String()
	carried.Tokens = c.Facts.Count(text)
	return text, carried
}

func (c Carrying) stays(id string) bool { return c.staying[id] }

func staying(cut Cut) map[string]bool {
	stays := make(map[string]bool, len(cut.Tail)+1)
	for i := range cut.Tail {
		stays[cut.Tail[i].ID] = true
	}
	if cut.Replay != nil {
		stays[cut.Replay.ID] = true
	}
	return stays
}

// folded returns every message that the summary represents, including what earlier pivots folded: a
// later carry-over must not know less than the one before it.
func (c Carrying) folded() []*session.Message {
	var messages []*session.Message
	for i := range c.Log {
		if m := &c.Log[i]; !c.stays(m.ID) && m.Marker() == nil && !m.IsSummary() && m.Companion() == "" {
			messages = append(messages, m)
		}
	}
	return messages
}

// constraints lists the instructions that appear nowhere else in the view: not in a pin, in a
// message that stays, or among the constraints that are read back from the summary as from here.
func (c Carrying) constraints(pinned Pinned) []string {
	listed := recall.SummaryRules(c.Summary)
	var lines []string
	for _, k := range recall.Without(c.history.Rules, c.Dismissed) {
		in := func(rule recall.Constraint) bool {
			return strings.Contains(rule.Text, k.Text) && (k.Since == "") == (rule.Since == "")
		}
		if !slices.ContainsFunc(listed, in) && !c.stays(k.MessageID) && !pinned.Contains(k.Text) {
			line := "- " + k.Text
			if notes := c.superseded(k.Text); notes != nil {
				line += " " + notes[0]
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func (c Carrying) todos() []string {
	var lines []string
	for _, t := range c.history.Todos {
		if t.Open() && !strings.Contains(c.Summary, t.Text) {
			lines = append(lines, "- "+t.Text+" ("+t.Status+")")
		}
	}
	return lines
}

func (c Carrying) skills() []string {
	var lines []string
	for _, s := range c.history.Skills {
		name := s.Name
		if name == "" {
			name = call.Shorten(s.Path, c.Directory)
		}
		lines = append(lines, "- "+name+": load it again before you rely on it")
	}
	for _, item := range c.before.Skills {
		if line := "- " + item; !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (c Carrying) files() []string {
	files := c.before.With(c.history.Files, c.Directory)
	// Changed files first, then the newest; what is left out was only read, longest ago.
	slices.SortStableFunc(files, func(a, b recall.File) int {
		if a.Changed() != b.Changed() {
			if a.Changed() {
				return -1
			}
			return 1
		}
		return b.At - a.At
	})
	var lines []string
	for i := range files {
		f := &files[i]
		name := call.Shorten(f.Path, c.Directory)
		if f.Reads+f.Creates+f.Edits+f.Deletes == 0 && f.Perhaps == "" || strings.Contains(c.Summary, name) {
			continue
		}
		if len(lines) == maxFiles {
			break
		}
		lines = append(lines, "- "+name+": "+f.State())
	}
	return lines
}

func (c Carrying) failures() []string {
	failures := c.history.Failures
	if n := len(failures) - maxFailures; n > 0 {
		failures = failures[n:]
	}
	var lines []string
	before := c.before.Failures
	for _, item := range before[max(0, len(before)+len(failures)-maxFailures):] {
		again := func(k call.Call) bool { return strings.HasPrefix(item+": ", k.Tool+" "+k.Target()+": ") }
		if !slices.ContainsFunc(c.history.Calls, again) && !strings.Contains(c.Summary, item) {
			lines = append(lines, "- "+item)
		}
	}
	for _, f := range failures {
		if len(f.Lines) > 0 && strings.Contains(c.Summary, f.Lines[0]) {
			continue
		}
		line := "- " + f.Tool + " " + f.Target
		if len(f.Lines) > 0 {
			line += ": " + f.Lines[0]
		}
		lines = append(lines, line)
	}
	return lines
}

// recallable names the largest outputs that the summary now represents.
func (c Carrying) recallable(pinned Pinned) []string {
	type output struct {
		at, tokens int
		part       *session.Part
	}
	var outputs []output
	for _, m := range c.folded() {
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type != session.ToolPart || p.State == nil || !p.State.Final() || pinned.parts[p.ID] {
				continue
			}
			if n := c.Facts.Size(p).Output; n >= minRecallable {
				outputs = append(outputs, output{len(outputs), n, p})
			}
		}
	}
	slices.SortStableFunc(outputs, func(a, b output) int { return b.tokens - a.tokens })
	outputs = outputs[:min(len(outputs), maxRecallable)]
	slices.SortFunc(outputs, func(a, b output) int { return a.at - b.at })
	var lines []string
	for _, o := range outputs {
		lines = append(lines, fmt.Sprintf("- %s: %s %s (about %d tokens)", o.part.ID, o.part.Tool, rule.Target(o.part),
			o.tokens))
	}
	return lines
}
