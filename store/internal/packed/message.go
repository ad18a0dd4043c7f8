package packed

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/internal/exact"
)

// Head is a message without its parts.
type Head struct {
	session.MessageInfo `json:"info"`

	Unknown jsontext.Value `json:",embed"`
}

// Message is a message on its way into a store: its values are encoded as package exact does, a
// string or bytes.
type Message struct {
	ID    string
	Info  any // a Head
	Parts []Part
}

// Part is a part on its way into a store.
type Part struct {
	ID, Type string
	Apart    []Apart // texts that are kept as contents
	Data     any     // the rest
}

// Messages encodes messages and takes their large texts out of them.
func Messages(messages []session.Message) ([]Message, error) {
	rows := make([]Message, len(messages))
	return rows, Spread(len(messages), func(i int) (err error) {
		rows[i], err = encode(&messages[i])
		return err
	})
}

func encode(m *session.Message) (Message, error) {
	info, err := exact.Encode(Head{m.MessageInfo, m.Unknown})
	if err != nil {
		return Message{}, fmt.Errorf("message %s: %w", m.ID, err)
	}
	row := Message{m.ID, info, make([]Part, len(m.Parts))}
	for j, p := range m.Parts {
		rest, apart := Split(p)
		data, err := exact.Encode(rest)
		if err != nil {
			return row, fmt.Errorf("part %s: %w", p.ID, err)
		}
		row.Parts[j] = Part{p.ID, string(p.Type), apart, data}
	}
	return row, nil
}
