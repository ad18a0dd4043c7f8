package fact_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// Where a summary says a name: § is the name.
var nameContexts = []string{
	"The fix went into § and holds.",
	"§ was the cause of it.",
	"We looked at `§` first.",
	"- changed: `§`",
	"- **§** was rewritten",
	"| what | state |\n|---|---|\n| § | done |",
	"| what | state |\n|---|---|\n| `§` | done |",
	"### `§`",
	"### The state of §",
	"The state:\n\n```\n§\n```\n",
	"1. Nested:\n   - open: (§)",
	"> §: still failing",
	"Der Fehler lag in §, danach lief alles.",
	"Die Ursache war „§“.",
	"Le correctif est dans « § », et il tient.",
	"修复在§里，已经完成。",
	"已修改 `§`。",
	"*§* needs work.",
	"It is \"§\", as it was.",
}

// Where a summary says how many.
var countContexts = []string{
	"All § tests pass now.",
	"**§** tests, all green.",
	"- § files were changed",
	"| what | how many |\n|---|---|\n| tests | § |",
	"The run ended in `§ passed`.",
	"```\n§ passed\n```",
	"## § tests",
	"Nun laufen § Tests durch.",
	"Au total § tests passent.",
	"现在有§个测试通过。",
	"It has § lines.",
	"1. Tests (§) pass.",
}

// forger makes an invention out of what a session has, as a model that remembers badly would. It
// answers with nothing where the session has nothing to make it from.
type forger struct {
	kind string
	in   []string
	make func(e *evidence, r *rand.Rand) string
}

var auditExtension = map[string][]string{".ts": {".tsx", ".js"}, ".tsx": {".ts", ".jsx"}, ".js": {".ts", ".mjs"},
	".py": {".pyi", ".txt"}, ".md": {".mdx", ".txt"},
	".json": {".jsonc", ".yaml"}, ".yaml": {".yml", ".json"}, ".yml": {".yaml", ".json"}, ".sh": {".bash", ".py"},
	".html": {".htm"}, ".css": {".scss"}, ".go": {".mod"}, ".rs": {".toml"}}

// try asks for a forgery of each of a list until one occurs nowhere.
func try(e *evidence, r *rand.Rand, list []string, forge func(string) string) string {
	for _, one := range pick(r, list, 60) {
		if forged := forge(one); forged != "" && forged != one && !strings.Contains(e.hay, forged) {
			return forged
		}
	}
	return ""
}

// file forges the name of a file and leaves it in its folder. The new name occurs nowhere.
func file(forge func(stem, ext string) string) func(*evidence, *rand.Rand) string {
	return func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.paths, func(p string) string {
			folder, base := path.Split(p)
			ext := path.Ext(base)
			name := forge(strings.TrimSuffix(base, ext), ext)
			if name == "" || strings.Contains(e.lower, strings.ToLower(name)) {
				return ""
			}
			return folder + name
		})
	}
}

// digit changes one digit of a text.
func digit(r *rand.Rand, text string) string {
	b := []byte(text)
	for range 50 {
		i := r.IntN(len(b))
		if '0' <= b[i] && b[i] <= '9' {
			if d := byte('0' + r.IntN(10)); d != b[i] && (d != '0' || i > 0) {
				b[i] = d
				return string(b)
			}
		}
	}
	return ""
}

func replaceFirst(pairs ...string) func(string) string {
	return func(text string) string {
		for i := 0; i < len(pairs); i += 2 {
			if strings.Contains(text, pairs[i]) {
				return strings.Replace(text, pairs[i], pairs[i+1], 1)
			}
		}
		return ""
	}
}

var swaps = replaceFirst("get", "fetch", "user", "account", "create", "make", "parse", "decode", "handle", "process",
	"load", "read_in", "test", "spec", "config", "settings",
	"list", "enumerate", "Error", "Failure", "update", "refresh", "file", "document", "data", "payload", "build",
	"compile", "render", "draw", "index", "main", "util", "helper")

func firstUpper(text string) string {
	r := []rune(text)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

var auditHump = regexp.MustCompile(`([a-z0-9])([A-Z])`)

func numbered(kind string, in []string, low, high int, format ...string) forger {
	return forger{kind, in, func(e *evidence, r *rand.Rand) string {
		n, ok := e.free(r, low, high)
		if !ok {
			return ""
		}
		return fmt.Sprintf(format[r.IntN(len(format))], n)
	}}
}

var plainContexts = []string{"It is § now.", "- § (was another)", "| what | value |\n|---|---|\n| it | § |",
	"Jetzt ist es §.", "C'est § à présent.", "现在是§。", "**§**, as asked", "We set it to `§`."}

var forgers = []forger{
	{"path: plural or singular", nameContexts, file(func(stem, ext string) string {
		if strings.HasSuffix(stem, "s") {
			return strings.TrimSuffix(stem, "s") + ext
		}
		return stem + "s" + ext
	})},
	{"path: similar name in the right folder", nameContexts, file(func(stem, ext string) string {
		if s := swaps(stem); s != "" {
			return s + ext
		}
		return stem + "_helpers" + ext
	})},
	{"path: wrong extension", nameContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.paths, func(p string) string {
			ext := path.Ext(p)
			other := auditExtension[ext]
			if len(other) == 0 {
				return ""
			}
			forged := strings.TrimSuffix(p, ext) + other[r.IntN(len(other))]
			if strings.Contains(e.lower, strings.ToLower(path.Base(forged))) {
				return ""
			}
			return forged
		})
	}},
	{"path: test beside it that is not there", nameContexts, file(func(stem, ext string) string {
		switch ext {
		case ".py":
			return "test_" + stem + ext
		case ".go":
			return stem + "_test" + ext
		}
		return stem + ".test" + ext
	})},
	{"path: moved to another folder", nameContexts, func(e *evidence, r *rand.Rand) string {
		for range 60 {
			if len(e.paths) < 2 {
				return ""
			}
			a, b := e.paths[r.IntN(len(e.paths))], e.paths[r.IntN(len(e.paths))]
			last := path.Base(path.Dir(b))
			if len(last) < 3 || strings.Contains(a, "/"+last+"/") || strings.HasPrefix(a, last+"/") {
				continue
			}
			// Nothing speaks of both, so that nothing can have put the one into the other.
			together := false
			for _, piece := range e.pieces {
				together = together || strings.Contains(piece, last) && strings.Contains(piece, path.Base(a))
			}
			if !together && e.absent(last+"/"+path.Base(a)) {
				return path.Dir(b) + "/" + path.Base(a)
			}
		}
		return ""
	}},
	{"path: a folder in between", nameContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.paths, func(p string) string {
			forged := path.Dir(p) + "/internal_parts/" + path.Base(p)
			if !e.absent("internal_parts") {
				return ""
			}
			return forged
		})
	}},
	{"path: a folder that is not there", nameContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.paths, func(p string) string {
			forged := path.Dir(p) + "/" + []string{"validators", "middlewares", "adapters2", "legacycode"}[r.IntN(4)] +
				"/"
			if !e.absent(path.Base(forged)) {
				return ""
			}
			return forged
		})
	}},
	{"path: a name alone", nameContexts, func(e *evidence, r *rand.Rand) string {
		name := []string{"Dockerfile.staging", "tsconfig.worker.json", "setup_env.py", "jest.unit.config.js",
			"deploy-prod.sh", "pylint.toml"}[r.IntN(6)]
		if !e.absent(name) {
			return ""
		}
		return name
	}},
	{"line: of a real file, a line that is nowhere", nameContexts, func(e *evidence, r *rand.Rand) string {
		n, ok := e.free(r, 13, 9999)
		if !ok || len(e.paths) == 0 {
			return ""
		}
		p := e.paths[r.IntN(len(e.paths))]
		return fmt.Sprintf([]string{"%s:%d", "%s#L%d", "%s:%d:5", "%s (line %d)", "%s, line %d",
			"line %[2]d of %[1]s"}[r.IntN(6)], p, n)
	}},
	numbered("line: in prose", []string{"The bug is on §.", "- see §", "Der Fehler steht in §.", "L'erreur est à la §.",
		"It breaks at `§`."}, 200, 9999, "line %d", "Zeile %d", "lines %[1]d", "ligne %d"),
	numbered("count: two digits", countContexts, 13, 99, "%d"),
	numbered("count: three digits", countContexts, 100, 999, "%d"),
	numbered("count: four digits", countContexts, 1000, 9999, "%d"),
	numbered("count: five digits, grouped", countContexts, 10000, 99999, "%d"),
	numbered("number: port", []string{"The server listens on §.", "- server: `§`", "Der Server lauscht auf §.",
		"服务器在 § 上运行。", "| server | § |"}, 1100, 65000,
		"port %d", "localhost:%d", "127.0.0.1:%d", "http://localhost:%d", ":%d", "Port %d"),
	numbered("number: status", []string{"The request ended in §.", "- it gave `§`", "Es kam §.", "返回了§。"}, 206, 599,
		"HTTP %d", "status %d", "a %d", "error %d"),
	numbered("number: issue", []string{"It fixes §.", "- see §", "Behebt §.", "Corrige §.", "修复了§。", "### §"}, 14, 9999,
		"#%d", "PR #%d", "issue %d", "GH-%d", "issue #%d", "pull/%d"),
	numbered("number: of a unit", plainContexts, 13, 999, "%d MB", "%d ms", "%d KB", "%d seconds", "%dms", "%d GB",
		"%d tokens", "%dkB", "%d MiB", "%d Sekunden", "%d 秒", "%d s", "$%d", "%d minutes"),
	{"number: percentage", plainContexts, func(e *evidence, r *rand.Rand) string {
		for range 200 {
			v := float64(131+r.IntN(850)) / 10
			form := strconv.FormatFloat(v, 'f', 1, 64)
			if !e.runs[form] && !e.near(v, 1) {
				return fmt.Sprintf([]string{"%s%%", "%s %%", "%s percent", "%s Prozent"}[r.IntN(4)], form)
			}
		}
		return ""
	}},
	{"number: whole percentage", plainContexts, func(e *evidence, r *rand.Rand) string {
		n, ok := e.free(r, 13, 100)
		if !ok {
			return ""
		}
		return fmt.Sprintf([]string{"%d%%", "%d %%", "%d percent", "%d Prozent"}[r.IntN(4)], n)
	}},
	{"number: decimal", plainContexts, func(e *evidence, r *rand.Rand) string {
		for range 200 {
			v := float64(1301+r.IntN(98500)) / 100
			form := strconv.FormatFloat(v, 'f', 2, 64)
			if !e.runs[form] && !e.near(v, 2) {
				return form + []string{"", " s", " MB", "x", " GB"}[r.IntN(5)]
			}
		}
		return ""
	}},
	{"number: thousands", plainContexts, func(e *evidence, r *rand.Rand) string {
		for range 200 {
			v := float64(13+r.IntN(980)) + float64(1+r.IntN(9))/10
			form := strconv.FormatFloat(v, 'f', 1, 64)
			if !e.runs[form] && !e.near(v, 1) {
				return form + []string{"k", "K", "M"}[r.IntN(3)]
			}
		}
		return ""
	}},
	{"number: in words", []string{"All § tests pass now.", "- § files were changed", "It took § attempts.",
		"## § tests"}, func(e *evidence, r *rand.Rand) string {
		n, ok := e.free(r, 21, 99)
		if !ok || n%10 == 0 {
			return ""
		}
		words := []string{"twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}[n/10-2] + "-" +
			[]string{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}[n%10-1]
		if !e.absent(words) {
			return ""
		}
		return words
	}},
	{"number: version", plainContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.versions, func(v string) string {
			v = digit(r, v)
			if v == "" || !e.absent(v) || strings.Contains(e.hay, v) {
				return ""
			}
			return []string{"", "v", "version "}[r.IntN(3)] + v
		})
	}},
	{"number: version of a package", nameContexts, func(e *evidence, r *rand.Rand) string {
		v := fmt.Sprintf("%d.%d.%d", 1+r.IntN(30), r.IntN(40), 1+r.IntN(40))
		if strings.Contains(e.hay, v) || len(e.names) == 0 {
			return ""
		}
		return []string{"react@" + v, "numpy==" + v, "Node " + v, "Python " + v, "typescript@^" + v}[r.IntN(5)]
	}},
	{"number: date", plainContexts, func(e *evidence, r *rand.Rand) string {
		y, m, d := 2011+r.IntN(9), 1+r.IntN(12), 13+r.IntN(15)
		month := []string{"January", "February", "March", "April", "May", "June", "July", "August", "September",
			"October", "November", "December"}[m-1]
		if strings.Contains(e.hay, fmt.Sprint(y)) {
			return ""
		}
		return []string{fmt.Sprintf("%d-%02d-%02d", y, m, d), fmt.Sprintf("%d %s %d", d, month, y),
			fmt.Sprintf("%s %d, %d", month, d, y), fmt.Sprintf("%02d.%02d.%d", d, m, y),
			fmt.Sprintf("%d年%d月%d日", y, m, d), fmt.Sprintf("%02d/%02d/%d", m, d, y),
			fmt.Sprintf("%d/%02d/%02d", y, m, d)}[r.IntN(7)]
	}},
	{"number: time of day", plainContexts, func(e *evidence, r *rand.Rand) string {
		for range 100 {
			h, m := 13+r.IntN(10), r.IntN(60)
			if form := fmt.Sprintf("%02d:%02d", h, m); !strings.Contains(e.hay, form) &&
				!strings.Contains(e.hay, fmt.Sprintf("%d:%02d", h-12, m)) {
				// The stamps of the messages are not looked at: what a session says in words is.
				return []string{form, "at " + form, form + " UTC", fmt.Sprintf("%d:%02d PM", h-12, m), form +
					" Uhr"}[r.IntN(5)]
			}
		}
		return ""
	}},
	{"hash: one digit", nameContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.hashes, func(h string) string {
			b := []byte(h)
			i := r.IntN(min(len(b), 7))
			b[i] = "0123456789abcdef"[r.IntN(16)]
			if strings.Contains(e.lower, string(b[:7])) {
				return ""
			}
			return string(b[:[]int{7, min(8, len(b)), len(b)}[r.IntN(3)]])
		})
	}},
	{"identifier: case changed", nameContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.names, func(n string) string {
			i := strings.LastIndexFunc(n, unicode.IsUpper)
			if i < 2 {
				return ""
			}
			n = n[:i] + strings.ToLower(n[i:i+1]) + n[i+1:]
			if !auditHump.MatchString(n) {
				return "" // a word like any other: a name nobody can tell it for
			}
			return n
		})
	}},
	{"identifier: other convention", nameContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.names, func(n string) string {
			if strings.Contains(n, "_") {
				parts := strings.Split(n, "_")
				for i := 1; i < len(parts); i++ {
					if parts[i] == "" {
						return ""
					}
					parts[i] = firstUpper(parts[i])
				}
				return strings.Join(parts, "")
			}
			return strings.ToLower(auditHump.ReplaceAllString(n, "${1}_$2"))
		})
	}},
	{"identifier: suffix added", nameContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.names, func(n string) string {
			if strings.Contains(n, "_") {
				return n + []string{"_v2", "_async", "_impl"}[r.IntN(3)]
			}
			return n + []string{"V2", "Async", "Impl", "Manager"}[r.IntN(4)]
		})
	}},
	{"identifier: a word exchanged", nameContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.names, func(n string) string {
			if s := swaps(n); s != "" && e.absent(s) {
				return s
			}
			return ""
		})
	}},
	{"identifier: called", nameContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.names, func(n string) string {
			if s := swaps(n); s != "" && e.absent(s) {
				return s + []string{"()", "(x, y)", "()"}[r.IntN(3)]
			}
			return ""
		})
	}},
	{"identifier: method of a type", nameContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.names, func(n string) string {
			if !unicode.IsUpper(rune(n[0])) {
				return ""
			}
			method := []string{"reconcileAll", "flushPending", "attach_children"}[r.IntN(3)]
			if !e.absent(method) {
				return ""
			}
			return n + []string{".", "::", "#"}[r.IntN(3)] + method
		})
	}},
	{"identifier: flag", nameContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.flags, func(f string) string {
			forged := f + []string{"-only", "-all", "-strict"}[r.IntN(3)]
			if !e.absent(forged) {
				return ""
			}
			return forged
		})
	}},
	{"identifier: flag with underscores", nameContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.flags, func(f string) string {
			if !strings.Contains(f[2:], "-") {
				return ""
			}
			return "--" + strings.ReplaceAll(f[2:], "-", "_")
		})
	}},
	{"identifier: environment variable", nameContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.variables, func(v string) string {
			forged := []string{v + "_PATH", "APP_" + v, v + "_ENABLED"}[r.IntN(3)]
			if !e.absent(forged) {
				return ""
			}
			return []string{"", "$"}[r.IntN(2)] + forged
		})
	}},
	{"identifier: address", nameContexts, func(e *evidence, r *rand.Rand) string {
		return try(e, r, e.addresses, func(a string) string {
			forged := strings.TrimSuffix(a, "/") +
				[]string{"/v2/reference", "/getting-started-guide", "/releases/latest-build"}[r.IntN(3)]
			if !e.absent(forged) {
				return ""
			}
			return forged
		})
	}},
	{"identifier: host", nameContexts, func(e *evidence, r *rand.Rand) string {
		a := []string{"https://docs.quarkledger.dev/setup", "https://api.tessarine.io",
			"http://wiki.internal.brambleco.net/page", "staging.quarkledger.dev"}[r.IntN(4)]
		if !e.absent(a) {
			return ""
		}
		return a
	}},
	{"identifier: package", []string{"It needs `§`.", "- added `§`", "| package | state |\n|---|---|\n| `§` | new |"},
		func(e *evidence, r *rand.Rand) string {
			p := []string{"@tessarine/core", "express-rate-limiter2", "pytest-parallelizer", "@types/brambleco",
				"django-quark-auth", "lodash-es-extra"}[r.IntN(6)]
			if !e.absent(p) {
				return ""
			}
			return p
		}},
	{"identifier: branch", []string{"It is on §.", "- pushed to `§`", "Es liegt auf `§`.", "已推送到 `§`。"},
		func(e *evidence, r *rand.Rand) string {
			b := []string{"feature/quark-ledger", "fix/tessarine-login", "release/bramble-2"}[r.IntN(3)]
			if !e.absent(b) {
				return ""
			}
			return []string{"", "branch "}[r.IntN(2)] + b
		}},
	{"command: another program", []string{"We ran `§` last.", "- `§` is green", "```sh\n§\n```", "Danach lief `§`.",
		"Run `§` next.", "运行 `§` 即可。"}, func(e *evidence, r *rand.Rand) string {
		c := []string{"make verify-all", "npm run lint:strict", "cargo nextest run --workspace",
			"poetry run mypy --strict", "docker compose up -d ledgerdb", "yarn workspace web build",
			"kubectl rollout restart deploy/web"}[r.IntN(7)]
		if strings.Contains(e.lower, strings.Join(strings.Fields(c)[:2], " ")) || !e.absent(c) {
			return ""
		}
		return c
	}},
	{"command: a flag that it did not have",
		[]string{"We ran `§` last.", "- `§` is green", "```sh\n§\n```", "```bash\n$ §\n```", "Danach lief `§`."},
		func(e *evidence, r *rand.Rand) string {
			return try(e, r, e.commands, func(c string) string {
				if len(c) > 80 || strings.ContainsAny(c, "\n|;&<>`") || !e.absent("--fail-under-max") {
					return ""
				}
				return c + " --fail-under-max"
			})
		}},
	{"command: another argument", []string{"We ran `§` last.", "- `§` is green", "```sh\n§\n```", "Danach lief `§`."},
		func(e *evidence, r *rand.Rand) string {
			return try(e, r, e.commands, func(c string) string {
				words := strings.Fields(c)
				if len(words) < 2 || len(c) > 80 || strings.ContainsAny(c, "\n|;&<>`\"'") || !e.absent("quarkledger") {
					return ""
				}
				return strings.Join(words[:len(words)-1], " ") + " quarkledger"
			})
		}},
}

// inventions asks every forger for some in every session, in turn, each in another context.
func inventions(e *evidence, r *rand.Rand, each func(kind, context, claim string)) {
	for _, f := range forgers {
		var seen []string
		for range 4 {
			claim := f.make(e, r)
			if claim == "" || slices.Contains(seen, claim) {
				continue
			}
			seen = append(seen, claim)
			if f.kind == "count: five digits, grouped" {
				claim = claim[:2] + "," + claim[2:]
			}
			each(f.kind, f.in[r.IntN(len(f.in))], claim)
		}
	}
}

// What a model that remembers badly makes of a session's names and figures is found.
func TestAudit_inventionsAreFound(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 26))
	found := verdicts{}
	for _, e := range audit(t) {
		s := e.source()
		inventions(e, r, func(kind, context, claim string) {
			struck, text, _ := weigh(s, context, claim)
			found.add(kind, struck)
			if !struck && testing.Verbose() {
				t.Logf("missed in %.12s: %s: %q in %q", e.name, kind, claim, text)
			}
		})
	}
	sum := found.table(t, "inventions")
	// What a program that is not known is told to do may be words; a name of one word may be that.
	unknown := found["command: another argument"].missed() + found["identifier: other convention"].missed()
	if missed := sum.missed(); sum.all < 200 || missed > unknown || unknown > 10 {
		t.Errorf("%d inventions were planted, %d missed", sum.all, missed)
	}
}
