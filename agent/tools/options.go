package tools

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/shell"
)

// An allowed command is allowed without the options that make it something else: that write a file, run another program, or read another configuration. This
// table has them, by program. Where a rule itself names the option, it is meant.

// options are those of a program that are always asked about.
type options struct {
	// long are names without dashes. Words that abbreviate one count too.
	long []string
	// short are letters, found in a cluster too: "-no FILE" has an o.
	short string
	// single is set where long names have one dash: go, find. Those are not abbreviated.
	single bool
	// operands is how many operands it may have, 0 for any number.
	operands int
	// words finds others: the index of a word that is asked about, -1 without one.
	words func(words []string) int
}

var asking = map[string]options{
	"sort":      {long: []string{"output", "compress-program", "temporary-directory", "files0-from", "random-source"}, short: "oT"},
	"uniq":      {operands: 1},
	"tree":      {long: []string{"output", "fromfile"}, short: "oR"},
	"less":      {long: []string{"log-file", "LOG-FILE", "lesskey-file", "lesskey-src", "lesskey-content", "tag", "tag-file"}, short: "oOkTtK", words: plus},
	"more":      {words: plus},
	"man":       {long: []string{"pager", "html", "config-file", "manpath", "troff-device", "preprocessor", "gxditview"}, short: "PHCMTXlp"},
	"rg":        {long: []string{"pre", "hostname-bin", "search-zip"}, short: "z"},
	"ag":        {long: []string{"pager"}},
	"ack":       {long: []string{"pager", "ackrc"}},
	"fd":        {long: []string{"exec", "exec-batch"}, short: "xX"},
	"fdfind":    {long: []string{"exec", "exec-batch"}, short: "xX"},
	"bat":       {long: []string{"pager", "config-file"}},
	"find":      {long: []string{"delete", "exec", "execdir", "ok", "okdir", "fprint", "fprint0", "fprintf", "fls", "files0-from"}, single: true},
	"tar":       {long: []string{"to-command", "use-compress-program", "checkpoint-action", "info-script", "new-volume-script", "rsh-command", "rmt-command", "index-file", "absolute-names", "listed-incremental", "volno-file"}, short: "IFPg", words: oldTar},
	"zip":       {long: []string{"unzip-command"}, words: starting("-TT")},
	"rsync":     {long: []string{"rsh", "rsync-path", "daemon", "log-file", "remove-source-files", "delete", "write-batch", "read-batch", "files-from"}, short: "e"},
	"scp":       {short: "SoF"},
	"sftp":      {short: "SobDF"},
	"curl":      {long: []string{"output", "output-dir", "remote-name", "remote-name-all", "remote-header-name", "config", "upload-file", "dump-header", "cookie-jar", "trace", "trace-ascii", "stderr", "engine", "netrc-file", "libcurl", "etag-save", "hsts", "alt-svc", "data", "data-binary", "data-raw", "data-urlencode", "form"}, short: "oOJKTDcdF"},
	"wget":      {long: []string{"output-document", "output-file", "append-output", "directory-prefix", "input-file", "use-askpass", "execute", "config", "post-file", "body-file", "save-cookies", "warc-file"}, short: "OoaPie"},
	"sed":       {words: sedAsks},
	"gsed":      {words: sedAsks},
	"awk":       {words: awkAsks},
	"gawk":      {words: awkAsks},
	"mawk":      {words: awkAsks},
	"nawk":      {words: awkAsks},
	"make":      {long: []string{"file", "makefile", "eval", "directory", "include-dir", "environment-overrides"}, short: "fECI", words: makeAsks},
	"gmake":     {long: []string{"file", "makefile", "eval", "directory", "include-dir", "environment-overrides"}, short: "fECI", words: makeAsks},
	"ninja":     {short: "fC"},
	"cmake":     {words: starting("-P", "-E", "-C", "-D", "--build", "--install", "--open", "--graphviz", "--trace-redirect", "--toolchain")},
	"npm":       {long: []string{"script-shell", "shell", "node-options", "prefix", "userconfig", "globalconfig", "call", "git", "editor", "viewer", "browser", "init-module", "onload-script", "cache", "registry"}, short: "cCg", words: second("exec", "x", "config", "set", "edit", "explore", "publish")},
	"pnpm":      {long: []string{"script-shell", "shell-mode", "node-options", "dir", "config", "call", "registry"}, short: "cC", words: second("exec", "dlx", "config", "publish", "create")},
	"yarn":      {long: []string{"script-shell", "cwd", "use-yarnrc", "registry"}, words: second("exec", "dlx", "config", "node", "publish", "create")},
	"bun":       {long: []string{"preload", "require", "cwd", "config", "shell", "eval", "print"}, short: "rcep", words: second("x", "exec", "create", "publish")},
	"node":      {long: []string{"eval", "print", "require", "import", "loader", "experimental-loader", "env-file", "inspect", "cpu-prof", "diagnostic-dir", "report-dir", "openssl-config"}, short: "epr"},
	"cargo":     {long: []string{"config", "manifest-path", "target-dir", "artifact-dir", "out-dir", "lockfile-path"}, short: "CZ", words: second("run", "install", "publish", "login")},
	"go":        {long: []string{"exec", "toolexec", "o", "c", "vettool", "overlay", "modfile", "C", "ldflags", "gcflags", "asmflags", "gccgoflags", "compiler", "pkgdir", "coverprofile", "cpuprofile", "memprofile", "blockprofile", "mutexprofile", "trace", "outputdir", "fuzzcachedir", "test.coverprofile", "test.cpuprofile", "test.memprofile", "test.blockprofile", "test.mutexprofile", "test.trace", "test.outputdir", "w", "u"}, single: true, words: second("generate", "run", "tool", "get", "install", "mod", "work", "clean", "fix", "telemetry")},
	"gofmt":     {long: []string{"w", "cpuprofile"}, single: true},
	"goimports": {long: []string{"w", "cpuprofile", "memprofile", "srcdir"}, single: true},
	"pytest":    {long: []string{"rootdir", "confcutdir", "override-ini", "pastebin", "pdbcls", "junitxml", "junit-xml", "log-file", "basetemp", "debug", "config-file", "import-mode"}, short: "pco"},
	"jest":      {long: []string{"config", "globalSetup", "globalTeardown", "setupFiles", "setupFilesAfterEnv", "runner", "testRunner", "transform", "outputFile", "reporters", "testEnvironment", "rootDir"}, short: "c"},
	"eslint":    {long: []string{"fix", "output-file", "config", "rulesdir", "plugin", "parser", "resolve-plugins-relative-to", "format", "cache-location"}, short: "cof"},
	"prettier":  {long: []string{"write", "plugin", "config"}, short: "w"},
	"ruff":      {long: []string{"fix", "fix-only", "output-file", "config", "unsafe-fixes"}, short: "o"},
	"gradle":    {long: []string{"init-script", "build-file", "settings-file", "project-dir", "include-build", "gradle-user-home"}, short: "Ibcpg"},
	"gradlew":   {long: []string{"init-script", "build-file", "settings-file", "project-dir", "include-build", "gradle-user-home"}, short: "Ibcpg"},
	"mvn":       {long: []string{"file", "settings", "global-settings", "toolchains"}, short: "fs"},
	"date":      {long: []string{"set", "file"}, short: "sf"},
	"file":      {long: []string{"compile", "magic-file", "files-from"}, short: "Cmf"},
	"xxd":       {short: "r", operands: 1},
	"tee":       {words: anyOperand},
	"dd":        {words: starting("of=")},
	"split":     {long: []string{"filter"}},
	"diff":      {long: []string{"to-file", "from-file"}},
	"openssl":   {words: starting("-out", "-engine", "-provider", "-config", "-keyout")},
	"gdb":       {words: anyWord},
	"vi":        {words: anyWord}, "vim": {words: anyWord}, "view": {words: anyWord}, "nano": {words: anyWord}, "emacs": {words: anyWord}, "ed": {words: anyWord}, "ex": {words: anyWord},
	"sh": {short: "cs", long: []string{"rcfile", "init-file"}}, "bash": {short: "cs", long: []string{"rcfile", "init-file"}}, "zsh": {short: "cs"}, "dash": {short: "cs"}, "ksh": {short: "cs"},
	"python": {short: "c"}, "python3": {short: "c"}, "perl": {short: "eEiM"}, "ruby": {short: "eir"}, "php": {short: "r"}, "deno": {words: second("eval", "run", "install")},
	"export": {words: starting(hazards...)},
}

// asItIs reports whether a command that a rule allows by its first words is what they say: it has no option that is asked about, but for those that the rule
// names, and no configuration makes it run something else.
func (p Policy) asItIs(rule []string, c *shell.Command, at *standing) bool {
	return asked(rule, c.Words, at) < 0
}

// asked is the index of the first word of a command that is asked about, though a rule allows what it begins with; -1 without one.
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
	program := shell.Base(texts[0])
	if program == "git" {
		if i := slices.IndexFunc(list, func(w shell.Word) bool { return !w.Fixed() && at.becomesOption(w) }); i > 0 {
			return i
		}
		return gitAsked(texts, meant, at)
	}
	o, listed := asking[program]
	if !listed {
		return -1
	}
	for i := 1; i < len(texts); i++ {
		if !meant(i) && (o.asks(texts[i]) || !list[i].Fixed() && at.becomesOption(list[i])) {
			return i
		}
	}
	if n := o.operands; n > 0 && len(operandsOf(texts)) > n && !meant(len(texts)-1) {
		return len(texts) - 1
	}
	for range texts {
		i := -1
		if o.words != nil {
			i = o.words(texts)
		}
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

// asks reports whether a word is, or abbreviates, an option that is asked about.
func (o *options) asks(word string) bool {
	if len(word) < 2 || word[0] != '-' || word == "--" {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	switch {
	case o.single:
		return slices.Contains(o.long, name)
	case strings.HasPrefix(word, "--"):
		return slices.ContainsFunc(o.long, func(long string) bool { return strings.HasPrefix(long, name) })
	}
	cluster := word[1:]
	return o.short != "" && strings.ContainsAny(cluster, o.short) || len(name) > 2 && slices.Contains(o.long, name)
}

// becomesOption reports whether a pattern may become a word that begins with a dash: a file may be named like an option.
func (at *standing) becomesOption(w shell.Word) bool {
	if !w.Pattern() || strings.HasPrefix(w.Text, "-") {
		return true
	}
	if !w.Open() {
		return false
	}
	entries, err := os.ReadDir(at.folder)
	return at.folder == "" || err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "-") })
}

// operandsOf are the words that are no options.
func operandsOf(words []string) (all []string) {
	for i, w := range words {
		if i > 0 && (w == "" || w[0] != '-' || w == "-") {
			all = append(all, w)
		}
	}
	return all
}

func plus(words []string) int { return starting("+")(words) }

// starting finds words that begin in one of these ways.
func starting(prefixes ...string) func([]string) int {
	return func(words []string) int {
		for i, w := range words {
			if i > 0 && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(w, p) }) {
				return i
			}
		}
		return -1
	}
}

// second finds subcommands.
func second(names ...string) func([]string) int {
	return func(words []string) int {
		for i, w := range words {
			if i > 0 && !strings.HasPrefix(w, "-") {
				if slices.Contains(names, w) {
					return i
				}
				return -1
			}
		}
		return -1
	}
}

func anyWord(words []string) int {
	if len(words) > 1 {
		return 1
	}
	return 0
}

func anyOperand(words []string) int {
	for i, w := range words {
		if i > 0 && w != "" && !strings.HasPrefix(w, "-") && w != "/dev/null" {
			return i
		}
	}
	return -1
}

// oldTar looks at the letters of tar's first word, which needs no dash.
func oldTar(words []string) int {
	if len(words) > 1 && !strings.HasPrefix(words[1], "-") && strings.ContainsAny(words[1], "IFPg") && strings.Trim(words[1], "AcdrtuxBhiklmopSvwzjJZaOWfFIPgbCKTXVLNsGHMnR") == "" {
		return 1
	}
	return -1
}

// makeAsks finds variables that are set: one may hold a program.
func makeAsks(words []string) int {
	for i, w := range words {
		if _, value, set := strings.Cut(w, "="); i > 0 && set && !strings.HasPrefix(w, "-") && strings.Trim(value, "0123456789") != "" {
			return i
		}
	}
	return -1
}

// hazards are how variables begin by which programs run others, or read other configurations.
var hazards = []string{"LD_", "DYLD_", "GIT_", "PAGER", "MANPAGER", "BASH_ENV", "ENV", "PATH", "NODE_", "NPM_", "npm_", "PYTHON", "PERL", "RUBY", "GO", "EDITOR", "VISUAL", "SHELL", "IFS", "CDPATH", "LESS", "MAKE", "CC", "CXX", "LD", "RUST", "CARGO", "JAVA", "MAVEN", "GRADLE", "RIPGREP_",
	"BROWSER", "SSH_", "PS4", "PROMPT_COMMAND", "TMPDIR", "HOME", "XDG_", "DOCKER_", "KUBE", "AWS_", "HTTP", "http", "ALL_PROXY", "GREP_", "TAR_", "GZIP", "MALLOC_", "LOCPATH", "GCONV_PATH", "HOSTALIASES", "TERMINFO"}

var sedScript = regexp.MustCompile(`^(?:(?:\s|;)*(?:` + sedAddress + `(?:,` + sedAddress + `)?\s*!?\s*)?(?:[pdqQ=nNDgGhHxlPF]|s` + sedPattern + `[gpiIm0-9]*)?\s*(?:;|\n|$))*$`)

const (
	sedAddress = `(?:[0-9]+(?:~[0-9]+)?|\$|\+[0-9]+|~[0-9]+|/(?:[^/\\\n]|\\[^\n])+/I?)`
	sedPattern = `(?:/(?:[^/\\\n]|\\[^\n])*/(?:[^/\\\n]|\\[^\n])*/|\|(?:[^|\\\n]|\\[^\n])*\|(?:[^|\\\n]|\\[^\n])*\||#(?:[^#\\\n]|\\[^\n])*#(?:[^#\\\n]|\\[^\n])*#|,(?:[^,\\\n]|\\[^\n])*,(?:[^,\\\n]|\\[^\n])*,)`
)

// sedAsks finds what may write or run something: every script but those that plainly do not, and the options for files.
func sedAsks(words []string) int {
	scripted := false
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch script, long := strings.CutPrefix(w, "--expression="); {
		case long:
			if scripted = true; !sedScript.MatchString(script) {
				return i
			}
		case slices.Contains([]string{"--quiet", "--silent", "--regexp-extended", "--separate", "--unbuffered", "--null-data", "--posix", "--sandbox", "--debug"}, w):
		case strings.HasPrefix(w, "-") && len(w) > 1 && strings.Trim(strings.TrimSuffix(w[1:], "e"), "nErsuz") == "":
			if strings.HasSuffix(w, "e") {
				if i++; i >= len(words) || !sedScript.MatchString(words[i]) {
					return min(i, len(words)-1)
				}
				scripted = true
			}
		case strings.HasPrefix(w, "-") && len(w) > 1:
			return i
		case !scripted:
			if scripted = true; !sedScript.MatchString(w) {
				return i
			}
		}
	}
	return -1
}

// awkAsks finds programs that may run, read or write something else, and options for files.
func awkAsks(words []string) int {
	scripted := false
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-F" || w == "-v":
			i++
		case strings.HasPrefix(w, "-F") || strings.HasPrefix(w, "-v"):
		case strings.HasPrefix(w, "-") && len(w) > 1:
			return i
		case !scripted:
			scripted = true
			text := strings.NewReplacer("||", " ", ">=", " ").Replace(w)
			if strings.ContainsAny(text, "|>@") || strings.Contains(text, "system") || strings.Contains(text, "getline") {
				return i
			}
		}
	}
	return -1
}
