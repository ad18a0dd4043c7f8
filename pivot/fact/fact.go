// Package fact answers: does a text say only what its source contains? It checks a summary that a
// model wrote, without a model: every path, command, identifier and number in it is looked up in
// what it summarises.
//
// What "occurs" means is kept literal on purpose: a claim is true when its text stands somewhere in
// the source, whole words, or when it follows from the source by one of the rewritings that an
// honest summary makes:
//
//   - a path may be longer or shorter than in the source by leading folders, joined with a working
//     folder, or put together from a folder that a command went to or listed and a name that stands
//     in the same command or in its output; folders may be left out ("src/…/x.go"). That a folder
//     and a file both occur is not enough. A module of Python may be named with dots;
//   - a command may leave out arguments: its words stand in this order in one simple command of the
//     source; its flags are the same, in whatever order and merged or not;
//   - an identifier is compared exactly, with or without "()"; a method may be named Type.method
//     where the source has the two side by side;
//   - a number may be grouped as any language does, rounded, in a larger unit, or a share written
//     as a percentage, a date or a time of day in another form. It may follow from two numbers of
//     its own sentence (sum, difference, share, change, ratio) or from the column above it. A count
//     may be one that the text itself, a list in a call, the lines of a written file or the calls
//     of the session add up to.
//
// What cannot be looked up is no claim: counts up to twelve, approximations ("about 200"),
// differences of lines ("+40 −2"), how often something was done, names of well-known products, and
// words that are nothing but words: a name that is made of hyphens and small letters, or has but
// its first letter large, is one only in backticks, and so is what a program that is not known is
// told to do. A true sentence made of true words is not looked at: this package finds what was made
// up, not what was misunderstood.
package fact

// Kind says what a claim is.
type Kind string

const (
	Path    Kind = "path"    // a file or folder, with its line where one is given
	Command Kind = "command" // what somebody ran or is to run
	// a name, a flag, a variable, an address, a hash, an error's code, a word in backticks
	Identifier Kind = "identifier"
	Number     Kind = "number" // a figure, a version, a date
)

// Claim is a piece of a text that can be looked up.
type Claim struct {
	Kind       Kind   `json:"kind"`
	Text       string `json:"text"` // as it stands in the text
	Start, End int    `json:"-"`    // text[Start:End], in bytes
	quoted     bool   // it stands in backticks or in a block of code
	opens      bool   // it opens a sentence
	after      string // the word behind it
}

// Check returns the claims of a text that occur nowhere in its source, in the order of the text.
func Check(text string, s *Source) []Claim {
	return CheckWhile(text, s, func() bool { return true })
}

// CheckWhile is Check, which asks before each claim whether to go on: to look for one in twenty
// megabytes takes milliseconds. Once it is not to, it returns what it has found by then.
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
			ok = s.holds(c) || c.Kind == Number && (enumerated(text, c) || s.reckoned(text, c))
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
