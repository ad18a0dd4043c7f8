package quality

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/session"
)

// folder is the working folder of the made-up sessions.
const folder = "/home/coast"

// turns are how many messages the user writes in a part.
const turns = 8

// made is a session that is being made up, part by part.
type made struct {
	*rand.Rand
	phrasings Phrasings
	id        uint64
	facts     []*Fact
	part      int
	number    int // of what was made up last: each figure, path and name is met once
	calls     int
	files     []string // paths that were read or written
	names     []string // functions in them
	said      map[string]int
	log       []session.Message

	values, choices, commands, forbidden []*agreed
	language                             *agreed
}

// agreed is a fact that may be replaced, with what its phrasings need.
type agreed struct {
	fact              *Fact
	name, value, what string
}

func newMade(seed uint64, p Phrasings) *made {
	return &made{Rand: rand.New(rand.NewPCG(seed, 0xfac7)), phrasings: p, id: seed, said: map[string]int{}}
}

// Part returns the next part of the session: turns of work, with facts in them.
func (m *made) Part() []session.Message {
	m.log = nil
	m.part++
	user, assistant := m.plants()
	for turn := range turns {
		m.ask(turn, share(user, turn))
		for range 3 + m.IntN(2) {
			m.work()
		}
		m.answer(share(assistant, turn))
	}
	return m.log
}

// ask is a message of the user's: a task in several sentences, with what is to be said before,
// within, behind or below it.
func (m *made) ask(turn int, facts []string) {
	task := []string{fmt.Sprintf("Next is step %d of part %d: let the %s of the %s handle %s rows, and tell me what "+
		"you changed.", turn+1, m.part, m.pick(nouns), m.pick(nouns), m.pick(nouns))}
	if m.part == 1 && turn == 0 {
		task[0] = "Please build the import of deliveries. It reads CSV files and writes batches into the store; bad " +
			"lines are reported at the end."
	}
	for range 3 + m.IntN(8) {
		task = append(task, m.background())
	}
	said := strings.Join(facts, " ")
	var text string
	switch n := m.IntN(5); {
	case said == "":
		text = strings.Join(task, " ")
	case n == 0 && len(facts) > 1:
		text = strings.Join(task, " ") + "\n\n- " + strings.Join(facts, "\n- ")
	case n == 1:
		text = said + " " + strings.Join(task, " ")
	case n == 2:
		text = strings.Join(task, " ") + "\n\n" + said
	default:
		text = strings.Join(slices.Insert(task, 1+m.IntN(len(task)), said), " ")
	}
	m.message(session.User, session.Part{Type: session.TextPart, Text: text})
}

// background is a sentence that says how things are.
func (m *made) background() string {
	return words{"a": m.pick(nouns), "b": m.pick(nouns), "c": m.pick(nouns)}.in(m.pick(backgrounds))
}

// answer ends a turn.
func (m *made) answer(facts []string) {
	text := fmt.Sprintf("The %s handles that now, and the tests of its package pass. ", m.pick(nouns)) + m.background()
	if len(facts) > 0 {
		text += " " + strings.Join(facts, " ")
	}
	m.message(session.Assistant, session.Part{Type: session.TextPart, Text: text})
}

// work is a step of the assistant's: a call, on something new or something that was there before.
func (m *made) work() {
	known := len(m.files) > 0 && m.IntN(2) == 0
	file := ""
	if known {
		file = m.files[m.IntN(len(m.files))]
	}
	switch n := m.IntN(10); {
	case n < 5: // read
		if !known {
			file = m.file()
		}
		m.call("read", map[string]string{"filePath": folder + "/" + file}, m.code(40+m.IntN(70)))
	case n < 7: // write, and plant the path
		file = m.file()
		m.call("write", map[string]string{"filePath": folder + "/" + file, "content": m.code(6 + m.IntN(10))},
			"File written.")
		m.facts = append(m.facts, &Fact{Kind: Path, Part: m.part, Text: "a file that was written: " + file,
			needs: [][]string{{file}}})
	case n < 8 && len(m.names) > 0: // search for something that was seen
		name := m.names[m.IntN(len(m.names))]
		m.call("grep", map[string]string{"pattern": name, "path": folder + "/internal"},
			fmt.Sprintf("%s/internal/%s/%s.go:%d: func %s(line string) error {", folder, m.pick(nouns), m.pick(nouns),
				10+m.IntN(300), name))
	default:
		target := "./internal/" + m.pick(nouns)
		if known {
			target = "./" + file[:strings.LastIndexByte(file, '/')]
		}
		m.call("bash", map[string]string{"command": "go test " + target}, "ok  \t"+target+"\t0.2s")
	}
}

// file makes up a path.
func (m *made) file() string {
	file := fmt.Sprintf("internal/%s/%s%d.go", m.pick(nouns), m.pick(nouns), m.next())
	m.files = append(m.files, file)
	return file
}

// code is lines of a program with functions that later calls search for.
func (m *made) code(lines int) string {
	var b strings.Builder
	for i := range lines {
		if i%12 == 0 {
			name := fmt.Sprintf("%s%s%d", capital(m.pick(nouns)), capital(m.pick(nouns)), m.next())
			m.names = append(m.names, name)
			fmt.Fprintf(&b, "func %s(line string) error {\n", name)
			continue
		}
		fmt.Fprintf(&b, "\tif err := %s(ctx, %s); err != nil { return fmt.Errorf(\"%s %s: %%w\", err) }\n",
			m.pick(nouns), m.pick(nouns), m.pick(nouns), m.pick(nouns))
	}
	return b.String()
}

func (m *made) call(tool string, input map[string]string, output string) {
	m.calls++
	args, err := json.Marshal(input, json.Deterministic(true))
	if err != nil {
		args = []byte("{}")
	}
	m.message(session.Assistant, session.Part{
		Type: session.ToolPart, Tool: tool, CallID: fmt.Sprintf("call_%d_%d", m.id, m.calls),
		State: &session.ToolState{Status: session.Completed, Input: args, Output: output},
	})
}

func (m *made) message(role session.Role, part session.Part) {
	finish := ""
	if role == session.Assistant {
		finish = "stop"
		if part.Type == session.ToolPart {
			finish = "tool-calls"
		}
	}
	m.log = append(m.log, session.Message{MessageInfo: session.MessageInfo{Role: role, Finish: finish},
		Parts: []session.Part{part}})
}

func (m *made) pick(from []string) string { return from[m.IntN(len(from))] }

// next is a number that was not used before.
func (m *made) next() int {
	m.number += 1 + m.IntN(3)
	return m.number + 10
}

// figure is a value that nothing else in the session has.
func (m *made) figure() string { return fmt.Sprint(4000 + 7*m.next()) }

// capital is a text with a capital at its beginning, unless it begins with a path or code.
func capital(text string) string {
	if word, _, _ := strings.Cut(text, " "); strings.ContainsAny(word, "/`-") || text == "" {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
