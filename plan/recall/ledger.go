package recall

import (
	"slices"
	"strings"
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
	RemarksTitle  = "What the user said in others"
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
	// Messages are the user's, and Remarks single sentences of others, oldest first.
	Messages, Remarks []string
	// Pins, Skills, Failures, Calls and Put are as they were written, without bullets.
	Pins, Skills, Failures []string
	Calls, Put             [][]string
	// Notes are what no longer holds in a message, a sentence or a rule, by its text.
	Notes map[string][]string
}

func (l *Ledger) join(one Ledger) {
	l.Rules = append(l.Rules, one.Rules...)
	l.Files = append(l.Files, one.Files...)
	l.Messages, l.Remarks = append(l.Messages, one.Messages...), append(l.Remarks, one.Remarks...)
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
		// A quotation is the user's own; a model's words may repeat a rule that is known already.
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
		text, notes := SplitNotes(item)
		l.Rules = append(l.Rules, Constraint{Text: text, MessageID: message, PartID: part, Since: takenBack(notes)})
		l.note(text, notes)
	case RemarksTitle:
		text, notes := SplitNotes(item)
		l.Remarks = append(l.Remarks, text)
		l.note(text, notes)
	case TodosTitle:
		if at := strings.LastIndex(item, " ("); at > 0 && strings.HasSuffix(item, ")") {
			l.Todos = append(l.Todos, Todo{Text: item[:at], Status: status(item[at+2 : len(item)-1]),
				MessageID: message, PartID: part})
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
			if _, notes := SplitNotes(" " + line); notes != nil {
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

// SplitNotes separates a text from the notes behind it.
func SplitNotes(line string) (text string, notes []string) {
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
