package offline

import (
	"cmp"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/session"
)

// facts is what a summary is written from.
type facts struct {
	recall.History
	heard
	earlier

	log       []session.Message
	tail      []session.Message // the messages after log, which stay verbatim and are not quoted
	texts     *recall.Texts
	directory string
	focus     []string        // words, in lower case
	dismissed map[string]bool // see pivot.Request
	spoken    bool            // the assistant said something in the tail
	asked     bool            // the user said something in the tail
	firstCall []int           // Calls[firstCall[i]] is the first call of message i or of a later one
	changed   map[string]int  // see changedAt
}

// heard is what was said in a log.
type heard struct {
	requests []utterance // by the user
	answers  []utterance // by the assistant
}

// utterance is one text of the log.
type utterance struct {
	message int
	text    string
	// closing is set on the assistant's last text in a turn if no tool call follows it.
	closing bool
	// asked is the question that a user's text answers, or "".
	asked string
}

func collect(log []session.Message, r pivot.Request) *facts {
	var handed []session.Message
	if r.Past != nil {
		handed = r.Past.Handed
	}
	texts := r.Texts
	if texts == nil {
		texts = &recall.Texts{}
	}
	f := &facts{History: recall.Read(texts, handed, log, r.Tail), earlier: earlierOf(r), log: log, tail: r.Tail,
		texts:     texts,
		directory: cmp.Or(r.Directory, call.Directory(log)), focus: keywords(r.Focus), dismissed: r.Dismissed}
	for i := range f.tail {
		f.spoken = f.spoken || f.tail[i].Role == session.Assistant && f.tail[i].Text() != ""
		f.asked = f.asked || f.tail[i].Written()
	}
	f.firstCall = make([]int, len(log)+1)
	at := 0
	for i := range f.firstCall {
		for at < len(f.Calls) && f.Calls[at].Message < i {
			at++
		}
		f.firstCall[i] = at
	}
	f.listen()
	return f
}

// listen collects what was said, without summaries and what programs wrote.
func (f *facts) listen() {
	question := ""
	closing := -1 // index into answers of the newest text that no call follows
	for i := range f.log {
		m := &f.log[i]
		if m.IsSummary() {
			continue
		}
		if m.Role == session.User {
			if !m.Written() {
				continue
			}
			if closing >= 0 {
				f.answers[closing].closing = true
			}
			text := strings.TrimSpace(recall.Prose(m.Text()))
			if whole := strings.TrimSpace(m.Text()); text == "" && !strings.HasPrefix(whole, "<") {
				text = whole // nothing but a code block or a quote
			}
			if text != "" && !strings.HasPrefix(text, "[Request interrupted") && !strings.HasPrefix(text, "Caveat: ") {
				f.requests = append(f.requests, utterance{message: i, text: text, asked: question})
			}
			question, closing = "", -1
			continue
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			switch {
			case p.Type == session.ToolPart:
				closing, question = -1, ""
			case p.Type == session.TextPart && !p.Ignored && !p.Synthetic && strings.TrimSpace(p.Text) != "" &&
				strings.TrimSpace(p.Text) != "No response requested.":
				f.answers = append(f.answers, utterance{message: i, text: recall.Prose(p.Text)})
				closing = len(f.answers) - 1
				if q, ok := recall.Pending(f.log[i : i+1]); ok {
					question = q.Text
				}
			}
		}
	}
	if closing >= 0 {
		f.answers[closing].closing = true
	}
}

// recent returns the position of a message in the log, scaled to span (the end).
func (f *facts) recent(message, span int) int {
	if len(f.log) == 0 {
		return 0
	}
	return span * (message + 1) / len(f.log)
}

// recentCall does the same for a position in the list of calls.
func (f *facts) recentCall(call, span int) int {
	if len(f.Calls) == 0 {
		return 0
	}
	return span * (call + 1) / len(f.Calls)
}

// focused returns the extra weight of an item that contains words of the focus.
func (f *facts) focused(text string) int {
	if len(f.focus) == 0 {
		return 0
	}
	lower := strings.ToLower(text)
	n := 0
	for _, w := range f.focus {
		if strings.Contains(lower, w) {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return 15 + 15*n/len(f.focus)
}

// keywords returns the significant words of a focus.
func keywords(focus string) []string {
	var words []string
	for _, w := range strings.FieldsFunc(strings.ToLower(focus),
		func(r rune) bool { return strings.ContainsRune(" \t\n,;:.!?()\"'", r) }) {
		if len(w) > 3 {
			words = append(words, w)
		}
	}
	return words
}

// short returns a path relative to the working folder.
func (f *facts) short(name string) string { return call.Shorten(name, f.directory) }

// shortLine removes the working folder from the paths in a command or a line of output. Lines that
// set PATH keep it.
func (f *facts) shortLine(line string) string {
	if len(f.directory) < 4 || strings.Contains(line, "PATH=") {
		return line
	}
	return strings.ReplaceAll(line, strings.TrimRight(f.directory, "/")+"/", "")
}
