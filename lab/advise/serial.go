package advise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// serial are the steps of a session that looked at files and could have come with the ones before.
type serial struct {
	steps   int
	saved   float64 // dollars: reading the prompts of their requests from the cache
	example string  // files of one such step and of the one before
}

// look is a step that only looked at files.
type look struct {
	files  []string // that it read
	words  []string // of its files, queries and commands
	output string
	failed bool
}

// together is how close steps of one request begin in logs that have its calls apart, in
// milliseconds.
const together = 1500

// serialOf finds steps that only looked, right behind others that only looked, and named nothing that
// these had shown.
func serialOf(src Source, c *carried) (s serial) {
	log := src.Doc.Session.Messages
	directory := cmp.Or(src.Doc.Session.Info.Directory, call.Directory(log))
	var group []look
	var last *request
	for i := range log {
		m := &log[i]
		r := c.made(i)
		one, looks := lookOf(m, directory)
		if m.Role != session.Assistant || !looks || r == nil {
			group, last = nil, nil
			continue
		}
		apart := last != nil && r.begun-last.begun > together && r.window == last.window
		switch {
		case last != nil && r.begun-last.begun <= together:
			group = append(group, one)
		case apart && r.usage.Cache.Read > 0 && one.free(group):
			if before := group[len(group)-1].files; s.example == "" && len(before) > 0 && len(one.files) > 0 {
				s.example = call.Shorten(before[0], directory) + ", then " + call.Shorten(one.files[0], directory)
			}
			s.steps++
			s.saved += r.cost(session.Usage{Cache: session.CacheUsage{Read: r.usage.Cache.Read}})
			group = append(group, one)
		default:
			group = []look{one}
		}
		last = r
	}
	return s
}

// lookOf is the look of a message, false if it did anything else.
func lookOf(m *session.Message, directory string) (l look, only bool) {
	for j := range m.Parts {
		p := &m.Parts[j]
		if p.Type != session.ToolPart {
			continue
		}
		one := call.Of(p, directory)
		if p.State == nil || len(one.Actions) == 0 || !one.Looks() {
			return l, false
		}
		only = true
		l.failed = l.failed || p.State.Status != session.Completed
		l.output += p.State.Output + "\n"
		for _, a := range one.Actions {
			if a.Op == call.Read && a.Path != "" {
				l.files = append(l.files, a.Path)
			}
			if a.Path != "" && a.Path != directory {
				l.words = append(l.words, a.Path[strings.LastIndexAny(a.Path, `/\`)+1:])
			}
			l.words = append(l.words, wordsOf(a.Query)...)
			l.words = append(l.words, wordsOf(a.Command)...)
		}
	}
	return l, only
}

// wordsOf are the words of a query or a command that may have been taken from a text.
func wordsOf(text string) []string {
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.' }
	return slices.DeleteFunc(strings.FieldsFunc(text, apart), func(w string) bool { return len(w) < 4 })
}

// free reports whether a look needed nothing of a group: it names no word that the group names or was
// shown, and no call of the group failed.
func (l *look) free(group []look) bool {
	for i := range group {
		g := &group[i]
		seen := func(word string) bool { return slices.Contains(g.words, word) || strings.Contains(g.output, word) }
		if g.failed || slices.ContainsFunc(l.words, seen) {
			return false
		}
	}
	return len(l.words) > 0
}

// findSerial finds files that were looked at one after the other although nothing of the later ones
// stood in the earlier ones: all could have been asked for in one answer.
//
// Cost and gain: reading the prompts of the requests that would not have been made from the cache;
// their answers and results would have been written all the same. A look that names any word of what
// the ones before showed is not counted, so too little is claimed. Error: over sessions. It takes for
// granted that agents heed the line.
func findSerial(sessions []Session) []Finding {
	x := sampleOf(sessions)
	steps, in, example, claude := 0, 0, "", true
	for i := range sessions {
		s := &sessions[i]
		if s.serial.steps == 0 {
			continue
		}
		in++
		claude = claude && s.Product == "claude-code"
		steps += s.serial.steps
		if example == "" {
			example = s.serial.example
		}
		x.add(s, s.serial.saved, s.serial.saved)
	}
	if steps == 0 {
		return nil
	}
	f := Finding{Kind: Serial, Cost: x.cost, Gain: x.gain, Error: x.error(false), Where: "AGENTS.md",
		Title: fmt.Sprintf("%s in %s looked at files that an earlier step could have asked for",
			quantity.Plural(steps, "step", "steps"), quantity.Plural(in, "session", "sessions")),
		Evidence: []string{x.dearest()},
		Change:   "tell agents to ask for independent files in one answer",
		Line: "When you need several files or searches and none depends on the result of another, " +
			"call the tools for all of them in one answer."}
	if example != "" {
		f.Evidence = append([]string{"For example: " + example + "."}, f.Evidence...)
	}
	if claude {
		f.Where = "CLAUDE.md"
	}
	return []Finding{f}
}
