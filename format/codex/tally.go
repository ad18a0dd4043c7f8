package codex

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/session"
)

// counting finds what requests took in the lines of a rollout, which older versions tell in events.
type counting struct {
	records bool // usage records have been seen: what events count repeats them
	total   int  // of the last event, to tell a repeated one
}

// usage is what a line says that a request took, if it says so.
func (c *counting) usage(kind lineKind, payload []byte) (u usage, found bool, err error) {
	switch kind {
	case usageLine:
		var record struct {
			Usage usage `json:"usage"`
		}
		if err = decode(payload, &record); err == nil {
			c.records = true
		}
		return record.Usage, err == nil, err
	case eventLine:
		if c.records || !bytes.Contains(payload, []byte(`"token_count"`)) {
			break
		}
		var count struct {
			Type string `json:"type"`
			Info struct {
				Total usage `json:"total_token_usage"`
				Last  usage `json:"last_token_usage"`
			} `json:"info"`
		}
		err = decode(payload, &count)
		if err != nil || count.Type != "token_count" || count.Info.Total.Total == c.total {
			break
		}
		c.total = count.Info.Total.Total
		return count.Info.Last, true, nil
	}
	return u, false, err
}

// tally lists the requests that the lines of a rollout report, one after the other, whatever became
// of their answers.
type tally struct {
	counting
	provider, model string
	requests        []bill.Request
}

// note adds what a line says. What cannot be read is reported elsewhere.
func (t *tally) note(kind lineKind, payload []byte) {
	var head struct {
		Provider string `json:"model_provider"`
		Model    string `json:"model"`
	}
	switch kind {
	case metaLine:
		if t.provider == "" && decode(payload, &head) == nil {
			t.provider = cmp.Or(head.Provider, "openai")
		}
	case turnLine:
		if decode(payload, &head) == nil {
			t.model = cmp.Or(head.Model, t.model)
		}
	default:
		if u, found, _ := t.usage(kind, payload); found {
			id := fmt.Sprintf("request-%d", len(t.requests)+1)
			tokens := u.canonical()
			t.requests = append(t.requests, request(id, bill.Step, t.provider, t.model, &tokens))
		}
	}
}

func request(id string, kind bill.Kind, provider, model string, tokens *session.Usage) bill.Request {
	by := session.ModelRef{ProviderID: provider, ModelID: model}
	return bill.Request{ID: id, Kind: kind, Model: by.String(), Usage: tokens}
}
