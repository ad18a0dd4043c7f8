package quality

import (
	"fmt"
	"slices"
	"strings"
)

// share is what is said in one of the turns.
func share(all []string, turn int) []string {
	return all[len(all)*turn/turns : len(all)*(turn+1)/turns]
}

// plants makes up the facts of a part, and what the user and the assistant say to state them.
func (m *made) plants() (user, assistant []string) {
	p := &m.phrasings
	say := func(text string) { user = append(user, text) }
	say(m.forbid())
	say(m.always())
	if m.part%2 == 1 {
		say(m.state(Rule, p.limit, words{"number": m.figure()}, "{number}"))
	} else {
		say(m.state(Rule, p.fixed, nil))
	}
	if m.language == nil {
		say(m.speak())
	}
	say(m.agree())
	assistant = append(assistant, m.agree())
	assistant = append(assistant, m.choose())
	say(m.apart())
	if m.part > 1 {
		say(m.agreeAnew())
	}
	switch m.part {
	case 2:
		say(m.allow())
	case 3:
		say(m.speak())
		assistant = append(assistant, m.chooseAnew())
	case 4:
		say(m.runInstead())
		assistant = append(assistant, m.chooseAnew())
	}
	m.Shuffle(len(user), func(i, j int) { user[i], user[j] = user[j], user[i] })
	return user, assistant
}

// words are what stands for the {names} of a phrasing.
type words map[string]string

func (w words) in(phrasing string) string {
	for name, word := range w {
		phrasing = strings.ReplaceAll(phrasing, "{"+name+"}", word)
	}
	return phrasing
}

// state says something in one of the phrasings and plants the fact. A line tells the fact if it has
// all that needs asks for, each "a,b" being one of several words.
func (m *made) state(kind Kind, phrasings []string, w words, needs ...string) string {
	text := m.one(phrasings)
	text, more, _ := strings.Cut(text, "|")
	f := &Fact{Kind: kind, Part: m.part, Text: capital(w.in(text))}
	for _, need := range append(slices.Clip(needs), more) {
		if need != "" {
			f.needs = append(f.needs, strings.Split(w.in(need), ","))
		}
	}
	m.facts = append(m.facts, f)
	return f.Text
}

// last is the fact that was planted last.
func (m *made) last() *Fact { return m.facts[len(m.facts)-1] }

// replace makes the fact that was planted last take the place of another. old and now are the needs
// that tell the one and the other.
func (m *made) replace(replaced *Fact, old, now [][]string) {
	f := m.last()
	f.Kind, f.replaces, f.old, f.now, replaced.replaced = Override, replaced, old, now, true
}

// one is one of several phrasings. Each is used before one comes again.
func (m *made) one(all []string) string {
	least := m.said[slices.MinFunc(all, func(a, b string) int { return m.said[a] - m.said[b] })]
	from := slices.DeleteFunc(slices.Clone(all), func(text string) bool { return m.said[text] > least })
	text := from[m.IntN(len(from))]
	m.said[text]++
	return text
}

// forbids are words one of which a rule has that forbids something.
const forbids = "never,not,n't,no,nothing,alone,off,out,untouched,read-only,unless,without,stays,nie,niemals," +
	"nicht,nichts,kein,Ruhe,jamais,interdit,nunca,prohibido"

func (m *made) forbid() string {
	path := fmt.Sprintf("%s/%s%d", m.pick(areas), m.pick(nouns), m.next())
	text := m.state(Rule, m.phrasings.forbid, words{"path": path}, "{path}", forbids)
	m.forbidden = append(m.forbidden, &agreed{fact: m.last(), value: path})
	return text
}

// allow takes the ban on a path back.
func (m *made) allow() string {
	k := m.forbidden[0]
	text := m.state(Override, m.phrasings.allow, words{"path": k.value}, "{path}",
		"may,can,ours,lifted,darfst,fine,longer,allowed,ahead")
	m.replace(k.fact, k.fact.needs, m.last().needs)
	return text
}

// runs are words one of which a rule has that says when something is run.
const runs = "always,before,every,each,prior,push,pushed,passes,green,unless,without,until,immer,jedem,vor," +
	"toujours,avant,chaque,siempre,antes,cada"

func (m *made) always() string {
	command := fmt.Sprintf("make %s-%d", m.pick(checks), m.next())
	text := m.state(Rule, m.phrasings.always, words{"command": "`" + command + "`"}, command, runs)
	m.commands = append(m.commands, &agreed{fact: m.last(), value: command})
	return text
}

// runInstead replaces the command of a rule.
func (m *made) runInstead() string {
	k := m.commands[0]
	command := fmt.Sprintf("make %s-%d", m.pick(checks), m.next())
	text := m.state(Override, m.phrasings.insteadRun, words{"command": "`" + command + "`", "old": "`" + k.value + "`"},
		command, runs)
	m.replace(k.fact, k.fact.needs, m.last().needs[:1])
	return text
}

// speak says in which language answers are to be, the second time another one.
func (m *made) speak() string {
	language := languages[(int(m.id)+m.part)%len(languages)]
	if m.language == nil {
		text := m.state(Rule, m.phrasings.language, words{"language": language}, "{language}")
		m.language = &agreed{fact: m.last(), value: language}
		return text
	}
	text := m.state(Override, m.phrasings.otherLanguage, words{"language": language, "old": m.language.value},
		"{language}")
	m.replace(m.language.fact, m.language.fact.needs, m.last().needs)
	return text
}

// agree states a value that was not stated before.
func (m *made) agree() string {
	name := names[len(m.values)%len(names)]
	value := m.figure()
	if len(m.values)%4 == 3 { // a name that was agreed on
		name, value = queues[len(m.values)%len(queues)], fmt.Sprintf("%s-%s-%d", m.pick(nouns), m.pick(nouns), m.next())
	}
	text := m.state(Value, m.phrasings.value, words{"name": name, "value": value}, "{name}", "{value}")
	m.values = append(m.values, &agreed{fact: m.last(), name: name, value: value})
	return text
}

// agreeAnew replaces a figure that was stated.
func (m *made) agreeAnew() string {
	k := m.values[4*((m.part-2)/2)+m.part%2]
	value := m.figure()
	text := m.state(Override, m.phrasings.newValue, words{"name": k.name, "value": value, "old": k.value}, "{name}",
		"{value}")
	m.replace(k.fact, k.fact.needs[1:], m.last().needs[1:])
	k.fact, k.value = m.last(), value
	return text
}

func (m *made) choose() string {
	c := choices[len(m.choices)]
	reason, key, _ := strings.Cut(reasons[m.IntN(len(reasons))], "|")
	text := m.state(Decision, m.phrasings.decision, words{"thing": c.things[0], "what": c.what, "reason": reason},
		"{thing}")
	m.reasoned(key)
	m.choices = append(m.choices, &agreed{fact: m.last(), value: c.things[0], what: c.what})
	return text
}

// chooseAnew replaces what was decided.
func (m *made) chooseAnew() string {
	at := m.part - 3
	k, thing := m.choices[at], choices[at].things[1]
	reason, key, _ := strings.Cut(reasons[m.IntN(len(reasons))], "|")
	text := m.state(Override, m.phrasings.newDecision,
		words{"thing": thing, "what": k.what, "reason": reason, "old": k.value}, "{thing}")
	m.reasoned(key)
	m.replace(k.fact, k.fact.needs[:1], m.last().needs[:1])
	k.fact, k.value = m.last(), thing
	return text
}

// reasoned adds the reason to what must be told, unless the phrasing has one of its own.
func (m *made) reasoned(key string) {
	if f := m.last(); len(f.needs) == 1 {
		f.needs = append(f.needs, []string{key})
	}
}

// apart states what holds for one of two and what for the other: two facts in one sentence.
func (m *made) apart() string {
	w, phrasings := words{"name": sharedNames[m.part%len(sharedNames)], "v": m.figure(), "w": m.figure()},
		m.phrasings.places
	pair := places[m.part%len(places)]
	if m.part%2 == 0 {
		pair, phrasings = people[m.part%len(people)], m.phrasings.people
		w["v"], w["w"] = fmt.Sprintf("%s/%s%d", m.pick(areas), m.pick(nouns), m.next()),
			fmt.Sprintf("%s/%s%d", m.pick(areas), m.pick(nouns), m.next())
	}
	w["a"], w["b"] = pair[0], pair[1]
	text := m.state(Attribution, phrasings, w, "{a}", "{v}")
	first := m.last()
	second := *first
	second.needs = [][]string{{w["b"]}, {w["w"]}}
	m.facts = append(m.facts, &second)
	first.other, second.other = second.needs, first.needs
	return text
}
