package token

import "unicode/utf8"

// The estimator is a finite machine: a byte moves it from one state to the next, and each move
// counts some features. What a group is, is known only when it has ended: so a space, a tab or a
// sign that the next word may take is a state, and counts with the move that shows whether it was
// taken.

// Columns are what a byte or rune is to the machine. One that repeats the two before it is
// sameColumn further.
const (
	colLower = iota
	colUpper
	colDigit
	colSign
	colDot   // a sign that often begins a word of the vocabulary
	colScore // the underscore
	colQuote // the apostrophe
	colSpace
	colTab
	colLine
	colControl
	colLatin   // a Latin letter with an accent
	colForeign // a letter of another script
	colOther   // any other rune that is not ASCII
	colEnd     // the end of the text

	sameColumn = 16
	columns    = 32
)

// States. State stateWord+kind*maxWord+n is a word of that kind, after its n+1st letter.
const (
	stateStart    = iota // also after whatever has nothing to do with what follows
	stateDigit1          // after one digit of a group
	stateDigit2          // after two
	stateSign            // after one sign that the next word may take
	stateDot             // the same, colDot
	stateScore           // the same, colScore
	stateQuote           // after a word and an apostrophe
	stateContract        // after a word, an apostrophe and a letter
	stateSign1           // after one sign and its space
	stateSign2           // after two signs
	stateSigns           // after three and more
	stateSignLine        // after signs and line ends
	stateLine            // after white space and a line end
	stateForeign         // after a letter of another script
	stateBlank           // and the next seven: white space, see blank
	stateWord     = stateBlank + 8
	stateCount    = stateWord + kindCount*maxWord
)

// blank is white space within a line: one or more, at its end a tab or a space, behind a line end
// of white space or not.
func blank(many, tab, line bool) int {
	s := stateBlank
	for i, is := range [...]bool{many, tab, line} {
		if is {
			s += 1 << i
		}
	}
	return s
}

func wordState(kind, letters int) int { return stateWord + kind*maxWord + min(letters, maxWord) - 1 }

// A move is what a column does to a state.
type move struct {
	next   int
	counts []int
}

// moves is the whole machine, at state*columns+column. It is constant after the program was loaded.
var moves = func() (t [stateCount * columns]move) {
	for state := range stateCount {
		for column := range colEnd + 1 {
			t[state*columns+column] = step(state, column, false)
			t[state*columns+column+sameColumn] = step(state, column, true)
		}
	}
	return t
}()

func step(state, column int, same bool) move {
	switch column {
	case colLower, colLatin:
		return letter(state, column == colLatin, same)
	case colUpper:
		return capital(state, same)
	case colDigit:
		return digit(state)
	case colSign, colDot, colScore:
		return sign(state, same, column)
	case colQuote:
		if state >= stateWord {
			return move{next: stateQuote}
		}
		return sign(state, same, colSign)
	case colSpace, colTab:
		return space(state, column == colTab, same)
	case colLine:
		return line(state, same)
	case colControl:
		return move{stateStart, append(leave(state), featControl)}
	case colForeign:
		_, counts := lead(state)
		if state != stateForeign {
			counts = append(counts, featForeign)
		}
		return move{stateForeign, counts}
	case colOther:
		_, counts := joined(state)
		return move{stateStart, counts}
	default:
		if state >= stateBlank && state < stateWord { // nothing follows that takes the last of the white space
			return move{stateStart, []int{featIndent}}
		}
		return move{stateStart, leave(state)}
	}
}

// spread takes a state of white space apart.
func spread(state int) (many, tab, line, ok bool) {
	if state < stateBlank || state >= stateWord {
		return
	}
	s := state - stateBlank
	return s&1 != 0, s&2 != 0, s&4 != 0, true
}

// leave returns what a state leaves behind when nothing of it is taken by what follows.
func leave(state int) []int {
	if many, _, _, ok := spread(state); ok {
		if many {
			return []int{featIndent, featBlank}
		}
		return []int{featBlank}
	}
	if state >= stateSign && state <= stateQuote {
		return []int{featSign}
	}
	return nil
}

// lead returns what kind of word begins after a state, and what the state leaves behind.
func lead(state int) (kind int, counts []int) {
	if many, tab, _, ok := spread(state); ok {
		if many {
			counts = []int{featIndent}
		}
		if tab {
			return kindTabbed, counts
		}
		return kindSpaced, counts
	}
	switch state {
	case stateSign:
		return kindSigned, nil
	case stateDot:
		return kindDotted, nil
	case stateScore:
		return kindScored, nil
	}
	return kindGlued, leave(state)
}

// joined says whether a group of signs after a state takes a space, and what else the state leaves
// behind.
func joined(state int) (spaced bool, counts []int) {
	many, tab, _, ok := spread(state)
	if !ok || tab {
		return false, leave(state)
	}
	if many {
		counts = []int{featIndent}
	}
	return true, counts
}

func letter(state int, latin, same bool) move {
	if state >= stateWord {
		kind, letters := (state-stateWord)/maxWord, (state-stateWord)%maxWord+1
		if kind >= kindUpper {
			kind, letters = kindMixed, 1
		}
		more := kind*maxWord + letters
		switch {
		case latin: // counts by itself
			return move{next: wordState(kind, letters+1)}
		case same:
			more = featRepeat
		case letters >= maxWord:
			more = featRest
		}
		return move{wordState(kind, letters+1), []int{more}}
	}
	switch state {
	case stateQuote:
		return move{stateContract, []int{featContraction}}
	case stateContract:
		return move{next: stateContract}
	}
	kind, counts := lead(state)
	return move{wordState(kind, 1), append(counts, kind*maxWord)}
}

func capital(state int, same bool) move {
	if state < stateWord {
		kind, counts := lead(state)
		kind += kindTitled
		return move{wordState(kind, 1), append(counts, kind*maxWord)}
	}
	kind, letters := (state-stateWord)/maxWord, (state-stateWord)%maxWord+1
	if kind < kindUpper {
		if kind < kindTitled || kind > kindCamel || letters > 1 { // after a small letter
			return move{wordState(kindCamel, 1), []int{kindCamel * maxWord}}
		}
		switch kind {
		case kindTitled:
			kind = kindUpperSpaced
		case kindTitledScored:
			kind = kindUpperScored
		default:
			kind = kindUpper
		}
	}
	more := kind*maxWord + letters
	if same {
		more = featRepeat
	} else if letters >= maxWord {
		more = featRest
	}
	return move{wordState(kind, letters+1), []int{more}}
}

func digit(state int) move {
	switch state {
	case stateDigit1:
		return move{next: stateDigit2}
	case stateDigit2:
		return move{next: stateStart}
	}
	return move{stateDigit1, append(leave(state), featDigits)}
}

// sign: one sign that follows neither a space nor a sign may be taken by a word.
func sign(state int, same bool, column int) move {
	either := func(run, otherwise int) move {
		if same {
			return move{stateSigns, []int{run}}
		}
		return move{stateSigns, []int{otherwise}}
	}
	switch state {
	case stateSign, stateDot, stateScore, stateQuote:
		return move{stateSign2, []int{featSign, featSign2}}
	case stateSign1:
		return move{stateSign2, []int{featSign2}}
	case stateSign2:
		return either(featSignTriple, featSign3)
	case stateSigns:
		return either(featSignRun, featSigns)
	}
	if spaced, counts := joined(state); spaced {
		return move{stateSign1, append(counts, featSign)}
	}
	return move{[...]int{colSign: stateSign, colDot: stateDot, colScore: stateScore}[column], leave(state)}
}

func space(state int, tab, same bool) move {
	_, _, line, ok := spread(state)
	if !ok {
		return move{blank(false, tab, state == stateLine), leave(state)}
	}
	if same {
		run := featSpaceRun
		if tab {
			run = featTabRun
		}
		return move{blank(true, tab, line), []int{run}}
	}
	return move{next: blank(true, tab, line)}
}

func line(state int, same bool) move {
	more := func(next, otherwise int) move {
		if same {
			return move{next, []int{featLineRun}}
		}
		return move{next, []int{otherwise}}
	}
	switch state {
	case stateSign, stateDot, stateScore, stateQuote:
		return move{stateSignLine, []int{featSign, featSignLines}}
	case stateSign1, stateSign2, stateSigns, stateSignLine:
		return more(stateSignLine, featSignLines)
	case stateLine:
		return more(stateLine, featMoreLines)
	}
	if _, _, line, ok := spread(state); ok && line {
		return move{stateLine, []int{featMoreLines}}
	}
	return move{stateLine, []int{featLines}}
}

// A byte is its column, and from charShift on its place among the letters, or noChar.
const (
	charShift = 4
	noChar    = 63
)

// asciis says what each byte of ASCII is. It is constant after the program was loaded.
var asciis = func() (t [256]uint16) {
	for b := range t {
		column, letter := colSign, noChar
		switch {
		case b >= 'a' && b <= 'z':
			column, letter = colLower, b-'a'
		case b >= 'A' && b <= 'Z':
			column, letter = colUpper, b-'A'+26
		case b >= '0' && b <= '9':
			column = colDigit
		case b == '.' || b == '-' || b == '/' || b == '(':
			column = colDot
		case b == '_':
			column = colScore
		case b == '\'':
			column = colQuote
		case b == ' ':
			column = colSpace
		case b == '\t' || b == '\v' || b == '\f':
			column = colTab
		case b == '\n' || b == '\r':
			column = colLine
		case b < ' ' || b == 0x7F:
			column = colControl
		case b >= utf8.RuneSelf:
			column = colOther
		}
		t[b] = uint16(column | letter<<charShift)
	}
	return t
}()
