package offline

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/recall"
)

// progress describes what was being done when the log ended: the current item, the last statement,
// the last calls, what is untested.
func (f *facts) progress() section {
	s := section{heading: headProgress}
	for i := range f.Todos {
		if f.Todos[i].Status == "in_progress" {
			s.add(80, "At work: "+quote(f.Todos[i].Text, 240))
		}
	}
	if n := len(f.answers); n > 0 && !f.Waiting && !f.spoken {
		text := f.answers[n-1].text
		label := "The assistant's last statement"
		if k := len(f.requests); k > 0 && f.requests[k-1].message > f.answers[n-1].message {
			label += ", from before the user's last message"
		}
		it := item{text: label + ": " + quote(text, 900), weight: 78}
		if len(text) > 300 {
			it = item{text: label + ":", more: block(text, 1200), weight: 78}
		}
		s.items = append(s.items, it)
		if n > 1 && len(text) < 40 && len(f.answers[n-2].text) >= 40 { // "Done."
			s.add(66, "The statement before it: "+quote(f.answers[n-2].text, 500))
		}
	}
	if text := f.lastCalls(); text != "" && len(f.tail) == 0 {
		s.add(68, "The last calls: "+text)
	}
	if text := f.untested(); text != "" {
		s.add(70, "Changed since tests last ran: "+text)
	}
	s.items = append(s.items, f.interrupted()...)
	if len(f.Calls) == 0 && len(f.answers) == 0 && f.before != nil {
		s.items = append(s.items, f.before.items(headProgress)...)
	}
	return s
}

// lastCalls names what the newest calls did, oldest first.
func (f *facts) lastCalls() string {
	var did []string
	for n := len(f.Calls) - 1; n >= 0 && len(did) < 6; n-- {
		c := &f.Calls[n]
		if len(c.Actions) == 0 || c.Actions[0].Op == call.Plan {
			continue
		}
		a := &c.Actions[0]
		text := ""
		switch a.Op {
		case call.Run:
			text = "ran " + code(f.shortLine(stripFolder(a.Command)), 100)
		case call.Search:
			text = "searched " + code(f.shortLine(a.Query), 60)
		case call.Read:
			text = "read " + code(f.short(a.Path), 120)
		case call.Create:
			text = "wrote " + code(f.short(a.Path), 120)
		case call.Edit, call.Move, call.Delete:
			text = "changed " + code(f.short(a.Path), 120)
		default:
			text = line(c.Tool, 40)
			if target := c.Target(); target != "" {
				text += " " + code(f.shortLine(target), 80)
			}
		}
		if c.Outcome.Known && c.Outcome.Failed {
			text += " (failed)"
		}
		if c.Outcome.Refused {
			text = strings.TrimSuffix(text, " (failed)") + " (stopped by the user)"
		}
		did = append(did, text)
	}
	slices.Reverse(did)
	return strings.Join(slices.Compact(did), "; ")
}

// untested names the files that changed after the last test run.
func (f *facts) untested() string {
	ran := -1
	for n := range f.AllCalls {
		for _, v := range f.AllCalls[n].Ran {
			if v.Kind == call.Test {
				ran = n
			}
		}
	}
	if ran < 0 {
		return ""
	}
	var names []string
	for i := range f.Files {
		file := &f.Files[i]
		if changed := f.changedAt(file.Path); changed > ran && len(names) < 12 {
			names = append(names, code(f.short(file.Path), 120))
		}
	}
	return strings.Join(names, ", ")
}

// changedAt returns the position of the newest call that changed a file, or -1.
func (f *facts) changedAt(name string) int {
	if f.changed == nil {
		f.changed = map[string]int{}
		for n := range f.Calls {
			c := &f.Calls[n]
			for i := range c.Actions {
				if a := &c.Actions[i]; a.Op.Changes() && !(c.Outcome.Failed && a.Exact) {
					f.changed[a.Path] = n
				}
			}
		}
	}
	if n, ok := f.changed[name]; ok {
		return n
	}
	return -1
}

// next lists what comes next: the question that waits, the unanswered request, open todos, the
// assistant's plan, and what follows from failures.
func (f *facts) next() section {
	s := section{heading: headNext, must: true}
	if f.Waiting {
		s.add(100, "Wait for the user's answer to: "+quote(f.Question.Text, 400))
	}
	if n := len(f.requests); n > 0 && len(f.tail) == 0 && f.unanswered(f.requests[n-1].message) {
		s.add(99, "Answer the user's last message: "+quote(f.requests[n-1].text, 500))
	}
	if n := len(f.requests); n > 0 && !f.Waiting && len(s.items) == 0 && !f.asked && (len(f.tail) > 0 || !f.closed()) {
		s.add(98, "Carry on with the user's last message: "+quote(f.requests[n-1].text, 200))
	}
	for i := range f.Todos {
		t := &f.Todos[i]
		switch {
		case t.Status == "in_progress":
			s.add(97, "Finish: "+quote(t.Text, 240))
		case t.Open():
			s.add(92-min(10, i), "Open: "+quote(t.Text, 240))
		}
	}
	if !f.spoken && !f.asked {
		s.items = append(s.items, f.plan()...)
	}
	for i := range slices.Backward(f.Failures) {
		e := &f.Failures[i]
		if e.Kind == call.Test || e.Kind == call.Build || len(s.items) == 0 && e.Kind != call.Look && e.Kind != "" {
			s.add(86, "Make "+code(f.shortLine(stripFolder(e.Target)), 200)+" work, it fails")
			break
		}
	}
	if len(s.items) == 0 && f.before != nil && len(f.answers) == 0 {
		s.items = f.before.items(headNext)
	}
	if len(s.items) == 0 && len(f.tail) > 0 {
		s.add(80, "Carry on with the messages that follow this summary")
	}
	if len(s.items) == 0 && len(f.requests) > 0 {
		s.add(80, "Nothing was left open; the last request was "+quote(f.requests[len(f.requests)-1].text, 240))
	}
	return s
}

// closed reports whether the assistant ended its turn: its newest text came after the newest
// request and no call came after it.
func (f *facts) closed() bool {
	n := len(f.answers)
	return n > 0 && f.answers[n-1].closing &&
		(len(f.requests) == 0 || f.answers[n-1].message > f.requests[len(f.requests)-1].message)
}

// unanswered reports whether nothing but user messages follows a message.
func (f *facts) unanswered(message int) bool {
	return f.firstCall[message+1] >= len(f.Calls) &&
		(len(f.answers) == 0 || f.answers[len(f.answers)-1].message < message)
}

// plan returns what the assistant last said it would do.
func (f *facts) plan() []item {
	for n := len(f.answers) - 1; n >= max(0, len(f.answers)-6); n-- {
		a := f.answers[n]
		if len(f.requests) > 0 && a.message < f.requests[len(f.requests)-1].message {
			return nil // the newest request answered or replaced older plans
		}
		sentences := recall.Sentences(a.text)
		var all []item
		for i, s := range sentences {
			lower := strings.ToLower(s)
			if len(s) > 500 || !call.ContainsAny(lower, planned...) {
				continue
			}
			all = append(all, item{text: "Planned: " + quote(s, 400), weight: 94 - (len(f.answers) - n)})
			if strings.HasSuffix(s, ":") { // a heading: the list below it is the plan
				for _, below := range sentences[i+1 : min(i+7, len(sentences))] {
					all = append(all, item{text: "Planned: " + quote(below, 240), weight: 90 - (len(f.answers) - n)})
				}
				break
			}
		}
		if len(all) > 0 {
			return all[:min(8, len(all))]
		}
	}
	return nil
}
