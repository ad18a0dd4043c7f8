package call

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/shell"
)

// Kind says what a command is for.
type Kind string

const (
	Test    Kind = "test"
	Build   Kind = "build" // compilers, linters, formatters
	Install Kind = "install"
	History Kind = "history" // changes a repository: commits, branches
	Look    Kind = "look"    // only looks
	Perform Kind = "perform" // everything else
)

// Invocation is one program that a command ran.
type Invocation struct {
	Kind Kind
	// Name is the program and, where it has such, its subcommand: "go test", "npm run build".
	Name string
	// Targets are the operands: packages, files. Narrow are options that choose among tests.
	Targets, Narrow []string
	// Masked is set when the command goes on whether or not this program failed: "… | tail", "… ||
	// true", "… ; true".
	Masked bool
}

// subcommands are programs whose first operand says what they do.
var subcommands = []string{"go", "git", "npm", "yarn", "pnpm", "bun", "cargo", "make", "mvn", "gradle", "gradlew",
	"docker", "dotnet",
	"pip", "pip3", "uv", "poetry", "brew", "apt", "apt-get", "gh", "kubectl", "terraform", "deno", "mix", "swift",
	"rake", "composer", "bundle", "just", "task", "conda", "rustup"}

var lookers = []string{"ls", "cat", "head", "tail", "grep", "egrep", "rg", "find", "fd", "pwd", "tree", "wc", "which",
	"echo", "printf", "stat", "file", "du",
	"df", "env", "nl", "jq", "sort", "uniq", "awk", "cut", "true", "false", "test", "[", "[[", "date", "ps", "sleep",
	"cd", "pushd", "popd", "less", "more", "diff", "cmp", "type",
	"whoami", "uname", "id", "set", "export", "declare", "local", "readonly", "typeset", "let", "((", "shift",
	"unset", "trap", "exit", "return", "break", "continue", ":", "source", ".", "seq", "basename", "dirname",
	"xxd", "hexdump", "strings", "ag", "tr", "xargs", "lsof", "pgrep", "history", "column", "comm", "read",
	"wait", "bat", "command", "realpath", "sha256sum", "md5sum", "open", "goto", "scroll_down", "scroll_up",
	"search_file", "search_dir", "find_file"}

var testers = []string{"pytest", "py.test", "jest", "vitest", "mocha", "tox", "nox", "rspec", "phpunit", "ctest",
	"ava", "tap", "bats", "nosetests", "unittest", "playwright", "cypress"}

var builders = []string{"tsc", "eslint", "prettier", "ruff", "mypy", "pyright", "black", "flake8", "pylint",
	"golangci-lint", "staticcheck", "gofmt", "goimports", "webpack", "vite", "rollup", "esbuild",
	"cmake", "ninja", "gcc", "g++", "clang", "javac", "rustc", "rustfmt", "xcodebuild", "biome", "oxlint", "tsgo",
	"svelte-check", "next", "make", "isort", "shellcheck", "swc", "turbo", "latexmk", "pdflatex"}

// Invocations are the programs that a command runs, in its order; none for one that cannot be
// parsed.
func Invocations(command string) []Invocation { return invocations(parseShell(command)) }

func invocations(script *shell.Script) []Invocation {
	if script == nil || len(script.Commands) == 0 {
		return nil
	}
	all := make([]Invocation, 0, len(script.Commands))
	for i := range script.Commands {
		c := &script.Commands[i]
		if c.Opened || len(c.Words) == 0 {
			continue
		}
		inner := shell.Unwrap(c.Words)
		if shell.Base(inner[0].Text) == "" {
			continue
		}
		words := make([]string, len(inner))
		for k := range inner {
			words[k] = inner[k].Text
		}
		v := invocation(words)
		v.Masked = c.After == "|" || c.After == "||" || c.After == "&" ||
			c.After == ";" && i < len(script.Commands)-1 || c.Group == shell.Inserted || c.Negated
		all = append(all, v)
	}
	return all
}

func invocation(words []string) Invocation {
	name := shell.Base(words[0])
	v := Invocation{Name: name}
	args := words[1:]
	if (name == "python" || name == "python3" || name == "node" || name == "deno") && len(args) > 1 && args[0] == "-m" {
		name, v.Name, args = args[1], args[1], args[2:]
	}
	sub := ""
	if slices.Contains(subcommands, name) {
		for len(args) > 1 && strings.HasPrefix(args[0], "-") { // git -C folder, npm --prefix folder
			if strings.Contains(args[0], "=") || args[0] == "-s" || args[0] == "--silent" || args[0] == "--no-pager" {
				args = args[1:]
			} else {
				args = args[min(2, len(args)):]
			}
		}
		if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			sub, args = args[0], args[1:]
			if sub == "run" && len(args) > 0 || sub == "compose" && len(args) > 0 || sub == "mod" && len(args) > 0 {
				sub, args = sub+" "+args[0], args[1:]
			}
			v.Name += " " + sub
		}
	}
	installs := sub == "install" || sub == "i" || sub == "add" || sub == "ci" // "-g" is not a pattern there
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case installs && strings.HasPrefix(w, "-"):
		case !strings.HasPrefix(w, "-"):
			if v.Targets == nil {
				v.Targets = make([]string, 0, len(args)-i)
			}
			v.Targets = append(v.Targets, w)
		case w == "-run" || w == "-k" || w == "-t" || w == "--filter" || w == "-m" || w == "--grep" || w == "-g" ||
			w == "--testNamePattern" || w == "-bench" || w == "--test":
			if i++; i < len(args) {
				v.Narrow = append(v.Narrow, w+" "+args[i])
			}
		case strings.HasPrefix(w, "-run=") || strings.HasPrefix(w, "--filter=") || strings.HasPrefix(w, "--grep=") ||
			strings.HasPrefix(w, "-bench="):
			v.Narrow = append(v.Narrow, w)
		}
	}
	v.Kind = kind(name, sub, v.Targets, words)
	return v
}

func kind(name, sub string, targets, words []string) Kind {
	has := func(w string) bool { return strings.Contains(sub, w) }
	switch name {
	case "git":
		switch sub {
		case "commit", "push", "merge", "rebase", "checkout", "switch", "reset", "stash", "tag", "cherry-pick",
			"pull", "revert", "clone", "init", "apply", "am", "restore", "worktree":
			return History
		case "branch":
			if len(targets) > 0 {
				return History
			}
		case "add", "rm", "mv", "clean", "fetch", "submodule":
			return Perform
		case "config", "remote":
			if len(targets) > 1 {
				return Perform
			}
		}
		return Look
	case "find":
		if slices.Contains(words, "-delete") {
			return Perform
		}
		return Look
	case "gh":
		for _, w := range words[1:] {
			switch w {
			case "create", "merge", "close", "edit", "comment", "delete", "review", "reopen", "upload":
				return History
			}
		}
		return Look
	case "go":
		switch sub {
		case "test":
			return Test
		case "build", "vet", "fmt", "generate", "install":
			return Build
		case "get", "mod tidy", "mod download":
			return Install
		case "doc", "list", "env", "version":
			return Look
		}
		return Perform
	case "npm", "yarn", "pnpm", "bun", "cargo", "make", "mvn", "gradle", "gradlew", "dotnet", "deno", "mix", "swift",
		"just", "task", "rake", "composer":
		switch {
		case has("test") || has("check") && name == "make" || sub == "t" || sub == "nextest":
			return Test
		case sub == "install" || sub == "i" || sub == "ci" || sub == "add" || sub == "restore" || sub == "remove" ||
			sub == "uninstall" || sub == "update":
			return Install
		case has("build") || has("lint") || has("typecheck") || has("check") || has("clippy") || has("compile") ||
			has("fmt") || has("format") || has("package") || name == "make":
			return Build
		case sub == "ls" || sub == "list" || sub == "view" || sub == "why":
			return Look
		}
		return Perform
	case "pip", "pip3", "uv", "poetry", "brew", "apt", "apt-get", "conda", "bundle", "rustup":
		switch sub {
		case "list", "show", "freeze", "search", "info":
			return Look
		}
		return Install
	case "docker":
		if sub == "build" || sub == "compose build" {
			return Build
		}
		if sub == "ps" || sub == "logs" || sub == "images" || sub == "compose ps" || sub == "compose logs" {
			return Look
		}
		return Perform
	case "sed":
		for _, w := range words[1:] {
			if strings.HasPrefix(w, "-") && strings.Contains(w, "i") && !strings.HasPrefix(w, "--") ||
				strings.HasPrefix(w, "--in-place") {
				return Perform
			}
		}
		return Look
	case "node":
		if slices.Contains(words, "--test") {
			return Test
		}
		return Perform
	}
	switch {
	case slices.Contains(lookers, name):
		return Look
	case slices.Contains(testers, name):
		return Test
	case slices.Contains(builders, name):
		return Build
	}
	return Perform
}

// Main is the invocation that a command is known by: its test, else its build, and so on; nil for
// none.
func Main(all []Invocation) *Invocation {
	for _, k := range []Kind{Test, Build, Install, History, Perform, Look} {
		for i := range all {
			if all[i].Kind == k {
				return &all[i]
			}
		}
	}
	return nil
}

// Covers reports whether a success of v says that what failed as f works now: the same program, on
// no less.
func (v *Invocation) Covers(f *Invocation) bool {
	if v.Kind == Install && f.Kind == Install && len(v.Targets) > 0 && slices.Equal(v.Targets, f.Targets) {
		return true // another installer brought it
	}
	if v.Name != f.Name {
		return false
	}
	if len(v.Narrow) > 0 && !slices.Equal(v.Narrow, f.Narrow) {
		return false
	}
	if len(v.Targets) == 0 || slices.Contains(v.Targets, "./...") || slices.Contains(v.Targets, ".") {
		return true
	}
	for _, target := range f.Targets {
		if !slices.ContainsFunc(v.Targets, func(t string) bool {
			folder := strings.TrimSuffix(strings.TrimSuffix(t, "/..."), "/")
			return t == target || strings.HasPrefix(target, folder+"/") || strings.HasPrefix(target, folder+"::")
		}) {
			return false
		}
	}
	return len(f.Targets) > 0
}
