package tools

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
	"time"
)

// gitQuiet are git's own options, before its command, that change nothing of what it does.
var gitQuiet = []string{"--no-pager", "-P", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs", "--version", "-v"}

// gitOptions are those of git's commands that write a file, run a program, or read another configuration.
var gitOptions = options{long: []string{"output", "ext-diff", "textconv", "no-index", "upload-pack", "receive-pack", "exec", "open-files-in-pager", "template", "show-signature", "config", "config-env",
	"filters", "separate-git-dir", "git-dir", "work-tree", "exec-path", "pathspec-from-file", "attr-source", "interactive", "contents", "tool", "extcmd", "strategy", "reference"}}

// gitLetters are such options of one letter, by command.
var gitLetters = map[string]string{"archive": "o", "format-patch": "o", "grep": "O", "rebase": "xis", "clone": "uc", "add": "ie", "merge": "s", "pull": "s", "cherry-pick": "", "difftool": "tx", "fetch": "", "bundle": ""}

// gitPrograms are commands of git that run others, or set what later ones run.
var gitPrograms = []string{"config", "daemon", "difftool", "mergetool", "filter-branch", "help", "instaweb", "gui", "citool", "send-email", "imap-send", "web--browse", "upload-pack", "upload-archive", "receive-pack", "shell", "svn", "p4", "cvsserver", "credential",
	"credential-cache", "credential-store", "hook", "submodule", "maintenance", "fsmonitor--daemon", "clone", "init", "lfs", "http-backend", "remote-ext", "remote-fd", "archimport", "cvsimport", "quiltimport", "request-pull", "update-index", "for-each-repo"}

// gitAsked is what asked is for git.
func gitAsked(texts []string, meant func(int) bool, at *standing) int {
	i := 1
	for ; i < len(texts) && strings.HasPrefix(texts[i], "-"); i++ {
		switch {
		case meant(i), slices.Contains(gitQuiet, texts[i]):
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
	if slices.Contains(gitPrograms, sub) && !meant(i) {
		return i
	}
	for k := i + 1; k < len(texts); k++ {
		w := texts[k]
		switch {
		case meant(k):
		case gitOptions.asks(w), strings.Contains(w, "::"), strings.HasPrefix(w, "{") || strings.ContainsAny(w, "*?[") && strings.HasPrefix(w, "-"):
			return k
		case len(w) > 1 && w[0] == '-' && w[1] != '-' && gitLetters[sub] != "" && strings.ContainsAny(w, gitLetters[sub]):
			return k
		case sub == "bisect" && w == "run", sub == "remote" && (w == "add" || w == "set-url"), sub == "notes" && w == "edit":
			return k
		}
	}
	if !at.gitRunsNothing(sub) {
		return i
	}
	return -1
}

// gitOthers are the settings by which a repository has git run something that no variable of the environment keeps it from: those are asked about.
var gitOthers = regexp.MustCompile(`^(filter\..*\.(clean|smudge|process)|diff\.external|diff\..*\.(command|textconv)|merge\..*\.driver|gpg\.(.*\.)?program|core\.(sshcommand|gitproxy|editor|askpass|alternaterefscommand|worktree)|credential\..*|` +
	`remote\..*\.(uploadpack|receivepack|vcs|promisor)|extensions\.partialclone|url\..*|submodule\..*\.update|uploadpack\..*|receive\..*|protocol\..*|sequence\.editor|interactive\.difffilter|trailer\..*\.(command|cmd)|tar\..*\.command|(difftool|mergetool|man|browser|sendemail|instaweb|hook|guitool)\..*)$`)

// How long git may take to say what its settings are, and of how many repositories in one another they are looked at.
const (
	gitTime          = 10 * time.Second
	mostRepositories = 30
)

// gitRunsNothing reports whether no setting of the repository there, and of those in it, makes a command of git run something that Guard does not keep it from.
// The user's own settings are the user's. Where git cannot say, it is not so.
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
			if key = strings.ToLower(key); (scope == "local" || scope == "worktree") && (gitOthers.MatchString(key) || key == "alias."+strings.ToLower(sub)) {
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

// gitSettings are those that a command has that nobody was asked about: a repository is one only where it is named so, and nothing that its settings name runs.
var gitSettings = [][2]string{{"safe.bareRepository", "explicit"}, {"core.fsmonitor", "false"}, {"core.hooksPath", os.DevNull}, {"core.pager", "cat"}, {"log.showSignature", "false"}, {"submodule.recurse", "false"}, {"protocol.ext.allow", "never"}}

// Guard adds to an environment what keeps git from running what a repository names: its monitor, its hooks, pagers, and a repository that is none.
func Guard(env []string) []string {
	drop := []string{"GIT_EXTERNAL_DIFF", "GIT_OPTIONAL_LOCKS", "GIT_PAGER", "GIT_NO_LAZY_FETCH", "GIT_CONFIG_COUNT", "CDPATH", "BASH_ENV", "ENV"}
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
	return append(kept, "GIT_CONFIG_COUNT="+strconv.Itoa(count), "GIT_PAGER=cat", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1")
}
