package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// Options are what a request says to the encoder of its protocol. MaxTokens is the bound that was
// asked for, never more than the model has, and 0 if none was asked for.
func Options(r llm.Request) wire.Options {
	o := wire.Options{Model: r.Model.ID, Provider: r.Model.Provider, System: r.System, MaxTokens: max(r.MaxOutput, 0)}
	if len(r.Tools) > 0 {
		o.Tools = r.Tools
	}
	if limit := r.Model.Limits.Output; limit > 0 {
		o.MaxTokens = min(o.MaxTokens, limit)
	}
	return o
}

// WithTemperature returns the body of a request with its temperature, if it has one, at the end of
// a path.
func WithTemperature(body []byte, r llm.Request, path ...string) []byte {
	if r.Temperature == nil {
		return body
	}
	return span.Set(body, "", strconv.AppendFloat(nil, *r.Temperature, 'g', -1, 64), append(path, "temperature")...)
}

// Cost is what a usage costs by the prices of a model, in US dollars; 0 if they are unknown.
func Cost(m model.Model, u session.Usage) float64 {
	cost, _ := m.Cost(bill.Usage(u))
	return cost
}

// CacheKey names a conversation by how it begins, for providers that keep the prompts of one key
// together: the requests of a conversation, and the summary request that extends it, have the same
// key, no matter who sends them.
func CacheKey(tools jsontext.Value, beginning ...jsontext.Value) string {
	h := sha256.New()
	h.Write(tools)
	for _, element := range beginning {
		h.Write([]byte{0})
		h.Write(element)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
