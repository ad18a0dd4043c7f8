package fact

import (
	"slices"
	"strings"
)

// path reports whether a path occurs, or follows from a folder and a name that belong together.
func (s *Source) path(c Claim) bool {
	p := withoutLine(c.Text)
	if line := strings.TrimLeft(c.Text[len(p):], ":#L"); line != "" {
		for _, number := range strings.FieldsFunc(line, func(r rune) bool { return r < '0' || r > '9' }) {
			if value, ok := whole(number); ok && value > small && !s.figure(number) {
				return false
			}
		}
	}
	if unescaped := markdown(p); unescaped != p && s.onePath(unescaped, c) {
		return true
	}
	if parts := cutOut(p); len(parts) > 1 {
		for _, part := range parts {
			if part != "" && !s.onePath(part, c) {
				return false
			}
		}
		return true
	}
	for _, one := range braces(p) {
		if !s.onePath(one, c) {
			return false
		}
	}
	return true
}

// cutOut returns the parts of a path between omitted folders: "src/…/x.go", ".../x.go".
func cutOut(p string) (parts []string) {
	const cut = "\x00"
	for _, dots := range []string{"~/…/", "~/.../", "/…/", "/.../", `\…\`, `\...\`} {
		p = strings.ReplaceAll(p, dots, cut)
	}
	for _, dots := range []string{".../", `...\`, "…/", `…\`} {
		if rest, ok := strings.CutPrefix(p, dots); ok {
			p = cut + rest
		}
	}
	return strings.Split(p, cut)
}

// braces expands "src/{a,b}.ts" into two paths.
func braces(p string) []string {
	i := strings.IndexByte(p, '{')
	j := strings.IndexByte(p, '}')
	if i < 0 || j < i || !strings.Contains(p[i:j], ",") || strings.Count(p, "{") > 1 {
		return []string{p}
	}
	var all []string
	for _, name := range strings.Split(p[i+1:j], ",") {
		all = append(all, p[:i]+strings.TrimSpace(name)+p[j+1:])
	}
	return all
}

func (s *Source) onePath(p string, c Claim) bool {
	if s.occursPath(p) {
		return true
	}
	p = slashes(p)
	for strings.HasPrefix(p, "./") {
		p = p[2:]
	}
	if p == "" || p == "." || p == ".." {
		return true
	}
	if p != c.Text && s.occursPath(p) || s.backslashed(p) ||
		s.find(strings.ReplaceAll(p, "/", `\/`), func(n int) bool { return s.texts[n].slash }, asPath) {
		return true
	}
	if drive, rest, ok := driveOf(p); ok {
		for _, other := range []string{string(drive|0x20) + ":/", string(drive&^0x20) + ":/", "/" + string(drive|0x20) +
			"/", "/mnt/" + string(drive|0x20) + "/"} {
			q := other + rest
			if s.occursPath(q) || s.backslashed(q) {
				return true
			}
		}
	}
	if home, rest, ok := strings.Cut(p, "/"); ok && rest != "" && (home == "~" || strings.HasPrefix(home, "$")) {
		if s.occursPath(rest) {
			return true // the shell fills in the folder before it
		}
	}
	if strings.ContainsAny(p, "*?") {
		// The literal pieces of a pattern must occur.
		for _, literal := range strings.FieldsFunc(p, func(r rune) bool { return r == '*' || r == '?' }) {
			if literal = strings.Trim(literal, "/"); len(literal) > 1 &&
				!s.find(literal, nil, func(string, int, int) bool { return true }) {
				return false
			}
		}
		return true
	}
	if s.composed(p) {
		return true
	}
	if !strings.Contains(p, "//") &&
		!slices.ContainsFunc(strings.Split(p, "/"),
			func(name string) bool { return !isIdentifier(name) && !famous[name] }) && s.alternatives(p) {
		return true // two names: "parse_line/parse_block"
	}
	if name := strings.TrimPrefix(p, "."); len(name)+1 == len(p) &&
		(isIdentifier(name) || strings.Contains(name, "-")) && s.word(name) {
		return true // a property, a class of a style sheet
	}
	if !c.quoted && !strings.ContainsAny(p[strings.LastIndexByte(p, '/')+1:], ".") &&
		strings.IndexByte("./~$", initial(p)) < 0 && p[len(p)-1] != '/' {
		return s.alternatives(p)
	}
	// A name with dots may be a member of something: "response.json".
	if !strings.Contains(p, "/") {
		return s.name(p)
	}
	return false
}

// alternatives reports whether "read/write/list" is a choice of words rather than a path: its words
// occur, and not all of them as names in paths.
func (s *Source) alternatives(p string) bool {
	words := strings.Split(p, "/")
	path := true
	for _, w := range words {
		if !s.word(w) && !s.word(strings.ToLower(w)) {
			return false
		}
		path = path && (s.find(w+"/", nil, asWord) || s.find("/"+w, nil, asWord))
	}
	return !path
}

// driveOf splits a Windows path at its drive, however the drive is written.
func driveOf(p string) (drive byte, rest string, ok bool) {
	switch {
	case len(p) > 2 && isAlpha(initial(p)) && p[1] == ':' && p[2] == '/':
		return initial(p), p[3:], true
	case len(p) > 2 && initial(p) == '/' && isAlpha(p[1]) && p[2] == '/':
		return p[1], p[3:], true
	case strings.HasPrefix(p, "/mnt/") && len(p) > 6 && p[6] == '/':
		return p[5], p[7:], true
	}
	return 0, "", false
}

// occursPath reports whether the source has a path, with any folders before and after it.
func (s *Source) occursPath(p string) bool { return s.find(strings.TrimRight(p, `/\`), nil, asPath) }

// backslashed reports whether a path occurs with backslashes, escaped or not.
func (s *Source) backslashed(p string) bool {
	if !strings.Contains(p, "/") {
		return false
	}
	among := func(n int) bool { return s.texts[n].slash }
	return s.find(strings.ReplaceAll(p, "/", `\`), among, asPath) ||
		s.find(strings.ReplaceAll(p, "/", `\\`), among, asPath)
}

// asPath fits where a path begins and ends with a whole name.
func asPath(text string, i, j int) bool {
	if i > 0 && text[i] != '/' && text[i] != '.' {
		switch p := text[i-1]; {
		case isWord(p) && !escaped(text, i):
			return false
		case p == '-' && i > 1 && (isWord(text[i-2]) || text[i-2] == '-'):
			return false
		}
	}
	if i > 0 && text[i] == '/' && (isWord(text[i-1]) || text[i-1] == '.') {
		return false // "/x.go" does not match in "a/x.go": an absolute path stays absolute
	}
	if j == len(text) {
		return true
	}
	switch next := text[j]; {
	case isWord(next):
		return false
	case next == '-':
		return j+1 == len(text) || !isAlpha(text[j+1])
	}
	return true
}
