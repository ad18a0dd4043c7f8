package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
)

// commands lists the tests, builds, installations and commits that ran, each with its last outcome.
func (f *facts) commands() section {
	s := section{heading: headCommands}
	type run struct {
		key, text, telling string
		kind               call.Kind
		ok, failed         int
		last               call.Outcome
		at                 int
	}
	var runs []run
	index := map[string]int{}
	for n := range f.Calls {
		c := &f.Calls[n]
		text := c.Command()
		if text == "" || c.Outcome.Refused {
			continue
		}
		main := c.Main
		if main == nil || main.Kind == call.Look {
			continue
		}
		if main.Kind == call.Perform && !notable(c, main) {
			continue
		}
		key := main.Name + "\x00" + strings.Join(main.Targets, " ") + "\x00" + strings.Join(main.Narrow, " ")
		if main.Kind == call.History {
			// Every commit is listed, and what was done to each issue and pull request; attempts
			// that left no commit share a line.
			key = main.Name
			if line := committed(f.log[c.Message].Parts[c.Part].State.Result()); line != "" {
				key += "\x00" + line
			} else if !strings.HasPrefix(main.Name, "git ") {
				key += "\x00" + strings.Join(main.Targets[:min(2, len(main.Targets))], " ")
			}
		}
		k, ok := index[key]
		if !ok {
			k = len(runs)
			index[key] = k
			runs = append(runs, run{key: key, kind: main.Kind})
		}
		r := &runs[k]
		r.text, r.last, r.at = text, c.Outcome, n
		switch {
		case c.Outcome.Failed:
			r.failed++
		case c.Outcome.Known || main.Kind == call.History:
			r.ok++
		}
	}
	commits := 0
	for _, r := range runs {
		if r.kind == call.History {
			commits++
		}
	}
	seen := map[string]bool{}
	for _, r := range runs {
		c := &f.Calls[r.at]
		output := f.log[c.Message].Parts[c.Part].State.Result()
		switch {
		case r.last.Failed:
			if lines := call.ErrorLines(output, 1); len(lines) > 0 {
				r.telling = lines[0]
			}
		case r.kind == call.History:
			r.telling = committed(output)
		default:
			r.telling = call.Verdict(output)
		}
		size := 160
		if r.kind == call.History && r.telling != "" {
			size = 60 // the line of its output says more
		}
		text := code(f.shortLine(stripFolder(r.text)), size) + ": "
		switch {
		case r.last.Failed:
			text += "failed"
		case r.last.Known:
			text += "worked"
		default:
			text += "ran, outcome not reported"
		}
		if r.ok > 0 && r.failed > 0 {
			text += fmt.Sprintf(" (of %d runs %d failed)", r.ok+r.failed, r.failed)
		}
		if r.telling != "" {
			text += ": " + code(f.shortLine(r.telling), 160)
		}
		weight := 18 + f.recentCall(r.at, 24)
		switch r.kind {
		case call.Test:
			weight += 18
		case call.History:
			if commits--; commits >= 6 {
				weight -= 8 // the newest ones say where the work stands
			} else {
				weight += 12
			}
		case call.Install:
			weight += 12
		case call.Build:
			weight += 6
		}
		s.add(weight+f.focused(r.text), text)
		seen[first(text)] = true
	}
	s.items = distinct(s.items)
	s.items = f.heaviest(headCommands, s.items, 20)
	if f.before != nil {
		var carried []item
		for _, it := range f.before.items(headCommands) {
			if !seen[first(it.text)] {
				it.weight = 15
				carried = append(carried, it)
			}
		}
		s.items = append(carried, s.items...)
	}
	return s
}

// notable reports whether a command other than a test or a build deserves a line: its outcome is
// known, and it has a subcommand or is a script.
func notable(c *call.Call, main *call.Invocation) bool {
	return c.Outcome.Known && main.Name != "git add" &&
		(strings.Contains(main.Name, " ") || strings.HasSuffix(main.Name, ".sh"))
}

// distinct drops items that repeat an earlier one.
func distinct(items []item) []item {
	seen := map[string]bool{}
	return slices.DeleteFunc(items, func(it item) bool {
		again := seen[it.text]
		seen[it.text] = true
		return again
	})
}

// committed returns the line in which git reports what it did.
func committed(output string) string {
	for row := range strings.Lines(call.Bound(output)) {
		row = strings.TrimSpace(row)
		if strings.HasPrefix(row, "[") && strings.Contains(row, "] ") || strings.HasPrefix(row, "Switched to") ||
			strings.HasPrefix(row, "To ") || strings.Contains(row, "/pull/") && strings.HasPrefix(row, "https://") {
			return row
		}
	}
	return ""
}

// stripFolder removes "cd somewhere &&" and redirections of errors from a command.
func stripFolder(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "cd ") {
		if _, rest, ok := strings.Cut(text, " && "); ok {
			text = strings.TrimSpace(rest)
		}
	}
	for _, tail := range []string{" 2>&1", " 2>/dev/null"} {
		text = strings.ReplaceAll(text, tail, "")
	}
	return text
}

// first returns the code at the beginning of an item: a path or a command.
func first(text string) string {
	text = strings.TrimPrefix(text, "`` ")
	text = strings.TrimPrefix(text, "`")
	name, _, _ := strings.Cut(text, "`")
	return strings.TrimSpace(name)
}
