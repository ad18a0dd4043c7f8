package fact

import (
	"slices"
	"strings"
)

// mask returns the texts that may contain a phrase.
func (s *Source) mask(phrase string) where {
	mask := everywhere()
	for atom := range atoms(phrase) {
		mask = mask.and(s.words[hash(atom)])
	}
	return mask
}

// find looks for a phrase in the texts that pass the filter (nil passes all), at positions that
// fit.
func (s *Source) find(phrase string, among func(n int) bool, fits func(text string, i, j int) bool) bool {
	if phrase == "" {
		return true
	}
	for n := range s.each(s.mask(phrase)) {
		if among != nil && !among(n) {
			continue
		}
		if in(s.texts[n].text, phrase, fits) {
			return true
		}
	}
	return false
}

// each yields the texts of a mask.
func (s *Source) each(mask where) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if mask == (where{}) {
			return
		}
		for n := range s.texts {
			if mask.has(n) && !yield(n) {
				return
			}
		}
	}
}

// in reports whether a text contains a phrase at a position that fits.
func in(text, phrase string, fits func(text string, i, j int) bool) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], phrase)
		if i < 0 {
			return false
		}
		i += at
		if fits(text, i, i+len(phrase)) {
			return true
		}
		at = i + 1
	}
}

// asWord fits where a phrase is not part of a longer word.
func asWord(text string, i, j int) bool {
	if i > 0 && isWord(text[i]) && isWord(text[i-1]) && !escaped(text, i) {
		return false
	}
	return j == len(text) || !isWord(text[j-1]) || !isWord(text[j])
}

// asFlag fits where a flag is not part of a longer one.
func asFlag(text string, i, j int) bool {
	if i > 0 && (isWord(text[i-1]) && !escaped(text, i) || text[i-1] == '-') {
		return false
	}
	return flagEnds(text, j)
}

// flagEnds reports whether a flag, or an argument, ends at a place of a text.
func flagEnds(text string, at int) bool {
	return at == len(text) || !isWord(text[at]) && !(text[at] == '-' && at+1 < len(text) && isWord(text[at+1]))
}

// word reports whether a phrase occurs as a whole word.
func (s *Source) word(phrase string) bool { return s.find(phrase, nil, asWord) }

// identifier reports whether a name occurs.
func (s *Source) identifier(c Claim) bool {
	name := c.Text
	if strings.Contains(name, "://") {
		return s.address(name)
	}
	if unescaped := markdown(name); unescaped != name &&
		s.identifier(Claim{Kind: Identifier, Text: unescaped, quoted: c.quoted, opens: c.opens}) {
		return true
	}
	if strings.HasPrefix(name, "-") {
		flag, value, ok := strings.Cut(name, "=")
		return s.find(flag, nil, asFlag) && (!ok || s.word(value))
	}
	if s.name(name) {
		return true
	}
	if c.opens && initial(name) >= 'A' && initial(name) <= 'Z' && s.name(strings.ToLower(name[:1])+name[1:]) {
		return true
	}
	if !c.quoted && strings.HasSuffix(name, "s") && s.name(strings.TrimSuffix(name, "s")) {
		return true
	}
	return false
}

func (s *Source) name(name string) bool {
	bare := strings.TrimSuffix(strings.TrimSuffix(name, "()"), ":")
	if s.word(bare) {
		return true
	}
	if len(bare) >= shortest && len(bare) <= longest && isHash(bare) &&
		s.find(bare, nil, func(text string, i, _ int) bool { return asWord(text, i, len(text)) }) {
		return true
	}
	if !strings.HasPrefix(bare, "_") && !strings.HasSuffix(bare, "_") && s.word("__"+bare+"__") {
		return true
	}
	for _, owner := range []string{"self.", "this.", "cls.", "process.env.", "os.environ.", "import.meta.env."} {
		if member, ok := strings.CutPrefix(bare, owner); ok && member != "" {
			return s.name(member) // the owner depends on where it is written
		}
	}
	if name, version, ok := strings.Cut(bare, "@"); ok && name != "" &&
		startsNumber(strings.TrimLeft(version, "^~=<>")) {
		return s.name(name) && s.number(Claim{Kind: Number, Text: strings.TrimLeft(version, "^~=<>v")})
	}
	if strings.HasPrefix(bare, "$") {
		return s.word(strings.Trim(bare, "${}"))
	}
	if short := strings.TrimPrefix(bare, "v"); short != bare && short != "" && isDigit(initial(short)) &&
		s.word(short) {
		return true
	}
	if parts := split(bare); len(parts) > 1 {
		if s.qualified(parts) {
			return true
		}
		if s.inFileOf(parts[len(parts)-2], parts[len(parts)-1]) || s.module(bare, parts) {
			return true
		}
		// A variable is mostly named after its type.
		owner := &parts[len(parts)-2]
		*owner = strings.ToLower((*owner)[:1]) + (*owner)[1:]
		return s.qualified(parts)
	}
	if strings.ContainsRune(bare, '\\') && s.word(strings.ReplaceAll(bare, `\`, `\\`)) {
		return true
	}
	return false
}

// qualified reports whether the last two names of a qualified name belong together: Type::method,
// (t *Type) method, class Type with a method.
func (s *Source) qualified(parts []string) bool {
	owner, member := parts[len(parts)-2], parts[len(parts)-1]
	if len(parts) > 2 && !s.word(parts[0]) {
		return false
	}
	for n := range s.each(s.mask(owner).and(s.mask(member))) {
		if in(s.texts[n].text, owner, func(text string, i, j int) bool {
			return asWord(text, i, j) &&
				beside(text, i, j, member)
		}) {
			return true
		}
	}
	return false
}

// module reports whether a dotted name is that of a Python file, or of something in a call about
// that file: package.module.Name for package/module.py.
func (s *Source) module(name string, parts []string) bool {
	if strings.Count(name, ".") != len(parts)-1 {
		return false
	}
	if s.occursPath(strings.Join(parts, "/") + ".py") {
		return true
	}
	if len(parts) < 3 {
		return false
	}
	file, member := strings.Join(parts[:len(parts)-1], "/")+".py", parts[len(parts)-1]
	for n := range s.each(s.mask(file)) {
		if !in(s.texts[n].text, file, asPath) {
			continue
		}
		g := &s.groups[s.texts[n].group]
		for _, t := range s.texts[g.first:g.end] {
			if in(t.text, member, asWord) {
				return true
			}
		}
	}
	return false
}

// markdown removes backslashes that escape Markdown.
func markdown(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	return strings.NewReplacer(`\_`, "_", `\*`, "*", `\[`, "[", `\]`, "]", `\#`, "#").Replace(text)
}

// inFileOf reports whether a member occurs in a call about a file named after its owner:
// session-manager.ts for SessionManager.
func (s *Source) inFileOf(owner, member string) bool {
	if !s.word(owner) {
		return false
	}
	files := []string{owner + ".", strings.ToLower(owner) + "."}
	for _, by := range []string{"-", "_"} {
		var b strings.Builder
		for i := range len(owner) {
			c := owner[i]
			if i > 0 && c >= 'A' && c <= 'Z' && !(owner[i-1] >= 'A' && owner[i-1] <= 'Z') {
				b.WriteString(by)
			}
			b.WriteByte(c)
		}
		files = append(files, strings.ToLower(b.String())+".")
	}
	for n := range s.each(s.mask(member)) {
		t := s.texts[n]
		if in(t.text, ", in "+member, func(text string, i, j int) bool {
			line := text[strings.LastIndexByte(text[:i], '\n')+1 : i] // of a traceback
			return (j == len(text) || !isWord(text[j])) &&
				slices.ContainsFunc(files, func(file string) bool { return strings.Contains(line, "/"+file) })
		}) {
			return true
		}
		if !in(t.text, member, func(text string, i, j int) bool {
			return asWord(text, i, j) && j < len(text) &&
				text[j] == '('
		}) {
			continue
		}
		g := &s.groups[t.group]
		for _, given := range s.texts[g.first:g.end] {
			for _, file := range files {
				if given.input && len(given.text) < 1000 &&
					in(given.text, file, func(text string, i, _ int) bool {
						return i > 0 &&
							(text[i-1] == '/' || text[i-1] == '\\')
					}) {
					return true
				}
			}
		}
	}
	return false
}

// beside reports whether a member belongs to the owner at text[i:j]: only a few signs are between
// them, or the owner is declared there and the member is declared after it, before the next
// declaration of that kind.
func beside(text string, i, j int, member string) bool {
	k := j
	for k < len(text) && k < j+4 && !isWord(text[k]) && text[k] != '\n' {
		k++
	}
	if strings.HasPrefix(text[k:], member) && k > j && asWord(text, k, k+len(member)) &&
		strings.ContainsAny(text[j:k], ".:#>)?*&") {
		return true
	}
	before := text[max(0, i-24):i]
	if line := strings.LastIndexByte(before, '\n'); line >= 0 {
		before = before[line+1:]
	}
	declared := ""
	for _, word := range owners {
		if strings.HasSuffix(before, word+" ") {
			declared = word + " "
		}
	}
	if declared == "" {
		return false
	}
	body, _, _ := strings.Cut(text[j:], "\n"+declared)
	body, _, _ = strings.Cut(body, "\nexport "+declared)
	return in(body, member, func(body string, i, j int) bool {
		if !asWord(body, i, j) {
			return false
		}
		before := strings.TrimRight(body[max(0, i-20):i], " ")
		if slices.ContainsFunc(declaring, func(word string) bool { return strings.HasSuffix(before, word) }) {
			return true
		}
		opens := before == "" || strings.IndexByte("\n\t{;", before[len(before)-1]) >= 0
		return opens && j < len(body) && strings.IndexByte("(<:? ", body[j]) >= 0
	})
}

// address reports whether a URL occurs, with or without its scheme, a slash at its end or a
// fragment.
func (s *Source) address(url string) bool {
	url = strings.TrimRight(url, "/.,;:!?)'\"*_~")
	if s.find(url, nil, asAddress) || s.local(url) {
		return true
	}
	if _, rest, ok := strings.Cut(url, "://"); ok && strings.ContainsAny(rest, "/.:") {
		rest = strings.TrimPrefix(rest, "www.")
		if s.find(rest, nil, asAddress) {
			return true
		}
		if bare, _, ok := strings.Cut(rest, "#"); ok {
			return s.find(bare, nil, asAddress)
		}
	}
	return false
}

// local reports whether an address is one of this computer, which has many names, and its port and
// path occur.
func (s *Source) local(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	host, path, _ := strings.Cut(rest, "/")
	name, port, ok := strings.Cut(host, ":")
	if !ok || name != "localhost" && name != "127.0.0.1" && name != "0.0.0.0" {
		return false
	}
	return s.figure(port) && (path == "" || s.find(path, nil, asAddress))
}

func asAddress(text string, i, j int) bool {
	return asWord(text, i, j) && (j == len(text) || text[j] != '-')
}

// initial returns the first byte of a text, 0 if it is empty.
func initial(text string) byte {
	if text == "" {
		return 0
	}
	return text[0]
}
