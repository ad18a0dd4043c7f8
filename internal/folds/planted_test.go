package folds

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// planted is a fact that somebody put into a session.
type planted struct {
	kind string // rule, value, path, decision, command
	// holds must stand in what is left of the session; each of was must not, but beside it.
	holds string
	was   []string
	how   string // the phrasing, for a message
}

// phrasings are how a fact is said: %[1]s is the name, %[2]s the value, %[3]s the one before.
type phrasings struct {
	values, changes, rules, decisions, swaps []string
}

// known are the phrasings that the program was built with.
var known = phrasings{
	values: []string{
		"The %[1]s is %[2]s.", "Set the %[1]s to %[2]s.", "Use %[2]s as the %[1]s, please.", "%[1]s: %[2]s",
		"Der %[1]s ist %[2]s.", "Le %[1]s est %[2]s.", "El %[1]s es %[2]s.",
	},
	changes: []string{
		"Use %[1]s %[2]s instead of %[3]s.", "The %[1]s is now %[2]s.", "Change the %[1]s from %[3]s to %[2]s.",
		"Doch lieber %[1]s %[2]s statt %[3]s.", "Le %[1]s passe de %[3]s à %[2]s.", "Usa %[1]s %[2]s en lugar de %[3]s.",
	},
	rules: []string{
		"Never touch %s, another team owns it.", "Always run %s before you commit.", "Only ever write tests in %s, please.",
		"Ändere niemals etwas an %s.", "Ne touche jamais à %s.", "Nunca modifiques %s.",
	},
	decisions: []string{
		"I decided to use %s for the cache, because the other one keeps no order.", "We'll use %s for the cache, because it is in the image already.",
		"I'm going with %s for the cache, which the operators know already.", "Ich habe mich für %s entschieden, weil es schon im Image ist, und das reicht.",
		"J'ai décidé de prendre %s pour le cache, parce que l'équipe le connaît.", "He decidido usar %s para la caché, porque ya está en la imagen.",
	},
	swaps: []string{
		"We'll use %[1]s instead of %[2]s for the cache, because it keeps its data over a restart.", "I decided on %[1]s rather than %[2]s for the cache, because it keeps its data.",
		"Ich nehme %[1]s statt %[2]s, weil es die Daten über einen Neustart behält.", "J'ai décidé d'utiliser %[1]s au lieu de %[2]s pour le cache.",
		"He decidido usar %[1]s en lugar de %[2]s para la caché.",
	},
}

// heldOut are phrasings that were written down before the program was built and were not looked at
// while it was.
var heldOut = phrasings{
	values: []string{
		"Please keep the %[1]s at %[2]s.", "We need a %[1]s of %[2]s.", "Our %[1]s must be %[2]s, no matter what.", "Stell den %[1]s auf %[2]s.",
		"Mets le %[1]s à %[2]s.", "Pon el %[1]s en %[2]s.",
	},
	changes: []string{
		"Make the %[1]s %[2]s rather than %[3]s.", "The %[1]s must be %[2]s, not %[3]s.", "Bump the %[1]s to %[2]s.", "Erhöhe den %[1]s von %[3]s auf %[2]s.",
		"Finalement, %[1]s : %[2]s au lieu de %[3]s.", "Sube el %[1]s de %[3]s a %[2]s.",
	},
	rules: []string{
		"You must not edit %s under any circumstances.", "From now on, always check %s first.", "Don't ever delete %s.", "Fass %s bitte nie an.",
		"Il ne faut jamais modifier %s.", "No toques nunca %s.",
	},
	decisions: []string{
		"I chose %s for the cache, since it needs no server of its own.", "The decision is to go with %s for the cache and to keep it small.",
		"Wir bleiben bei %s für den Cache, weil alle es kennen und es reicht.", "On part sur %s pour le cache, parce que c'est le plus simple.",
	},
	swaps: []string{
		"Going with %[1]s instead of %[2]s for the cache, since that one lost data twice.", "I have decided to switch the cache from %[2]s to %[1]s, because it keeps its data.",
		"Wir wechseln beim Cache von %[2]s zu %[1]s, weil es die Daten behält.", "Decidí pasar la caché de %[2]s a %[1]s, porque guarda los datos.",
	},
}

var names = []string{"port", "request timeout", "batch size", "memory limit", "retry limit", "session lifetime", "cache size", "worker count"}

var stores = []string{"Redis", "Memcached", "Valkey", "Hazelcast", "Couchbase", "Aerospike"}

// maker makes a session up, fifth by fifth.
type maker struct {
	*rand.Rand
	p       phrasings
	n       int
	values  map[string]*planted
	store   string
	facts   []*planted
	service string
	parts   int
}

func newMaker(seed uint64, p phrasings) *maker {
	return &maker{Rand: rand.New(rand.NewPCG(seed, 5)), p: p, values: map[string]*planted{}, service: fmt.Sprintf("svc%d", seed)}
}

func one[T any](m *maker, from []T) T { return from[m.IntN(len(from))] }

func (m *maker) user(text string) session.Message {
	return session.Message{MessageInfo: session.MessageInfo{Role: session.User}, Parts: []session.Part{{Type: session.TextPart, Text: text}}}
}

func (m *maker) says(text string) session.Message {
	return session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "stop"}, Parts: []session.Part{{Type: session.TextPart, Text: text}}}
}

func (m *maker) call(tool, input, output string) session.Message {
	m.parts++
	return session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "tool-calls"}, Parts: []session.Part{{
		Type: session.ToolPart, Tool: tool, CallID: fmt.Sprintf("call_%s_%d", m.service, m.parts),
		State: &session.ToolState{Status: session.Completed, Input: []byte(input), Output: output},
	}}}
}

// figure is a value that nothing else in the session has.
func (m *maker) figure() string {
	m.n++
	return fmt.Sprint(4000 + m.n*37 + m.IntN(30))
}

// fifth is one fifth of a session: what is planted in it, between turns of ordinary work.
func (m *maker) fifth(at int) []session.Message {
	var log []session.Message
	if at == 0 {
		log = append(log, m.user("Please build the import of deliveries for "+m.service+". It reads CSV files and writes batches into the store. Report bad lines at the end with their numbers."))
	}
	for turn := range 5 {
		ask := fmt.Sprintf("Next comes piece %d of part %d: extend the importer and show me what changed.", turn+1, at+1)
		answer := "That piece works. "
		switch (turn + at) % 5 {
		case 0: // a rule of the user's
			what := fmt.Sprintf("internal/owned%d/api.go", m.plants())
			text := fmt.Sprintf(one(m, m.p.rules), what)
			m.plant("rule", what, text)
			ask += " " + text
		case 1: // a value, new or changed, by the user or by the assistant
			text := m.value()
			if m.IntN(2) == 0 {
				ask += " " + text
			} else {
				answer += text + " "
			}
		case 2: // a decision of the assistant's
			text := ""
			next := stores[(at+turn)%len(stores)]
			if m.store == "" || next == m.store {
				m.store = next
				text = fmt.Sprintf(one(m, m.p.decisions), next)
				m.plant("decision", next, text)
			} else {
				text = fmt.Sprintf(one(m, m.p.swaps), next, m.store)
				for _, f := range m.facts {
					if f.kind == "decision" {
						f.was, f.holds, f.how = append(f.was, f.holds), next, text
					}
				}
				m.store = next
			}
			answer += text + " "
		case 3: // a value in a file that is written, and changed later
			path := fmt.Sprintf("deploy/%s-%d.yaml", m.service, m.plants())
			v := m.figure()
			log = append(log, m.call("write", fmt.Sprintf(`{"filePath":%q,"content":"replicas: 2\nlimit: %s\n"}`, path, v), "wrote it"))
			next := m.figure()
			log = append(log, m.call("edit", fmt.Sprintf(`{"filePath":%q,"oldString":"limit: %s","newString":"limit: %s"}`, path, v, next), "edited"))
			m.plant("path", path, "a file that was written")
			m.plant("value", "limit: "+next, "an edit of a file")
		case 4: // a command with its outcome
			command := fmt.Sprintf("go test ./internal/%s%d", m.service, m.plants())
			log = append(log, m.call("bash", fmt.Sprintf(`{"command":%q}`, command), "ok  \tinternal\t0.2s"))
			m.plant("command", command, "a test that ran")
		}
		log = append(log, m.user(ask), m.work(at, turn))
		path := fmt.Sprintf("internal/%s/part%d_%d.go", m.service, at, turn)
		log = append(log, m.call("write", fmt.Sprintf(`{"filePath":%q,"content":"package x\n\nfunc Part%d_%d() {}\n"}`, path, at, turn), "wrote it"))
		m.plant("path", path, "a file that was written")
		log = append(log, m.says(strings.TrimSpace(answer)))
	}
	return log
}

// work is a read with a long output, so that there is something to fold.
func (m *maker) work(at, turn int) session.Message {
	return m.call("read", fmt.Sprintf(`{"filePath":"internal/%s/old%d.go"}`, m.service, at*5+turn), strings.Repeat("func parse(line string) (Batch, error) { return Batch{}, nil }\n", 120+m.IntN(200)))
}

// value plants a value, or changes one that was planted.
func (m *maker) value() string {
	name := one(m, names)
	if f := m.values[name]; f != nil {
		next := m.figure()
		text := fmt.Sprintf(one(m, m.p.changes), name, next, f.holds)
		f.was, f.holds, f.how = append(f.was, f.holds), next, text
		return text
	}
	v := m.figure()
	text := fmt.Sprintf(one(m, m.p.values), name, v)
	f := m.plant("value", v, text)
	m.values[name] = f
	return text
}

func (m *maker) plants() int { return len(m.facts) }

func (m *maker) plant(kind, holds, how string) *planted {
	f := &planted{kind: kind, holds: holds, how: how}
	m.facts = append(m.facts, f)
	return f
}
