package simulation

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/plan/budget"
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

// sweepForm is how a sweep is written, for errors.
const sweepForm = "write KEY=FROM..TO or KEY=A,B,C, such as compaction.threshold=40k..200k or " +
	"compaction.threshold=60k,economic"

// sweptKey is a setting of a sweep, with its values one after another.
type sweptKey struct {
	key    string
	values []float64
}

// sweptSetups are the policies of a sweep: the configuration in force with each value of a setting.
// A sweep is KEY=FROM..TO, KEY=FROM..TO/POINTS or KEY=A,B,C. After a "+" comes another setting,
// which takes its values in step with the first, or has one alone; after an "@" how many missed
// steps in 100 a choice among them may cause, and with commas there are several choices.
func sweptSetups(settings config.Settings, sweep string) ([]lab.Setup, error) {
	wrong := func(err error) error { return cli.Usage("--sweep %s: %w", sweep, err) }
	text, limits, limited := strings.Cut(sweep, "@")
	var bearable []float64
	for _, one := range strings.Split(limits, ",") {
		n, err := strconv.ParseFloat(one, 64)
		switch {
		case !limited:
		case err != nil || !(n > 0) || math.IsInf(n, 0):
			return nil, wrong(fmt.Errorf("%q is not a number of missed steps in 100 above 0", one))
		default:
			bearable = append(bearable, n)
		}
	}
	keys, err := sweptKeys(text)
	if err != nil {
		return nil, wrong(err)
	}
	var setups []lab.Setup
	for i := range keys[0].values {
		s, name := settings, ""
		for _, k := range keys {
			value := k.values[min(i, len(k.values)-1)]
			written, err := sweptValue(k.key, value)
			if err != nil {
				return nil, wrong(err)
			}
			if s, err = set(s, map[string]string{k.key: written}); err != nil {
				return nil, wrong(err)
			}
			name += " " + k.key[strings.LastIndexByte(k.key, '.')+1:] + "=" + inThousands(value)
		}
		changed, err := differing(s, config.Default())
		if err != nil {
			return nil, err
		}
		setups = append(setups, lab.Setup{Name: s.Policy + name, Group: s.Policy + groupOf(keys), Policy: s.NewPolicy(),
			Bearable: bearable, Settings: changed})
	}
	return setups, nil
}

// sweptKeys reads the settings of a sweep. The first has the most values.
func sweptKeys(text string) (keys []sweptKey, err error) {
	for _, part := range strings.Split(text, "+") {
		key, text, ok := strings.Cut(part, "=")
		if !ok || text == "" {
			return nil, errors.New(sweepForm)
		}
		one := sweptKey{key: key}
		if one.values, err = sweptValues(text); err != nil {
			return nil, err
		}
		if n := len(one.values); len(keys) > 0 && n != 1 && n != len(keys[0].values) {
			return nil, fmt.Errorf("%s has %d values and %s has %d: give each value of the first one of the other, "+
				"or one for all", keys[0].key, len(keys[0].values), key, n)
		}
		keys = append(keys, one)
	}
	return keys, nil
}

// groupOf names a sweep by its settings, with the value of those that have one alone.
func groupOf(keys []sweptKey) (text string) {
	for i, k := range keys {
		text += " " + k.key
		if i > 0 && len(k.values) == 1 {
			text += "=" + inThousands(k.values[0])
		}
	}
	return text
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
