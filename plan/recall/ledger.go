package recall

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// The summary of a fold in a request body is a message of the user's in these tags.
const (
	OpenSummary  = "<conversation-summary>\n"
	CloseSummary = "\n</conversation-summary>"
)

// Headings of a carry-over, which is written below a summary and read back where nothing else is
// left of the log.
const (
	CarryTitle    = "# Kept from before the summary"
	PinnedTitle   = "# Pinned" // of a message of its own
	PinsTitle     = "Pinned earlier"
	RulesTitle    = "The user's standing constraints"
	MessagesTitle = "The user's messages, word for word"
	ToldTitle     = "What the user said in others"
	TodosTitle    = "Open todos"
	SkillsTitle   = "Instructions that were loaded"
	FilesTitle    = "Files"
	FailuresTitle = "Unresolved errors"
	CallsTitle    = "Calls as they were made"
	PutTitle      = "What was put into files"
)

// Ledger is what carry-overs in the messages of a log say: all that is known of a past that the log
// does not have.
type Ledger struct {
	Rules []Constraint
	Todos []Todo
	Files []File
	// Messages are the user's, and Told single sentences of others, oldest first.
	Messages, Told []string
	// Pins, Skills, Failures, Calls and Put are as they were written, without bullets.
	Pins, Skills, Failures []string
	Calls, Put             [][]string
	// Notes are what no longer holds in a message, a sentence or a rule, by its text.
	Notes map[string][]string
}

// HandedOn reports whether a text is the summary of an earlier fold that came back as a message, or
// a pin that was shown with it.
func HandedOn(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), OpenSummary) || strings.HasPrefix(text, PinnedTitle+"\n\n> ") ||
		strings.HasPrefix(text, PinnedTitle+"\n\nTurn ") || carryAt(text) >= 0
}

// carryAt is where the carry-over begins in a text, or -1.
func carryAt(text string) int {
	if strings.HasPrefix(text, CarryTitle+"\n") {
		return 0
	}
	if at := strings.Index(text, "\n"+CarryTitle+"\n"); at >= 0 {
		return at + 1
	}
	return -1
}

// SummaryIn returns what the summariser wrote in a summary that was handed on, without tags and
// carry-over.
func SummaryIn(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, PinnedTitle+"\n\n") {
		return ""
	}
	if at := carryAt(text); at >= 0 {
		text = text[:at]
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, OpenSummary), CloseSummary))
}

// Handed returns the positions of the parts of a log that hand on an earlier past: messages, and
// the summary that the log begins with if the product deleted what it represents.
func Handed(messages []session.Message) (places [][2]int) {
	tail, spoken := "", false
	for i := range messages {
		m := &messages[i]
		if marker := m.Marker(); marker != nil {
			tail = marker.TailStartID
		}
		summary := m.IsSummary()
		if summary && spoken && !(tail != "" && begins(messages, tail)) {
			continue // the log has what it represents
		}
		if summary && len(m.Parts) > 0 {
			places, spoken = append(places, [2]int{i, 0}), true
			continue
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			_, ours := p.Note() // written in this session
			switch {
			case p.Type == session.TextPart && !ours && HandedOn(p.Text):
				places = append(places, [2]int{i, j})
			case m.Marker() == nil && (p.Type == session.ToolPart ||
				p.Type == session.TextPart && !p.Synthetic && strings.TrimSpace(p.Text) != ""):
				spoken = true
			}
		}
	}
	return places
}

// handedText is what a place of Handed says.
func handedText(messages []session.Message, at [2]int) (text string, p *session.Part) {
	m := &messages[at[0]]
	if p = &m.Parts[at[1]]; !m.IsSummary() {
		return p.Text, p
	}
	for j := range m.Parts {
		if m.Parts[j].Type == session.TextPart {
			text += m.Parts[j].Text + "\n\n"
		}
	}
	return text, p
}

// begins reports whether nothing was said or done before a message.
func begins(messages []session.Message, id string) bool {
	for i := range messages {
		m := &messages[i]
		if m.ID == id {
			return true
		}
		if m.Marker() == nil && !m.IsSummary() && len(m.Parts) > 0 {
			return false
		}
	}
	return false
}

// WithoutHanded returns the messages without what hands on an earlier past, and the summaries in
// it. Its argument is not changed.
func WithoutHanded(messages []session.Message) (kept []session.Message, summaries string) {
	var texts []string
	gone := map[int][]int{}
	for _, at := range Handed(messages) {
		if m := &messages[at[0]]; !m.IsSummary() {
			gone[at[0]] = append(gone[at[0]], at[1])
			if text := SummaryIn(m.Parts[at[1]].Text); text != "" {
				texts = append(texts, text)
			}
		}
	}
	if len(gone) == 0 {
		return messages, ""
	}
	for i := range messages {
		m := messages[i]
		if gone[i] != nil {
			m.Parts = nil
			for j := range messages[i].Parts {
				if !slices.Contains(gone[i], j) {
					m.Parts = append(m.Parts, messages[i].Parts[j])
				}
			}
			if len(m.Parts) == 0 {
				continue
			}
		}
		kept = append(kept, m)
	}
	return kept, strings.Join(texts, "\n\n")
}

// Restore returns a log in which the user's messages and sentences that carry-overs quote, and the
// open todos, stand as messages again, before the one that hands them on, and the rest of what
// carry-overs say. Messages for which stays is true are left as they are. Its argument is not
// changed.
func Restore(messages []session.Message, stays func(id string) bool) ([]session.Message, Ledger) {
	var all Ledger
	places := slices.DeleteFunc(Handed(messages), func(at [2]int) bool { return stays(messages[at[0]].ID) })
	if len(places) == 0 {
		return messages, all
	}
	var restored []session.Message
	next := 0
	for _, at := range places {
		restored = append(restored, messages[next:at[0]]...)
		next = max(next, at[0])
		m := &messages[at[0]]
		text, p := handedText(messages, at)
		one := read(text, m.ID, p.ID)
		restored = append(restored, one.messages(m, p)...)
		all.join(one)
	}
	for i := next; i < len(messages); i++ {
		restored = append(restored, messages[i])
	}
	for i := range restored {
		m := &restored[i]
		for j := range m.Parts {
			if p := &m.Parts[j]; m.Role == session.User && p.Type == session.TextPart && !p.Synthetic && HandedOn(p.Text) {
				m.Parts = slices.Clone(m.Parts)
				m.Parts[j].Synthetic = true
			}
		}
	}
	return restored, all
}

// messages are what a carry-over quotes as messages again. Their texts have the note of a
// carry-over.
func (l *Ledger) messages(m *session.Message, p *session.Part) (all []session.Message) {
	add := func(role session.Role, part session.Part) {
		id := p.ID + "/" + strconv.Itoa(len(all)+1)
		part.ID, part.MessageID, part.SessionID = id+":0", id, m.SessionID
		all = append(all, session.Message{MessageInfo: session.MessageInfo{ID: id, SessionID: m.SessionID, Role: role,
			Time: m.Time}, Parts: []session.Part{part}})
	}
	for _, texts := range [][]string{l.Messages, l.Told} {
		for _, text := range texts {
			add(session.User, session.Part{Type: session.TextPart, Text: text, Metadata: session.Note{Carry: true}.Metadata()})
		}
	}
	if len(l.Todos) > 0 {
		var items [][]byte
		for _, t := range l.Todos {
			items = append(items, span.Make("content", t.Text, "status", t.Status))
		}
		add(session.Assistant, session.Part{Type: session.ToolPart, Tool: "todowrite", State: &session.ToolState{
			Status: session.Completed, Input: []byte(`{"todos":[` + string(bytes.Join(items, []byte(","))) + `]}`)}})
	}
	return all
}

func (l *Ledger) join(one Ledger) {
	l.Rules = append(l.Rules, one.Rules...)
	l.Files = append(l.Files, one.Files...)
	l.Messages, l.Told = append(l.Messages, one.Messages...), append(l.Told, one.Told...)
	l.Pins, l.Skills = append(l.Pins, one.Pins...), append(l.Skills, one.Skills...)
	l.Failures = append(l.Failures, one.Failures...)
	l.Calls, l.Put = append(l.Calls, one.Calls...), append(l.Put, one.Put...)
	if l.Notes == nil {
		l.Notes = map[string][]string{}
	}
	for text, notes := range one.Notes {
		l.Notes[text] = notes
	}
}

// read reads the carry-over of a text, and the rules in the summary above it.
func read(text, message, part string) Ledger {
	l := Ledger{Notes: map[string][]string{}}
	text = strings.TrimSuffix(strings.TrimSpace(text), CloseSummary[1:])
	if pin, ok := strings.CutPrefix(text, PinnedTitle+"\n\n"); ok {
		l.Pins = []string{strings.TrimSpace(pin)}
		return l
	}
	if at := carryAt(text); at >= 0 {
		title := ""
		var lines []string
		for line := range strings.Lines(text[at+len(CarryTitle)+1:]) {
			line = strings.TrimRight(line, "\r\n")
			if heading, ok := strings.CutPrefix(line, "## "); ok {
				l.section(title, lines, message, part)
				title, lines = heading, nil
				continue
			}
			if strings.HasPrefix(line, "# ") {
				break
			}
			lines = append(lines, line)
		}
		l.section(title, lines, message, part)
	}
	summary := SummaryIn(text)
	for _, rule := range SummaryRules(summary) {
		// What is quoted is the user's own; a model's words may be about a rule that is there.
		quoted := rule.Since != "" || !strings.Contains(summary, "- "+rule.Text)
		if !l.has(rule.Text) && (quoted || !l.knows(rule.Text)) {
			rule.MessageID, rule.PartID = message, part
			l.Rules = append(l.Rules, rule)
		}
	}
	return l
}

func (l *Ledger) section(title string, lines []string, message, part string) {
	text := strings.Trim(strings.Join(lines, "\n"), "\n")
	switch title {
	case PinsTitle:
		l.Pins = append(l.Pins, text)
	case MessagesTitle:
		l.quoted(lines)
	case PutTitle:
		for _, line := range lines {
			switch n := len(l.Put); {
			case line != "" && line[0] != '>':
				l.Put = append(l.Put, []string{line})
			case n > 0:
				l.Put[n-1] = append(l.Put[n-1], line)
			}
		}
	case CallsTitle:
		for _, line := range lines {
			switch n := len(l.Calls); {
			case strings.HasPrefix(line, "- and ") && strings.HasSuffix(line, " that only looked"):
			case strings.HasPrefix(line, "- "):
				l.Calls = append(l.Calls, []string{line})
			case n > 0 && line != "":
				l.Calls[n-1] = append(l.Calls[n-1], line)
			}
		}
	default:
		for _, line := range lines {
			if item, ok := strings.CutPrefix(line, "- "); ok {
				l.item(title, item, message, part)
			}
		}
	}
}

// item is a line of a list.
func (l *Ledger) item(title, item, message, part string) {
	switch title {
	case RulesTitle:
		text, notes := noted(item)
		l.Rules = append(l.Rules, Constraint{Text: text, MessageID: message, PartID: part, Since: takenBack(notes)})
		l.note(text, notes)
	case ToldTitle:
		text, notes := noted(item)
		l.Told = append(l.Told, text)
		l.note(text, notes)
	case TodosTitle:
		if at := strings.LastIndex(item, " ("); at > 0 && strings.HasSuffix(item, ")") {
			l.Todos = append(l.Todos, Todo{Text: item[:at], Status: status(item[at+2 : len(item)-1]), MessageID: message,
				PartID: part})
		}
	case SkillsTitle:
		l.Skills = append(l.Skills, item)
	case FilesTitle:
		if f, ok := fileOf(item); ok {
			f.MessageID, f.PartID = message, part
			l.Files = append(l.Files, f)
		}
	case FailuresTitle:
		l.Failures = append(l.Failures, item)
	}
}

// quoted reads the user's messages.
func (l *Ledger) quoted(lines []string) {
	var message []string
	end := func() {
		if message != nil {
			l.Messages = append(l.Messages, strings.Join(message, "\n"))
		}
		message = nil
	}
	for _, line := range lines {
		rest, quote := strings.CutPrefix(line, ">")
		if quote {
			message = append(message, strings.TrimPrefix(rest, " "))
			continue
		}
		end()
		if n := len(l.Messages); n > 0 && line != "" {
			if _, notes := noted(" " + line); notes != nil {
				l.note(l.Messages[n-1], notes)
			}
		}
	}
	end()
}

func (l *Ledger) note(text string, notes []string) {
	if notes = slices.DeleteFunc(notes, func(n string) bool { return n == "" }); len(notes) > 0 {
		l.Notes[text] = notes
	}
}

// Since begins the note behind what no longer holds.
const Since = " [since then: "

// noted separates a text from the notes behind it.
func noted(line string) (text string, notes []string) {
	at := strings.LastIndex(line, Since)
	if at < 0 || !strings.HasSuffix(line, "]") {
		return line, nil
	}
	return line[:at], strings.Split(line[at+len(Since):len(line)-1], "; ")
}

// takenBack is the sentence of notes that took back an instruction, "" if none did.
func takenBack(notes []string) string {
	_, rest, _ := strings.Cut(strings.Join(notes, "; "), "\"")
	if end := strings.LastIndexByte(rest, '"'); end > 0 {
		return rest[:end]
	}
	return ""
}

// SummaryRules returns what a summary lists as constraints of the user's, and the instructions in
// what it quotes of the user: the goal, and lines that name the user.
func SummaryRules(summary string) (all []Constraint) {
	heading := ""
	for line := range strings.Lines(summary) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			heading = strings.ToLower(line)
			continue
		}
		item, bullet := strings.CutPrefix(line, "- ")
		text, notes := noted(item)
		since := takenBack(notes)
		switch {
		case strings.Contains(heading, "constraint"):
			loaded := strings.HasPrefix(item, "Skill that was loaded: ") ||
				strings.HasPrefix(item, "Instructions that were read: ")
			if bullet && !loaded && !strings.HasSuffix(item, " left out)") {
				all = append(all, Constraint{Text: unmarkedQuote(text), Since: since})
			}
		case strings.Contains(heading, "goal"), strings.Contains(line, "user"):
			for _, s := range Sentences(strings.TrimPrefix(text, "> ")) {
				if _, said, ok := strings.Cut(s, ": \""); ok {
					s = said
				}
				s = strings.Trim(s, "\"")
				if rule, preference := Standing(s); rule || preference {
					all = append(all, Constraint{Text: s, Since: since})
				}
			}
		}
	}
	return slices.DeleteFunc(all, func(c Constraint) bool {
		return c.Text == "" || strings.HasSuffix(c.Text, "…") || len(c.Text) > tooLong // cut, or a pasted text
	})
}

// unmarkedQuote removes quotation marks around a text that has no others.
func unmarkedQuote(text string) string {
	if inner := strings.TrimSuffix(strings.TrimPrefix(text, "\""), "\""); !strings.Contains(inner, "\"") {
		return inner
	}
	return text
}

// has reports whether a rule is there.
func (l *Ledger) has(text string) bool {
	return slices.ContainsFunc(l.Rules, func(rule Constraint) bool { return Key(rule.Text) == Key(text) })
}

// knows reports whether a rule says what a text says: nearly all words of one of them are in the
// other, with the same names and figures, and both forbid or neither does. A model writes the same
// rule in other words each time.
func (l *Ledger) knows(text string) bool {
	of := contentOf(text)
	return slices.ContainsFunc(l.Rules, func(rule Constraint) bool {
		if strings.Contains(text, rule.Text) {
			return true
		}
		have := contentOf(rule.Text)
		shared := 0
		for _, w := range of {
			if slices.Contains(have, w) {
				shared++
			}
		}
		if shared == 0 || 4*shared < 3*min(len(of), len(have)) || forbids(text) != forbids(rule.Text) {
			return false
		}
		return !slices.ContainsFunc(strings.Fields(text), func(w string) bool {
			w = strings.Trim(w, ".,;:!?()[]\"'*`")
			return (hard(w) || len(w) > 0 && isValue(w)) && !strings.Contains(rule.Text, w)
		})
	})
}

// forbids reports whether a text has a word that denies.
func forbids(text string) bool {
	return slices.ContainsFunc(words(text), func(w string) bool {
		return denying[w] || w == "don't" || w == "dont" || w == "without" || w == "avoid" || w == "stop"
	})
}

func contentOf(text string) []string {
	return slices.DeleteFunc(words(text), func(w string) bool { return !content(w) })
}

// With returns the files of a log with what was done to them before it. The ledger names them as
// they were written, relative to the working folder.
func (l *Ledger) With(files []File, folder string) []File {
	at := map[string]int{}
	for i := range files {
		at[call.Shorten(files[i].Path, folder)] = i
	}
	for i := range l.Files {
		old := l.Files[i]
		n, known := at[old.Path]
		if !known {
			old.At = i - len(l.Files)
			at[old.Path] = len(files)
			files = append(files, old)
			continue
		}
		f := &files[n]
		f.Reads, f.Deletes = f.Reads+old.Reads, f.Deletes+old.Deletes
		f.Creates, f.Edits = f.Creates+old.Creates, f.Edits+old.Edits
		f.Added, f.Removed = f.Added+old.Added, f.Removed+old.Removed
		if f.From == "" {
			f.From = old.From
		}
		if f.Last == "" || f.Last == call.Read && old.Last != call.Delete {
			f.Last = old.Last
		}
	}
	return files
}

var counted = regexp.MustCompile(`^(written|edited|read)(?: (\d+) times)?$`)
var lineCounts = regexp.MustCompile(` \(\+(\d+) −(\d+) lines\)`)

// fileOf reads back the state of a file. Its path is as it was written, which is short.
func fileOf(item string) (f File, ok bool) {
	at := strings.LastIndex(item, ": ")
	if at <= 0 {
		return f, false
	}
	f.Path = item[:at]
	state := item[at+2:]
	if m := lineCounts.FindStringSubmatch(state); m != nil {
		f.Added, _ = strconv.Atoi(m[1])
		f.Removed, _ = strconv.Atoi(m[2])
		state = strings.Replace(state, m[0], "", 1)
	}
	for _, did := range strings.Split(state, ", ") {
		m := counted.FindStringSubmatch(did)
		times := 1
		if m != nil && m[2] != "" {
			times, _ = strconv.Atoi(m[2])
		}
		switch {
		case did == "deleted":
			f.Deletes, f.Last = 1, call.Delete
		case m != nil && m[1] == "written":
			f.Creates, f.Last = times, call.Create
		case m != nil && m[1] == "edited":
			f.Edits, f.Last = times, call.Edit
		case m != nil:
			f.Reads, f.Last = times, call.Read
		case strings.HasPrefix(did, "moved from "):
			f.From = strings.TrimPrefix(did, "moved from ")
		case strings.HasPrefix(did, "perhaps "):
			f.Perhaps = operation(strings.TrimPrefix(did, "perhaps "))
		default:
			return f, false
		}
	}
	return f, true
}

// operation is the one of which Past is the past tense.
func operation(past string) call.Op {
	for _, op := range []call.Op{call.Create, call.Edit, call.Move, call.Delete} {
		if Past(op) == past {
			return op
		}
	}
	return call.Edit
}
