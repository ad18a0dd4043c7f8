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
// tokens when it is more. Zero, not-a-number, and what is negative mean none, but for [Economic].
//
// In JSON it is a number, or "economic".
type Threshold float64

// Economic as a threshold says that what requests cost decides how full the window may become.
// Nothing acts at it here: see [Settings.Economic].
const Economic Threshold = -1

// economic is what the configuration calls it.
const economic = "economic"

// errThreshold is the error of what is not a threshold.
var errThreshold = errors.New(`give a fraction of the context (0.92), a number of tokens (150000), or "economic"`)

// MarshalJSONTo writes a number, or "economic".
func (t Threshold) MarshalJSONTo(enc *jsontext.Encoder) error {
	if t == Economic {
		return enc.WriteToken(jsontext.String(economic))
	}
	return json.MarshalEncode(enc, float64(t))
}

// UnmarshalJSONFrom reads a number, or "economic".
func (t *Threshold) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		return json.UnmarshalDecode(dec, (*float64)(t))
	}
	var text string
	if err := json.UnmarshalDecode(dec, &text); err != nil {
		return err
	}
	if text != economic {
		return fmt.Errorf("%q is not a threshold; %w", text, errThreshold)
	}
	*t = Economic
	return nil
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
