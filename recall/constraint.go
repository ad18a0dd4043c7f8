// Package recall answers: what must not be forgotten? It finds in a log what its continuation depends on: standing wishes of
// the user, open todos, the state of files, errors that nobody has resolved, instructions that were loaded, and the question
// that waits for an answer. Package call tells it what the tools did.
//
// Everything is taken from the log alone and in its order; nothing is guessed beyond it.
package recall

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// Constraint is a sentence in which the user said how the work is to be done, whatever the task.
type Constraint struct {
	Text string // the sentence, verbatim
	// Preference is set for a wish ("I prefer"), not for a rule ("never").
	Preference        bool
	MessageID, PartID string
}

// tooLong is the size in bytes above which a sentence is a pasted text, not a rule.
const tooLong = 400

// Constraints are the standing wishes that the user stated, oldest first, each once. They are found by the words with which rules
// are made in English, German, French, Spanish and, for the plainest of them, in several other languages.
func Constraints(messages []session.Message) []Constraint {
	var found []Constraint
	seen := map[string]bool{}
	for i := range messages {
		m := &messages[i]
		if !m.Written() {
			continue
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type != session.TextPart || p.Synthetic || p.Ignored || p.Text == "" {
				continue
			}
			for _, s := range Sentences(Prose(p.Text)) {
				rule, preference := Standing(s)
				if !rule && !preference {
					continue
				}
				key := Key(s)
				if seen[key] {
					continue
				}
				seen[key] = true
				found = append(found, Constraint{Text: s, Preference: !rule, MessageID: m.ID, PartID: p.ID})
			}
		}
	}
	return found
}

// Key is what a sentence is known by: its words in lower case, without punctuation. Two constraints with one key are one.
func Key(sentence string) string { return strings.Join(words(sentence), " ") }

// Without leaves out the constraints whose Key is dismissed. What is handed in stays as it is.
func Without(found []Constraint, dismissed map[string]bool) []Constraint {
	if len(dismissed) == 0 {
		return found
	}
	var stand []Constraint
	for _, c := range found {
		if !dismissed[Key(c.Text)] {
			stand = append(stand, c)
		}
	}
	return stand
}

// rules make a sentence a rule wherever they stand in it; several words are a phrase.
var rules = phrases(
	"never", "always", "must", "must not", "mustn't", "make sure", "ensure that", "be sure to", "from now on", "at all times", "under no circumstances", "not allowed", "forbidden", "is required",
	"do not", "don't", "dont", "don’t", "avoid", "no new", "stick to", "only use", "use only", "only the", "only touch", "only change", "only edit", "only modify", "keep in mind", "at most", "no more than", "without changing", "without breaking", "leave alone", "has to stay", "should never", "should always", "should not", "shouldn't", "cannot change", "can't change", "only ever", "remember to", "remember that",
	"nie", "niemals", "immer", "muss", "müssen", "musst", "darf nicht", "darfst", "dürfen nicht", "darf kein", "darf keine", "auf keinen fall", "ausschließlich", "stelle sicher", "stell sicher", "achte darauf", "achte", "nicht anfassen", "nicht ändern", "nicht verändern", "nicht verwenden", "nicht benutzen", "keine neuen", "kein neues", "vermeide", "vermeiden", "ab jetzt", "nur die", "nur den", "nur das", "verwende nur", "nutze nur", "soll nicht", "sollen nicht", "sollte nicht", "ohne zu", "bitte keine", "bitte nicht", "bitte kein",
	"jamais", "toujours", "uniquement", "seulement", "il faut", "il ne faut pas", "doit", "doivent", "dois", "évite", "évitez", "éviter", "assure-toi", "assurez-vous", "n'utilise", "n’utilise", "n'utilisez", "ne touche", "ne touchez", "ne change", "ne changez", "ne modifie", "ne modifiez", "sans changer", "sans modifier", "interdit", "désormais", "aucune nouvelle",
	"nunca", "jamás", "siempre", "solo usa", "sólo usa", "usa solo", "usa sólo", "solamente", "únicamente", "debe", "deben", "debes", "hay que", "evita", "evite", "asegúrate", "asegúrese", "no toques", "no uses", "no cambies", "no modifiques", "no toque", "no añadas", "no agregues", "sin cambiar", "sin modificar", "prohibido", "a partir de ahora", "sólo la", "solo la",
	"sempre", "não", "deve", "mai", "non toccare", "nooit", "altijd", "niet aanpassen", "moet", "никогда", "всегда", "нельзя", "только",
)

// wishes make a sentence a preference.
var wishes = phrases(
	"prefer", "i'd rather", "i would rather", "please use", "please keep", "please stick", "ideally", "preferably",
	"bevorzuge", "bevorzugt", "lieber", "bitte verwende", "bitte nutze", "bitte benutze", "am liebsten", "statt",
	"je préfère", "préfère", "de préférence", "plutôt que", "utilise plutôt",
	"prefiero", "preferiría", "de preferencia", "en lugar de", "en vez de", "por favor usa", "prefiro", "preferisco",
)

// unspaced are words of languages that put no blanks between them.
var unspaced = []string{"不要", "必须", "必須", "务必", "禁止", "只能", "始终", "总是", "しないで", "必ず", "絶対", "절대", "항상", "반드시", "하지 마"}

// innocent are phrases in which a word of the list makes no rule.
var innocent = phrases("don't know", "don't understand", "don't see", "don't think", "don't get", "don't have", "do not have", "do not know", "do not see", "don't worry", "don't remember", "don't need", "don't care", "don't mind", "don't really", "don't exist", "they don't", "actually don't", "don't tink", "i never", "always shows", "must be because", "must have been",
	"why don't", "if you don't", "doesn't", "it never", "it always", "seems to always", "i always get", "must be a", "nie gesehen", "never mind", "never seen", "don't bother", "still don't", "i only", "as always", "like always", "wie immer", "immer noch", "comme toujours", "como siempre")

type phrase []string

func phrases(texts ...string) map[string][]phrase {
	byFirst := map[string][]phrase{}
	for _, text := range texts {
		p := phrase(strings.Fields(text))
		byFirst[p[0]] = append(byFirst[p[0]], p)
	}
	return byFirst
}

func (p phrase) at(all []string, i int) bool {
	if i+len(p) > len(all) {
		return false
	}
	for k, w := range p {
		if all[i+k] != w {
			return false
		}
	}
	return true
}

// Standing reports whether a sentence states a rule, or else a preference.
func Standing(sentence string) (rule, preference bool) {
	if len(sentence) > tooLong || len(sentence) < 6 {
		return false, false
	}
	for _, w := range unspaced {
		if strings.Contains(sentence, w) {
			return true, false
		}
	}
	all := words(sentence)
	if len(all) < 2 || len(all) > 70 {
		return false, false
	}
	question := strings.HasSuffix(sentence, "?")
	skip := 0
	for i, w := range all {
		if i < skip {
			continue
		}
		for _, p := range innocent[w] {
			if p.at(all, i) {
				skip = max(skip, i+len(p))
			}
		}
		if i < skip {
			continue
		}
		for _, p := range rules[w] {
			if p.at(all, i) && !question {
				rule = true
			}
		}
		for _, p := range wishes[w] {
			if p.at(all, i) && !question {
				preference = true
			}
		}
		if w == "only" && i == 0 {
			rule = !question
		}
	}
	if !question && !rule && len(all) <= 10 {
		next := all[1]
		switch all[0] {
		case "no":
			// "No new files.", and not "No idea."
			rule = len(all) > 1 && !slices.Contains([]string{"problem", "worries", "idea", "it", "i", "that", "this", "need", "we", "not", "wait", "thanks", "you", "the", "he", "they", "longer", "sé", "se", "lo", "me", "one", "clue", "way", "matter", "there", "don't", "its", "it's", "im", "i'm", "but", "just", "please"}, next) &&
				!strings.HasPrefix(strings.ToLower(sentence), "no,") && !strings.HasPrefix(strings.ToLower(sentence), "no.")
		case "kein", "keine", "keinen":
			rule = next != "ahnung" && next != "problem" && next != "sorge"
		case "pas", "aucun", "aucune":
			rule = all[0] != "pas" || next == "de" || next == "d'autres"
		case "keep":
			preference = next == "it" || next == "the" || next == "this" || next == "everything" || next == "all"
		case "stop":
			rule = strings.HasSuffix(next, "ing")
		}
	}
	if len(all) > 1 && (all[0] == "only" || all[0] == "and" && all[1] == "only" || all[0] == "nur") && !question {
		rule = true
	}
	return rule, preference
}
