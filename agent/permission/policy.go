package permission

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/winnowhq/winnow/agent"
)

// Verdict is what is to become of something that a tool wants to do.
type Verdict string

const (
	Allow Verdict = "allow" // without a word
	Ask   Verdict = "ask"   // when a person agrees
	Deny  Verdict = "deny"  // never
)

// Stricter reports whether one verdict lets less through than another.
func (v Verdict) Stricter(than Verdict) bool {
	rank := map[Verdict]int{Allow: 0, Ask: 1, Deny: 2}
	return rank[v] > rank[than]
}

// Rule is one line of a policy: what it is about, and the verdict.
type Rule struct {
	// Tool and Action are globs for the name of the tool and for what it wants to do ("read",
	// "write", "run", "fetch"); "" is every one. The action "env" is about a variable of the
	// environment that holds a provider's key: commands get it where a rule of just this action
	// allows its name.
	Tool   string `json:"tool,omitempty"`
	Action string `json:"action,omitempty"`
	// Target is a glob for what it wants to do it to; "" and "*" are everything.
	//
	// For a path ("read", "write") it is a glob with ** for any folders: absolute, or relative to
	// the policy's folder. A glob that names a folder is for all that is in it too. What is denied
	// or asked about is so in capital and in small letters, for there are file systems to which
	// they are the same.
	//
	// For a command ("run") it is the words that the command begins with, * for any word: "go test"
	// is for `go test ./...`, and not for `go testify`. A command of several is as its strictest
	// one. Only a command that plainly is what it seems can be allowed: with a substitution, a
	// variable or a redirection in it, it can be by "*" alone, or by a rule that is the whole of it
	// to the byte; one that cannot be parsed too. An option that makes a program something else
	// (git log --output, find -delete, go test -exec) is asked about unless the rule itself names
	// it. Words that deny or ask are looked for behind what runs other commands too (sudo, env, a
	// shell's -c, xargs, docker exec), which finds what a model does by habit, and not what
	// somebody hides.
	//
	// For anything else ("fetch") it is a glob in which * stands for anything.
	Target  string  `json:"target,omitempty"`
	Verdict Verdict `json:"verdict"`
}

// Policy decides by rules.
type Policy struct {
	// Rules in order; the last one that matches counts, so that what is more particular comes
	// behind. Where none does: reading in the working folder but for secrets (see Secret), writing
	// there but for what git or another tool would run (see Runs), and commands that only look at
	// what may be read are allowed; everything outside it, every other command and every fetch
	// asks. What Runs says is asked about whatever a rule with a pattern for it allows: only one
	// that names it does.
	Rules []Rule
	// Directory is the session's working folder, absolute. Where it is set, a path is taken for
	// inside only if it is so when links are followed, whatever the permission says. Relative
	// targets of rules are in it. Without it nothing is known of where commands run: those of git
	// are asked about, and those that only look.
	Directory string
}

// Validate fails for rules that cannot be meant: an unknown verdict, an invalid glob.
func (p Policy) Validate() error {
	for i, r := range p.Rules {
		switch r.Verdict {
		case Allow, Ask, Deny:
		default:
			return fmt.Errorf("rule %d: unknown verdict %q; use allow, ask or deny", i+1, r.Verdict)
		}
		for _, glob := range []string{r.Tool, r.Action, r.Target} {
			if r.Action != "run" && !doublestar.ValidatePattern(glob) {
				return fmt.Errorf("rule %d: %q is not a valid glob", i+1, glob)
			}
		}
	}
	if p.Directory != "" && !filepath.IsAbs(p.Directory) {
		return fmt.Errorf("the working folder %q is not absolute", p.Directory)
	}
	return nil
}

// Decide says what is to become of a permission. What cannot be judged asks: a path that is not
// absolute or goes in a circle.
func (p Policy) Decide(want agent.Permission) Verdict {
	switch want.Action {
	case "read", "write":
		return p.path(want)
	case "run":
		return p.command(want)
	}
	return p.last(want, Ask, func(r Rule) bool { return r.about(want.Target) })
}

// Passes reports whether commands get a variable of the environment that holds a key. A rule for
// everything is not meant.
func (p Policy) Passes(name string) bool {
	for i := len(p.Rules) - 1; i >= 0; i-- {
		if r := p.Rules[i]; r.Action == "env" && wild(r.Target, name) {
			return r.Verdict == Allow
		}
	}
	return false
}

// about reports whether a rule is about something other than a path or a command: an address, to
// which a note may be added on how near it is (see reach). Both are looked at with the note and
// without. The owner of a name decides where it leads: what is near is allowed by a rule
// alone that names the host.
func (r Rule) about(target string) bool {
	address, note, near := strings.Cut(target, " (")
	if !wild(r.Target, target) && !wild(r.Target, address) {
		return false
	}
	if !near || r.Verdict != Allow || strings.HasSuffix(r.Target, " ("+note) {
		return true
	}
	_, rest, _ := strings.Cut(r.Target, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host != "" && !strings.Contains(host, "*")
}

// last is the verdict of the last rule for this tool and action whose target matches.
func (p Policy) last(want agent.Permission, otherwise Verdict, matches func(Rule) bool) Verdict {
	for i := len(p.Rules) - 1; i >= 0; i-- {
		r := p.Rules[i]
		if !wild(r.Tool, want.Tool) || !wild(r.Action, want.Action) {
			continue
		}
		if r.Target != "" && r.Target != "*" && !matches(r) {
			continue
		}
		switch r.Verdict {
		case Allow, Ask, Deny:
			return r.Verdict
		}
		return Ask // not a verdict: see Validate
	}
	return otherwise
}

// path decides about a file or a folder.
func (p Policy) path(want agent.Permission) Verdict {
	named := filepath.Clean(want.Target)
	if !filepath.IsAbs(named) {
		if p.Directory == "" || want.Target == "" {
			return p.last(want, Ask, func(Rule) bool { return false })
		}
		named = filepath.Join(p.Directory, named)
	}
	really, err := Resolve(named)
	if err != nil {
		return p.last(want, Ask, func(r Rule) bool { return r.Verdict != Allow && p.covers(r, named) })
	}
	inside := want.Inside
	if p.Directory != "" {
		home, err := Resolve(p.Directory)
		inside = err == nil && Within(home, really)
	}
	part, asks := "", false // a rule that is to allow what is asked about has that in it
	switch below := p.below(really); {
	case want.Action == "write":
		if part, asks = Runs(below); !asks {
			part, asks = inBareRepository(really)
		}
	case want.Action == "read" && Secret(below):
		part, asks = filepath.Base(really), true
	}
	otherwise := Ask
	if inside && !asks {
		otherwise = Allow
	}
	matches := func(r Rule) bool {
		// A link is allowed by where it leads; it is kept from somebody by its own name too.
		return (p.covers(r, really) || r.Verdict != Allow && p.covers(r, named)) &&
			(r.Verdict != Allow || want.Action != "write" || !asks || strings.Contains(r.Target, part))
	}
	v := p.last(want, otherwise, matches)
	if v == Allow && asks && want.Action == "write" && !p.allowsByName(want, matches) {
		return Ask
	}
	return v
}

// allowsByName reports whether a rule that names a target allows something, and not one for
// everything.
func (p Policy) allowsByName(want agent.Permission, matches func(Rule) bool) bool {
	for _, r := range p.Rules {
		if r.Verdict == Allow && r.Target != "" && r.Target != "*" && wild(r.Tool, want.Tool) &&
			wild(r.Action, want.Action) && matches(r) {
			return true
		}
	}
	return false
}

// below is a path as the working folder has it: what is above that says nothing of it.
func (p Policy) below(name string) string {
	if home, err := Resolve(p.Directory); err == nil && p.Directory != "" && Within(home, name) {
		if rel, err := filepath.Rel(home, name); err == nil {
			return rel
		}
	}
	return name
}

// inBareRepository reports whether a path is one of those that make a folder a repository of git
// which needs no .git.
func inBareRepository(name string) (part string, is bool) {
	folder, base := filepath.Dir(name), filepath.Base(name)
	if filepath.Base(folder) == "hooks" {
		folder, base = filepath.Dir(folder), "hooks"
	}
	parts := []string{"HEAD", "config", "hooks", "objects", "refs"}
	if !slices.Contains(parts, base) {
		return "", false
	}
	there := 0
	for _, part := range parts {
		if _, err := os.Lstat(filepath.Join(folder, part)); err == nil && part != base {
			there++
		}
	}
	return base, there >= 2
}

// covers reports whether a rule's glob names a path or a folder above it.
func (p Policy) covers(r Rule, name string) bool {
	glob := filepath.ToSlash(filepath.Clean(r.Target))
	var names []string
	if filepath.IsAbs(filepath.FromSlash(glob)) {
		names = []string{filepath.ToSlash(name)}
	} else {
		folders := []string{p.Directory}
		if home, err := Resolve(p.Directory); err == nil && home != p.Directory && p.Directory != "" {
			folders = append(folders, home)
		}
		for _, folder := range folders {
			if folder == "" {
				continue
			}
			rel, err := filepath.Rel(folder, name)
			if err != nil {
				continue
			}
			// "**" allows what is in the folder, not what is above it.
			if rel = filepath.ToSlash(rel); r.Verdict != Allow || upwards(rel) == upwards(glob) {
				names = append(names, rel)
			}
		}
	}
	for _, name := range names {
		for at := name; ; {
			if ok, _ := doublestar.Match(glob, at); ok {
				return true
			}
			if ok, _ := doublestar.Match(strings.ToLower(glob), strings.ToLower(at)); ok && r.Verdict != Allow {
				return true
			}
			cut := strings.LastIndexByte(at, '/')
			if cut <= 0 {
				break
			}
			at = at[:cut]
		}
	}
	return false
}

// upwards counts the folders that a relative path goes up.
func upwards(name string) (n int) {
	for ; name == ".." || strings.HasPrefix(name, "../"); n++ {
		name = strings.TrimPrefix(name[2:], "/")
	}
	return n
}

// wild reports whether a text matches a glob in which * stands for anything; "" matches everything.
func wild(glob, text string) bool {
	if glob == "" || glob == "*" {
		return true
	}
	pieces := strings.Split(glob, "*")
	if len(pieces) == 1 {
		return glob == text
	}
	rest, ok := strings.CutPrefix(text, pieces[0])
	if !ok {
		return false
	}
	for _, piece := range pieces[1 : len(pieces)-1] {
		at := strings.Index(rest, piece)
		if at < 0 {
			return false
		}
		rest = rest[at+len(piece):]
	}
	return strings.HasSuffix(rest, pieces[len(pieces)-1])
}

// Asker is what a call asks for permission with: what the policy allows is allowed, what it denies
// is Refused, and otherwise a person is asked. nil is nobody, and then what would be asked is
// refused.
func (p Policy) Asker(person func(ctx context.Context, want agent.Permission) error) func(ctx context.Context,
	want agent.Permission) error {
	return func(ctx context.Context, want agent.Permission) error {
		switch v := p.Decide(want); {
		case v == Allow:
			return nil
		case v == Ask && person != nil:
			return person(ctx, want)
		}
		return &Refused{want}
	}
}

// Refused is the error of a call that was not permitted.
type Refused struct{ Permission agent.Permission }

func (e *Refused) Error() string {
	return fmt.Sprintf("nothing was done: the rules of this session rejected permission to %s %s. Do without it, or "+
		"tell the user why you need it",
		e.Permission.Action, e.Permission.Target)
}
