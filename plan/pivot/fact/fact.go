// Package fact finds what a summary says that its source does not. It looks up every path, command,
// identifier and number of a text in what the text summarises, without a model.
//
// A claim occurs if its text is in the source as whole words, or if it follows from the source by a
// rewriting that an honest summary makes:
//
//   - A path may have more or fewer leading folders than in the source, be joined with a working
//     folder, or combine a folder that a command went to or listed with a name in the same command
//     or its output; folders may be left out ("src/…/x.go"). It is not enough that a folder and a
//     file both occur. A Python module may be named with dots.
//   - A command may leave out arguments: its words occur in this order in one simple command of the
//     source; its flags are the same, in any order, merged or not.
//   - An identifier is compared exactly, with or without "()". A method may be named Type.method if
//     the source has the two side by side.
//   - A number may be grouped as in any language, rounded, in a larger unit, or a share written as
//     a percentage; a date or a time of day may be in another form. A count may be that of a list
//     in the text or in a call, of the lines of a written file, or of the calls of the session.
//     Nothing is calculated: a total or a difference occurs only if the source states it.
//
// Text that cannot be looked up is no claim: counts up to twelve, approximations ("about 200"),
// differences of lines ("+40 −2"), how often something was done, names of well-known products, and
// ordinary words. A name made of hyphens and lower-case letters, or with only its first letter
// upper-case, is a claim only in backticks, and so is a command of an unknown program. A true
// sentence is not examined: this package finds what was made up, not what was misunderstood.
package fact

// Kind says what a claim is.
type Kind string

const (
	Path    Kind = "path"    // a file or folder, with its line where one is given
	Command Kind = "command" // one that ran or should run
	// a name, a flag, a variable, an address, a hash, an error's code, a word in backticks
	Identifier Kind = "identifier"
	Number     Kind = "number" // a figure, a version, a date
)

// Claim is a piece of a text that can be looked up.
type Claim struct {
	Kind       Kind   `json:"kind"`
	Text       string `json:"text"` // as written in the text
	Start, End int    `json:"-"`    // text[Start:End], in bytes
	quoted     bool   // in backticks or in a code block
	opens      bool   // at the beginning of a sentence
	after      string // the word after it
}

// Check returns the claims of a text that occur nowhere in its source, in the order of the text.
func Check(text string, s *Source) []Claim {
	return CheckWhile(text, s, func() bool { return true })
}

// CheckWhile is Check, but asks before each claim whether to go on, because a look-up in twenty
// megabytes takes milliseconds. When told to stop, it returns what it has found so far.
func CheckWhile(text string, s *Source, goOn func() bool) []Claim {
	var invented []Claim
	known := map[string]bool{}
	for _, c := range Claims(text) {
		if !goOn() {
			break
		}
		key := string(c.Kind) + c.Text
		if c.opens {
			key += "^"
		}
		ok, seen := known[key]
		if !seen || c.Kind == Number {
			ok = s.holds(c) || c.Kind == Number && enumerated(text, c)
			known[key] = ok
		}
		if !ok {
			invented = append(invented, c)
		}
	}
	return invented
}

// holds reports whether a claim occurs.
func (s *Source) holds(c Claim) bool {
	switch c.Kind {
	case Path:
		return s.path(c)
	case Command:
		return s.command(c.Text)
	case Number:
		return s.number(c)
	}
	return s.identifier(c)
}
