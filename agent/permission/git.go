package permission

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/winnowhq/winnow/plan/shell"
)

// gitAsked is what asked is for git.
func gitAsked(texts []string, meant func(int) bool, at *standing) int {
	i := 1
	for ; i < len(texts) && strings.HasPrefix(texts[i], "-"); i++ {
		switch {
		case meant(i), slices.Contains(programs()["git quiet"].listed, texts[i]):
		case texts[i] == "-C" && i+1 < len(texts) && at.folder != "":
			to, err := Resolve(at.join(texts[i+1]))
			if err != nil || !Within(at.home, to) {
				return i
			}
			at = &standing{at.home, to}
			i++
		default:
			return i
		}
	}
	if i >= len(texts) {
		return -1
	}
	sub := texts[i]
	if slices.Contains(programs()["git programs"].listed, sub) && !meant(i) {
		return i
	}
	letters := ""
	for _, one := range programs()["git letters"].listed {
		if name, value, _ := strings.Cut(one, "=-"); name == sub {
			letters = value
		}
	}
	for k := i + 1; k < len(texts); k++ {
		w := texts[k]
		switch {
		case meant(k):
		case programs()["git asks"].asks(w), strings.Contains(w, "::"), strings.HasPrefix(w, "{"),
			strings.HasPrefix(w, "-") && strings.ContainsAny(w, "*?["):
			return k
		case isOption(w) && w[1] != '-' && strings.ContainsAny(w, letters):
			return k
		case sub == "bisect" && w == "run", sub == "remote" && (w == "add" || w == "set-url"),
			sub == "notes" && w == "edit":
			return k
		}
	}
	if !at.gitRunsNothing(sub) {
		return i
	}
	return -1
}

// gitOthers are the settings by which a repository has git run something that no variable of the
// environment keeps it from: those are asked about.
var gitOthers = regexp.MustCompile(`^(` +
	`filter\..*\.(clean|smudge|process)|diff\.external|diff\..*\.(command|textconv)|merge\..*\.driver|` +
	`gpg\.(.*\.)?program|core\.(sshcommand|gitproxy|editor|askpass|alternaterefscommand|worktree)|` +
	`credential\..*|remote\..*\.(uploadpack|receivepack|vcs|promisor)|extensions\.partialclone|url\..*|` +
	`submodule\..*\.update|uploadpack\..*|receive\..*|protocol\..*|sequence\.editor|interactive\.difffilter|` +
	`trailer\..*\.(command|cmd)|tar\..*\.command|` +
	`(difftool|mergetool|man|browser|sendemail|instaweb|hook|guitool)\..*)$`)

// How long git may take to say what its settings are, and of how many repositories in one another
// they are looked at.
const (
	gitTime          = 10 * time.Second
	mostRepositories = 30
)

// gitRunsNothing reports whether no setting of the repository there, and of those in it, makes a
// command of git run something that Guard does not keep it from. The user's own settings are the
// user's. Where git cannot say, it is not so.
func (at *standing) gitRunsNothing(sub string) bool {
	if at.folder == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	seen := 0
	var look func(folder string) bool
	look = func(folder string) bool {
		if seen++; seen > mostRepositories {
			return false
		}
		settings, err := gitSays(ctx, folder, "config", "--list", "-z", "--show-scope", "--includes")
		if err != nil {
			return false
		}
		scope := ""
		for i, field := range bytes.Split(settings, []byte{0}) {
			if i%2 == 0 {
				scope = string(field)
				continue
			}
			key, _, _ := strings.Cut(string(field), "\n")
			if key = strings.ToLower(key); (scope == "local" || scope == "worktree") &&
				(gitOthers.MatchString(key) || key == "alias."+strings.ToLower(sub)) {
				return false
			}
		}
		top, err := gitSays(ctx, folder, "rev-parse", "--show-toplevel")
		if err != nil {
			return true // no repository, or one that git does not go into: then there is nothing to run
		}
		root := strings.TrimSuffix(string(top), "\n")
		files, err := gitSays(ctx, root, "ls-files", "-s", "-z")
		if err != nil {
			return false
		}
		for file := range bytes.SplitSeq(files, []byte{0}) {
			if _, name, ok := bytes.Cut(file, []byte{'\t'}); ok && bytes.HasPrefix(file, []byte("160000 ")) {
				inner := filepath.Join(root, string(name))
				if _, err := os.Lstat(filepath.Join(inner, ".git")); err == nil && !look(inner) {
					return false
				}
			}
		}
		return true
	}
	return look(at.folder)
}

func gitSays(ctx context.Context, folder string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = folder, Guard(os.Environ())
	return cmd.Output()
}

// gitSettings are those that a command has that nobody was asked about: a repository is one only
// where it is named so, and nothing that its settings name runs.
var gitSettings = [][2]string{{"safe.bareRepository", "explicit"}, {"core.fsmonitor", "false"},
	{"core.hooksPath", os.DevNull}, {"core.pager", "cat"}, {"log.showSignature", "false"},
	{"submodule.recurse", "false"}, {"protocol.ext.allow", "never"}}

// Guard adds to an environment what keeps git from running what a repository names: its monitor,
// its hooks, pagers, and a folder that only looks like a repository.
func Guard(env []string) []string {
	drop := []string{"GIT_EXTERNAL_DIFF", "GIT_OPTIONAL_LOCKS", "GIT_PAGER", "GIT_NO_LAZY_FETCH", "GIT_CONFIG_COUNT",
		"CDPATH", "BASH_ENV", "ENV"}
	count := 0
	kept := make([]string, 0, len(env)+2*len(gitSettings)+5)
	for _, s := range env {
		name, value, _ := strings.Cut(s, "=")
		if name == "GIT_CONFIG_COUNT" {
			count, _ = strconv.Atoi(value)
		}
		if !slices.Contains(drop, name) {
			kept = append(kept, s)
		}
	}
	count = min(max(count, 0), 1000)
	for _, s := range gitSettings {
		n := strconv.Itoa(count)
		kept = append(kept, "GIT_CONFIG_KEY_"+n+"="+s[0], "GIT_CONFIG_VALUE_"+n+"="+s[1])
		count++
	}
	return append(kept, "GIT_CONFIG_COUNT="+strconv.Itoa(count), "GIT_PAGER=cat", "GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_LAZY_FETCH=1")
}

// gitOptions are the patterns of what git's commands that only look may be told beside names.
var gitOptions = sync.OnceValue(func() map[string]*regexp.Regexp {
	all := map[string]*regexp.Regexp{}
	for name, p := range programs() {
		if sub, ok := strings.CutPrefix(strings.TrimSuffix(name, " looks"), "git."); ok {
			all[sub] = regexp.MustCompile("^(" + strings.Join(p.listed, "|") + ")$")
		}
	}
	return all
})

// gitLooks knows those of git's commands that only look. What signatures are checked with is a
// program.
func gitLooks(words []string) bool {
	i := 1
	for i < len(words) && slices.Contains([]string{"--no-pager", "-P", "--no-optional-locks"}, words[i]) {
		i++
	}
	if i == len(words) {
		return false
	}
	sub, args := words[i], words[i+1:]
	may := gitOptions()[sub]
	if may == nil {
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
