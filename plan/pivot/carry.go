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
	Summary   string // what the summariser wrote: what it has word for word is not repeated
	Facts     *rule.Facts
	Settings  Settings
	// Guard says which files are never quoted; text that an elision in Ledger hides is not quoted
	// either. Both may be empty.
	Guard  *rule.Guard
	Ledger rule.Ledger
	// Directory is the session's working folder; "" is the one in which the log begins.
	Directory string
	// Recall: the agent can run "winnow recall", as session.Info has it.
	Recall bool
	// Mask removes secrets from what is carried over; nil leaves them. Pins are not masked:
	// somebody chose their exact text.
	Mask func(string) string

	values  []recall.Value      // of Log
	rules   []recall.Constraint // of Log
	before  recall.Ledger       // what is known of a past that Log does not have
	staying map[string]bool     // messages kept verbatim in the tail or repeated as the replay
}

// Carry writes what must not depend on the summary alone: the user's instructions and messages word
// for word (newest first up to the budget, and always the first), open todos, loaded instructions,
// files with their last state, unresolved errors, the text that the work continues with, and the
// ids of what can be recalled. It returns "" if there is nothing to carry, or if the settings ask
// for the summary alone.
func Carry(c Carrying) (string, Carried) {
	var told Carried
	if c.Settings.SummaryAlone {
		return "", told
	}
	c.staying = staying(c.Cut)
	c.Directory = cmp.Or(c.Directory, call.Directory(c.Log))
	c.Log, c.before = recall.Restore(c.Log, c.stays)
	calls := call.Calls(c.Log)
	c.values, c.rules = recall.Values(c.Log), recall.Constraints(c.Log)
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
	told.Pins = pinned.Pins // each in a message of its own after the summary: see Kept
	if len(c.before.Pins) > 0 {
		pinned.texts = append(pinned.texts, c.before.Pins...)
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", recall.PinsTitle, strings.Join(c.before.Pins, "\n\n"))
	}
	told.Constraints = section(recall.RulesTitle, c.constraints(pinned))
	messages, quoted := c.messages(pinned)
	section(recall.MessagesTitle, messages)
	told.Messages = len(quoted)
	section(recall.ToldTitle, c.told(pinned, quoted))
	told.Todos = section(recall.TodosTitle, c.todos())
	told.Skills = section(recall.SkillsTitle, c.skills(calls))
	told.Files = section(recall.FilesTitle, c.files(calls))
	told.Failures = section(recall.FailuresTitle, c.failures(calls))
	hot, pieces := c.hot(calls, pinned)
	for i, lines := range hot {
		section(hotTitles[i], lines)
	}
	told.Hot = pieces
	left := "Left out here, still in the log"
	if c.Recall {
		left += ": \"winnow recall ID\" shows it"
	}
	told.Recallable = section(left, c.recallable(pinned))
	if b.Len() == 0 {
		return "", told
	}
	text := recall.CarryTitle + "\n" + b.String()
	told.Tokens = c.Facts.Count(text)
	return text, told
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
	for _, k := range recall.Without(c.rules, c.Dismissed) {
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

// shortMessage is the size in bytes of a message that is quoted before longer ones: a sentence or
// three, such as people give rules in.
const shortMessage = 300

// messages quotes the user's messages, and returns the ids of those that are quoted or stand in the
// summary: the first, the newest, and before others the short ones.
func (c Carrying) messages(pinned Pinned) (lines []string, quoted map[string]bool) {
	left := c.Settings.UserMessages
	if left <= 0 {
		return nil, nil
	}
	summary := plain(c.Summary)
	var written []*session.Message
	size, told := 0, len(c.before.Told) > 0
	for i := range c.Log {
		m := &c.Log[i]
		if text := m.Text(); m.Written() && replayed(m) == "" && !c.stays(m.ID) && text != "" && !pinned.Has(m) &&
			!strings.Contains(summary, plain(text)) && !(told && slices.Contains(c.before.Told, text)) {
			written = append(written, m)
			size += c.Facts.Count(text)
		}
	}
	if len(written) == 0 {
		return nil, nil
	}
	short := c.Settings.Short
	if size > left {
		left -= left / toldShare
	}
	// The first message is the task: it is carried whatever else there is.
	first := cutTo(written[0].Text(), min(firstMessage, left), c.Facts)
	left -= c.Facts.Count(first)
	quoted = map[string]bool{written[0].ID: first == written[0].Text()}
	omitted := len(written) - 1
	for _, brief := range []bool{true, false} {
		for i := len(written) - 1; i > 0; i-- {
			text := written[i].Text()
			if quoted[written[i].ID] || brief && len(text) > shortMessage {
				continue
			}
			n := c.Facts.Count(text)
			if !brief && n > left || brief && n > short {
				break
			}
			left, omitted = left-n, omitted-1
			if quoted[written[i].ID] = true; brief {
				short -= n
			}
		}
	}
	lines = append(quote(first), c.superseded(first)...)
	if first != written[0].Text() {
		lines = append(lines, "> [the rest of this message is in the log]")
	}
	if omitted > 0 {
		lines = append(lines, "", fmt.Sprintf("[%d messages in between are in the log]", omitted))
	}
	for _, m := range written[1:] {
		if quoted[m.ID] {
			lines = append(append(append(lines, ""), quote(m.Text())...), c.superseded(m.Text())...)
		}
	}
	return lines, quoted
}

// toldShare is the part of the room for the user's messages that sentences of those have which are
// not quoted whole: with a name, a path or a figure in them they are the ones that nobody can
// guess.
const toldShare = 3

// told quotes sentences of messages that are not quoted, as many as there is room for: those with
// names in them first, of these what holds before what was to be done; then what else was not to be
// done, as it may be an instruction that nothing tells from other sentences. The newest go first.
func (c Carrying) told(pinned Pinned, quoted map[string]bool) []string {
	left := c.Settings.UserMessages / toldShare
	all := recall.Telling(c.Log)
	stays := make([]bool, len(all))
	summary := plain(c.Summary)
	for _, pass := range []struct{ named, task bool }{{true, false}, {true, true}, {false, false}} {
		if !pass.named { // what nothing tells from a task well done takes less room
			left /= 2
		}
		for i := len(all) - 1; i >= 0; i-- {
			t := &all[i]
			if t.Names > 0 != pass.named || t.Task != pass.task || quoted[t.MessageID] || c.stays(t.MessageID) ||
				pinned.Contains(t.Text) || strings.Contains(summary, plain(t.Text)) {
				continue
			}
			n := c.Facts.Count(t.Text)
			if n > left {
				break
			}
			left, stays[i] = left-n, true
		}
	}
	var lines []string
	for i := range all {
		if stays[i] {
			lines = append(lines, strings.Join(append([]string{"- " + all[i].Text}, c.superseded(all[i].Text)...), " "))
		}
	}
	return lines
}

// superseded notes below a quotation what in it no longer holds.
func (c Carrying) superseded(text string) []string {
	notes := append(recall.Superseded(text, c.values), recall.Revoked(text, c.rules)...)
	for _, known := range c.before.Notes[text] {
		name, _, _ := strings.Cut(known, ": now ")
		taken := func(k recall.Constraint) bool { return "\""+k.Since+"\"" == known }
		if known[0] == '"' && !slices.ContainsFunc(c.rules, taken) {
			continue // the instruction was given again
		}
		if !slices.ContainsFunc(notes, func(n string) bool { return n == known || strings.HasPrefix(n, name+": now ") }) {
			notes = append(notes, known)
		}
	}
	if len(notes) > 0 {
		return []string{strings.TrimSpace(recall.Since) + " " + strings.Join(notes, "; ") + "]"}
	}
	return nil
}

// plain removes line breaks and Markdown quotation marks from a text, so that a quotation can be
// found again.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll("\n"+text, "\n>", "\n")), " ")
}

// replayed returns the id of the message that this one repeats, or "".
func replayed(m *session.Message) string {
	for i := range m.Parts {
		if n, ok := m.Parts[i].Note(); ok {
			return n.Replay
		}
	}
	return ""
}

func (c Carrying) todos() []string {
	var lines []string
	for _, t := range recall.Todos(c.Log) {
		if t.Open() && !strings.Contains(c.Summary, t.Text) {
			lines = append(lines, "- "+t.Text+" ("+t.Status+")")
		}
	}
	return lines
}

func (c Carrying) skills(calls []call.Call) []string {
	var lines []string
	for _, s := range recall.SkillsOf(calls) {
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

func (c Carrying) files(calls []call.Call) []string {
	files := c.before.With(recall.FilesOf(calls), c.Directory)
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
		lines = append(lines, "- "+name+": "+state(f))
	}
	return lines
}

func state(f *recall.File) string {
	var words []string
	times := func(n int, word string) {
		switch {
		case n == 1:
			words = append(words, word)
		case n > 1:
			words = append(words, fmt.Sprintf("%s %d times", word, n))
		}
	}
	if f.Gone() {
		words = append(words, "deleted")
	} else {
		times(f.Creates, "written")
		times(f.Edits, "edited")
	}
	if len(words) == 0 {
		times(f.Reads, "read")
	}
	if f.Perhaps != "" {
		words = append(words, "perhaps "+recall.Past(f.Perhaps))
	}
	text := strings.Join(words, ", ")
	if f.Added+f.Removed > 0 && !f.Gone() {
		text += fmt.Sprintf(" (+%d −%d lines)", f.Added, f.Removed)
	}
	if f.From != "" && !f.Gone() {
		text += ", moved from " + f.From
	}
	return text
}

func (c Carrying) failures(calls []call.Call) []string {
	failures := recall.FailuresOf(c.Log, calls)
	if n := len(failures) - maxFailures; n > 0 {
		failures = failures[n:]
	}
	var lines []string
	before := c.before.Failures
	for _, item := range before[max(0, len(before)+len(failures)-maxFailures):] {
		again := func(k call.Call) bool { return strings.HasPrefix(item+": ", k.Tool+" "+k.Target()+": ") }
		if !slices.ContainsFunc(calls, again) && !strings.Contains(c.Summary, item) {
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

func quote(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("> "+l, " ")
	}
	return lines
}
