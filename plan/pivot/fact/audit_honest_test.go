package fact_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// teller says something true of a session in other words than the session has. It calls say with
// each, at most a few.
type teller struct {
	kind string
	in   []string
	tell func(e *evidence, r *rand.Rand, say func(string))
}

// some gives up to n of a list to a function that says something of each.
func some(n int, list func(*evidence) []string, of func(e *evidence, one string) string) func(*evidence, *rand.Rand,
	func(string)) {
	return func(e *evidence, r *rand.Rand, say func(string)) {
		left := n
		for _, one := range pick(r, list(e), 10*n) {
			if text := of(e, one); text != "" {
				say(text)
				if left--; left == 0 {
					return
				}
			}
		}
	}
}

// matches says something of what an expression finds in the session.
func matches(n int, expression string, of func(e *evidence, m []string) string) func(*evidence, *rand.Rand,
	func(string)) {
	re := regexp.MustCompile(expression)
	return func(e *evidence, r *rand.Rand, say func(string)) {
		all, known := e.matches[expression]
		if !known {
			all = re.FindAllStringSubmatch(e.said, -1)
			e.matches[expression] = all
		}
		all = slices.Clone(all)
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		left := n
		for _, m := range all[:min(len(all), 10*n)] {
			if text := of(e, m); text != "" {
				say(text)
				if left--; left == 0 {
					return
				}
			}
		}
	}
}

func paths(e *evidence) []string     { return e.paths }
func names(e *evidence) []string     { return e.names }
func flags(e *evidence) []string     { return e.flags }
func variables(e *evidence) []string { return e.variables }
func hashes(e *evidence) []string    { return e.hashes }
func addresses(e *evidence) []string { return e.addresses }
func versions(e *evidence) []string  { return e.versions }
func commands(e *evidence) []string  { return e.commands }

// relative is a path as seen from the working folder, "" where it is not below it.
func relative(e *evidence, p string) string {
	if rest, ok := strings.CutPrefix(p, e.folder+"/"); ok && e.folder != "" {
		return rest
	}
	return ""
}

func group(n int, by string) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + by + s[i:]
	}
	return s
}

// short is a command that can be said in one line.
func short(c string) string {
	if len(c) > 120 || strings.ContainsAny(c, "\n`") || strings.Contains(c, "<<") || strings.TrimSpace(c) == "" {
		return ""
	}
	return strings.TrimSpace(c)
}

var commandContexts = []string{"We ran `§` last.", "- `§` is green", "```sh\n§\n```", "```bash\n$ §\n```",
	"Danach lief `§`.", "运行 `§` 即可。", "| command | state |\n|---|---|\n| `§` | green |"}

var figureContexts = []string{"It is § now.", "- § (before it was another)", "| what | value |\n|---|---|\n| it | § |",
	"Jetzt ist es §.", "C'est § à présent.", "现在是§。", "**§**, as asked", "It said `§`."}

var dayContexts = []string{"It was released on §.", "- §: first try", "| when | what |\n|---|---|\n| § | first try |",
	"Seit § ist es so."}

var tellers = []teller{
	{"path: as it is", nameContexts, some(6, paths, func(_ *evidence, p string) string { return p })},
	{"path: relative", nameContexts, some(6, paths, relative)},
	{"path: with ./", nameContexts, some(4, paths, func(e *evidence, p string) string {
		if p = relative(e, p); p == "" {
			return ""
		}
		return "./" + p
	})},
	{"path: absolute of a relative one", nameContexts, some(3, paths, func(e *evidence, p string) string {
		// Only where a call names the file so: other words of a text may be of any folder.
		if strings.HasPrefix(p, "/") || strings.HasPrefix(p, ".") || strings.HasPrefix(p, "~") || e.folder == "" ||
			!strings.Contains(e.said, e.folder+"/"+p) {
			return ""
		}
		return e.folder + "/" + p
	})},
	{"path: last two", nameContexts,
		some(6, paths, func(_ *evidence, p string) string { return path.Base(path.Dir(p)) + "/" + path.Base(p) })},
	{"path: name alone", nameContexts, some(6, paths, func(_ *evidence, p string) string { return path.Base(p) })},
	{"path: folder with slash", nameContexts,
		some(4, paths, func(_ *evidence, p string) string { return path.Dir(p) + "/" })},
	{"path: folder above", nameContexts, some(3, paths, func(_ *evidence, p string) string {
		if strings.Count(p, "/") < 4 {
			return ""
		}
		return path.Dir(path.Dir(p))
	})},
	{"path: home as ~", nameContexts, some(4, paths, func(_ *evidence, p string) string {
		for _, home := range []string{"/Users/", "/home/"} {
			if rest, ok := strings.CutPrefix(p, home); ok {
				if _, rest, ok = strings.Cut(rest, "/"); ok {
					return "~/" + rest
				}
			}
		}
		return ""
	})},
	{"path: for Windows", nameContexts, some(3, paths, func(e *evidence, p string) string {
		if p = relative(e, p); !strings.Contains(p, "/") {
			return ""
		}
		return strings.ReplaceAll(p, "/", `\`)
	})},
	{"path: with …", nameContexts, some(4, paths, func(_ *evidence, p string) string {
		if strings.Count(p, "/") < 4 {
			return ""
		}
		return "…/" + path.Base(path.Dir(p)) + "/" + path.Base(p)
	})},
	{"path: with ...", nameContexts, some(4, paths, func(_ *evidence, p string) string {
		if strings.Count(p, "/") < 4 {
			return ""
		}
		return ".../" + path.Base(path.Dir(p)) + "/" + path.Base(p)
	})},
	{"path: with … in between", nameContexts, some(4, paths, func(_ *evidence, p string) string {
		parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
		if len(parts) < 4 {
			return ""
		}
		return parts[0] + "/…/" + parts[len(parts)-1]
	})},
	{"path: with its line", nameContexts,
		matches(5, `(?m)^([a-z][A-Za-z0-9_./-]+\.[a-z]{1,4}):(\d+):`,
			func(_ *evidence, m []string) string { return m[1] + ":" + m[2] })},
	{"path: with its line and column", nameContexts,
		matches(5, `([a-zA-Z][A-Za-z0-9_./-]+\.[a-z]{1,4}):(\d+):(\d+)`,
			func(_ *evidence, m []string) string { return m[0] })},
	{"path: name alone with its line", nameContexts,
		matches(5, `(?m)^([a-z][A-Za-z0-9_./-]+\.[a-z]{1,4}):(\d+):`,
			func(_ *evidence, m []string) string { return path.Base(m[1]) + ":" + m[2] })},
	{"path: its line in words", nameContexts,
		matches(5, `(?m)^([a-z][A-Za-z0-9_./-]+\.[a-z]{1,4}):(\d+):`,
			func(_ *evidence, m []string) string { return "line " + m[2] + " of " + m[1] })},
	{"path: its line with #L", nameContexts,
		matches(5, `(?m)^([a-z][A-Za-z0-9_./-]+\.[a-z]{1,4}):(\d+):`,
			func(_ *evidence, m []string) string { return m[1] + "#L" + m[2] })},
	{"path: the line of Python", nameContexts,
		matches(4, `File "([^"\n]+\.py)", line (\d+)`,
			func(_ *evidence, m []string) string { return path.Base(m[1]) + ":" + m[2] })},
	{"path: glob", nameContexts, some(4, paths,
		func(_ *evidence, p string) string { return path.Dir(p) + "/*" + path.Ext(p) })},
	{"path: deep glob", nameContexts,
		some(4, paths, func(_ *evidence, p string) string { return path.Dir(p) + "/**/*" + path.Ext(p) })},
	{"path: two in braces", nameContexts, func(e *evidence, r *rand.Rand, say func(string)) {
		left := 3
		for i := 1; i < len(e.paths) && left > 0; i++ {
			a, b := e.paths[i-1], e.paths[i]
			if path.Dir(a) == path.Dir(b) && path.Ext(a) == path.Ext(b) {
				say(fmt.Sprintf("%s/{%s,%s}%s", path.Dir(a), strings.TrimSuffix(path.Base(a), path.Ext(a)),
					strings.TrimSuffix(path.Base(b), path.Ext(b)), path.Ext(a)))
				left--
			}
		}
	}},
	{"path: as a link", []string{"See § for it.", "- §: done"},
		some(4, paths, func(_ *evidence, p string) string { return "[" + path.Base(p) + "](" + p + ")" })},
	{"path: a module of Python", nameContexts, some(4, paths, func(e *evidence, p string) string {
		if q := relative(e, p); q != "" {
			p = q
		}
		if path.Ext(p) != ".py" || strings.HasPrefix(p, "/") || strings.HasPrefix(p, ".") ||
			strings.HasPrefix(p, "~") || strings.Contains(p, "-") || strings.Contains(p, "__init__") {
			return ""
		}
		return strings.ReplaceAll(strings.TrimSuffix(p, ".py"), "/", ".")
	})},
	{"path: without its extension", []string{"We changed `§`.", "- `§`: done"},
		some(4, paths, func(e *evidence, p string) string {
			return strings.TrimSuffix(path.Base(p), path.Ext(p))
		})},
	{"path: as an address", nameContexts, some(2, paths, func(_ *evidence, p string) string {
		if !strings.HasPrefix(p, "/") {
			return ""
		}
		return "file://" + p
	})},
	{"path: possessive", []string{"It is §'s fault.", "`§`'s header is wrong."},
		some(3, paths, func(_ *evidence, p string) string { return path.Base(p) })},

	{"identifier: as it is", nameContexts, some(6, names, func(_ *evidence, n string) string { return n })},
	{"identifier: called", nameContexts, some(5, names, func(_ *evidence, n string) string { return n + "()" })},
	{"identifier: called with …", nameContexts,
		some(3, names, func(_ *evidence, n string) string { return n + "(…)" })},
	{"identifier: called with ...", nameContexts,
		some(3, names, func(_ *evidence, n string) string { return n + "(...)" })},
	{"identifier: plural outside backticks", []string{"All `§`s are gone.", "- the `§`s"},
		some(3, names, func(_ *evidence, n string) string { return n })},
	{"identifier: plural", []string{"All the § are gone.", "- both § are"},
		some(5, names, func(_ *evidence, n string) string {
			if strings.HasSuffix(n, "s") {
				return ""
			}
			return n + "s"
		})},
	{"identifier: possessive", []string{"It is §'s fault.", "`§`'s type is wrong."},
		some(3, names, func(_ *evidence, n string) string { return n })},
	{"identifier: pointer", nameContexts[:6], some(3, names, func(_ *evidence, n string) string { return "*" + n })},
	{"identifier: a list of it", []string{"It takes `§`.", "```\n§\n```"},
		some(3, names, func(_ *evidence, n string) string { return "[]" + n })},
	{"identifier: list behind it", []string{"It takes `§`.", "```\n§\n```"},
		some(3, names, func(_ *evidence, n string) string { return n + "[]" })},
	{"identifier: generic", []string{"It takes `§`.", "```\n§\n```"},
		some(3, names, func(_ *evidence, n string) string { return n + "<T>" })},
	{"identifier: in a promise", []string{"It gives `§`.", "```\n§\n```"},
		some(3, names, func(_ *evidence, n string) string { return "Promise<" + n + ">" })},
	{"identifier: optional", []string{"It gives `§`.", "```\n§\n```"},
		some(3, names, func(_ *evidence, n string) string { return "Optional[" + n + "]" })},
	{"identifier: a set", []string{"We set `§`.", "```\n§\n```"},
		some(3, names, func(_ *evidence, n string) string { return n + "=" })},
	{"identifier: with its kind", []string{"We changed `§`."},
		some(3, names, func(_ *evidence, n string) string { return "def " + n })},
	{"identifier: of itself", []string{"We changed `§`."},
		some(3, names, func(_ *evidence, n string) string { return "self." + n })},
	{"identifier: as a property", []string{"We changed `§`."}, some(3, names, func(_ *evidence, n string) string {
		if n[0] >= 'A' && n[0] <= 'Z' || strings.HasPrefix(n, "x86") {
			return ""
		}
		return "." + n
	})},
	{"identifier: a pair", []string{"We changed `§`."}, func(e *evidence, r *rand.Rand, say func(string)) {
		for range min(3, len(e.names)/2) {
			say(e.names[r.IntN(len(e.names))] + "/" + e.names[r.IntN(len(e.names))])
		}
	}},
	{"identifier: bold", []string{"**§** is new.", "__§__ is new.", "***§***"},
		some(3, names, func(_ *evidence, n string) string { return n })},
	{"identifier: underscores escaped", []string{"§ is new."},
		some(3, names, func(_ *evidence, n string) string { return strings.ReplaceAll(n, "_", `\_`) })},
	{"identifier: flag", nameContexts, some(5, flags, func(_ *evidence, f string) string { return f })},
	{"identifier: flag with a value", []string{"We gave it `§`."},
		some(3, flags, func(_ *evidence, f string) string { return f + "=<value>" })},
	{"identifier: flag without dashes", []string{"The `§` flag does it."},
		some(3, flags, func(_ *evidence, f string) string { return f[2:] })},
	{"identifier: variable", nameContexts, some(5, variables, func(_ *evidence, v string) string { return v })},
	{"identifier: variable's value", nameContexts,
		some(3, variables, func(_ *evidence, v string) string { return "$" + v })},
	{"identifier: variable in braces", []string{"We read `§`."},
		some(3, variables, func(_ *evidence, v string) string { return "${" + v + "}" })},
	{"identifier: variable of Node", []string{"We read `§`."},
		some(3, variables, func(_ *evidence, v string) string { return "process.env." + v })},
	{"identifier: address", nameContexts, some(4, addresses, func(_ *evidence, a string) string { return a })},
	{"identifier: address with a slash", nameContexts,
		some(3, addresses, func(_ *evidence, a string) string { return strings.TrimSuffix(a, "/") + "/" })},
	{"identifier: address without scheme", nameContexts, some(4, addresses, func(_ *evidence, a string) string {
		_, rest, _ := strings.Cut(a, "://")
		return strings.TrimSuffix(rest, "/")
	})},
	{"identifier: host", nameContexts, some(3, addresses, func(_ *evidence, a string) string {
		_, rest, _ := strings.Cut(a, "://")
		host, _, _ := strings.Cut(rest, "/")
		return host
	})},
	{"identifier: repository of an address", nameContexts,
		matches(3, `github\.com/([A-Za-z0-9-]+/[A-Za-z0-9_-]+)`, func(_ *evidence, m []string) string { return m[1] })},
	{"hash: seven digits", nameContexts, some(5, hashes, func(_ *evidence, h string) string { return h[:7] })},
	{"hash: eight digits", nameContexts,
		some(3, hashes, func(_ *evidence, h string) string { return h[:min(8, len(h))] })},
	{"hash: with …", nameContexts, some(3, hashes, func(_ *evidence, h string) string { return h[:7] + "…" })},
	{"identifier: of an error", nameContexts,
		matches(4, `\b((?:[A-Z][a-z]+)+Error)\b`, func(_ *evidence, m []string) string { return m[1] })},

	{"command: as it is", commandContexts, some(6, commands, func(_ *evidence, c string) string { return short(c) })},
	{"command: first words", commandContexts, some(5, commands, func(_ *evidence, c string) string {
		words := strings.Fields(short(c))
		if len(words) < 3 || strings.ContainsAny(words[1], "\"'") || strings.ContainsAny(words[0], "=(") {
			return ""
		}
		return words[0] + " " + words[1]
	})},
	{"command: first words and …", commandContexts, some(5, commands, func(_ *evidence, c string) string {
		words := strings.Fields(short(c))
		if len(words) < 3 || strings.ContainsAny(words[1], "\"'") || strings.ContainsAny(words[0], "=(") {
			return ""
		}
		return words[0] + " " + words[1] + " …"
	})},
	{"command: first words and ...", commandContexts, some(5, commands, func(_ *evidence, c string) string {
		words := strings.Fields(short(c))
		if len(words) < 3 || strings.ContainsAny(words[1], "\"'") || strings.ContainsAny(words[0], "=(") {
			return ""
		}
		return words[0] + " " + words[1] + " ..."
	})},
	{"command: without its cd", commandContexts, some(5, commands, func(_ *evidence, c string) string {
		if c = short(c); !strings.HasPrefix(c, "cd ") {
			return ""
		}
		_, c, _ = strings.Cut(c, "&&")
		return strings.TrimSpace(c)
	})},
	{"command: without its pipe", commandContexts, some(5, commands, func(_ *evidence, c string) string {
		c, _, ok := strings.Cut(short(c), " | ")
		if !ok || strings.Count(c, `"`)%2 == 1 || strings.Count(c, "'")%2 == 1 {
			return ""
		}
		return c
	})},
	{"command: without its redirection", commandContexts, some(5, commands, func(_ *evidence, c string) string {
		c, _, ok := strings.Cut(short(c), " 2>")
		if !ok || strings.Count(c, `"`)%2 == 1 || strings.Count(c, "'")%2 == 1 {
			return ""
		}
		return c
	})},
	{"command: other quotes", commandContexts, some(4, commands, func(_ *evidence, c string) string {
		if c = short(c); !strings.Contains(c, `"`) || strings.ContainsAny(c, `'$\`) {
			return ""
		}
		return strings.ReplaceAll(c, `"`, "'")
	})},
	{"command: files for folders", commandContexts, some(4, commands, func(_ *evidence, c string) string {
		words := strings.Fields(short(c))
		if len(words) < 2 || strings.ContainsAny(c, `'"|&;<>$(`) || !strings.HasPrefix(words[len(words)-1], "/") ||
			strings.HasSuffix(c, "/") {
			return ""
		}
		words[len(words)-1] = path.Base(words[len(words)-1])
		return strings.Join(words, " ")
	})},
	{"command: single flags merged", commandContexts,
		matches(4, `(?m)^(?:\$ )?([a-z]{2,8}) -([a-z]) -([a-z])(?: |$)`,
			func(_ *evidence, m []string) string { return m[1] + " -" + m[2] + m[3] })},
	{"command: flags parted", commandContexts, some(4, commands, func(_ *evidence, c string) string {
		m := regexp.MustCompile(`^([a-z]{2,8}) -([a-zA-Z])([a-zA-Z])(?: |$)`).FindStringSubmatch(short(c))
		if m == nil || m[1] == "go" || m[1] == "find" || m[1] == "java" {
			return ""
		}
		return m[1] + " -" + m[2] + " -" + m[3]
	})},
	{"command: two flags exchanged", commandContexts, some(4, commands, func(_ *evidence, c string) string {
		m := regexp.MustCompile(`^(.* )(--[a-z-]+) (--[a-z-]+)((?: .*)?)$`).FindStringSubmatch(short(c))
		if m == nil {
			return ""
		}
		return m[1] + m[3] + " " + m[2] + m[4]
	})},
	{"command: a flag's value with =", commandContexts, some(4, commands, func(_ *evidence, c string) string {
		m := regexp.MustCompile(`^([^|;&]* --[a-z-]+) ([a-zA-Z0-9./]+)((?: [^|;&]*)?)$`).FindStringSubmatch(short(c))
		if m == nil {
			return ""
		}
		return m[1] + "=" + m[2] + m[3]
	})},

	{"number: as it is", figureContexts,
		matches(6, `[\s(=](\d{2,7})(?:[\s);]|, )`,
			func(_ *evidence, m []string) string { return strings.TrimLeft(m[1], "0") })},
	{"number: grouped", figureContexts,
		matches(5, `[\s(=]([1-9]\d{3,6})(?:[\s);]|, )`,
			func(_ *evidence, m []string) string { n, _ := strconv.Atoi(m[1]); return group(n, ",") })},
	{"number: grouped in German", []string{"Jetzt sind es § Zeilen."},
		matches(3, `[\s(=]([1-9]\d{3,6})(?:[\s);]|, )`,
			func(_ *evidence, m []string) string { n, _ := strconv.Atoi(m[1]); return group(n, ".") })},
	{"number: grouped in French", []string{"Il y a § lignes."},
		matches(3, `[\s(=]([1-9]\d{3,6})(?:[\s);]|, )`,
			func(_ *evidence, m []string) string { n, _ := strconv.Atoi(m[1]); return group(n, "\u202f") })},
	{"number: grouped by spaces", []string{"Il y a § lignes."},
		matches(3, `[\s(=]([1-9]\d{3,6})(?:[\s);]|, )`,
			func(_ *evidence, m []string) string { n, _ := strconv.Atoi(m[1]); return group(n, " ") })},
	{"number: not grouped", figureContexts,
		matches(4, `[\s(=]([1-9]\d{0,2}(?:,\d{3})+)[\s);]`,
			func(_ *evidence, m []string) string { return strings.ReplaceAll(m[1], ",", "") })},
	{"number: thousands with k", figureContexts,
		matches(5, `[\s(=]([1-9]\d{3,5})[\s),;]`, func(_ *evidence, m []string) string {
			n, _ := strconv.Atoi(m[1])
			return strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + "k"
		})},
	{"number: thousands with k, whole", figureContexts,
		matches(4, `[\s(=]([1-9]\d{4,5})[\s),;]`, func(_ *evidence, m []string) string {
			n, _ := strconv.Atoi(m[1])
			return strconv.Itoa((n+500)/1000) + "K"
		})},
	{"number: millions", figureContexts, matches(3, `[\s(=]([1-9]\d{6})[\s),;]`, func(_ *evidence, m []string) string {
		n, _ := strconv.Atoi(m[1])
		return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + "M"
	})},
	{"number: about", []string{"There are about § of them.", "Es sind etwa §.", "约§个。", "~§ of them", "over § of them"},
		matches(5, `[\s(=]([1-9]\d{2,5})[\s),;]`, func(_ *evidence, m []string) string {
			n, _ := strconv.Atoi(m[1])
			unit := 10
			for unit*100 < n {
				unit *= 10
			}
			return strconv.Itoa(n / unit * unit)
		})},
	{"number: decimals rounded", figureContexts,
		matches(5, `[\s(=](\d{1,4}\.\d{3,6})[\s),;s%]`, func(_ *evidence, m []string) string {
			v, _ := strconv.ParseFloat(m[1], 64)
			return strconv.FormatFloat(v, 'f', 2, 64)
		})},
	{"number: decimals rounded to whole", figureContexts,
		matches(4, `[\s(=](\d{2,4}\.\d{1,6})[\s),;s%]`, func(_ *evidence, m []string) string {
			v, _ := strconv.ParseFloat(m[1], 64)
			return strconv.FormatFloat(v, 'f', 0, 64)
		})},
	{"number: decimal comma", []string{"Jetzt sind es §.", "C'est § à présent."},
		matches(4, `[\s(=](\d{1,4}\.\d{1,2})[\s);s%]`,
			func(_ *evidence, m []string) string { return strings.Replace(m[1], ".", ",", 1) })},
	{"number: a share as a percentage", figureContexts,
		matches(5, `[\s(=](0\.\d{2,4})[\s),;]`, func(_ *evidence, m []string) string {
			v, _ := strconv.ParseFloat(m[1], 64)
			return strconv.FormatFloat(v*100, 'f', 1, 64) + "%"
		})},
	{"number: percentage", figureContexts,
		matches(5, `[\s(=](\d{1,2}(?:\.\d)?)%`,
			func(_ *evidence, m []string) string { return m[1] + []string{"%", " %", " percent"}[len(m[1])%3] })},
	{"number: milliseconds as seconds", figureContexts,
		matches(5, `[\s(=]([1-9]\d{3,5}) ?ms\b`, func(_ *evidence, m []string) string {
			n, _ := strconv.Atoi(m[1])
			return strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + []string{"s", " s", " seconds"}[n%3]
		})},
	{"number: seconds rounded", figureContexts,
		matches(5, `[\s(=](\d{1,3}\.\d{2,4}) ?s(?:econds)?\b`, func(_ *evidence, m []string) string {
			v, _ := strconv.ParseFloat(m[1], 64)
			return strconv.FormatFloat(v, 'f', 1, 64) + " s"
		})},
	{"number: seconds as minutes", figureContexts,
		matches(3, `[\s(=](\d{3,4}) ?s(?:econds)?\b`, func(_ *evidence, m []string) string {
			n, _ := strconv.Atoi(m[1])
			return strconv.FormatFloat(float64(n)/60, 'f', 1, 64) + " minutes"
		})},
	{"number: seconds as milliseconds", figureContexts,
		matches(3, `[\s(=](\d{1,2}\.\d{2,3}) ?s(?:econds)?\b`, func(_ *evidence, m []string) string {
			v, _ := strconv.ParseFloat(m[1], 64)
			return strconv.FormatFloat(v*1000, 'f', 0, 64) + " ms"
		})},
	{"number: bytes as KB", figureContexts,
		matches(4, `[\s(=]([1-9]\d{3,6}) bytes\b`, func(_ *evidence, m []string) string {
			n, _ := strconv.Atoi(m[1])
			return []string{strconv.FormatFloat(float64(n)/1000, 'f', 1, 64),
				strconv.FormatFloat(float64(n)/1024, 'f', 1, 64), strconv.Itoa((n + 512) / 1024)}[n%3] + " KB"
		})},
	{"number: sizes of a listing", figureContexts,
		matches(4, `(?m)^[-d][rwx-]{9}.*?\s([1-9]\d{3,7}) [A-Z0-9]`, func(_ *evidence, m []string) string {
			n, _ := strconv.Atoi(m[1])
			return []string{strconv.FormatFloat(float64(n)/1024, 'f', 1, 64) + " KiB",
				strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + " kB", group(n, ",") + " bytes"}[n%3]
		})},
	{"number: version", figureContexts, some(4, versions, func(_ *evidence, v string) string { return "v" + v })},
	{"number: version, major and minor", figureContexts,
		some(4, versions, func(_ *evidence, v string) string { return v[:strings.LastIndexByte(v, '.')] })},
	{"number: version, any patch", figureContexts,
		some(3, versions, func(_ *evidence, v string) string { return v[:strings.LastIndexByte(v, '.')] + ".x" })},
	{"number: version with ^", figureContexts,
		some(3, versions, func(_ *evidence, v string) string { return "^" + v })},
	{"number: version at least", figureContexts,
		some(3, versions, func(_ *evidence, v string) string { return ">=" + v })},
	{"number: version of Python", figureContexts,
		matches(3, `[Pp]ython(3\.\d+)`, func(_ *evidence, m []string) string { return "Python " + m[1] })},
	{"number: version with a plus", figureContexts,
		some(3, versions, func(_ *evidence, v string) string { return v[:strings.LastIndexByte(v, '.')] + "+" })},
	{"number: date", dayContexts, days(func(d time.Time) []string {
		return []string{d.Format("2006-01-02"), d.Format("January 2, 2006"), d.Format("2 January 2006"),
			d.Format("Jan 2, 2006"), d.Format("2 Jan"), d.Format("January 2"), d.Format("02.01.2006"),
			d.Format("01/02/2006"), d.Format("2006/01/02"), d.Format("2006年1月2日"), d.Format("January 2nd, 2006")[:8],
			d.Format("January 2006"), d.Format("20060102")}
	})},
	{"number: time of day", []string{"It began at §.", "- §: first try", "Um § begann es."},
		matches(6, `\d{4}-\d\d-\d\d[T ](\d\d):(\d\d):\d\d`, func(_ *evidence, m []string) string {
			h, _ := strconv.Atoi(m[1])
			if h < 13 {
				return m[1] + ":" + m[2]
			}
			return []string{m[1] + ":" + m[2], fmt.Sprintf("%d:%s PM", h-12, m[2]), m[1] + ":" + m[2] + " UTC"}[h%3]
		})},
	{"number: port", []string{"It listens on §.", "- `§`"},
		matches(4, `(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(\d{4,5})`, func(_ *evidence, m []string) string {
			return []string{"port ", "localhost:", "http://localhost:", ":"}[len(m[0])%4] + m[1]
		})},
	{"number: issue", []string{"It fixes §.", "- see §"},
		matches(4, `#(\d{2,5})\b`, func(_ *evidence,
			m []string) string {
			return []string{"#", "issue ", "PR #"}[len(m[1])%3] + m[1]
		})},
	{"number: a range", []string{"See §."},
		matches(4, `\b([1-9]\d{1,3})-([1-9]\d{1,3})\b`, func(_ *evidence, m []string) string {
			if len(m[1]) > len(m[2]) {
				return ""
			}
			return "lines " + m[1] + "–" + m[2]
		})},
	{"number: multiplied", figureContexts,
		matches(3, `[\s(](\d{1,3}\.\d)x[\s),;]`, func(_ *evidence, m []string) string { return m[1] + "×" })},
	{"number: dollars", figureContexts, matches(3, `\$(\d+\.\d\d)\b`, func(_ *evidence, m []string) string {
		return []string{"$" + m[1], m[1] + " USD", "US$" + m[1]}[len(m[1])%3]
	})},
	{"number: in words", []string{"There are § of them."}, func(e *evidence, r *rand.Rand, say func(string)) {
		for range 3 {
			n := 20 + r.IntN(80)
			if n%10 != 0 && e.runs[strconv.Itoa(n)] &&
				regexp.MustCompile(`\s`+strconv.Itoa(n)+`\s`).MatchString(e.said) {
				say([]string{"twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}[n/10-2] +
					"-" + []string{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}[n%10-1])
			}
		}
	}},

	// Counts that the session does not state.
	{"derived: files that were changed", countedContexts("files were changed"),
		counted(func(e *evidence) int { return len(e.targets("edit", "write", "multiedit")) })},
	{"derived: files that were read", countedContexts("files were read"),
		counted(func(e *evidence) int { return len(e.targets("read")) })},
	{"derived: files that were touched", countedContexts("files were looked at or changed"),
		counted(func(e *evidence) int { return len(e.targets("read", "edit", "write", "multiedit")) })},
	{"derived: edits", countedContexts("edits were made"),
		counted(func(e *evidence) int { return e.calls("edit", "write", "multiedit") })},
	{"derived: commands that were run", countedContexts("commands were run"),
		counted(func(e *evidence) int { return e.calls("bash", "exec_command", "shell") })},
	{"derived: calls", countedContexts("tool calls were made"), counted(func(e *evidence) int { return e.calls() })},
	{"derived: messages of the user", countedContexts("messages came from the user"), counted(func(e *evidence) int {
		n := 0
		for _, m := range e.messages {
			if m.Role == "user" {
				n++
			}
		}
		return n
	})},
	{"derived: lines of a written file",
		[]string{"The new file has § lines.", "- new (§ lines)", "| file | lines |\n|---|---|\n| new | § |"},
		inputs("content", func(text string) string {
			return strconv.Itoa(strings.Count(strings.TrimRight(text, "\n"), "\n") + 1)
		})},
	{"derived: lines of a result", []string{"It listed § of them.", "There were § hits.", "- § results"},
		outputs(func(text string) string {
			return strconv.Itoa(strings.Count(strings.TrimRight(text, "\n"), "\n") + 1)
		})},
}

func countedContexts(what string) []string {
	return []string{"In all § " + what + ".", "- § " + what, "**§** " + what}
}

// targets are the files that calls of some tools name, each once.
func (e *evidence) targets(tools ...string) map[string]bool {
	files := map[string]bool{}
	for _, m := range e.messages {
		for _, p := range m.Parts {
			if p.State == nil || !slices.Contains(tools, strings.ToLower(p.Tool)) {
				continue
			}
			var input map[string]any
			json.Unmarshal(p.State.Input, &input)
			for _, name := range []string{"file_path", "filePath", "path"} {
				if f, ok := input[name].(string); ok {
					files[f] = true
				}
			}
		}
	}
	return files
}

func (e *evidence) calls(tools ...string) (n int) {
	for _, m := range e.messages {
		for _, p := range m.Parts {
			if p.State != nil && (len(tools) == 0 || slices.Contains(tools, strings.ToLower(p.Tool))) {
				n++
			}
		}
	}
	return n
}

func counted(of func(*evidence) int) func(*evidence, *rand.Rand, func(string)) {
	return func(e *evidence, _ *rand.Rand, say func(string)) {
		if n := of(e); n > 0 {
			say(strconv.Itoa(n))
		}
	}
}

// inputs says something of a member of calls' inputs.
func inputs(member string, of func(string) string) func(*evidence, *rand.Rand, func(string)) {
	return func(e *evidence, r *rand.Rand, say func(string)) {
		left := 4
		for _, m := range e.messages {
			for _, p := range m.Parts {
				var input map[string]any
				if p.State == nil || left == 0 || json.Unmarshal(p.State.Input, &input) != nil {
					continue
				}
				if text, ok := input[member].(string); ok {
					say(of(text))
					left--
				}
			}
		}
	}
}

// outputs says something of results that are lists.
func outputs(of func(string) string) func(*evidence, *rand.Rand, func(string)) {
	return func(e *evidence, r *rand.Rand, say func(string)) {
		left := 4
		for _, m := range e.messages {
			for _, p := range m.Parts {
				if p.State == nil || left == 0 || strings.Count(p.State.Output, "\n") < 13 {
					continue
				}
				if tool := strings.ToLower(p.Tool); tool == "glob" || tool == "grep" || tool == "ls" || tool == "find" {
					say(of(p.State.Output))
					left--
				}
			}
		}
	}
}

var auditDay = regexp.MustCompile(`\b(20[12]\d-[01]\d-[0-3]\d)\b`)

// days says the days of a session in other forms.
func days(forms func(time.Time) []string) func(*evidence, *rand.Rand, func(string)) {
	return func(e *evidence, r *rand.Rand, say func(string)) {
		all := distinct(auditDay, e.said)
		for _, day := range pick(r, all, 2) {
			d, err := time.Parse("2006-01-02", day)
			if err != nil {
				continue
			}
			for _, form := range pick(r, forms(d), 6) {
				say(form)
			}
		}
	}
}

// truths asks every teller for some in every session, each in another context.
func truths(e *evidence, r *rand.Rand, each func(kind, context, claim string)) {
	for _, one := range tellers {
		var seen []string
		one.tell(e, r, func(claim string) {
			if claim == "" || slices.Contains(seen, claim) {
				return
			}
			seen = append(seen, claim)
			context := "§"
			if one.in != nil {
				context = one.in[r.IntN(len(one.in))]
			}
			each(one.kind, context, claim)
		})
	}
}

// What an honest model says of a session in its own words is left alone.
func TestAudit_honestWordsAreLeftAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 22))
	found := verdicts{}
	for _, e := range audit(t) {
		s := e.source()
		truths(e, r, func(kind, context, claim string) {
			_, text, claims := weigh(s, context, claim)
			found.add(kind, len(claims) > 0)
			if len(claims) > 0 && testing.Verbose() {
				t.Logf("struck in %.12s: %s: %q: %q in %q", e.name, kind, claim, claims[0].Text, text)
			}
		})
	}
	sum := found.table(t, "honest claims")
	const known = 2 // a pair of names that no text has as a pair, and the length of a file in a table
	if sum.all < 2000 || sum.struck > known {
		t.Errorf("%d true claims were written, %d struck", sum.all, sum.struck)
	}
}
