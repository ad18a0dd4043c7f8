package simulation

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/text/quantity"
)

// Setups are the policies that are compared: those that were named, or the usual ones, with the
// configuration in force where it says anything else, and those of the sweeps.
func Setups(a *cli.App, settings config.Settings, f Flags) ([]lab.Setup, error) {
	words := f.Policies
	usual := len(words) == 0
	if usual {
		words = lab.Usual()
	}
	read := func(path string) (lab.Setup, error) { return configured(a, path, settings) }
	var setups []lab.Setup
	seen := map[string]bool{}
	add := func(s lab.Setup) {
		if !seen[s.Name] {
			seen[s.Name] = true
			setups = append(setups, s)
		}
	}
	for _, word := range words {
		s, err := lab.Named(word, policy.Defaults(), read)
		var unknown *lab.WordError
		switch {
		case errors.As(err, &unknown):
			return nil, cli.Hint(cli.Usage("policy %q: %s", unknown.Word, unknown.Problem),
				"policies are "+lab.Forms())
		case err != nil:
			return nil, cli.Misuse(err)
		}
		add(s)
	}
	if usual {
		own, err := read("")
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(setups, own.Same) {
			own.Name = lab.InForce
			add(own)
		}
	}
	if f.Apply && !slices.ContainsFunc(setups, lab.Setup.Alone) { // nothing is recommended that costs more
		alone, err := lab.Named(lab.Compact, policy.Defaults(), nil)
		if err != nil {
			return nil, err
		}
		add(alone)
	}
	for _, sweep := range f.Sweeps {
		points, err := sweptSetups(settings, sweep)
		if err != nil {
			return nil, err
		}
		for _, s := range points {
			add(s)
		}
	}
	if f.Baseline != "" && !seen[f.Baseline] {
		return nil, cli.Usage("--baseline %s is not among the policies that are compared: %s", f.Baseline,
			strings.Join(names(setups), ", "))
	}
	return setups, windowed(setups, f.Window)
}

func names(setups []lab.Setup) []string {
	var all []string
	for _, s := range setups {
		all = append(all, s.Name)
	}
	return all
}

// windowed gives policies that name no window the one that was chosen.
func windowed(setups []lab.Setup, window string) error {
	chosen := 0
	switch window {
	case "model", "":
		return nil
	case "none":
		chosen = lab.Unlimited
	default:
		n, err := lab.ParseTokens(window)
		if err != nil || n < 1000 {
			return cli.Usage("--window %s: use model, none, or a number of at least 1,000 tokens", window)
		}
		chosen = n
	}
	for i := range setups {
		if setups[i].Window == 0 {
			setups[i].Window = chosen
		}
	}
	return nil
}

// configured is the policy of a configuration: of the one in force where path is "".
func configured(a *cli.App, path string, inForce config.Settings) (lab.Setup, error) {
	settings := inForce
	if path != "" {
		loaded, err := config.Load(config.Sources{File: a.Path(path)})
		if err != nil {
			return lab.Setup{}, err
		}
		settings = loaded.Settings
	}
	changed, err := differing(settings, config.Default())
	if err != nil {
		return lab.Setup{}, err
	}
	return lab.Setup{Policy: settings.NewPolicy(), Settings: changed}, nil
}

// decides reports whether a setting is part of what a replay measures and a recommendation may
// write: who writes summaries is not, nor what is protected because somebody wanted it to be.
func decides(key string) bool {
	switch key {
	case "policy", "schedule", "compaction.auto", "compaction.prune", "compaction.threshold", "compaction.reserved",
		"compaction.keep", "compaction.coldFold", "compaction.userMessages", "compaction.protect", "compaction.minimum",
		"compaction.protectTurns":
		return true
	}
	return strings.HasPrefix(key, "strategies.")
}

// differing are the settings that are others than in a second configuration, of those that decide.
func differing(settings, from config.Settings) (map[string]string, error) {
	keys, values, err := config.Loaded{Settings: settings}.Values()
	if err != nil {
		return nil, err
	}
	_, before, err := config.Loaded{Settings: from}.Values()
	if err != nil {
		return nil, err
	}
	changed := map[string]string{}
	for _, key := range keys {
		if decides(key) && string(values[key]) != string(before[key]) {
			changed[key] = string(values[key])
		}
	}
	return changed, nil
}

// set is settings with values of keys, as JSON, over them. What it is made from stays as it was.
func set(settings config.Settings, values map[string]string) (config.Settings, error) {
	var out config.Settings
	text, err := json.Marshal(settings)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return out, err
	}
	for key, value := range values {
		if key == "compaction.threshold" {
			out.Compaction.Threshold = nil // an object is laid over the one that is there, and this one takes its place
		}
		names := strings.Split(key, ".")
		for i := len(names) - 1; i >= 0; i-- {
			value = fmt.Sprintf(`{%q:%s}`, names[i], value)
		}
		if err := json.Unmarshal([]byte(value), &out, json.RejectUnknownMembers(true)); err != nil {
			return out, err
		}
	}
	return out, out.Validate()
}

// UsualCache is the value of --cache when it is not given: what the logs tell, unless prices are
// chosen, which are those of five minutes.
func UsualCache(prices string) string {
	if prices == "" {
		return "logged"
	}
	return "5m"
}

// Terms are what is billed, nil for the prices of each session's model, and the same in words.
func Terms(models *model.Catalogue, prices, cache string) (*lab.Terms, string, error) {
	kept := map[string]string{"5m": "", "1h": ", cache lifetime an hour", "none": ", no cache",
		"logged": ", cache lifetimes from the logs"}
	after, ok := kept[cache]
	if !ok {
		return nil, "", cli.Usage("--cache %s: choose logged, 5m, 1h or none", cache)
	}
	hour := cache == "1h"
	switch {
	case prices == "":
		return nil, fmt.Sprintf("list prices of each session's model, %s%s", models.Date, after), nil
	case prices == "reference":
		t := lab.Reference()
		if hour {
			t.Lifetime, t.Price.CacheWrite = lab.Hour, 2
		}
		return &t, fmt.Sprintf("cache read %g, write %g, output %g times the input price%s", t.Price.CacheRead,
			t.Price.CacheWrite, t.Price.Output, after), nil
	case strings.Contains(prices, "="):
		t, err := chosenTerms(prices)
		if err != nil {
			return nil, "", err
		}
		if hour {
			t.Lifetime = lab.Hour
		}
		return &t, fmt.Sprintf("a million tokens: input %s, cache read %s, write %s, output %s%s",
			quantity.Price(t.Price.Input), quantity.Price(t.Price.CacheRead), quantity.Price(t.Price.CacheWrite),
			quantity.Price(t.Price.Output), after), nil
	}
	m := models.Lookup(prices)
	if !m.Price.Known() || m.Price.Input <= 0 {
		return nil, "", cli.Usage(`--prices %s: the price of that model is unknown; "winnow config models" lists `+
			`the known ones, and "input=3,read=0.3,write=3.75,output=15" gives numbers`, prices)
	}
	t := lab.TermsOf(m, hour)
	return &t, fmt.Sprintf("list prices of %s, %s%s", m, models.Date, after), nil
}

// chosenTerms reads "input=3,read=0.3,write=3.75,output=15", US dollars a million tokens. Without
// read or write that costs what input does.
func chosenTerms(text string) (lab.Terms, error) {
	t := lab.Reference()
	t.Relative = false
	t.Price = model.Price{}
	fields := map[string]*float64{"input": &t.Price.Input, "read": &t.Price.CacheRead, "write": &t.Price.CacheWrite,
		"output": &t.Price.Output}
	for _, pair := range strings.Split(text, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(pair), "=")
		field := fields[name]
		if field == nil {
			return t, cli.Usage("--prices %s: unknown price %q; use input, read, write or output", text, name)
		}
		value, err := strconv.ParseFloat(number, 64)
		if err != nil || value < 0 || math.IsInf(value, 0) || math.IsNaN(value) {
			return t, cli.Usage("--prices %s: %s=%s is not a price in US dollars per million tokens",
				text, name, number)
		}
		*field = value
	}
	if t.Price.Input <= 0 || t.Price.Output <= 0 {
		return t, cli.Usage("--prices %s: input and output must be above 0", text)
	}
	if t.Price.CacheRead == 0 {
		t.Price.CacheRead = t.Price.Input
	}
	if t.Price.CacheWrite == 0 {
		t.Price.CacheWrite = t.Price.Input
	}
	return t, nil
}
