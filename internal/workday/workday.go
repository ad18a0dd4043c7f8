// Package workday makes up sessions of a coding agent, of any number and length, the same each time
// for one seed, for measurements on logs that belong to nobody: files read whole and in pieces and
// read again, edits that quote what was read, searches, tests that fail and pass, answers that name
// what was found.
package workday

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/session"
)

// Steps is how many steps a day has here, and Tokens about what a session of Make then has on
// average.
const (
	Steps  = 200
	Tokens = 180_000
)

// day is a session that is being made up.
type day struct {
	*rand.Rand
	s     session.Session
	disk  ruletest.Disk
	names []string // of files
	clock session.Millis
	seed  uint64
	calls int
	known []string // files that were read
}

// Make makes up a session of that many steps.
func Make(seed uint64, steps int) session.Session {
	d := &day{Rand: rand.New(rand.NewPCG(seed, 0x5eed)), clock: 1_760_000_000_000 + session.Millis(seed)*86_400_000,
		seed: seed}
	d.s.Info = session.Info{ID: fmt.Sprintf("%08x-0000-4000-8000-%012x", seed, seed), Title: d.sentence(6),
		Directory: ruletest.Folder}
	d.s.Info.Time.Created = d.clock
	for range 30 + d.IntN(30) {
		name := fmt.Sprintf("%s/%s_%s.go", d.word(), d.word(), d.word())
		d.names = append(d.names, name)
		d.disk.Change(name, d.code(40+d.IntN(260)))
	}
	for done := 0; done < steps; {
		d.user()
		for turn := min(4+d.IntN(18), steps-done); turn > 0; turn-- {
			d.step(turn == 1)
			done++
		}
	}
	d.s.Info.Time.Updated = d.clock
	return d.s
}

func (d *day) user() {
	d.clock += session.Millis(20_000 + d.IntN(900_000))
	d.message(session.User, d.text("Please "+d.sentence(20+d.IntN(60))))
}

// step is a request and its answer: a few words, and a call unless it is the last of its turn.
func (d *day) step(last bool) {
	d.clock += session.Millis(4_000 + d.IntN(20_000))
	if last {
		d.message(session.Assistant, d.text(d.sentence(60+d.IntN(120))+" See "+d.file()+" and "+d.file()+"."))
		return
	}
	parts := []session.Part{}
	if d.IntN(3) > 0 {
		parts = append(parts, d.text(d.sentence(8+d.IntN(25))))
	}
	d.message(session.Assistant, append(parts, d.call())...)
}

func (d *day) message(role session.Role, parts ...session.Part) {
	m := session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("%08x-0000-4000-9000-%012x", d.seed,
		len(d.s.Messages)), SessionID: d.s.Info.ID, Role: role}}
	m.Time = session.MessageTime{Created: d.clock}
	if role == session.Assistant {
		m.ProviderID, m.ModelID, m.Finish, m.Time.Completed = "anthropic", "claude-sonnet-4-5", "stop", d.clock+1000
		m.Path = &session.Path{Cwd: ruletest.Folder, Root: ruletest.Folder}
	}
	for i := range parts {
		parts[i].ID, parts[i].SessionID, parts[i].MessageID = fmt.Sprintf("%s:%d", m.ID, i), d.s.Info.ID, m.ID
	}
	m.Parts = parts
	d.s.Messages = append(d.s.Messages, m)
}

func (d *day) text(words string) session.Part {
	return session.Part{Type: session.TextPart, Text: words}
}

// call is what an agent does next.
func (d *day) call() session.Part {
	name := d.file()
	switch n := d.IntN(100); {
	case n < 34 || len(d.known) == 0: // what was read is read again as often as something new is read
		if d.IntN(2) == 0 && len(d.known) > 0 {
			name = d.known[d.IntN(len(d.known))]
		}
		d.known = append(d.known, name)
		from, limit := 0, 0
		if d.IntN(3) > 0 {
			from, limit = 1+d.IntN(max(1, len(d.disk.Lines(name))-20)), 50+d.IntN(140)
		}
		return d.use(d.disk.Read("claude", name, ruletest.Path(name), from, limit))
	case n < 62:
		return d.edit()
	case n < 66:
		name = fmt.Sprintf("%s/%s_test.go", d.word(), d.word())
		d.names, d.known = append(d.names, name), append(d.known, name)
		return d.use(d.disk.Write("claude", name, ruletest.Path(name), d.code(30+d.IntN(90))))
	case n < 80:
		return d.grep()
	case n < 84:
		return d.use(ruletest.Use{Tool: "Bash", Args: ruletest.Args{"command": "git status --short"}, Output: " M " +
			d.file() + "\n M " + d.file() + "\n"})
	}
	return d.tests()
}

// edit replaces a line that was read by others that have most of it.
func (d *day) edit() session.Part {
	for range 20 {
		name := d.known[d.IntN(len(d.known))]
		lines := d.disk.Lines(name)
		if len(lines) < 12 {
			continue
		}
		at := d.IntN(len(lines))
		next := append([]string{lines[at] + " // " + d.word()}, d.code(1+d.IntN(8))...)
		if u := d.disk.Edit("claude", name, ruletest.Path(name), lines[at], next); !u.Failed {
			return d.use(u)
		}
	}
	return d.grep()
}

// grep finds lines of files that hold a word.
func (d *day) grep() session.Part {
	word := d.word()
	var out strings.Builder
	most := 10 + d.IntN(60)
	for _, name := range d.names {
		for i, line := range d.disk.Lines(name) {
			if most > 0 && strings.Contains(line, word) {
				most--
				fmt.Fprintf(&out, "%s:%d:%s\n", ruletest.Path(name), i+1, line)
			}
		}
	}
	return d.use(ruletest.Use{Tool: "Grep",
		Args: ruletest.Args{"pattern": word, "path": ruletest.Folder, "output_mode": "content"}, Output: out.String()})
}

// tests run, and fail now and then.
func (d *day) tests() session.Part {
	var out strings.Builder
	failed := d.IntN(3) == 0
	for range 5 + d.IntN(40) {
		fmt.Fprintf(&out, "=== RUN   Test%s_%s\n--- PASS: Test%s_%s (0.%02ds)\n", d.word(), d.word(), d.word(),
			d.word(), d.IntN(100))
	}
	exit := 0
	if failed {
		exit = 1
		fmt.Fprintf(&out, "--- FAIL: Test%s\n    %s:%d: got %s, want %s\nFAIL\n", d.word(), d.file(), d.IntN(200),
			d.word(), d.word())
	}
	return d.use(ruletest.Use{Tool: "Bash",
		Args:   ruletest.Args{"command": "go test ./" + d.word() + "/...", "description": d.sentence(4)},
		Output: out.String(), Exit: exit})
}

func (d *day) use(u ruletest.Use) session.Part {
	d.calls++
	input, err := json.Marshal(u.Args, json.Deterministic(true))
	if err != nil {
		input = jsontext.Value(`{}`)
	}
	state := &session.ToolState{Status: session.Completed, Input: input, Output: u.Output,
		Time: &session.Span{Start: d.clock, End: d.clock + 900}}
	if u.Failed {
		state.Status, state.Output, state.Error = session.Failed, "", u.Output
	}
	return session.Part{Type: session.ToolPart, CallID: fmt.Sprintf("toolu_%08x%08d", d.seed, d.calls), Tool: u.Tool,
		State: state}
}

func (d *day) file() string { return d.names[d.IntN(len(d.names))] }

// code is lines of a program.
func (d *day) code(lines int) []string {
	all := make([]string, lines)
	for i := range all {
		a, b, c := d.word(), d.word(), d.word()
		switch d.IntN(7) {
		case 0:
			all[i] = fmt.Sprintf("func (%c *%s) %s%s(%s string, n int) (%s, error) {", a[0], b, b, c, a, c)
		case 1:
			all[i] = fmt.Sprintf("\tif %s := %s.%s(%d); %s != nil {", a, b, c, d.IntN(1000), a)
		case 2:
			all[i] = fmt.Sprintf("\t\treturn nil, fmt.Errorf(\"%s %s: %%w\", err)", b, c)
		case 3:
			all[i] = fmt.Sprintf("\t%s[%q] = append(%s[%q], %s.%s)", a, c, a, c, b, c)
		case 4:
			all[i] = fmt.Sprintf("\t// %s", d.sentence(5+d.IntN(8)))
		case 5:
			all[i] = fmt.Sprintf("\tfor i, %s := range %s%d.%s {", a, b, d.IntN(100), c)
		case 6:
			all[i] = strings.Repeat("\t", d.IntN(3)) + "}"
		}
	}
	return all
}

func (d *day) sentence(words int) string {
	all := make([]string, words)
	for i := range all {
		all[i] = d.word()
	}
	return strings.Join(all, " ")
}

// word is one of some hundreds, the first ones more often.
func (d *day) word() string {
	r := d.Float64()
	return vocabulary[int(r*r*float64(len(vocabulary)))]
}

// vocabulary is made of syllables: enough words that six in a row are rarely met twice by chance.
var vocabulary = func() (words []string) {
	for _, a := range strings.Fields("lamp tide ship rope sail dock wind star reef moor keel mast gull sand fog bell") {
		words = append(words, a)
		for _, b := range strings.Fields("er let ing ward house keep line mark side way book light stone field yard count list node path tree") {
			words = append(words, a+b)
		}
	}
	return words
}()
