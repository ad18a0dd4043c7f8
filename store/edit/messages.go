package edit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Leaving is a message of a preview: its content that a discard leaves out.
type Leaving struct {
	Number  int          `json:"number"`  // its place in the log, from 1, as in "message:31"
	Message string       `json:"message"` // its id
	Role    session.Role `json:"role"`    // "user" or "assistant"
	// The beginning of its text, or else its first call.
	Text string `json:"text"`
	// Whether the user wrote it: summaries no longer quote it, and instructions in it no longer hold.
	User   bool `json:"user"`
	Tokens int  `json:"tokens"` // tokens by which the view gets smaller; negative if it grows
	// Numbers of later messages that stay and quote a line of it, or name its handle.
	QuotedBy []int    `json:"quotedBy"`
	Stays    []string `json:"stays,omitempty"` // sentences about parts of it that stay
}

// Foresee tells the effect of discarding messages, turns and parts on the view; nothing is done.
// There is one entry for each message, in the order of the log.
func Foresee(s *report.Session, names []string) ([]Leaving, error) {
	targets, err := Expand(s, names)
	if err != nil {
		return nil, err
	}
	d := Decide(s, Request{Discard: targets, Words: true})
	var all []Leaving
	gone := map[string][]*session.Part{}
	for i := range s.Log {
		m := &s.Log[i]
		l := Leaving{Number: i + 1, Message: m.ID, Role: m.Role, User: m.Written(), QuotedBy: []int{}}
		named := false
		for _, t := range d.Targets {
			at := slices.IndexFunc(m.Parts, func(p session.Part) bool { return p.ID == t.Part })
			if at < 0 || t.Part == "" {
				continue
			}
			named = true
			if !t.OK || t.Code == rule.Already {
				l.Stays = append(l.Stays, strings.TrimSpace(string(m.Parts[at].Type)+" "+t.Handle)+": "+t.Reason)
				continue
			}
			l.Tokens += t.Saved
			gone[m.ID] = append(gone[m.ID], &m.Parts[at])
		}
		if !named {
			continue
		}
		if l.Text = m.Text(); l.Text == "" && len(gone[m.ID]) > 0 {
			first := gone[m.ID][0]
			l.Text = strings.TrimSpace(first.Tool + " " + s.Facts.Target(first))
		}
		l.Text = rule.Shorten(strings.Join(strings.Fields(l.Text), " "), 100)
		all = append(all, l)
	}
	noteQuotes(s, all, gone)
	return all, nil
}

// Foretold is what Foresee tells, for people: the tokens by which the view gets smaller, and the rest
// of a sentence, which begins with a space or a semicolon unless it is empty.
func Foretold(all []Leaving) (tokens int, rest string) {
	stay, yours := 0, false
	var quoted []string
	for _, m := range all {
		tokens, stay, yours = tokens+m.Tokens, stay+len(m.Stays), yours || m.User
		for _, n := range m.QuotedBy {
			if number := strconv.Itoa(n); !slices.Contains(quoted, number) {
				quoted = append(quoted, number)
			}
		}
	}
	if len(all) > 1 {
		rest = " in " + quantity.Count(len(all), "message")
	}
	if stay > 0 {
		rest += "; " + quantity.Plural(stay, "part stays", "parts stay")
	}
	switch {
	case len(quoted) == 1:
		rest += "; message " + quoted[0] + " quotes it"
	case len(quoted) > 1:
		rest += "; messages " + strings.Join(quoted, ", ") + " quote it"
	}
	if yours {
		rest += "; you wrote of it: summaries will not quote that, and its instructions no longer hold"
	}
	return tokens, rest
}

// Expand names the parts of the messages and turns among some names: the id of a message,
// "message:31" for the one at a place of the log, or "turn:3". Other names stay as they are. The
// error is about a place that the log does not have.
func Expand(s *report.Session, names []string) (targets []string, err error) {
	for _, name := range names {
		messages, whole, err := messagesNamed(s.Log, name)
		switch {
		case err != nil:
			return nil, err
		case !whole:
			targets = append(targets, name)
		}
		for i := range messages {
			for j := range messages[i].Parts {
				switch p := &messages[i].Parts[j]; p.Type {
				case session.TextPart, session.ReasoningPart, session.ToolPart, session.FilePart:
					if !slices.Contains(targets, p.ID) {
						targets = append(targets, p.ID)
					}
				}
			}
		}
	}
	return targets, nil
}

// NamesMessages reports whether any of the names is that of a message or a turn.
func NamesMessages(log []session.Message, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, whole, _ := messagesNamed(log, name)
		return whole
	})
}

// messagesNamed are the messages that a name stands for; whole is false for the name of a part.
func messagesNamed(log []session.Message, name string) (messages []session.Message, whole bool, err error) {
	kind, number, place := strings.Cut(name, ":")
	n, bad := strconv.Atoi(number)
	if place = place && bad == nil && (kind == "message" || kind == "turn"); !place {
		at := session.Index(log, name)
		if at < 0 {
			return nil, false, nil
		}
		return log[at : at+1], true, nil
	}
	turns := session.Turns(log)
	switch {
	case kind == "turn" && n >= 1 && n <= len(turns):
		return log[turns[n-1].Start:turns[n-1].End], true, nil
	case kind == "message" && n >= 1 && n <= len(log):
		return log[n-1 : n], true, nil
	case kind == "turn":
		return nil, true, &report.Missing{Op: Discard, What: fmt.Sprintf("turn %d: the session has %d", n, len(turns))}
	}
	return nil, true, &report.Missing{Op: Discard, What: fmt.Sprintf("message %d: the session has %d", n, len(log))}
}

// quotable is how many bytes a line must have to be recognised in a later message: shorter ones, such
// as "return nil, err", stand anywhere.
const quotable = 24

// noteQuotes notes which later messages quote those that leave. Text and arguments of calls count:
// what a later call gave back is no answer to an earlier message.
func noteQuotes(s *report.Session, all []Leaving, gone map[string][]*session.Part) {
	lines, handles := map[string][]int{}, map[string]int{}
	for at := range all {
		for _, p := range gone[all[at].Message] {
			handles[s.Handles.Of(p)] = at
			for _, text := range textsOf(p) {
				for line := range strings.Lines(text) {
					line = strings.TrimSpace(line)
					if had := lines[line]; len(line) >= quotable && !slices.Contains(had, at) {
						lines[line] = append(had, at)
					}
				}
			}
		}
	}
	delete(handles, "")
	for i := range s.Log {
		m := &s.Log[i]
		if len(gone[m.ID]) > 0 {
			continue
		}
		found := map[int]bool{}
		for j := range m.Parts {
			for _, text := range saidBy(&m.Parts[j]) {
				for line := range strings.Lines(text) {
					for _, at := range lines[strings.TrimSpace(line)] {
						found[at] = true
					}
				}
				for handle, at := range handles {
					if strings.Contains(text, handle) {
						found[at] = true
					}
				}
			}
		}
		for at := range found {
			if all[at].Number <= i {
				all[at].QuotedBy = append(all[at].QuotedBy, i+1)
			}
		}
	}
}

// textsOf are the texts of a part.
func textsOf(p *session.Part) []string {
	texts := saidBy(p)
	if p.State != nil {
		texts = append(texts, p.State.Result())
	}
	return texts
}

// saidBy are the texts of a part that its writer chose: not those that a call gave back.
func saidBy(p *session.Part) (texts []string) {
	if p.Text != "" {
		texts = append(texts, p.Text)
	}
	if p.State == nil {
		return texts
	}
	return slices.AppendSeq(texts, rule.Texts(p.State.Input))
}
