package tools

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/shell"
)

// harmless commands only look, in the working folder, at what the tools may read there without a word: nobody needs to be asked about them. What such a command
// may have is listed; what is not, asks.

// looker is a program that only looks, and the options with which it does.
type looker struct {
	flags  string   // letters without a value
	values string   // letters with one: a number, a text
	long   []string // long options, with their value behind "=" or without one
	// texts is how many operands are texts and no files, all of them when it is -1; least how many files it must have, so that it does not wait for its input,
	// which is empty; most how many it may, 0 for any number.
	texts, most int
	names       bool // its operands are looked up by name, their contents are not shown
	words       func(words []string) bool
}

var lookers = map[string]looker{
	"pwd": {flags: "LP", most: -1}, "true": {most: -1}, "false": {most: -1}, "whoami": {most: -1}, "nproc": {most: -1},
	"echo": {flags: "neE", texts: -1}, "uname": {flags: "asnrvmpio", most: -1}, "basename": {texts: -1}, "dirname": {texts: -1}, "seq": {texts: -1}, "sleep": {texts: -1},
	"ls":   {flags: "aAbBcCdFfghHiklLmnNopqQrRsStuUvxXZ1", long: []string{"all", "almost-all", "human-readable", "reverse", "recursive", "size", "sort", "time", "color", "classify", "group-directories-first", "directory", "inode", "full-time", "time-style", "no-group"}, names: true},
	"stat": {flags: "Lt", values: "c", long: []string{"format", "printf", "terse", "dereference"}, names: true},
	"du":   {flags: "abchkmsS0x", values: "d", long: []string{"max-depth", "human-readable", "summarize", "all", "apparent-size", "total"}, names: true},
	"tree": {flags: "adfhipsughDFQNAC", values: "LIP", long: []string{"dirsfirst", "noreport", "prune", "filesfirst"}, names: true},
	"file": {flags: "bikLN", long: []string{"brief", "mime", "mime-type"}}, "realpath": {flags: "emsLP", names: true}, "readlink": {flags: "femn", names: true}, "test": {texts: -1, words: func([]string) bool { return true }},
	"cat":  {flags: "AbeEnstTuv", long: []string{"number", "show-all", "number-nonblank", "squeeze-blank"}},
	"head": {flags: "qvz0123456789", values: "nc", long: []string{"lines", "bytes", "quiet"}}, "tail": {flags: "qvz0123456789", values: "nc", long: []string{"lines", "bytes", "quiet"}},
	"nl": {values: "bdfhilnpsvw"}, "wc": {flags: "clmwL", long: []string{"lines", "words", "bytes", "chars", "max-line-length"}},
	"cut": {flags: "nsz", values: "bcdf", long: []string{"delimiter", "fields", "characters", "complement", "output-delimiter"}}, "tr": {flags: "cCdst", texts: -1}, "rev": {}, "tac": {}, "fold": {flags: "bs", values: "w"}, "paste": {flags: "sz", values: "d"},
	"sort": {flags: "bcCdfghiMmnRrsuVz", values: "kt", long: []string{"reverse", "numeric-sort", "unique", "key", "field-separator", "version-sort", "human-numeric-sort"}},
	"uniq": {flags: "cdDiuz", values: "fsw", long: []string{"count", "repeated", "unique", "ignore-case"}, most: 1},
	"diff": {flags: "abBcdeiNpqrstTuwyE", values: "UW", long: []string{"unified", "brief", "ignore-all-space", "recursive", "side-by-side", "color"}, most: 2}, "cmp": {flags: "bls", most: 2}, "comm": {flags: "123", most: 2},
	"md5sum": {}, "sha1sum": {}, "sha256sum": {}, "sha512sum": {}, "cksum": {}, "column": {flags: "tx", values: "scN"},
	"grep": {flags: "acEFGHhiLlnoPqsvwxyzZ", values: "ABCm", long: []string{"color", "count", "ignore-case", "line-number", "files-with-matches", "only-matching", "invert-match", "word-regexp", "context", "after-context", "before-context", "max-count", "extended-regexp", "fixed-strings", "perl-regexp", "no-filename", "with-filename"}, texts: 1},
	"find": {words: findLooks}, "sed": {words: sedLooks}, "git": {words: gitLooks}, "which": {flags: "a", texts: -1}, "type": {flags: "atpP", texts: -1}, "command": {words: func(words []string) bool { return len(words) == 3 && (words[1] == "-v" || words[1] == "-V") }, texts: -1}, "date": {flags: "uRI", words: dateLooks},
}

// harmless reports whether a command is one of them.
func (p Policy) harmless(c *shell.Command, at *standing) bool {
	if at.folder == "" || strings.Contains(c.Words[0].Text, "/") {
		return false
	}
	if c.Words[0].Text == "cd" {
		_, ok := at.target(c)
		return ok
	}
	texts := words(c.Words)
	l, ok := lookers[texts[0]]
	if !ok || asked(nil, c.Words, at) >= 0 && texts[0] != "command" && texts[0] != "date" {
		return false
	}
	if l.words != nil && !l.words(texts) {
		return false
	}
	files, ok := l.files(c.Words)
	if !ok {
		return false
	}
	for _, file := range files {
		if !p.looksAt(at, file, l.names) {
			return false
		}
	}
	return true
}

// files are the operands of a command that are names of files. It is not ok where an option is not listed, or there are too many.
func (l *looker) files(list []shell.Word) (files []shell.Word, ok bool) {
	if l.words != nil { // they have looked at the options
		for _, w := range list[1:] {
			if !w.Fixed() && !w.Pattern() || strings.HasPrefix(w.Text, "~") {
				return nil, false
			}
		}
		switch list[0].Text {
		case "find":
			return findFolders(list), true
		case "sed":
			return sedFiles(list), true
		case "git":
			return gitFiles(list), true
		}
		return nil, true
	}
	texts, plain := l.texts, false
	for i := 1; i < len(list); i++ {
		w := list[i].Text
		switch {
		case plain || w == "" || w == "-" || w[0] != '-' || texts == -1 && l.flags == "":
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
			for k := 1; k < len(w); k++ {
				if strings.IndexByte(l.values, w[k]) >= 0 {
					if k == len(w)-1 {
						i++
					}
					break
				}
				if strings.IndexByte(l.flags, w[k]) < 0 {
					return nil, false
				}
			}
		}
	}
	if l.most > 0 && len(files) > l.most || l.most < 0 && len(files) > 0 {
		return nil, false
	}
	return files, true
}

// mostMatches is how many files of a folder are looked at for a pattern.
const mostMatches = 10_000

// looksAt reports whether a file may be read without a word. Of a pattern every file of its folder may be one that it means.
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
	// What a secret is called is none.
	return listed && Secret(really) && (Policy{Rules: p.Rules, Directory: p.Directory}).last(agent.Permission{Tool: "bash", Action: "read"}, Allow, func(r Rule) bool { return p.covers(r, really) || p.covers(r, name) }) == Allow
}

// findTests are what find may be told without its doing anything; those that take a value are true.
var findTests = map[string]bool{"-name": true, "-iname": true, "-path": true, "-ipath": true, "-wholename": true, "-type": true, "-maxdepth": true, "-mindepth": true, "-size": true, "-mtime": true, "-mmin": true, "-newer": true, "-perm": true, "-user": true, "-group": true,
	"-regex": true, "-iregex": true, "-regextype": true, "-empty": false, "-not": false, "-a": false, "-and": false, "-o": false, "-or": false, "!": false, "(": false, ")": false, "-print": false, "-print0": false, "-prune": false, "-xdev": false, "-depth": false, "-ls": false, "-printf": true, "-quit": false, "-true": false, "-false": false}

func findLooks(words []string) bool {
	for i := 1; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") && w != "!" && w != "(" && w != ")" {
			continue
		}
		value, known := findTests[w]
		if !known {
			return false
		}
		if value {
			i++
		}
	}
	return true
}

// findFolders are where a find begins: what stands before its first test.
func findFolders(list []shell.Word) (folders []shell.Word) {
	for _, w := range list[1:] {
		if strings.HasPrefix(w.Text, "-") || w.Text == "!" || w.Text == "(" {
			break
		}
		folders = append(folders, w)
	}
	return folders
}

var sedPrints = regexp.MustCompile(`^(?:[0-9]+|\$)(?:,(?:[0-9]+|\$|\+[0-9]+))?[pq=](?:;(?:[0-9]+|\$)(?:,(?:[0-9]+|\$|\+[0-9]+))?[pq=])*;?$`)

// sedLooks knows sed -n with a script that prints lines by their numbers.
func sedLooks(words []string) bool {
	return len(words) > 2 && words[1] == "-n" && sedPrints.MatchString(words[2]) && !slices.ContainsFunc(words[3:], func(w string) bool { return strings.HasPrefix(w, "-") })
}

func sedFiles(list []shell.Word) []shell.Word { return list[3:] }

func dateLooks(words []string) bool {
	return !slices.ContainsFunc(words[1:], func(w string) bool {
		return !strings.HasPrefix(w, "+") && w != "-u" && w != "-R" && w != "-I"
	})
}

// gitLookers are git's commands that only look, with what they may be told beside names.
var gitLookers = map[string]*regexp.Regexp{
	"status": regexp.MustCompile(`^(-s|--short|-b|--branch|-sb|--porcelain(=.*)?|-u.*|--untracked-files(=.*)?|--ignored|-v|--long|--show-stash|-z)$`),
	"log":    gitShows, "show": gitShows, "diff": gitShows, "shortlog": regexp.MustCompile(`^(-[sne]+|--all|--no-merges|--since=.*)$`), "blame": regexp.MustCompile(`^(-L.*|-[wMCeslf]+|--date=.*|--)$`),
	"rev-parse": regexp.MustCompile(`^--(short(=[0-9]+)?|abbrev-ref|verify|show-toplevel|is-inside-work-tree|show-prefix|git-dir)$`), "ls-files": regexp.MustCompile(`^(-[comdsutz]+|--(others|cached|modified|deleted|exclude-standard|stage|ignored|full-name)|--)$`),
	"describe": regexp.MustCompile(`^--(tags|always|dirty|abbrev=[0-9]+|all|long)$`), "rev-list": regexp.MustCompile(`^(--count|--all|-n|-[0-9]+|--max-count=[0-9]+)$`), "merge-base": regexp.MustCompile(`^--(is-ancestor|all)$`),
	"branch": regexp.MustCompile(`^(-a|-r|-v|-vv|-av|-avv|--all|--remotes|--verbose|--show-current|--list|--no-color)$`), "tag": regexp.MustCompile(`^(-l|--list|-n[0-9]*)$`), "remote": regexp.MustCompile(`^-v$`), "stash": regexp.MustCompile(`^$`),
}

var gitShows = regexp.MustCompile(`^(-[0-9]+|-n|-n[0-9]+|-p|-u|-U[0-9]+|-[wbiEFGS]|-[SG].+|-L.+|--|--(oneline|stat(=.*)?|shortstat|numstat|name-only|name-status|cached|staged|patch|no-patch|graph|decorate(=.*)?|all|branches|tags|merges|no-merges|first-parent|reverse|follow|date=.*|since=.*|until=.*|after=.*|before=.*|author=.*|grep=.*|format=.*|pretty(=.*)?|abbrev-commit|max-count=[0-9]+|no-color|color(=.*)?|word-diff(=.*)?|unified=[0-9]+|diff-filter=.*|ignore-all-space|ignore-space-change|minimal|patience|histogram|summary|check|quiet|exit-code|relative|no-renames|find-renames|no-ext-diff|no-textconv|name-rev|compact-summary|dirstat|merge-base))$`)

// gitLooks knows those of git's commands that only look. What signatures are checked with is a program.
func gitLooks(words []string) bool {
	i := 1
	for i < len(words) && slices.Contains([]string{"--no-pager", "-P", "--no-optional-locks"}, words[i]) {
		i++
	}
	if i == len(words) {
		return false
	}
	sub, args := words[i], words[i+1:]
	may, ok := gitLookers[sub]
	if !ok {
		return false
	}
	for _, w := range args {
		if strings.HasPrefix(w, "-") && !may.MatchString(w) || strings.Contains(w, "%G") {
			return false
		}
	}
	named := slices.DeleteFunc(slices.Clone(args), func(w string) bool { return strings.HasPrefix(w, "-") })
	switch sub {
	case "branch":
		return len(named) == 0
	case "tag":
		return len(named) == 0 || slices.Contains(args, "-l") || slices.Contains(args, "--list")
	case "remote":
		return len(named) == 0 || len(named) == 2 && named[0] == "get-url"
	case "stash":
		return len(args) == 1 && args[0] == "list"
	case "diff": // of two files that it does not know it compares what they hold, wherever they are
		return !slices.ContainsFunc(named, func(w string) bool {
			return strings.HasPrefix(w, "/") || strings.Contains(w, "..") && strings.Contains(w, "/")
		})
	}
	return true
}

// gitFiles are words of git that may name a secret: HEAD:.env too.
func gitFiles(list []shell.Word) (files []shell.Word) {
	for _, w := range list[1:] {
		name := w.Text[strings.LastIndexByte(w.Text, ':')+1:]
		if !strings.HasPrefix(w.Text, "-") && Secret(name) {
			files = append(files, shell.Fix(name))
		}
	}
	return files
}
