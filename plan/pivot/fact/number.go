package fact

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// small is the largest count that is not a claim: "three files" and "7 tests" can be right without
// being in the source.
const small = 12

func startsNumber(tok string) bool {
	tok = strings.TrimLeft(tok, "$~+-v#≈−:")
	return tok != "" && isDigit(initial(tok))
}

// number adds the claims of a token that begins with a figure, and reports whether it is dealt
// with: false is for words such as "7a23400".
func (f *finder) number(start, end int, quoted bool) bool {
	t := f.text
	approximate, signed := false, false
	for start < end {
		r, size := utf8.DecodeRuneInString(t[start:end])
		if isDigit(byte(r)) && r < 0x80 {
			break
		}
		approximate = approximate || r == '~' || r == '≈'
		signed = signed || r == '+' || r == '-' || r == '−'
		start += size
	}
	// "10-20", "5/7": each by itself. A date stays whole.
	tok := t[start:end]
	if !isDate(tok) {
		if i := strings.IndexAny(tok, "/-"); i > 0 && i+1 < len(tok) && isDigit(tok[i+1]) &&
			strings.Trim(tok, "0123456789/-.,") == "" {
			f.number(start, start+i, quoted)
			f.number(start+i+1, end, quoted)
			return true
		}
		if i := strings.IndexByte(tok, '-'); i > 0 && i+1 < len(tok) && isAlpha(tok[i+1]) &&
			strings.Trim(tok[i+1:], "abcdefghijklmnopqrstuvwxyz-") == "" &&
			strings.Trim(tok[:i], "0123456789.,") == "" {
			end = start + i // "10-line"
			tok = t[start:end]
		}
	}
	n := numeral(tok)
	if unit := tok[n:]; unit != "" && !units[unit] {
		switch unit {
		case ".x", ".X", ".*": // any patch of a version
			f.add(Number, start, end, quoted)
			return true
		case "st", "nd", "rd", "th", "D", "d", "s":
			return true // "3rd", "2D", "1990s"
		case "+":
			approximate = true
		default:
			return false
		}
	}
	value, isWhole := whole(ungrouped(tok[:n]))
	if approximate || signed && isWhole && n == len(tok) || isWhole && value <= small && n == len(tok) ||
		vague(t[:start]) {
		return true
	}
	f.add(Number, start, end, quoted)
	if c := &f.claims[len(f.claims)-1]; n == len(tok) && isWhole && counted(t[:start], c.after) {
		f.claims = f.claims[:len(f.claims)-1]
	}
	return true
}

// isDate recognises 2026-01-16, with or without a time.
func isDate(tok string) bool {
	return len(tok) >= 10 && tok[4] == '-' && tok[7] == '-' && digits(tok[:4]) && digits(tok[5:7]) && digits(tok[8:10])
}

// vague reports whether the words before a number say that it is not exact.
func vague(before string) bool {
	before = strings.ToLower(strings.TrimRight(before[max(0, len(before)-24):], " *_`(~"))
	for _, w := range vagueWords {
		if strings.HasSuffix(before, w) && (len(before) == len(w) || !isWord(before[len(before)-len(w)-1])) {
			return true
		}
	}
	return false
}

// counted reports whether a number says how often something happened in the session, which no text
// in it states.
func counted(before, after string) bool {
	switch after {
	case "times", "more", "runs", "calls", "steps", "messages", "turns", "edits", "attempts", "iterations",
		"interactions", "exchanges":
		return true
	}
	return strings.HasSuffix(strings.TrimRight(before, " "), "runs") || after == "failures"
}

// number reports whether a figure occurs or follows.
func (s *Source) number(c Claim) bool {
	if value, ok := inWords(c.Text); ok {
		return s.word(c.Text) || s.number(Claim{Text: strconv.Itoa(value), after: c.after}) ||
			s.word(strings.ReplaceAll(c.Text, "-", " "))
	}
	n := numeral(c.Text)
	figure, unit := c.Text[:n], c.Text[n:]
	switch unit {
	case "":
		unit = c.after
	case ".x", ".X", ".*":
		return s.figure(figure) || s.find(figure+".", nil, asWord)
	}
	if s.figure(figure) || s.day(figure) || s.clock(figure, unit) {
		return true
	}
	for _, bare := range readings(figure) {
		if s.reads(bare, unit, c) {
			return true
		}
	}
	if parts := strings.FieldsFunc(figure, func(r rune) bool { return r == ' ' || r >= 0x80 }); len(parts) > 1 {
		for _, part := range parts { // two adjacent figures
			if !s.reads(part, "", c) {
				return false
			}
		}
		return true
	}
	return false
}

// reads reports whether a figure occurs when read without grouping and with a decimal point.
func (s *Source) reads(bare, unit string, c Claim) bool {
	if s.figure(bare) {
		return true
	}
	if value, ok := whole(bare); ok {
		if value >= 1000 && s.within(float64(value), float64(value)) {
			return true
		}
		if s.figure(bare+".0") || s.figure(bare+".00") {
			return true
		}
		switch c.after {
		case "todos", "todo", "tasks", "items", "entries":
			if s.counts[value] {
				return true
			}
		case "files", "file":
			if len(s.files) == value || s.counts[value] {
				return true
			}
		case "lines", "line":
			if s.lines[value] {
				return true
			}
		case "commands", "tool", "tools":
			if value == s.calls {
				return true
			}
			for _, n := range s.called {
				if n == value {
					return true
				}
			}
		}
	}
	if i := strings.IndexByte(bare, '.'); i > 0 && strings.Count(bare, ".") == 1 {
		if short := strings.TrimRight(strings.TrimRight(bare, "0"), "."); short != bare && s.figure(short) ||
			s.figure(bare+"0") {
			return true
		}
	}
	value, err := strconv.ParseFloat(bare, 64)
	if err != nil {
		return false
	}
	places := 0 // decimals that are given
	if i := strings.IndexByte(bare, '.'); i >= 0 {
		places = len(bare) - i - 1
	}
	return s.rounded(value, places) || s.converted(value, places, unit)
}

// converted looks for a figure in another unit, or before rounding.
func (s *Source) converted(value float64, places int, unit string) bool {
	form := func(v float64) bool { return s.figure(strconv.FormatFloat(v, 'f', -1, 64)) }
	step := 0.0
	switch unit {
	case "%", "percent", "Prozent":
		share := math.Round(value*1e6) / 1e8
		return form(share) || s.figure(strings.TrimPrefix(strconv.FormatFloat(share, 'f', -1, 64), "0")) ||
			s.rounded(value/100, places+2)
	case "s", "sec", "seconds", "Sekunden":
		return form(math.Round(value*1000)) || s.large(value, places, 1000)
	case "ms", "milliseconds":
		return form(value/1000) || s.rounded(value/1000, 3)
	case "min", "m", "minutes", "minute", "Minuten":
		return form(value*60) || form(value*60_000) || s.seconds(value, places, 60) || s.large(value, places, 60_000)
	case "h", "hours", "hour":
		return form(value*60) || form(value*3600) || s.seconds(value, places, 3600)
	case "k", "K":
		step = 1e3
	case "kB", "KB", "kb", "KiB":
		step = 1e3
	case "M", "MB", "mb", "MiB", "million":
		step = 1e6
	case "GB", "gb", "GiB", "G", "billion":
		step = 1e9
	default:
		return false
	}
	binary := map[float64]float64{1e3: 1 << 10, 1e6: 1 << 20, 1e9: 1 << 30}[step]
	for _, size := range []float64{step, binary} {
		if form(math.Round(value*size)) || s.large(value, places, size) {
			return true
		}
	}
	// "12.3k" is cut as often as rounded.
	return (unit == "k" || unit == "K") && s.within((value-decimal(places))*step, (value+decimal(places))*step)
}

// grouped reports whether a figure is in groups of three.
func grouped(figure string) bool {
	whole, _, _ := strings.Cut(figure, ".")
	i := strings.IndexAny(whole, ",_'")
	if i < 1 || i > 3 {
		return false
	}
	groups := strings.FieldsFunc(whole[i:], func(r rune) bool { return r == ',' || r == '_' || r == '\'' })
	return !slices.ContainsFunc(groups, func(group string) bool { return len(group) != 3 || !digits(group) })
}

// figure reports whether the source has a number by itself, not inside another number or a word,
// except for a unit or a version mark around it.
func (s *Source) figure(text string) bool {
	f := s.all()
	stands, known := f.known[text]
	if !known {
		stands = s.stands(text)
		f.known[text] = stands
	}
	return stands
}

func (s *Source) stands(text string) bool {
	version := strings.Count(text, ".") > 0
	return s.find(text, nil, func(in string, i, j int) bool {
		if i > 0 {
			p := in[i-1]
			switch {
			case isDigit(p) || i > 1 && (p == '.' || p == ',') && isDigit(in[i-2]):
				return false
			case isWord(p) && !version && !escaped(in, i):
				if i > 1 && isWord(in[i-2]) || strings.IndexByte("vVLpxlQq", p) < 0 {
					return false
				}
			}
		}
		if j == len(in) {
			return true
		}
		next := in[j]
		if isDigit(next) || !version && j+1 < len(in) && next == '.' && isDigit(in[j+1]) ||
			next == ',' && groupBehind(in[j+1:]) && j-i <= 3 {
			return false
		}
		if isAlpha(next) || next == '_' {
			n := j
			for n < len(in) && isWord(in[n]) {
				n++
			}
			unit := in[j:n]
			return unit != "k" && unit != "K" && (units[unit] || n-j <= 2 && !isDigit(in[n-1]))
		}
		return true
	})
}

// groupBehind reports whether a text begins with a group of three digits.
func groupBehind(text string) bool {
	return len(text) >= 3 && digits(text[:3]) && (len(text) == 3 || !isWord(text[3]))
}

// enumerated reports whether a count is that of the list below it.
func enumerated(text string, c Claim) bool {
	want, ok := whole(strings.ReplaceAll(c.Text, ",", ""))
	if !ok || want > 10_000 {
		return false
	}
	_, rest, _ := strings.Cut(text[c.End:], "\n")
	items, indent := 0, -1
	for line := range strings.Lines(rest) {
		trimmed := strings.TrimLeft(line, " \t>")
		in := len(line) - len(trimmed)
		if strings.TrimSpace(trimmed) == "" {
			continue
		}
		item := strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(trimmed, "* ") ||
			strings.HasPrefix(trimmed, "+ ") || len(trimmed) > 2 && isDigit(initial(trimmed)) && structure(trimmed) > 0
		switch {
		case item && indent < 0:
			indent, items = in, 1
		case item && in == indent:
			items++
		case indent < 0, in < indent || in == indent && !item:
			return items == want
		}
	}
	return items == want
}
