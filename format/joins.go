package format

// Joins keeps what is one message in one stretch: a call and its result, which may come after the user has said something else. The zero value is
// ready.
type Joins struct {
	names Names
	seen  []joined
}

// joined is a call, or a result, on a line that was shown.
type joined struct {
	id     uint32
	line   int32
	result bool
}

// farthest is how many lines a result may stand behind its call. One that stands farther away is reported as a message of its own: a file could otherwise say
// that all of it must be held at once.
const farthest = 1 << perStretch

// Call notes a call on a line, by its number among those that were shown.
func (j *Joins) Call(id string, line int) {
	j.seen = append(j.seen, joined{j.names.Of(id), int32(line), false})
}

// Result notes a result.
func (j *Joins) Result(id string, line int) {
	j.seen = append(j.seen, joined{j.names.Of(id), int32(line), true})
}

// Keep lets no stretch begin between a call and its results. Of the lines those count that are in the session; a result belongs to the newest call of its id, and
// the first one without a call stands for it.
func (j *Joins) Keep(uses []Use, in []bool) {
	newest := make([]int32, j.names.Len()+1) // line of the call, plus one
	steps := make([]int32, len(uses)+1)
	for _, s := range j.seen {
		if !in[s.line] {
			continue
		}
		call := newest[s.id] - 1
		switch {
		case !s.result || call < 0:
			newest[s.id] = s.line + 1
		case s.line-call <= farthest:
			steps[call+1]++
			steps[s.line+1]--
		}
	}
	within := int32(0)
	for i := range uses {
		if within += steps[i]; within > 0 && uses[i] == Begins {
			uses[i] = Inside
		}
	}
}
