package recall

// Texts remembers the sentences of texts and what they say, so that whoever reads a log at each fold
// reads what is new. It holds each text once and is dropped with the log. The zero value is ready.
// It is not safe for concurrent use.
type Texts struct {
	users, others map[string][]string // sentences, by text
	verdicts      map[string]verdict  // by sentence
	statements    map[string][]statement
}

// verdict classifies a sentence of the user's.
type verdict struct {
	rule, preference bool // see Instruction
	strong, weak     bool // see revokes
}

// sentences splits a text. Quotations and pasted text are dropped from the user's.
func (t *Texts) sentences(text string, user bool) []string {
	known := &t.others
	if user {
		known = &t.users
	}
	return remembered(known, text, func() []string {
		prose := Prose(text)
		if user {
			prose = rejoined(typed(prose))
		}
		return Sentences(prose)
	})
}

// judge classifies a sentence of the user's.
func (t *Texts) judge(sentence string) verdict {
	return remembered(&t.verdicts, sentence, func() (v verdict) {
		v.rule, v.preference = Instruction(sentence)
		if len(sentence) <= tooLong && !question(sentence) {
			v.strong, v.weak = clauseOf(sentence).revokes()
		}
		return v
	})
}

// stated returns the values that a sentence states.
func (t *Texts) stated(sentence string) []statement {
	return remembered(&t.statements, sentence, func() []statement { return stated(sentence) })
}

// remembered makes a value once for each text.
func remembered[V any](known *map[string]V, text string, make func() V) V {
	v, ok := (*known)[text]
	if !ok {
		if v = make(); *known == nil {
			*known = map[string]V{}
		}
		(*known)[text] = v
	}
	return v
}
