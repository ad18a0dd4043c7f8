package shaping

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/format/pi"
	"github.com/winnowhq/winnow/text/span"
)

// products are the agents that hand over what Handed has. Codex has hooks of its own: see Ran.
var products = map[string]func(*Handed) (*format.Document, error){
	"opencode": fromOpenCode,
	"pi":       fromPi,
}

func fromOpenCode(h *Handed) (*format.Document, error) {
	if len(h.Session) == 0 || len(h.Messages) == 0 {
		return nil, errors.New("the members session and messages are missing")
	}
	return opencode.Format{}.Read(span.Make("info", []byte(h.Session), "messages", []byte(h.Messages)))
}

func fromPi(h *Handed) (*format.Document, error) {
	var lines bytes.Buffer
	for _, e := range h.Entries {
		if err := e.Compact(); err != nil {
			return nil, fmt.Errorf("entries: %w", err)
		}
		lines.Write(e)
		lines.WriteByte('\n')
	}
	if lines.Len() == 0 {
		return nil, errors.New("the member entries is missing")
	}
	return pi.Format{}.Read(lines.Bytes())
}
