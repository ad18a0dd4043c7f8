package shell

import (
	"slices"
	"strings"
)

// wrapper is a program that runs another one, which its words name: here, now, and as the command's
// own work.
type wrapper struct {
	short    string   // its one-letter options that take a value
	long     []string // its long ones that take the next word for their value
	operands int      // words before the program
	assigns  bool     // variables may be set before the program
}

// wrappers by their name, and by their first two words.
var wrappers = map[string]wrapper{
	"sudo": {short: "ugpCcDRrtThU", long: []string{"--user", "--group", "--prompt", "--chdir", "--chroot", "--host",
		"--role", "--type", "--other-user"}, assigns: true},
	"doas": {short: "uC"}, "env": {short: "uC", long: []string{"--unset", "--chdir"}, assigns: true}, "nohup": {},
	"time": {short: "fo"}, "nice": {short: "n", long: []string{"--adjustment"}},
	"ionice": {short: "cn"}, "timeout": {short: "ks", long: []string{"--kill-after", "--signal"}, operands: 1},
	"gtimeout": {short: "ks", operands: 1}, "stdbuf": {short: "ioe"}, "setsid": {}, "exec": {short: "a"},
	"command": {}, "builtin": {}, "noglob": {}, "chronic": {}, "unbuffer": {}, "caffeinate": {short: "tw"},
	"winpty": {}, "busybox": {}, "toybox": {}, "strace": {short: "aeoOpPsSuUEX"},
	"ltrace": {short: "aeolnpsuw"}, "taskset": {operands: 1}, "chrt": {operands: 1}, "setarch": {operands: 1},
	"faketime": {operands: 1}, "xvfb-run": {short: "efnps"}, "unshare": {}, "proxychains": {}, "tsocks": {},
	"npx": {short: "p", long: []string{"--package"}}, "bunx": {}, "pnpx": {}, "uvx": {long: uvValues, short: "p"},
	"pipx run": {}, "uv run": {short: "pP", long: uvValues}, "uv tool": {operands: 1, long: uvValues},
	"poetry run": {}, "pipenv run": {}, "pdm run": {},
	"rye run": {}, "hatch run": {}, "pixi run": {short: "e"},
	"conda run": {short: "np", long: []string{"--name", "--prefix"}}, "mamba run": {short: "np"},
	"bundle exec": {}, "pnpm exec": {}, "pnpm dlx": {}, "yarn exec": {}, "yarn dlx": {},
	"npm exec": {short: "pw", long: []string{"--package", "--workspace"}}, "npm x": {short: "pw"}, "bun x": {},
	"mise exec": {}, "mise x": {}, "direnv exec": {operands: 1}, "asdf exec": {}, "rbenv exec": {},
	"pyenv exec": {}, "rustup run": {operands: 1}, "dotenv run": {},
	"op run": {long: []string{"--env-file"}}, "doppler run": {},
	"flock": {short: "wE", long: []string{"--timeout"}, operands: 1},
}

var uvValues = []string{"--with", "--with-editable", "--with-requirements", "--extra", "--group", "--only-group",
	"--python", "--directory", "--project", "--env-file", "--package", "--from", "--index", "--index-url"}

// elsewhere are programs that run another one on another computer, in a container or as somebody
// else, in the same form.
var elsewhere = map[string]wrapper{
	"docker exec": {short: "euw", long: []string{"--env", "--user", "--workdir", "--env-file", "--detach-keys"},
		operands: 1}, "docker compose": {short: "fp", long: []string{"--file", "--profile", "--project-name"},
		operands: 2},
	"docker run": {short: "aceghlmpuvw", long: []string{"--name", "--network", "--volume", "--env", "--env-file",
		"--user", "--workdir", "--publish", "--mount", "--entrypoint", "--platform", "--memory", "--cpus"},
		operands: 1},
	"docker-compose": {short: "fp", long: []string{"--file", "--profile", "--project-name"}, operands: 2},
	"kubectl exec":   {short: "cnf", long: []string{"--container", "--namespace"}, operands: 1},
	"chroot":         {operands: 1}, "nsenter": {short: "tG"},
	"systemd-run": {short: "pu", long: []string{"--unit", "--property"}}, "lxc exec": {operands: 1},
}

// feeders are programs that run another one with more words, again and again, or elsewhere.
var feeders = map[string]wrapper{
	"xargs": {short: "aEILnPsd", long: []string{"--max-args", "--max-procs", "--delimiter", "--arg-file",
		"--replace"}}, "parallel": {short: "jSaNn"},
	"watch": {short: "nq", long: []string{"--interval"}}, "ssh": {short: "BbcDEeFIiJLlmOopQRSWw", operands: 1},
}

// Inner is the program that a command's words name for it to run, with its arguments; nil where
// there is none.
func Inner(words []Word) []Word {
	for _, table := range []map[string]wrapper{wrappers, feeders, elsewhere} {
		if inner := unwrapped(words, table); len(inner) > 0 {
			return inner
		}
	}
	return nil
}

// Base is the name of a program without its folder.
func Base(word string) string { return word[strings.LastIndexByte(word, '/')+1:] }

// Unwrap takes off what only accompanies a program: sudo, env, timeout, uv run. Where it leads to
// none, it gives the words as they are.
func Unwrap(words []Word) []Word {
	for range 16 {
		inner := unwrapped(words, wrappers)
		if len(inner) == 0 {
			break
		}
		words = inner
	}
	return words
}

// unwrapped takes one wrapper off; it is nil if there is no wrapper.
func unwrapped(words []Word, table map[string]wrapper) []Word {
	if len(words) < 2 {
		return nil
	}
	name := Base(words[0].Text)
	t, ok := table[name]
	if !ok {
		if t, ok = table[alias(name)+" "+words[1].Text]; !ok {
			return nil
		}
		words = words[1:]
	}
	asks := func(letters string) bool {
		return len(words) > 1 && strings.Trim(words[1].Text, letters) == "" && words[1].Text != ""
	}
	if name == "command" && asks("-vV") || (name == "docker-compose" || name == "docker") && t.operands == 2 &&
		!slices.ContainsFunc(words, func(w Word) bool { return w.Text == "exec" || w.Text == "run" }) {
		return nil // it only says where the program is, or does something else
	}
	if name == "env" && slices.ContainsFunc(words[1:], func(w Word) bool { return splits(w.Text) }) {
		return nil // it runs a text
	}
	operands := t.operands
	i := 1
	for ; i < len(words); i++ {
		w := words[i].Text
		name, _, assigned := strings.Cut(w, "=")
		switch {
		case w == "--" && operands == 0:
			return words[i+1:]
		case w == "--":
		case strings.HasPrefix(w, "--"):
			if !assigned && slices.Contains(t.long, w) {
				i++
			}
		case strings.HasPrefix(w, "-") && len(w) > 1:
			if at := strings.IndexAny(w[1:], t.short); t.short != "" && at >= 0 && at == len(w)-2 {
				i++ // its value is the next word
			}
		case t.assigns && assigned && !strings.Contains(name, "/") && operands == 0:
		case operands > 0:
			operands--
		default:
			return words[i:]
		}
	}
	return nil
}

// splits reports whether a word is the option with which env takes a text apart.
func splits(word string) bool {
	return strings.HasPrefix(word, "--split-string") || strings.HasPrefix(word, "-") &&
		!strings.HasPrefix(word, "--") && strings.Contains(word, "S")
}

// alias is the name under which a program is in the tables.
func alias(name string) string {
	switch name {
	case "podman", "nerdctl":
		return "docker"
	case "oc", "k":
		return "kubectl"
	case "yarnpkg":
		return "yarn"
	}
	return name
}

// IsShell reports whether a program runs the text that it is given.
func IsShell(program string) bool {
	switch Base(program) {
	case "sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "rbash":
		return true
	}
	return false
}

// Foreign reports whether a program runs texts in a language that is not understood: PowerShell's,
// cmd's.
func Foreign(program string) bool {
	switch strings.TrimSuffix(strings.ToLower(Base(strings.ReplaceAll(program, `\`, "/"))), ".exe") {
	case "powershell", "pwsh", "cmd", "fish", "nu", "xonsh":
		return true
	}
	return false
}

// Asked is the text that a shell is asked to run by its words, found where there is one. stdin is
// set where it reads its text from there instead.
func Asked(words []Word) (text string, found, stdin bool) {
	asked := false
	for i := 1; i < len(words); i++ {
		switch w := words[i].Text; {
		case w == "--":
		case (strings.HasPrefix(w, "-") || strings.HasPrefix(w, "+")) && len(w) > 1 && !strings.HasPrefix(w, "--"):
			if asked = asked || w[0] == '-' && strings.Contains(w, "c"); strings.HasSuffix(w, "o") ||
				strings.HasSuffix(w, "O") {
				i++ // bash -o pipefail
			}
			if w == "-s" {
				return "", false, true
			}
		case strings.HasPrefix(w, "--"):
		case asked:
			return w, true, false
		default:
			return "", false, w == "-" || w == "/dev/stdin"
		}
	}
	return "", false, !asked
}

// Wraps reports whether words begin with a program that runs another one, which may stand behind
// them.
func Wraps(words []string) bool {
	if len(words) == 0 {
		return false
	}
	name := alias(Base(words[0]))
	for _, table := range []map[string]wrapper{wrappers, feeders, elsewhere} {
		for key := range table {
			if first, second, two := strings.Cut(key, " "); first == name &&
				(!two || slices.Contains(words[1:], second)) {
				return true
			}
		}
	}
	return false
}
