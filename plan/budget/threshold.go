package budget

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/model"
)

// Threshold is a fraction of the model's context when it is at most 1, as in 0.92, and a number of
// tokens when it is more. Zero, not-a-number, and what is negative mean none, but for [Economic]
// and [Late].
//
// In JSON it is a number, "economic" or "late".
type Threshold float64

// Economic as a threshold says that what requests cost decides how full the window may become.
// Nothing acts at it here: see [Settings.Economic].
const Economic Threshold = -1

// Late as a threshold says that the window is full at 92 % of it (S004), in place of what the
// limits and the reserve leave: later where the answer's share is larger than 8 %. An answer that
// does not fit into the rest is cut short by the provider, or its request rejected, which is an
// overflow.
const Late Threshold = -2

// lateShare is the share of the window that Late lets be used.
const lateShare Threshold = 0.92

// words are what the configuration calls thresholds that are no numbers.
var words = map[Threshold]string{Economic: "economic", Late: "late"}

// errThreshold is the error of what is not a threshold.
var errThreshold = errors.New(
	`give a fraction of the context (0.92), a number of tokens (150000), "economic", or "late"`)

// LeastThreshold is the fewest tokens that a threshold may be: a fold at fewer than 1,000 keeps
// nothing to work with. A smaller number is a percentage, or thousands.
const LeastThreshold = 1000

// wrong says why a threshold can only be a mistake, and what was probably meant.
func (t Threshold) wrong() error {
	f := float64(t)
	switch {
	case words[t] != "" || f > 0 && f <= 1 || f >= LeastThreshold && !math.IsInf(f, 0):
		return nil
	case f > 1 && f < 2:
		return fmt.Errorf("%v is neither a fraction of the context, which is at most 1, nor a number of tokens: "+
			"did you mean %v?", f, percent(f*10))
	case f > 1 && f <= 100:
		return fmt.Errorf("%v is %v tokens: did you mean %v, or %v tokens?", f, f, percent(f), f*1000)
	case f > 100 && f < LeastThreshold:
		return fmt.Errorf("%v is %v tokens: did you mean %v?", f, f, f*1000)
	}
	return fmt.Errorf("%v: %w", f, errThreshold)
}

// percent is a percentage as a fraction, without the digits that floating point adds.
func percent(f float64) float64 { return math.Round(f*1e6) / 1e8 }

// MarshalJSONTo writes a number, or a word.
func (t Threshold) MarshalJSONTo(enc *jsontext.Encoder) error {
	if word := words[t]; word != "" {
		return enc.WriteToken(jsontext.String(word))
	}
	return json.MarshalEncode(enc, float64(t))
}

// UnmarshalJSONFrom reads a number, or a word.
func (t *Threshold) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		err := json.UnmarshalDecode(dec, (*float64)(t))
		if words[*t] != "" {
			*t = 0 // a number is no word, and 0 no threshold
		}
		return err
	}
	var text string
	if err := json.UnmarshalDecode(dec, &text); err != nil {
		return err
	}
	for known, word := range words {
		if text == word {
			*t = known
			return nil
		}
	}
	return fmt.Errorf("%q is not a threshold; %w", text, errThreshold)
}

// Thresholds are patterns over "provider/id", as in package model, to thresholds; "*" alone stands
// for every model, too.
//
// In JSON it is an object, or one threshold for every model.
type Thresholds map[string]Threshold

// UnmarshalJSONFrom lays what is read over what is there: an object pattern by pattern, one
// threshold in place of all.
func (t *Thresholds) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '{' {
		return json.UnmarshalDecode(dec, (*map[string]Threshold)(t))
	}
	var one Threshold
	if err := json.UnmarshalDecode(dec, &one); err != nil {
		return err
	}
	*t = Thresholds{every: one}
	return nil
}

// every is the pattern that stands for all models.
const every = "*"

// tokens is the threshold for a context; 0 when there is none, or it is a fraction of nothing.
func (t Threshold) tokens(context int) int {
	f := float64(t)
	switch {
	case math.IsNaN(f) || f <= 0:
		return 0
	case f <= 1:
		return int(f * float64(max(0, context)))
	case f >= math.MaxInt32:
		return math.MaxInt32
	}
	return int(f)
}

// Economic reports whether what requests cost is to decide how full a model's window may become.
func (s Settings) Economic(m model.Model) bool {
	_, t, set := s.threshold(m.String())
	return set && t == Economic
}
