package simulation

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/budget"
	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/lab"
)

// sweepPoints is how many values of a setting are compared where nobody says how many.
const sweepPoints = 8

// wordOf is the word of a threshold that is no number, "" for a number. Values that are numbers are
// not below 0.
func wordOf(value float64) string {
	if value >= 0 {
		return ""
	}
	text, err := json.Marshal(budget.Threshold(value))
	if err != nil {
		return ""
	}
	return strings.Trim(string(text), `"`)
}

// sweptSetups are the policies of a sweep, KEY=FROM..TO, KEY=FROM..TO/POINTS or KEY=A,B,C: the
// configuration in force with each value of a setting.
func sweptSetups(settings config.Settings, sweep string) ([]lab.Setup, error) {
	key, text, ok := strings.Cut(sweep, "=")
	if !ok || text == "" {
		return nil, cli.Usage("--sweep %s: write KEY=FROM..TO or KEY=A,B,C, "+
			"such as compaction.threshold=40k..200k or compaction.threshold=60k,economic", sweep)
	}
	values, err := sweptValues(text)
	if err != nil {
		return nil, cli.Usage("--sweep %s: %w", sweep, err)
	}
	var setups []lab.Setup
	for _, value := range values {
		written, err := sweptValue(key, value)
		if err != nil {
			return nil, cli.Usage("--sweep %s: %w", sweep, err)
		}
		s, err := set(settings, map[string]string{key: written})
		if err != nil {
			return nil, cli.Usage("--sweep %s: %w", sweep, err)
		}
		changed, err := differing(s, config.Default())
		if err != nil {
			return nil, err
		}
		last := key[strings.LastIndexByte(key, '.')+1:]
		setups = append(setups, lab.Setup{Name: fmt.Sprintf("%s %s=%s", s.Policy, last, inThousands(value)),
			Group: s.Policy + " " + key, Policy: s.NewPolicy(), Settings: changed})
	}
	return setups, nil
}

// sweptValue is a value of a setting as JSON.
func sweptValue(key string, value float64) (string, error) {
	_, defaults, err := config.Loaded{Settings: config.Default()}.Values()
	if err != nil {
		return "", err
	}
	number := strconv.FormatFloat(value, 'f', -1, 64)
	word := wordOf(value)
	if word != "" {
		number = strconv.Quote(word)
	}
	was, ok := defaults[key]
	switch {
	case key == "compaction.threshold":
		return number, nil
	case !ok:
		return "", fmt.Errorf("unknown setting %q; `winnow config` lists them", key)
	case !decides(key) || was.Kind() != '0' && key != "compaction.reserved" && key != "compaction.keep":
		return "", fmt.Errorf("%s is not a number that a policy uses; compaction.threshold, compaction.protect "+
			"and strategies.balancedPruning.idleSteps are", key)
	case word != "":
		return "", fmt.Errorf("only compaction.threshold may be %s; %s needs a number", word, key)
	case value != math.Trunc(value):
		return "", fmt.Errorf("%s needs whole numbers, not %s", key, number)
	}
	return number, nil
}

// sweptValues reads FROM..TO, FROM..TO/POINTS or A,B,C, where one may be the word of a threshold,
// "economic" or "late". The points of a range lie in even proportions to each other, of one that
// begins at 0 in even steps. Between whole numbers they are whole.
func sweptValues(text string) ([]float64, error) {
	var values []float64
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		for _, one := range strings.Split(text, ",") {
			var word budget.Threshold
			if json.Unmarshal([]byte(strconv.Quote(strings.TrimSpace(one))), &word) == nil {
				values = append(values, float64(word))
				continue
			}
			value, err := sweptNumber(one)
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
		return values, nil
	}
	points := sweepPoints
	if end, n, ok := strings.Cut(to, "/"); ok {
		var err error
		if points, err = strconv.Atoi(n); err != nil || points < 2 || points > 100 {
			return nil, fmt.Errorf("%q is not a number of points from 2 to 100", n)
		}
		to = end
	}
	first, err := sweptNumber(from)
	if err != nil {
		return nil, err
	}
	last, err := sweptNumber(to)
	if err != nil {
		return nil, err
	}
	if last <= first {
		return nil, fmt.Errorf("%s is not above %s", to, from)
	}
	for i := range points {
		at := float64(i) / float64(points-1)
		value := first + at*(last-first)
		if first > 0 {
			value = first * math.Pow(last/first, at)
		}
		if i > 0 && i < points-1 {
			value = rounded(value)
		}
		if first == math.Trunc(first) && last == math.Trunc(last) {
			value = math.Round(value)
		}
		if len(values) == 0 || value > values[len(values)-1] {
			values = append(values, value)
		}
	}
	return values, nil
}

// rounded has two digits that count.
func rounded(value float64) float64 {
	if value <= 0 {
		return value
	}
	unit := math.Pow(10, math.Floor(math.Log10(value))-1)
	return math.Round(value/unit) * unit
}

// sweptNumber is a number of tokens, or a share such as 84% or 0.84.
func sweptNumber(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		n, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(n > 0 && n <= 100) {
			return 0, fmt.Errorf("%q is not a share", text)
		}
		return n / 100, nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 && n < 1 {
		return n, nil
	} else if err == nil && n != math.Trunc(n) {
		return 0, fmt.Errorf("%q is neither a share below 1 nor a whole number", text)
	}
	n, err := lab.ParseTokens(text)
	return float64(n), err
}

// inThousands writes a number of tokens as it may be given, a share as it is.
func inThousands(value float64) string {
	if word := wordOf(value); word != "" {
		return word
	}
	if value >= 1000 && math.Mod(value, 100) == 0 {
		return strconv.FormatFloat(value/1000, 'f', -1, 64) + "k"
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}
