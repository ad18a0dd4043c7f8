package offline

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/recall"
)

// keyFacts lists small things that are needed again: the folder, branches, ports, versions, pages
// that were read, files that the user attached.
func (f *facts) keyFacts() section {
	s := section{heading: headFacts}
	seen := map[string]bool{}
	add := func(text string, weight int) {
		if !seen[text] && (len(seen) < 60 || f.wasListed(headFacts, text)) {
			seen[text] = true
			s.add(weight+f.focused(text), text)
		}
	}
	if f.directory != "" {
		add("Working folder: "+code(f.directory, 200), 62)
	}
	for _, it := range f.before.items(headFacts) {
		if !strings.HasPrefix(it.text, "Branch: ") && !strings.HasPrefix(it.text, "Working folder: ") {
			add(it.text, 30)
		}
	}
	if branch := f.branch(); branch != "" {
		add("Branch: "+code(branch, 100), 56)
	} else if f.before != nil {
		for _, it := range f.before.items(headFacts) {
			if strings.HasPrefix(it.text, "Branch: ") {
				add(it.text, 50)
			}
		}
	}
	for _, it := range f.agreed() {
		add(it.text, it.weight)
	}
	s.items = append(s.items, f.remarks()...)
	for _, r := range f.requests {
		for _, p := range ports(r.text) {
			if !slices.ContainsFunc(f.Values,
				func(v recall.Value) bool { return v.Now == p || slices.Contains(v.Was, p) }) {
				add("Port: "+p, 52)
			}
		}
		for _, u := range urls(r.text) {
			if !slices.ContainsFunc(f.Values, func(v recall.Value) bool { return v.User && v.Now == u }) {
				add("URL that the user gave: "+line(u, 300), 50)
			}
		}
	}
	for i := range f.log {
		for j := range f.log[i].Parts {
			p := &f.log[i].Parts[j]
			if p.Type == "file" && f.log[i].Role == "user" && !p.Synthetic && p.Filename != "" {
				add("Attached by the user: "+line(p.Filename, 160)+" ("+line(p.Mime, 60)+")", 44)
			}
		}
	}
	for n := range f.Calls {
		c := &f.Calls[n]
		if len(c.Actions) == 0 || c.Outcome.Failed {
			continue
		}
		if a := &c.Actions[0]; a.Op == call.Fetch && strings.Contains(a.Query, "://") {
			add("Page that was read: "+line(a.Query, 300), 28+f.recentCall(n, 10))
		}
		if command := c.Command(); len(command) < 60 &&
			(strings.HasSuffix(command, "--version") || strings.HasSuffix(command, " version") ||
				strings.HasSuffix(command, " -v") && len(command) < 16) {
			if output := strings.TrimSpace(f.log[c.Message].Parts[c.Part].State.Output); output != "" &&
				len(output) < 120 && !strings.Contains(output, "\n") {
				add(code(command, 60)+" says "+code(output, 120), 36)
			}
		}
	}
	return s
}

// agreed lists the values agreed on, with what they were before.
func (f *facts) agreed() []item {
	var all []item
	for i := range f.Values {
		v := &f.Values[i]
		if v.Name == "" && len(v.Was) == 0 || v.Message >= len(f.log) && len(v.Was) == 0 {
			continue // the tail shows it
		}
		text := line(v.Name, 80) + ": " + line(v.Now, 120)
		if v.Name == "" {
			text = line(v.Now, 80) + " instead of " + line(strings.Join(v.Was, ", "), 120)
		} else if len(v.Was) > 0 {
			text += " (was " + line(strings.Join(v.Was, ", "), 120) + ")"
		}
		it := item{text: text, weight: 36 + min(6, v.Times) + f.recent(min(v.Message, len(f.log)-1), 8)}
		if v.User {
			it.weight += 75 // the user's words go before the assistant's
		} else {
			it.weight += 30
			it.text += ": " + quote(v.Text, 200)
		}
		if len(v.Was) > 0 {
			it.weight += 20
		}
		all = append(all, it)
	}
	return f.heaviest(headFacts, all, mostValues)
}

// remarks lists the user's sentences with names and figures that nobody can guess, except for
// values that are listed already.
func (f *facts) remarks() []item {
	var all []item
	for _, t := range f.Remarks {
		if t.Names == 0 {
			continue
		}
		if slices.ContainsFunc(f.Values,
			func(v recall.Value) bool { return v.Text == t.Text && t.Names <= 1+len(v.Was) }) {
			continue
		}
		it := item{text: "The user said: " + quote(t.Text, 300), unless: line(t.Text, 300),
			weight: 110 + f.recent(t.Message, 12)}
		if t.Task {
			it.weight -= 90
		}
		all = append(all, it)
	}
	return f.heaviest(headFacts, all, mostRemarks)
}

// How many values and remarks are listed that the last summary did not list: a screenful.
const mostValues, mostRemarks = 24, 40

// branch returns the branch that git named last.
func (f *facts) branch() string {
	for n := len(f.Calls) - 1; n >= 0; n-- {
		c := &f.Calls[n]
		if command := c.Command(); !strings.Contains(command, "git") || c.Outcome.Failed {
			continue
		}
		output := call.Bound(f.log[c.Message].Parts[c.Part].State.Output)
		for row := range strings.Lines(output) {
			row = strings.TrimSpace(row)
			for _, mark := range []string{"On branch ", "Switched to a new branch '", "Switched to branch '", "## "} {
				if rest, ok := strings.CutPrefix(row, mark); ok {
					name, _, _ := strings.Cut(strings.TrimRight(rest, "'"), "...")
					if name != "" && !strings.Contains(name, " ") &&
						(mark != "## " || strings.Contains(c.Command(), "status")) {
						return name
					}
				}
			}
		}
	}
	return ""
}

// ports returns the numbers that a text calls a port.
func ports(text string) []string {
	var found []string
	lower := strings.ToLower(text)
	for _, mark := range []string{"port ", "localhost:", "127.0.0.1:", "port: ", "port stays ", "puerto ", "puerto: "} {
		for at := 0; at < len(lower); {
			i := strings.Index(lower[at:], mark)
			if i < 0 {
				break
			}
			at += i + len(mark)
			end := at
			for end < len(lower) && lower[end] >= '0' && lower[end] <= '9' {
				end++
			}
			if n := end - at; n >= 2 && n <= 5 && !slices.Contains(found, lower[at:end]) {
				found = append(found, lower[at:end])
			}
		}
	}
	return found
}

// urls returns the addresses in a text.
func urls(text string) []string {
	var found []string
	for _, scheme := range []string{"https://", "http://"} {
		for at := 0; at < len(text) && len(found) < 10; {
			i := strings.Index(text[at:], scheme)
			if i < 0 {
				break
			}
			at += i
			end := at
			for end < len(text) && text[end] > ' ' && !strings.ContainsRune("\"'<>)`]", rune(text[end])) {
				end++
			}
			if u := strings.TrimRight(text[at:end], ".,;:!?"); len(u) > len(scheme)+3 {
				found = append(found, u)
			}
			at = end
		}
	}
	return found
}
