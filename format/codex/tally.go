package codex

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/session"
)

// tally lists the requests that the lines of a rollout report, one after the other, whatever became
// of their answers: the whole file's, also where it is read in stretches.
type tally struct {
	provider, model string
	records         bool // usage records have been seen: what is counted in events repeats them
	total           int
	requests        []bill.Request
}

// note takes in a line. What cannot be read is told elsewhere.
func (t *tally) note(kind lineKind, payload []byte) {
	switch kind {
	case metaLine:
		var meta struct {
			Provider string `json:"model_provider"`
		}
		if t.provider == "" && decode(payload, &meta) == nil {
			t.provider = cmp.Or(meta.Provider, "openai")
		}
	case turnLine:
		var turn struct {
			Model string `json:"model"`
		}
		if decode(payload, &turn) == nil {
			t.model = cmp.Or(turn.Model, t.model)
		}
	case usageLine:
		var record struct {
			Usage usage `json:"usage"`
		}
		if decode(payload, &record) == nil {
			t.records = true
			t.add(record.Usage)
		}
	case eventLine:
		if t.records || !bytes.Contains(payload, []byte(`"token_count"`)) {
			return
		}
		var count tokenCount
		if decode(payload, &count) == nil && count.Type == "token_count" && count.Info != nil && count.Info.Total.Total != t.total {
			t.total = count.Info.Total.Total
			t.add(count.Info.Last)
		}
	}
}

func (t *tally) add(u usage) {
	by := session.ModelRef{ProviderID: t.provider, ModelID: t.model}
	tokens := u.canonical()
	t.requests = append(t.requests, bill.Request{ID: fmt.Sprintf("request-%d", len(t.requests)+1), Kind: bill.Step, Model: by.String(), Usage: &tokens})
}

// tokenCount is the payload of an event that counts.
type tokenCount struct {
	Type string `json:"type"`
	Info *struct {
		Total usage `json:"total_token_usage"`
		Last  usage `json:"last_token_usage"`
	} `json:"info"`
}
