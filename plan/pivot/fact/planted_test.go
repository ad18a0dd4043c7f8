package fact_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/pivot/fact"
	"github.com/winnowhq/winnow/session"
)

// recorded is a session with what the test itself sees in it. Nothing here uses how the package
// takes texts apart: words are found by expressions of the test's own, and what is planted is
// looked up in the bytes of the file as they are and as they read.
type recorded struct {
	name    string
	raw     string // the file, and every text of the session as it reads
	log     []session.Message
	folder  string
	texts   []string
	paths   []string
	calls   []string // commands
	names   []string
	numbers []string
	stays   bool // every command ran in folder, so that what is relative is relative to it
}

var (
	pathLike   = regexp.MustCompile(`(?:[A-Za-z0-9_@][A-Za-z0-9_.@-]*/|/)(?:[A-Za-z0-9_@.][A-Za-z0-9_.@-]*/)*[A-Za-z0-9_@-][A-Za-z0-9_.@-]*\.(?:go|ts|tsx|js|py|md|json|sh|yaml|yml|toml|txt|css|html|ps1|cfg|rst)\b`)
	nameLike   = regexp.MustCompile(`\b(?:[a-z]+(?:[A-Z][a-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+|[a-z]{3,}(?:_[a-z]{3,})+)\b`)
	numberLike = regexp.MustCompile(`(?:^|[ (=:])([1-9][0-9]{2,6}|[1-9][0-9]?\.[0-9]{1,2})(?:$|, |[ );\n])`)
	hump       = regexp.MustCompile(`[A-Z]?[a-z]+`)
)

func record(name string, file []byte, s *session.Session) *recorded {
	r := &recorded{name: name, log: s.Messages, folder: s.Info.Directory, stays: s.Info.Directory != ""}
	var all strings.Builder
	all.Write(file)
	say := func(text string) {
		if text != "" {
			r.texts = append(r.texts, text)
			all.WriteString("\n" + text)
		}
	}
	for i := range s.Messages {
		if at := s.Messages[i].Path; at != nil && at.Cwd != r.folder {
			r.stays = false
		}
		for j := range s.Messages[i].Parts {
			p := &s.Messages[i].Parts[j]
			say(p.Text)
			if p.State == nil {
				continue
			}
			say(p.State.Output)
			say(p.State.Error)
			var input map[string]jsontext.Value
			if json.Unmarshal(p.State.Input, &input, session.ReadOptions()) != nil {
				continue
			}
			for key, v := range input {
				var text string
				if v.Kind() == '"' && json.Unmarshal(v, &text, session.ReadOptions()) == nil {
					say(text)
					r.stays = r.stays && !strings.Contains(text, "cd ")
					if (key == "command" || key == "cmd") && len(text) < 300 && len(text) > 8 &&
						!strings.ContainsAny(text, "\n`") {
						r.calls = append(r.calls, text)
					}
				}
			}
		}
	}
	slices.Sort(r.calls) // a map gave them
	r.calls = slices.Compact(r.calls)
	r.raw = all.String()
	for _, text := range r.texts {
		if strings.Contains(text, "\x1b") {
			continue
		}
		for _, at := range pathLike.FindAllStringIndex(text[:min(len(text), 20_000)], -1) {
			if p := text[at[0]:at[1]]; at[0] > 0 && strings.IndexByte(" \n(\"'`", text[at[0]-1]) >= 0 &&
				!strings.Contains(p, "//") && len(p) < 200 {
				r.paths = append(r.paths, p)
			}
		}
		r.names = append(r.names, nameLike.FindAllString(text[:min(len(text), 20_000)], -1)...)
		for _, m := range numberLike.FindAllStringSubmatch(text[:min(len(text), 20_000)], -1) {
			r.numbers = append(r.numbers, m[1])
		}
	}
	for _, list := range []*[]string{&r.paths, &r.names, &r.numbers} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return r
}

func (r *recorded) source() *fact.Source {
	return sourceOf(r.folder, r.log)
}

// absent reports whether a text is nowhere in the file.
func (r *recorded) absent(text string) bool { return !strings.Contains(r.raw, text) }

// plant makes up something that is nowhere in the session, "" when this attempt did not succeed.
func (r *recorded) plant(rng *rand.Rand, kind int) string {
	pick := func(list []string) string {
		if len(list) == 0 {
			return ""
		}
		return list[rng.IntN(len(list))]
	}
	made := ""
	switch kind {
	case 0, 1, 2: // a path: another name, another folder, another extension
		p, q := strings.Split(pick(r.paths), "/"), strings.Split(pick(r.paths), "/")
		if len(p) < 2 || len(q) < 2 {
			return ""
		}
		last := len(p) - 1
		stem, ext, _ := strings.Cut(p[last], ".")
		switch kind {
		case 0:
			other, _, _ := strings.Cut(q[len(q)-1], ".")
			p[last] = other + "." + ext
		case 1:
			p[last-1] = q[rng.IntN(len(q)-1)]
		case 2:
			p[last] = stem + "." + []string{"go", "ts", "py", "json", "md", "rs"}[rng.IntN(6)]
		}
		if p[last-1] == "" || p[last] == "" || p[last][0] == '.' || !r.absent(p[last-1]+"/"+p[last]) ||
			!r.absent(p[last-1]+`\`+p[last]) {
			return ""
		}
		made = strings.Join(p, "/")
	case 3: // a command with a flag that it never had
		c := strings.TrimSpace(pick(r.calls))
		flag := []string{"--force-all", "--no-verify-ssl", "--max-workers=9", "--dry-run-only", "--skip-lib", "-race",
			"--watch-all", "--shallow-since"}[rng.IntN(8)]
		if c == "" || !r.absent(flag) || strings.ContainsAny(c, `"'|;&><`) || !strings.Contains(c, " ") {
			return ""
		}
		made = c + " " + flag
	case 4: // a command with another target
		c := strings.TrimSpace(pick(r.calls))
		words := strings.Fields(c)
		if len(words) < 2 || strings.ContainsAny(c, `"'|;&><`) {
			return ""
		}
		target := r.plant(rng, rng.IntN(3))
		if target == "" {
			return ""
		}
		made = words[0] + " " + target
		if !slices.Contains([]string{"ls", "cat", "git", "npm", "npx", "go", "python", "python3", "cd", "grep", "mkdir",
			"rm", "node"}, words[0]) {
			return ""
		}
	case 5, 6: // a name made of two
		a, b := pick(r.names), pick(r.names)
		if a == "" || b == "" {
			return ""
		}
		if strings.Contains(a, "_") || strings.Contains(b, "_") {
			if !strings.Contains(a, "_") || !strings.Contains(b, "_") {
				return ""
			}
			made = a[:strings.IndexByte(a, '_')] + b[strings.LastIndexByte(b, '_'):]
		} else {
			x, y := hump.FindAllString(a, -1), hump.FindAllString(b, -1)
			made = strings.Join(x[:len(x)-1], "") + y[len(y)-1]
			if made[0] >= 'a' && len(x) < 2 || y[len(y)-1][0] >= 'a' {
				return ""
			}
		}
		if kind == 6 {
			made += "()"
			if !r.absent(strings.TrimSuffix(made, "()")) {
				return ""
			}
		}
	case 7: // a number off by a little
		n := pick(r.numbers)
		if n == "" {
			return ""
		}
		if v, err := strconv.Atoi(n); err == nil {
			v += 1 + rng.IntN(9)
			made = strconv.Itoa(v)
			if v < 300 {
				return ""
			}
			// Nowhere, in whatever way it is grouped, and not as the digits of something longer.
			grouped := made[:len(made)-3] + "," + made[len(made)-3:]
			if !r.absent(grouped) || !r.absent(made) {
				return ""
			}
			if rng.IntN(3) == 0 && v >= 1000 {
				made = grouped
			}
			return made
		}
		v, _ := strconv.ParseFloat(n, 64)
		made = strconv.FormatFloat(v+float64(1+rng.IntN(9))/10, 'f', 2, 64)
		if strings.HasSuffix(made, "0") || !r.absent(strings.TrimPrefix(made, "0")) {
			return ""
		}
	case 8: // a place in a file: a line that is in no file
		p, line := pick(r.paths), strconv.Itoa(1000+rng.IntN(90_000))
		if p == "" || !r.absent(line) {
			return ""
		}
		made = p + ":" + line
	case 9: // a commit
		made = fmt.Sprintf("%07x", rng.IntN(1<<28))
		if !strings.ContainsAny(made, "abcdef") || !strings.ContainsAny(made, "0123456789") {
			return ""
		}
	case 10: // a flag
		made = "--" + []string{"no", "max", "with", "skip", "only"}[rng.IntN(5)] + "-" +
			strings.ToLower(strings.Split(pick(append(r.names, "x")), "_")[0])
	case 11: // a version
		made = fmt.Sprintf("v%d.%d.%d", 1+rng.IntN(30), 10+rng.IntN(80), rng.IntN(30))
		if !r.absent(made[1:]) || !r.absent(made[1:strings.LastIndexByte(made, '.')]) {
			return ""
		}
	case 12: // an address
		p := pick(r.paths)
		made = "https://docs." + strings.ToLower(pick(append(r.names, "x"))) + ".dev/" + strings.TrimPrefix(p, "/")
	case 13: // a variable, an error's code
		made = []string{"ORCHID_", "MY_APP_", "TOKEN_"}[rng.IntN(3)] +
			strings.ToUpper(strings.Split(pick(append(r.names, "x")), "_")[0])
		if rng.IntN(2) == 0 {
			made = "TS" + strconv.Itoa(1000+rng.IntN(9000))
		}
	case 14: // a share
		made = strconv.Itoa(13+rng.IntN(86)) + "." + strconv.Itoa(1+rng.IntN(9)) + "%"
		if !r.absent(strings.TrimSuffix(made, "%")) ||
			!r.absent("0."+strings.Replace(strings.TrimSuffix(made, "%"), ".", "", 1)) {
			return ""
		}
	}
	if made == "" || !r.absent(made) {
		return ""
	}
	return made
}

// kinds of what is planted, by the number that plant takes.
var kinds = []string{"path, another name", "path, another folder", "path, another extension", "command, new flag",
	"command, new target", "name of two", "name() of two", "number",
	"line of a file", "commit", "flag", "version", "address", "variable or code", "share"}

// write puts a text into a Markdown summary in one of the ways in which models do, and returns
// where it stands.
func write(b *strings.Builder, rng *rand.Rand, text string, kind int) (start, end int) {
	forms := []string{"- The agent looked at `%s` before it went on.\n", "1. First `%s`, then the rest\n",
		"### About `%s`\n\n", "| `%s` | done |\n", "> **Note:** see `%s`.\n", "```\n%s\n```\n", "- [x] `%s`: worked\n"}
	switch kind {
	case 3, 4:
		forms = append(forms, "```bash\n$ %s\n```\n", "Ran `%s` again.\n")
	case 7, 14:
		forms = []string{"- There were %s errors left.\n", "The file has %s lines.\n", "| total | %s |\n",
			"Now at **%s** of them (see above).\n", "- [ ] raise the limit to %s tokens\n", "It listens on port %s.\n"}
	default:
		forms = append(forms, "Then %s was changed, as asked.\n", "* see (%s) for that\n", "**%s**: still open.\n",
			"The cause lies in %s.\n", "- \"%s\" has to be fixed, and so on\n")
	}
	form := forms[rng.IntN(len(forms))]
	i := strings.Index(form, "%s")
	start = b.Len() + i
	b.WriteString(form[:i] + text + form[i+2:])
	return start, start + len(text)
}

// place is where something stands in a summary.
type place struct {
	start, end int
	text, kind string
}

// inventions appends n planted inventions to a summary.
func (r *recorded) inventions(rng *rand.Rand, summary string, n int) (string, []place) {
	var b strings.Builder
	b.WriteString(summary + "\n\n")
	var all []place
	used := map[string]bool{}
	for attempt := 0; len(all) < n && attempt < 4000; attempt++ {
		kind := rng.IntN(len(kinds))
		made := r.plant(rng, kind)
		if made == "" || used[made] || strings.Contains(summary, made) {
			continue
		}
		used[made] = true
		start, end := write(&b, rng, made, kind)
		all = append(all, place{start, end, made, kinds[kind]})
	}
	return b.String(), all
}

// truths writes a summary of what stands in the session, as it stands there and as an honest
// summary rewrites it.
func (r *recorded) truths(rng *rand.Rand, n int) (string, []place) {
	var b strings.Builder
	var all []place
	add := func(kind int, what, text string) {
		start, end := write(&b, rng, text, kind)
		all = append(all, place{start, end, text, what})
	}
	for range n {
		if len(r.paths) > 0 {
			p := r.paths[rng.IntN(len(r.paths))]
			parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
			switch rng.IntN(6) {
			case 0:
				add(0, "path", p)
			case 1: // shorter by its first folders
				add(0, "path, its end", strings.Join(parts[rng.IntN(len(parts)):], "/"))
			case 2:
				if !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, ".") {
					add(0, "path, with ./", "./"+p)
				}
			case 3:
				if r.stays && len(parts) > 1 && p[0] != '/' && strings.HasPrefix(r.folder, "/") {
					add(0, "path, joined with the working folder", r.folder+"/"+p)
				}
			case 4:
				if rest, ok := strings.CutPrefix(p, r.folder+"/"); ok && r.folder != "" {
					add(0, "path, without the working folder", rest)
				}
			case 5:
				if len(parts) > 2 && p[0] == '/' {
					add(0, "folder", "/"+strings.Join(parts[:len(parts)-1], "/")+"/")
				}
			}
		}
		if len(r.calls) > 0 {
			c := strings.TrimSpace(r.calls[rng.IntN(len(r.calls))])
			if strings.Contains(c, " ") && !strings.ContainsAny(c, "|<>") {
				switch rng.IntN(4) {
				case 0:
					add(3, "command", c)
				case 1: // without where it ran
					if _, rest, ok := strings.Cut(c, " && "); ok && strings.HasPrefix(c, "cd ") {
						add(3, "command, without cd", rest)
					}
				case 2: // without its last arguments
					if words := strings.Fields(c); len(words) > 3 && !strings.ContainsAny(c, `"'\`) {
						add(3, "command, shortened", strings.Join(words[:2+rng.IntN(len(words)-2)], " "))
					}
				case 3: // without one in its middle
					if words := strings.Fields(c); len(words) > 3 && !strings.ContainsAny(c, `"'\&;`) {
						add(3, "command, one word less", strings.Join(slices.Delete(words, 2, 3), " "))
					}
				}
			}
		}
		if len(r.names) > 0 {
			name := r.names[rng.IntN(len(r.names))]
			add(5, "name", name+[]string{"", "", "()"}[rng.IntN(3)])
		}
		if len(r.numbers) > 0 {
			number := r.numbers[rng.IntN(len(r.numbers))]
			if len(number) > 3 && len(number) < 7 && !strings.Contains(number, ".") && rng.IntN(2) == 0 {
				number = number[:len(number)-3] + "," + number[len(number)-3:]
			}
			add(7, "number", number)
		}
	}
	return b.String(), all
}

// judge checks a summary, and reports the planted pieces that were not found and the true ones that
// were.
func judge(t *testing.T, r *recorded, s *fact.Source, text string, planted, honest []place) (found, struck int) {
	t.Helper()
	invented := fact.Check(text, s)
	hit := func(p place) bool {
		return slices.ContainsFunc(invented, func(c fact.Claim) bool { return c.Start < p.end && p.start < c.End })
	}
	for _, p := range planted {
		if hit(p) {
			found++
			continue
		}
		line := text[strings.LastIndexByte(text[:p.start], '\n')+1:]
		line, _, _ = strings.Cut(line, "\n")
		t.Errorf("%s: %s not found: %q in %q", r.name, p.kind, p.text, line)
	}
	for _, p := range honest {
		if hit(p) {
			struck++
			line := text[strings.LastIndexByte(text[:p.start], '\n')+1:]
			line, _, _ = strings.Cut(line, "\n")
			t.Errorf("%s: %s struck: %q in %q", r.name, p.kind, p.text, line)
		}
	}
	return found, struck
}

func perKind(places []place) string {
	count := map[string]int{}
	for _, p := range places {
		count[p.kind]++
	}
	var lines []string
	for kind, n := range count {
		lines = append(lines, fmt.Sprintf("%s %d", kind, n))
	}
	slices.Sort(lines)
	return strings.Join(lines, " · ")
}
