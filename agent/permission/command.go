package permission

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/plan/shell"
)

// command decides about a shell command: about each of the commands in it, and the strictest
// verdict counts. A command that runs outside the working folder is not allowed by words alone.
func (p Policy) command(want agent.Permission) Verdict {
	v, _ := p.judge(want)
	return v
}

// Guarded reports whether a command runs without anybody having been asked, and not because
// everything may: then nothing that a file in the folder names may run beside it.
func (p Policy) Guarded(want agent.Permission) bool {
	v, how := p.judge(want)
	return v == Allow && how != byAll
}

// means is what a command was allowed by.
type means int

const (
	byAll     means = iota // a rule for everything, or one that is the whole of it
	byWords                // rules that name its words
	byBuiltIn              // being harmless
)

func (p Policy) judge(want agent.Permission) (Verdict, means) {
	script, err := shell.Parse(want.Target)
	unknown := err != nil
	if unknown {
		script = shell.Beginning(want.Target)
	}
	at := p.standing(want)
	verdict, how := Verdict(""), byAll
	count := func(v Verdict, m means) {
		if how = max(how, m); verdict == "" || v.Stricter(verdict) {
			verdict = v
		}
	}
	plain := !unknown && !script.Odd && !script.Functions()
	for i := range script.Commands {
		if c := &script.Commands[i]; c.Depth == 0 || c.Source != "" {
			count(p.one(want, c, plain, &at))
		} else if v := p.last(want, "", func(r Rule) bool {
			return r.Verdict != Allow &&
				begins(strings.Fields(r.Target), c)
		}); v != "" {
			count(v, byAll) // a piece of another's words: it is allowed with that
		}
	}
	if unknown || len(script.Commands) == 0 {
		count(p.whole(want, unknown), byAll)
	}
	return verdict, how
}

// whole decides about a text by itself: what is not plain is allowed by a rule for everything, or
// by one that is the whole of it. Of one that cannot be parsed each word may be one that a rule
// keeps from something.
func (p Policy) whole(want agent.Permission, unknown bool) Verdict {
	return p.last(want, Ask, func(r Rule) bool {
		if r.Verdict != Allow {
			return unknown && mentions(want.Target, r.Target)
		}
		return want.Inside && strings.TrimSpace(r.Target) == strings.TrimSpace(want.Target)
	})
}

// one decides about one command of a text.
func (p Policy) one(want agent.Permission, c *shell.Command, plain bool, at *standing) (Verdict, means) {
	how := byAll
	simple := plain && plainly(c)
	words := words(c.Words)
	v := p.last(want, "", func(r Rule) bool {
		rule := strings.Fields(r.Target)
		switch {
		case r.Verdict != Allow:
			return begins(rule, c)
		case !want.Inside:
			return false
		case strings.TrimSpace(r.Target) == strings.TrimSpace(want.Target):
			rule = words
		case !simple || !prefix(rule, words):
			return false
		}
		if simple && asked(rule, c.Words, at) >= 0 {
			return false
		}
		how = byWords
		return true
	})
	if v == "" {
		if v = Ask; simple && p.harmless(c, at) {
			v, how = Allow, byBuiltIn
		}
	}
	at.after(c)
	return v, how
}

// plainly reports whether a command is a program with its arguments, so that every shell runs that
// and nothing else. What is dropped, or shown with the rest, makes no difference.
func plainly(c *shell.Command) bool {
	if len(c.Words) == 0 || c.Keyword || c.Negated || c.Group != shell.Bare || c.Depth > 0 || len(c.Assigns) > 0 ||
		c.After == "&" {
		return false
	}
	for i, w := range c.Words {
		if w.Expands() || !w.Common() || i == 0 && !w.Plain() {
			return false
		}
	}
	for _, r := range c.Redirects {
		null := r.Target.Plain() && r.Target.Text == "/dev/null"
		switch {
		case r.Op == ">" && null, r.Op == ">>" && null, r.Op == "<" && null && r.FD == "":
		case r.Op == ">&" && r.FD != "" && (r.Target.Text == "1" || r.Target.Text == "2") &&
			(r.FD == "1" || r.FD == "2"):
		default:
			return false
		}
	}
	return true
}

func words(list []shell.Word) []string {
	texts := make([]string, len(list))
	for i, w := range list {
		texts[i] = w.Text
	}
	return texts
}

// prefix reports whether words begin as a rule says, * standing for anything in a word. A * at the
// end is for any words, none too.
func prefix(rule, words []string) bool {
	if n := len(rule); n > 1 && rule[n-1] == "*" {
		rule = rule[:n-1]
	}
	if len(rule) == 0 || len(rule) > len(words) {
		return false
	}
	for i, w := range rule {
		if !wild(w, words[i]) {
			return false
		}
	}
	return true
}

// mostWords is how many words of one command are looked at for another one.
const mostWords = 64

// begins reports whether a command begins as a rule says that keeps from something. It takes a
// program for itself in whatever folder, and looks behind what runs other programs: the forms of
// all of these are not known, so that every word may begin one.
func begins(rule []string, c *shell.Command) bool {
	words := words(c.Words)
	if len(words) > mostWords {
		words = words[:mostWords]
	}
	for i := range words {
		if (i == 0 || runsOthers(words[:i])) && begun(rule, words[i:]) {
			return true
		}
	}
	if runsOthers(words) {
		for _, w := range words {
			if strings.ContainsAny(w, " \n") && begun(rule, strings.Fields(w)) {
				return true
			}
		}
	}
	// What a program's name is made of is not always plain: {rm,x} runs rm.
	return len(c.Words) > 0 && !c.Words[0].Fixed() && mentions(strings.Join(words, " "), strings.Join(rule, " "))
}

// begun is prefix for a program that may be named with its folder, and with options before its
// subcommand.
func begun(rule, words []string) bool {
	if len(words) == 0 || len(rule) == 0 {
		return false
	}
	bare := append([]string{path.Base(words[0])}, words[1:]...)
	if prefix(rule, words) || prefix(rule, bare) {
		return true
	}
	if len(rule) < 2 || strings.HasPrefix(rule[1], "-") {
		return false
	}
	for i := 1; i < len(bare); i++ { // git -C folder push
		if !strings.HasPrefix(bare[i], "-") && prefix(rule, append([]string{bare[0]}, bare[i:]...)) &&
			strings.HasPrefix(bare[1], "-") {
			return true
		}
	}
	return false
}

// runsOthers reports whether words are those of a program that runs another one, with its options.
func runsOthers(words []string) bool {
	if len(words) == 0 {
		return false
	}
	name := path.Base(words[0])
	switch name {
	case "command":
		return len(words) < 2 || words[1] != "-v" && words[1] != "-V" // those only say where it is
	case "find", "watch", "parallel", "xargs", "su", "ssh", "trap", "eval", "git", "cmd", "cmd.exe", "powershell",
		"pwsh", "powershell.exe":
		return name != "git" || slices.Contains(words, "run") || slices.Contains(words, "foreach")
	}
	return shell.Wraps(words)
}

// mentions reports whether the words of a rule stand in a text one behind the other, whatever is
// between them that is not part of a word.
func mentions(text, target string) bool {
	split := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r >= 0x80 ||
				strings.ContainsRune("_-.:=+@%*", r))
		})
	}
	rule, words := split(target), split(text)
	for i := range words {
		if prefix(rule, words[i:]) {
			return true
		}
	}
	return false
}

// standing is where a command is run, as far as the commands before it tell.
type standing struct {
	home   string // the working folder, "" where it is not known
	folder string // "" where it is not known
}

func (p Policy) standing(want agent.Permission) standing {
	if p.Directory == "" || !want.Inside {
		return standing{}
	}
	home, err := Resolve(p.Directory)
	if err != nil {
		return standing{}
	}
	at := standing{home, home}
	if want.Folder != "" {
		if at.folder, err = Resolve(want.Folder); err != nil || !Within(home, at.folder) {
			return standing{}
		}
	}
	return at
}

// after follows a command: a plain "cd" whose success the next one waits for goes to another
// folder.
func (at *standing) after(c *shell.Command) {
	if len(c.Words) == 0 || at.folder == "" {
		return
	}
	switch c.Words[0].Text {
	case "cd", "pushd", "popd":
		to, ok := at.target(c)
		if at.folder = ""; ok {
			at.folder = to
		}
	}
}

// target is the folder that a plain cd in the working folder leads to.
func (at *standing) target(c *shell.Command) (string, bool) {
	if at.folder == "" || !plainly(c) || c.After != "&&" || c.Words[0].Text != "cd" || len(c.Words) != 2 ||
		!c.Words[1].Plain() || strings.HasPrefix(c.Words[1].Text, "-") {
		return "", false
	}
	to, err := Resolve(at.join(c.Words[1].Text))
	return to, err == nil && Within(at.home, to)
}

// join is where a name leads from there.
func (at *standing) join(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(at.folder, name)
}
