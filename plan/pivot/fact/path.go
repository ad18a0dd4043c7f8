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
		// What a pattern says literally.
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
			func(name string) bool { return !isIdentifier(name) && !famous(name) }) && s.alternatives(p) {
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

// composed reports whether a path joins a folder that a call went to, listed or was given with a
// name in the same call.
func (s *Source) composed(p string) bool {
	for at := len(p); ; {
		at = strings.LastIndexByte(p[:at], '/')
		if at < 0 {
			return false
		}
		if at == 0 && len(p) > 1 {
			return false
		}
		if folder, name := p[:at], p[at+1:]; name != "" && s.together(folder, name) {
			return true
		}
	}
}

// together reports whether a folder and a name belong together in one call: the name is a path of
// its own in a call that ran in the folder or listed it, is below the folder's own line in a
// listing, or was moved or copied there.
func (s *Source) together(folder, name string) bool {
	names := []string{name}
	bare := !strings.Contains(name, "/")
	if !bare {
		names = append(names, strings.ReplaceAll(name, "/", `\`))
	}
	for n := range s.each(s.mask(name)) {
		t := s.texts[n]
		g := &s.groups[t.group]
		if !s.concerns(g, folder) {
			continue
		}
		for _, name := range names {
			if !strings.Contains(t.text, name) {
				continue
			}
			if in(t.text, name, func(text string, i, j int) bool {
				return asPath(text, i, j) && begins(text, i) &&
					(!bare || t.input || ends(text, j) || !s.elsewhere(name))
			}) && (s.ran(g, folder) || s.listed(g, folder)) {
				return true
			}
			if t.input && movedTo(t.text, name, folder) {
				return true
			}
			if in(t.text, name, func(text string, i, j int) bool {
				return asPath(text, i, j) && begins(text, i) && under(text, i, folder)
			}) {
				return true
			}
			// "../src/x.go" in a file is seen from that file.
			if in(t.text, name, func(text string, i, j int) bool {
				return asPath(text, i, j) && i > 2 &&
					text[i-3:i] == "../"
			}) && s.read(g, folder) {
				return true
			}
		}
	}
	return false
}

// concerns reports whether a call may concern a folder: it ran there, its input names it, or it
// lists folders recursively.
func (s *Source) concerns(g *group, folder string) bool {
	if s.ran(g, folder) {
		return true
	}
	last := folder[strings.LastIndexByte(folder, '/')+1:]
	for _, t := range s.texts[g.first:g.end] {
		if t.input && len(t.text) < 5000 && (strings.Contains(t.text, last) || strings.Contains(t.text, "-R")) {
			return true
		}
	}
	return false
}

// ends fits where a line or a column ends: names in a listing do, words of a sentence seldom.
func ends(text string, j int) bool {
	return j == len(text) || text[j] == '\n' || text[j] == '\r' || text[j] == '\t' || strings.HasPrefix(text[j:], "  ")
}

// elsewhere reports whether a name is known to be in a folder.
func (s *Source) elsewhere(name string) bool {
	return s.find("/"+name, nil, func(text string, _, j int) bool {
		return j == len(text) ||
			!isWord(text[j]) && text[j] != '-'
	})
}

// under reports whether text[i:] is in the part of a listing headed "folder:".
func under(text string, i int, folder string) bool {
	for end := strings.LastIndexByte(text[:i], '\n'); end > 0; {
		start := strings.LastIndexByte(text[:end], '\n') + 1
		line := strings.TrimSpace(text[start:end])
		if line == "" || i-start > 20_000 {
			return false
		}
		if head, ok := strings.CutSuffix(line, ":"); ok {
			return endsIn(slashes(head), folder)
		}
		end = start - 1
	}
	return false
}

// movedTo reports whether a command moves or copies a file of this name into a folder.
func movedTo(text, name, folder string) bool {
	for _, one := range commands(text) {
		words := one.words
		if len(words) > 0 && words[0] == "git" {
			words = words[1:]
		}
		if len(words) < 3 || words[0] != "mv" && words[0] != "cp" && words[0] != "Move-Item" &&
			words[0] != "Copy-Item" && words[0] != "rsync" {
			continue
		}
		last := slashes(words[len(words)-1])
		if !endsIn(last, folder) && !endsIn(folder, strings.TrimPrefix(last, "./")) {
			continue
		}
		for _, w := range words[1 : len(words)-1] {
			if endsIn(slashes(w), name) {
				return true
			}
		}
	}
	return false
}

// begins fits where a path begins: no folder precedes it.
func begins(text string, i int) bool {
	if i == 0 {
		return true
	}
	switch text[i-1] {
	case '/', '\\':
		return escaped(text, i) || i > 1 && text[i-2] == '.' && (i == 2 || !isWord(text[i-3]) && text[i-3] != '.')
	case '.', '-', '@', '$', '~':
		return false
	}
	return !isWord(text[i-1]) || escaped(text, i)
}

// ran reports whether a call ran in a folder.
func (s *Source) ran(g *group, folder string) bool {
	for _, base := range g.folders {
		// A folder of which only the end is known counts where the whole occurs.
		if endsIn(base, folder) || initial(base) != '/' && endsIn(folder, base) && s.occursPath(folder) {
			return true
		}
	}
	return false
}

// listed reports whether a call was given a folder, or listed it and nothing else.
func (s *Source) listed(g *group, folder string) bool {
	is := func(given string) bool {
		given = strings.TrimPrefix(slashes(strings.TrimSpace(given)), "./")
		if given == "" {
			return false
		}
		if endsIn(given, folder) {
			return true
		}
		for _, base := range g.folders {
			if folder == base+"/"+given {
				return true
			}
		}
		return false
	}
	for n, t := range s.texts[g.first:g.end] {
		if !t.input {
			continue
		}
		if len(t.text) < 500 && is(t.text) {
			return true
		}
		if len(t.text) > 5000 {
			continue
		}
		for _, one := range s.commands(g.first + n) {
			words := one.words
			if len(words) == 0 {
				continue
			}
			switch words[0] {
			case "ls", "dir", "tree", "exa", "eza", "Get-ChildItem", "gci":
				words = slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return initial(w) == '-' })
				if len(words) == 1 && is(words[0]) {
					return true
				}
			}
		}
	}
	return false
}

// read reports whether a call was given a file below a folder.
func (s *Source) read(g *group, folder string) bool {
	for _, t := range s.texts[g.first:g.end] {
		if t.input && in(t.text, folder+"/", func(text string, i, j int) bool { return asPath(text, i, j-1) }) {
			return true
		}
		for _, base := range g.folders {
			if rest, ok := strings.CutPrefix(folder, base+"/"); ok && t.input &&
				in(t.text, rest+"/", func(text string, i, j int) bool { return begins(text, i) }) {
				return true
			}
		}
	}
	return false
}

// endsIn reports whether a path ends in another one, comparing whole names.
func endsIn(path, end string) bool {
	_, ok := cutEnd(path, end)
	return ok
}

func cutEnd(path, end string) (string, bool) {
	rest, ok := strings.CutSuffix(path, end)
	return strings.TrimSuffix(rest, "/"), ok && end != "" &&
		(rest == "" || rest[len(rest)-1] == '/' || initial(end) == '/')
}
