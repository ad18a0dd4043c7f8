package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/text/quantity"
)

// relevant lists the files to open first: changed often or lately, or named in a failure.
func (f *facts) relevant() section {
	s := section{heading: headFiles}
	named := ""
	for i := range f.failures {
		named += strings.Join(f.failures[i].Lines, "\n") + "\n"
	}
	type ranked struct {
		text  string
		score int
	}
	var all []ranked
	seen := map[string]bool{}
	for i := range f.files {
		file := &f.files[i]
		maybe := file.Perhaps != "" && file.Perhaps != call.Delete
		if file.Gone() && !maybe || file.Reads+file.Creates+file.Edits == 0 && !maybe || passing(file.Path) {
			continue
		}
		name := f.short(file.Path)
		score := 4*min(10, file.Edits+file.Creates) + min(8, file.Reads) + f.recentCall(file.At, 30) + f.focused(name)
		base := name[strings.LastIndexByte(name, '/')+1:]
		failing := len(base) > 3 && strings.Contains(named, base)
		if failing {
			score += 20
		}
		var how []string
		switch {
		case file.Creates+file.Edits+file.Deletes > 0 || file.From != "":
			how = append(how, "changed")
		case file.Perhaps != "":
			how = append(how, "perhaps "+recall.Past(file.Perhaps))
		}
		if file.Reads > 0 {
			how = append(how, "read "+quantity.Times(file.Reads))
		}
		if failing {
			how = append(how, "named by what fails")
		}
		all = append(all, ranked{code(name, 200) + ": " + strings.Join(how, ", "), score})
		seen[first(code(name, 200))] = true
	}
	for i, it := range f.before.items(headFiles) {
		if !seen[first(it.text)] {
			all = append(all, ranked{it.text, 8 - min(8, i)})
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return b.score - a.score })
	for i, r := range all {
		s.add(max(4, 58-2*i), r.text)
	}
	s.items = f.heaviest(headFiles, s.items, 16)
	if n := len(all) - len(s.items); n > 0 {
		s.add(5, fmt.Sprintf("(%d more left out)", n))
	}
	return s
}

// passing reports whether a path is in a folder for temporary files.
func passing(name string) bool {
	return strings.HasPrefix(name, "/tmp/") || strings.HasPrefix(name, "/private/tmp/") ||
		strings.HasPrefix(name, "/var/folders/") || strings.Contains(name, `\Temp\`) ||
		strings.Contains(name, "/Temp/") || strings.Contains(name, "/tool-results/")
}

// keyFacts lists small things that are needed again: the folder, branches, ports, versions, pages
// that were read, files that the user attached.
func (f *facts) keyFacts() section {
	s := section{heading: headFacts}
	seen := map[string]bool{}
	add := func(text string, weight int) {
		if !seen[text] && (len(seen) < 60 || f.kept(headFacts, text)) {
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
	s.items = append(s.items, f.told()...)
	for _, r := range f.requests {
		for _, p := range ports(r.text) {
			if !slices.ContainsFunc(f.values,
				func(v recall.Value) bool { return v.Now == p || slices.Contains(v.Was, p) }) {
				add("Port: "+p, 52)
			}
		}
		for _, u := range urls(r.text) {
			if !slices.ContainsFunc(f.values, func(v recall.Value) bool { return v.User && v.Now == u }) {
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
	for n := range f.calls {
		c := &f.calls[n]
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

// branch returns the branch that git named last.
func (f *facts) branch() string {
	for n := len(f.calls) - 1; n >= 0; n-- {
		c := &f.calls[n]
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
