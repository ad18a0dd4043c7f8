package fact

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/shell"
)

// command reports whether a command occurs: the source has each of its simple commands word for
// word, or has its words in this order in one simple command.
func (s *Source) command(text string) bool {
	text = strings.TrimPrefix(text, "$ ")
	if s.phrase(text) {
		return true
	}
	for _, one := range commands(text) {
		words := slices.DeleteFunc(one.words, shortened)
		if len(words) == 0 {
			continue
		}
		if !s.ranCommand(words) && (one.text == text || !s.phrase(one.text)) {
			return false
		}
	}
	return true
}

// shortened reports whether a word marks an omission.
func shortened(word string) bool {
	return strings.Contains(word, "…") || word == "..." || word == "\\" ||
		strings.HasPrefix(word, "<") && strings.HasSuffix(word, ">") ||
		strings.HasSuffix(word, "...") && !strings.HasSuffix(word, "/...")
}

// phrase reports whether the source has a text, with all white space counted as one blank; words
// that an ellipsis cuts are not compared.
func (s *Source) phrase(text string) bool {
	found := true
	compared := false
	pieces := strings.Split(text, "…")
	for k, piece := range pieces {
		words := strings.Fields(piece)
		if len(words) == 0 {
			continue
		}
		compared = true
		flat := strings.Join(words, " ")
		mask := s.mask(strings.Join(uncut(words, k > 0, k+1 < len(pieces)), " "))
		found = false
		for n := range s.each(mask) {
			if flows(s.texts[n].text, flat, k+1 < len(pieces)) {
				found = true
				break
			}
		}
		if !found {
			break
		}
	}
	return found && compared
}

// uncut drops the words that an ellipsis may have cut.
func uncut(words []string, first, last bool) []string {
	if first {
		words = words[1:]
	}
	if last && len(words) > 0 {
		words = words[:len(words)-1]
	}
	return words
}

// flows reports whether a text contains a phrase, with each stretch of white space counted as one
// blank. A phrase that was cut may end inside a word.
func flows(text, flat string, cut bool) bool {
	first, _, _ := strings.Cut(flat, " ")
	return in(text, first, func(text string, i, _ int) bool {
		if i > 0 && isWord(text[i]) && isWord(text[i-1]) && !escaped(text, i) {
			return false
		}
		k := 0
		for i < len(text) && k < len(flat) {
			switch {
			case flat[k] == ' ':
				if !space(text[i]) {
					return false
				}
				for i < len(text) && space(text[i]) {
					i++
				}
				k++
			case flat[k] == text[i]:
				i, k = i+1, k+1
			case text[i] == '\\' && i+1 < len(text) && text[i+1] == flat[k]:
				i++
			default:
				return false
			}
		}
		return k == len(flat) && (cut || flagEnds(text, i))
	})
}

func space(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

// ranCommand reports whether one simple command, or one line, of the source has the words in this
// order.
func (s *Source) ranCommand(words []string) bool {
	mask := everywhere()
	_, rest := parted(words) // flags may be written otherwise
	for _, w := range rest {
		mask = mask.and(s.mask(w[strings.LastIndexByte(w, '/')+1:]))
	}
	if len(rest) == 0 {
		rest = words
	}
	rarest := slices.MaxFunc(rest, func(a, b string) int { return len(a) - len(b) })
	rarest = rarest[strings.LastIndexByte(rarest, '/')+1:]
	flagged := len(rest) < len(words)
	for n := range s.each(mask) {
		text := s.texts[n].text
		if !strings.Contains(text, rarest) || flagged && !strings.Contains(text, " -") {
			continue
		}
		if s.texts[n].input && len(text) < 20_000 {
			for _, one := range s.commands(n) {
				if inOrder(one.words, words) {
					return true
				}
			}
			continue
		}
		for line := range strings.Lines(text) {
			if len(line) > 4000 || !strings.Contains(line, rarest) || flagged && !strings.Contains(line, " -") {
				continue
			}
			for _, one := range commands(line) {
				if inOrder(one.words, words) {
					return true
				}
			}
		}
	}
	return false
}

// inOrder reports whether the words occur among others in their order. Flags may be in any order:
// "ls -l -a" is "ls -al".
func inOrder(have, words []string) bool {
	if ordered(have, words) {
		return true
	}
	if len(words) == 0 || !slices.ContainsFunc(words, func(w string) bool { return initial(w) == '-' }) {
		return false
	}
	flags, rest := parted(have)
	wantFlags, wantRest := parted(words)
	for _, w := range wantFlags {
		i := slices.Index(flags, w)
		if i < 0 {
			return false
		}
		flags = slices.Delete(flags, i, i+1)
	}
	return ordered(rest, wantRest)
}

func ordered(have, words []string) bool {
	k := 0
	for _, h := range have {
		if k < len(words) && same(h, words[k]) {
			k++
		}
	}
	return k == len(words)
}

// parted separates the flags of a command, each by itself, from its other words in their order.
func parted(words []string) (flags, rest []string) {
	// one dash, a whole word
	long := len(words) > 0 && (words[0] == "go" || words[0] == "find" || words[0] == "java" || words[0] == "gcc" ||
		words[0] == "clang" || words[0] == "terraform")
	for _, w := range words {
		switch flag, value, ok := strings.Cut(w, "="); {
		case strings.HasPrefix(w, "--") && ok:
			flags, rest = append(flags, flag), append(rest, value)
		case strings.HasPrefix(w, "--") || long && initial(w) == '-':
			flags = append(flags, w)
		case initial(w) == '-' && len(w) > 1 && len(w) <= 6 &&
			!strings.ContainsFunc(w[1:], func(r rune) bool { return r >= 0x80 || !isAlpha(byte(r)) }):
			for i := 1; i < len(w); i++ {
				flags = append(flags, "-"+w[i:i+1])
			}
		case initial(w) == '-':
			flags = append(flags, w)
		default:
			rest = append(rest, w)
		}
	}
	return flags, rest
}

// same compares two words of commands: flags as they are, paths by their ends.
func same(have, want string) bool {
	if have == want {
		return true
	}
	if initial(want) == '-' {
		flag, _, ok := strings.Cut(have, "=")
		return ok && flag == want
	}
	have, want = slashes(strings.TrimPrefix(have, "./")), slashes(strings.TrimPrefix(want, "./"))
	return have == want || len(want) > 1 && strings.HasSuffix(have, "/"+want) ||
		len(have) > 3 && initial(want) == '/' && strings.Contains(have, "/") && strings.HasSuffix(want, "/"+have)
}

// simple is one simple command of a text.
type simple struct {
	text  string   // as it was written
	words []string // its program and arguments, without quotes and redirections
}

// commands returns the simple commands of a text as a shell parses them. In a text that does not
// parse, each line is one command.
func commands(text string) []simple {
	if script, err := shell.Parse(text); err == nil {
		all := make([]simple, 0, len(script.Commands))
		for i := range script.Commands {
			c := &script.Commands[i]
			if words := spoken(c); len(words) > 0 && !c.Opened {
				all = append(all, simple{c.Source, words})
			}
		}
		return all
	}
	var all []simple
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if line != strings.TrimSpace(text) {
			all = append(all, commands(line)...)
		} else {
			all = append(all, simple{line, pieces(line)})
		}
	}
	return all
}

// commands returns the commands of text n of the source, which is parsed once.
func (s *Source) commands(n int) []simple {
	all, known := s.parsed[n]
	if !known {
		all = commands(s.texts[n].text)
		s.parsed[n] = all
	}
	return all
}

// spoken returns the words of a command, split at what some writers quote and others do not.
func spoken(c *shell.Command) []string {
	var words []string
	for _, a := range c.Assigns {
		words = append(words, pieces(a.Name+"="+a.Value.Text)...)
	}
	for _, w := range c.Words {
		words = append(words, pieces(w.Text)...)
	}
	return words
}

// pieces returns the words of a text without the marks around them.
func pieces(text string) []string {
	if !strings.ContainsAny(text, " \t\n\r\"'`();") {
		return []string{text}
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`();", r) })
}
