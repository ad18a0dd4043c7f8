package permission

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/plan/shell"
)

// harmless reports whether a command only looks, in the working folder, at what the tools may read
// there without asking: nobody needs to be asked about it. Only what programs.txt lists is
// harmless.
func (p Policy) harmless(c *shell.Command, at *standing) bool {
	name := c.Words[0].Text
	if at.folder == "" || strings.Contains(name, "/") {
		return false
	}
	if name == "cd" {
		_, ok := at.target(c)
		return ok
	}
	l := programs()[name+" looks"]
	if l == nil || asked(nil, c.Words, at) >= 0 && name != "command" && name != "date" {
		return false
	}
	files, ok := l.files(c.Words)
	return ok && !slices.ContainsFunc(files, func(w shell.Word) bool { return !p.looksAt(at, w, l.names) })
}

// files are the operands of a command that are names of files. It is not ok if the command is told
// something that is not listed.
func (l *program) files(list []shell.Word) (files []shell.Word, ok bool) {
	if l.words == "" {
		return l.operandFiles(list)
	}
	for _, w := range list[1:] {
		if !w.Fixed() && !w.Pattern() || strings.HasPrefix(w.Text, "~") {
			return nil, false
		}
	}
	texts := words(list)
	switch l.words {
	case "find":
		return findFolders(list), findLooks(texts)
	case "sed":
		if !sedLooks(texts) {
			return nil, false
		}
		return list[3:], true
	case "git":
		return gitFiles(list), gitLooks(texts)
	case "command":
		return nil, len(texts) == 3 && (texts[1] == "-v" || texts[1] == "-V")
	case "date":
		return nil, !slices.ContainsFunc(texts[1:], func(w string) bool {
			return !strings.HasPrefix(w, "+") && w != "-u" && w != "-R" && w != "-I"
		})
	}
	return nil, true
}

// operandFiles is files for a program whose options are all listed.
func (l *program) operandFiles(list []shell.Word) (files []shell.Word, ok bool) {
	texts, plain := l.texts, false
	for i := 1; i < len(list); i++ {
		w := list[i].Text
		switch {
		case plain || !isOption(w) || texts == -1 && l.letters == "":
			if texts != 0 {
				texts--
				continue
			}
			files = append(files, list[i])
		case w == "--":
			plain = true
		case !list[i].Fixed():
			return nil, false
		case strings.HasPrefix(w, "--"):
			name, _, _ := strings.Cut(w[2:], "=")
			if !slices.Contains(l.long, name) {
				return nil, false
			}
		default:
			letters := strings.TrimLeft(w[1:], l.letters)
			if letters == "" {
				continue
			}
			if strings.IndexByte(l.values, letters[0]) < 0 {
				return nil, false
			}
			if len(letters) == 1 {
				i++ // the next word is its value
			}
		}
	}
	return files, l.most == 0 || len(files) <= max(l.most, 0)
}

// mostMatches is how many files of a folder are looked at for a pattern.
const mostMatches = 10_000

// looksAt reports whether a file may be read without a word. Of a pattern every file of its folder
// may be one that it means.
func (p Policy) looksAt(at *standing, file shell.Word, names bool) bool {
	name := file.Text
	if name == "" || name == "-" {
		return name == "-"
	}
	if strings.HasPrefix(name, "~") && !file.Plain() {
		return false
	}
	if !file.Pattern() {
		return file.Plain() && p.reads(at.join(name), names)
	}
	folder, last := "", name
	if cut := strings.LastIndexByte(name, '/'); cut >= 0 {
		folder, last = name[:cut+1], name[cut+1:]
	}
	if strings.ContainsAny(folder, "*?[{~") || strings.ContainsAny(last, "{") {
		return false
	}
	entries, err := os.ReadDir(at.join(folder + "."))
	if err != nil || len(entries) > mostMatches || !p.reads(at.join(folder+"."), true) {
		return false
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(last, ".") && !strings.HasPrefix(last, "[") {
			continue
		}
		if folder == "" && strings.HasPrefix(e.Name(), "-") || !p.reads(at.join(folder+e.Name()), names) {
			return false
		}
	}
	return true
}

// reads reports whether the policy lets a file be read, or a folder be listed, without a word.
func (p Policy) reads(name string, listed bool) bool {
	really, err := Resolve(name)
	if err != nil {
		return false
	}
	home, err := Resolve(p.Directory)
	if err != nil || !Within(home, really) {
		return false
	}
	if p.Decide(agent.Permission{Tool: "bash", Action: "read", Target: name, Inside: true}) == Allow {
		return true
	}
	// The name of a secret is not a secret.
	return listed && Secret(really) && (Policy{Rules: p.Rules,
		Directory: p.Directory}).last(agent.Permission{Tool: "bash", Action: "read"}, Allow,
		func(r Rule) bool { return p.covers(r, really) || p.covers(r, name) }) == Allow
}

// findLooks reports whether find is told nothing that does something.
func findLooks(words []string) bool {
	values, tests := programs()["find values"].listed, programs()["find tests"].listed
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case slices.Contains(values, w):
			i++
		case slices.Contains(tests, w):
		case strings.HasPrefix(w, "-"):
			return false
		}
	}
	return true
}

// findFolders are where a find begins: the words before its first test.
func findFolders(list []shell.Word) []shell.Word {
	list = list[1:]
	if i := slices.IndexFunc(list, func(w shell.Word) bool {
		return strings.HasPrefix(w.Text, "-") || w.Text == "!" || w.Text == "("
	}); i >= 0 {
		list = list[:i]
	}
	return list
}

const sedLine = `(?:[0-9]+|\$)(?:,(?:[0-9]+|\$|\+[0-9]+))?[pq=]`

var sedPrints = regexp.MustCompile(`^` + sedLine + `(?:;` + sedLine + `)*;?$`)

// sedLooks knows sed -n with a script that prints lines by their numbers.
func sedLooks(words []string) bool {
	return len(words) > 2 && words[1] == "-n" && sedPrints.MatchString(words[2]) &&
		!slices.ContainsFunc(words[3:], func(w string) bool { return strings.HasPrefix(w, "-") })
}
