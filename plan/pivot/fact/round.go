package fact

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// figures are the numbers of a source, each list sorted. They are collected when the first number
// is looked up.
type figures struct {
	wholes   []float64       // from 1,000 on
	decimals []float64       // with a point
	texts    int             // how many texts of the source they are from
	known    map[string]bool // the figures that were looked up in these
}

// all adds the numbers of the texts added since the last call.
func (s *Source) all() *figures {
	f := &s.known
	if f.texts == len(s.texts) && f.known != nil {
		return f
	}
	f.known = map[string]bool{}
	for _, t := range s.texts[f.texts:] {
		f.gather(t.text)
	}
	f.texts = len(s.texts)
	slices.Sort(f.wholes)
	f.wholes = slices.Compact(f.wholes)
	slices.Sort(f.decimals)
	f.decimals = slices.Compact(f.decimals)
	return f
}

func (f *figures) gather(text string) {
	for i := 0; i < len(text); {
		if !isDigit(text[i]) {
			i++
			continue
		}
		f.grouped(text, i)
		start, points, groups := i, 0, 0
		for i < len(text) && (isDigit(text[i]) || i+1 < len(text) && isDigit(text[i+1]) &&
			(text[i] == '.' || text[i] == ',')) {
			switch text[i] {
			case '.':
				points++
			case ',':
				groups++
			}
			i++
		}
		const longest = 18 // digits; what is longer is an id
		if i-start < 3 || i-start > longest || points > 1 ||
			start > 0 && (isWord(text[start-1]) && !escaped(text, start) || text[start-1] == '.') {
			continue
		}
		number := text[start:i]
		if groups > 0 {
			if !grouped(number) {
				continue
			}
			number = strings.ReplaceAll(number, ",", "")
		}
		value, err := strconv.ParseFloat(number, 64)
		switch {
		case err != nil:
		case points > 0:
			f.decimals = append(f.decimals, value)
		case value >= 1000 && number[0] != '0':
			f.wholes = append(f.wholes, value)
		}
	}
}

// grouped records a whole number written in groups of three, whatever separates them: 12.288,
// 12'288, 12 288.
func (f *figures) grouped(text string, at int) {
	i := at
	for i < len(text) && i-at < 4 && isDigit(text[i]) {
		i++
	}
	if i-at > 3 || text[at] == '0' || i == len(text) ||
		at > 0 && (isWord(text[at-1]) && !escaped(text, at) || text[at-1] == '.' || text[at-1] == ',') {
		return
	}
	by := ""
	for _, one := range []string{"_", ".", "'", " ", "\u202f", "\u00a0", "\u2009"} {
		if strings.HasPrefix(text[i:], one) {
			by = one
		}
	}
	value, _ := whole(text[at:i])
	for n := 0; by != "" && n < 4 && strings.HasPrefix(text[i:], by) && len(text) >= i+len(by)+3 &&
		digits(text[i+len(by):i+len(by)+3]); n++ {
		group, _ := whole(text[i+len(by) : i+len(by)+3])
		value = value*1000 + group
		i += len(by) + 3
	}
	if value >= 1000 && (i == len(text) || !isWord(text[i])) {
		f.wholes = append(f.wholes, float64(value))
	}
}

// rounded reports whether a number is one with more decimals, rounded.
func (s *Source) rounded(value float64, places int) bool {
	half := decimal(places) / 2
	return between(s.all().decimals, value-half*1.000001, value+half*1.000001)
}

// large reports whether a number is a whole number, rounded and in a larger unit.
func (s *Source) large(value float64, places int, unit float64) bool {
	half := decimal(places) / 2
	return s.within((value-half)*unit, (value+half)*unit)
}

func (s *Source) within(low, high float64) bool { return between(s.all().wholes, low, high) }

// seconds reports whether a number of minutes or hours is a rounded number of seconds.
func (s *Source) seconds(value float64, places int, unit float64) bool {
	half := decimal(places) / 2
	low, high := math.Ceil((value-half)*unit), math.Floor((value+half)*unit)
	if low > 1e12 { // counting on by one would lead nowhere
		return false
	}
	for v := low; v <= high && v <= low+400; v++ {
		figure := strconv.FormatFloat(v, 'f', -1, 64)
		for _, word := range []string{"s", " s", " sec", " seconds"} {
			if s.find(figure+word, nil, asWord) {
				return true
			}
		}
	}
	return false
}

// between reports whether a sorted list has a number from low to high.
func between(sorted []float64, low, high float64) bool {
	i, _ := slices.BinarySearch(sorted, low)
	return i < len(sorted) && sorted[i] <= high
}

// decimal returns one unit of the last decimal place.
func decimal(places int) float64 { return math.Pow(10, -float64(places)) }

// numeral returns how many bytes of a token are its figure: digits and what groups or divides them.
func numeral(tok string) int {
	n := 0
	for n < len(tok) {
		switch width := groupSpace(tok[n:]); {
		case isDigit(tok[n]), n+1 < len(tok) && strings.IndexByte(".,_':-TZ", tok[n]) >= 0 && isDigit(tok[n+1]):
			n++
		case n > 0 && width > 0:
			n += width
		default:
			return n
		}
	}
	return n
}

// opensGroups reports whether a word is a number of at most three digits, or the first groups of a
// longer one.
func opensGroups(word string) bool {
	lead := 0
	for lead < len(word) && isDigit(word[lead]) {
		lead++
	}
	return lead > 0 && lead <= 3 && numeral(word) == len(word) && !strings.ContainsAny(word, ".,:'-_TZ")
}

// groupSpace returns the width of a space at the beginning of a text that separates groups of three
// digits, or 0.
func groupSpace(text string) int {
	width := 0
	for _, by := range []string{" ", "\u00a0", "\u202f", "\u2009"} {
		if strings.HasPrefix(text, by) {
			width = len(by)
		}
	}
	if width == 0 || len(text) < width+3 || !digits(text[width:width+3]) {
		return 0
	}
	if rest := text[width+3:]; rest != "" &&
		(isWord(rest[0]) || rest[0] == '-' || rest[0] == ':' || rest[0] == '/' ||
			len(rest) > 1 && rest[0] == '.' && isDigit(rest[1])) {
		return 0
	}
	return width
}

// ungrouped removes English digit grouping.
func ungrouped(figure string) string {
	return withoutGroups.Replace(figure)
}

var (
	withoutGroups = strings.NewReplacer(",", "", "_", "", "'", "", " ", "", "\u00a0", "", "\u202f", "", "\u2009", "")
	withoutSpaces = strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "", "\u2009", "")
	otherPoint    = strings.NewReplacer(".", ",", ",", ".")
)

// readings returns the values of a figure as different languages write them: 1,234.5 and 1.234,5
// and 1 234,5.
func readings(figure string) []string {
	plain := withoutSpaces.Replace(figure)
	all := []string{plain}
	if grouped(plain) {
		all[0] = ungrouped(plain)
	}
	other := otherPoint.Replace(plain)
	if grouped(other) {
		all = append(all, ungrouped(other))
	}
	if strings.Count(plain, ",") == 1 && !strings.Contains(plain, ".") {
		all = append(all, strings.Replace(plain, ",", ".", 1))
	}
	return all
}

// inWords returns the value of a number in words, from twenty-one to ninety-nine.
func inWords(text string) (int, bool) {
	tens, one, ok := strings.Cut(strings.ToLower(text), "-")
	if !ok {
		return 0, false
	}
	ten := slices.Index([]string{"twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}, tens)
	unit := slices.Index([]string{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}, one)
	return 10*(ten+2) + unit + 1, ten >= 0 && unit >= 0
}
