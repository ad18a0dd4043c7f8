package fact

import (
	"slices"
	"strings"
)

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
	rest, ok := strings.CutSuffix(path, end)
	return ok && end != "" && (rest == "" || rest[len(rest)-1] == '/' || initial(end) == '/')
}
