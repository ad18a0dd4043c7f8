package quality

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/winnowhq/winnow/session"
)

// identifier matches names and paths in what calls are made with, and in what the model sees.
var identifier = regexp.MustCompile(`[\pL_][\pL\d_]*(?:[./-]+[\pL\d_]+)*`)

// member matches the name of a member of a call's arguments.
var member = regexp.MustCompile(`"\w+"\s*:`)

// identifiers adds those of a text to a set. The working folder before a path does not count.
func identifiers(set map[string]bool, text, folder string) {
	for _, name := range identifier.FindAllString(text, -1) {
		name = strings.TrimPrefix(name, strings.TrimPrefix(folder, "/")+"/")
		if isIdentifier(name) {
			set[name] = true
		}
	}
}

// isIdentifier reports whether a name is one that nobody guesses: a path, or one with digits,
// underscores or capitals inside.
func isIdentifier(name string) bool {
	if len(name) < 4 {
		return false
	}
	lower := false
	for _, r := range name {
		if r == '/' || r == '_' || unicode.IsDigit(r) || lower && unicode.IsUpper(r) {
			return true
		}
		lower = lower || unicode.IsLower(r)
	}
	return false
}

// followed counts the identifiers of later calls that stood in the session before, and those of
// them that the model does not see any more: neither in the view that the calls follow, nor in what
// came behind it.
func followed(earlier, view map[string]bool, later []session.Message, folder string) (inputs, lost int) {
	for i := range later {
		m := &later[i]
		for j := range m.Parts {
			if p := &m.Parts[j]; p.Type == session.ToolPart && p.State != nil {
				args := map[string]bool{}
				identifiers(args, member.ReplaceAllString(string(p.State.Input), ""), folder)
				for name := range args {
					if earlier[name] {
						inputs++
						if !view[name] {
							lost++
						}
					}
				}
			}
		}
		said := messageText(m)
		identifiers(earlier, said, folder)
		identifiers(view, said, folder)
	}
	return inputs, lost
}
