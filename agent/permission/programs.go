package permission

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/winnowhq/winnow/plan/shell"
)

//go:embed programs.txt
var programsText string

// program is an entry of programs.txt, which explains its members.
type program struct {
	listed                []string // all words of the entry
	letters, values       string
	long, start, second   []string
	single, names         bool
	operands, texts, most int
	words                 string
}

// programs are the entries of programs.txt by name and kind: "sort asks".
var programs = sync.OnceValue(func() map[string]*program {
	all, err := readPrograms(programsText)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return all
})

func readPrograms(text string) (map[string]*program, error) {
	all := map[string]*program{}
	p := &program{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || line[0] == '#' {
			continue
		}
		if line[0] != ' ' {
			p = &program{}
			if len(words) < 2 {
				return nil, fmt.Errorf("programs.txt: %q has no kind", line)
			}
			for name := range strings.SplitSeq(words[0], ",") {
				all[name+" "+words[1]] = p
			}
			words = words[2:]
		}
		p.listed = append(p.listed, words...)
	}
	for name, p := range all {
		if strings.HasSuffix(name, " asks") || strings.HasSuffix(name, " looks") && !strings.HasPrefix(name, "git.") {
			if err := p.read(); err != nil {
				return nil, fmt.Errorf("programs.txt: %s: %w", name, err)
			}
		}
	}
	return all, nil
}

// read sets the members of an entry from its words.
func (p *program) read() (err error) {
	*p = program{listed: p.listed} // several names share one entry
	for _, word := range p.listed {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, "--"):
			p.long = append(p.long, word[2:])
		case strings.HasPrefix(word, "-"):
			p.letters = word[1:]
		case name == "single":
			p.single = true
		case name == "names":
			p.names = true
		case name == "values":
			p.values = value
		case name == "words":
			p.words = value
		case name == "starting":
			p.start = append(p.start, strings.Split(value, ",")...)
		case name == "second":
			p.second = strings.Split(value, ",")
		case name == "operands":
			p.operands, err = strconv.Atoi(value)
		case name == "texts":
			p.texts, err = strconv.Atoi(value)
		case name == "most":
			p.most, err = strconv.Atoi(value)
		default:
			err = fmt.Errorf("%q is unknown", word)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// asked is the index of the first word of a command that is asked about, though a rule allows what
// the command begins with; -1 if there is none. Where the rule itself names an option, it is meant.
func asked(rule []string, list []shell.Word, at *standing) int {
	texts := words(list)
	meant := func(i int) bool { return i < len(rule) && rule[i] == texts[i] }
	if inner := shell.Inner(list); len(inner) > 0 {
		n := len(list) - len(inner)
		for i := 1; i <= n; i++ { // all that is before the other program, and it
			if !meant(i) {
				return i
			}
		}
		if i := asked(rule[n:], inner, at); i >= 0 {
			return n + i
		}
	} else if shell.Wraps(texts) && len(texts) > 1 && !meant(1) {
		return 1
	}
	name := shell.Base(texts[0])
	if name == "git" {
		if i := slices.IndexFunc(list, func(w shell.Word) bool { return !w.Fixed() && at.becomesOption(w) }); i > 0 {
			return i
		}
		return gitAsked(texts, meant, at)
	}
	p := programs()[name+" asks"]
	if p == nil {
		return -1
	}
	for i := 1; i < len(texts); i++ {
		if !meant(i) && (p.asks(texts[i]) || !list[i].Fixed() && at.becomesOption(list[i])) {
			return i
		}
	}
	if operands := slices.DeleteFunc(slices.Clone(texts[1:]), isOption); p.operands > 0 &&
		len(operands) > p.operands && !meant(len(texts)-1) {
		return len(texts) - 1
	}
	for range texts {
		i := p.wordAsked(texts)
		if i < 0 || texts[i] == "" {
			break
		}
		if !meant(i) {
			return i
		}
		texts[i] = "" // the next one, if there is one
	}
	return -1
}

func isOption(word string) bool { return len(word) > 1 && word[0] == '-' }

// asks reports whether a word is, or abbreviates, an option that is asked about.
func (p *program) asks(word string) bool {
	if len(word) < 2 || word[0] != '-' || word == "--" {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	switch {
	case p.single:
		return slices.Contains(p.long, name)
	case strings.HasPrefix(word, "--"):
		return slices.ContainsFunc(p.long, func(long string) bool { return strings.HasPrefix(long, name) })
	}
	return p.letters != "" && strings.ContainsAny(word[1:], p.letters) || len(name) > 2 && slices.Contains(p.long, name)
}

// wordAsked is the index of the first other word that is asked about, or -1.
func (p *program) wordAsked(words []string) int {
	switch p.words {
	case "sed":
		return sedAsks(words)
	case "awk":
		return awkAsks(words)
	case "any":
		return min(1, len(words)-1)
	}
	first := true // operand
	for i, w := range words {
		if i == 0 {
			continue
		}
		option := strings.HasPrefix(w, "-")
		found := slices.ContainsFunc(p.start, func(start string) bool { return strings.HasPrefix(w, start) })
		switch p.words {
		case "operand":
			found = w != "" && !option && w != "/dev/null"
		case "make": // sets a variable, which may hold a program
			_, value, set := strings.Cut(w, "=")
			found = set && !option && strings.Trim(value, "0123456789") != ""
		case "tar": // the letters of the first word, which needs no dash
			found = i == 1 && !option && strings.ContainsAny(w, "IFPg") &&
				strings.Trim(w, "AcdrtuxBhiklmopSvwzjJZaOWfFIPgbCKTXVLNsGHMnR") == ""
		}
		if !option && first {
			found = found || slices.Contains(p.second, w)
			first = false
		}
		if found {
			return i
		}
	}
	return -1
}

// becomesOption reports whether a pattern may become a word that begins with a dash: a file may be
// named like an option.
func (at *standing) becomesOption(w shell.Word) bool {
	if !w.Pattern() || strings.HasPrefix(w.Text, "-") {
		return true
	}
	if !w.Open() {
		return false
	}
	entries, err := os.ReadDir(at.folder)
	return at.folder == "" || err != nil ||
		slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "-") })
}
