package body

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
)

// A request that is read with the help of the one before it is read as it is by itself, whatever
// became of the conversation in between.
func TestReadRequest_extendsWhatWasRead(t *testing.T) {
	for _, kind := range []wire.Protocol{wire.Anthropic, wire.Chat, wire.Responses, wire.Gemini} {
		t.Run(string(kind), func(t *testing.T) {
			dialect, _ := Of(kind)
			random := rand.New(rand.NewPCG(5, 6))
			extended, whole, edited := 0, 0, 0
			for seed := range uint64(4) {
				log := workday.Make(seed, 40).Messages
				before, _, err := ReadRequest(written(t, dialect, log[:1], random), dialect, nil, 0)
				if err != nil {
					t.Fatal(err)
				}
				var ledger rule.Ledger
				for at := 1; at <= len(log); at++ {
					messages := log[:at]
					switch random.IntN(10) {
					case 0: // the client goes back
						messages = log[:1+random.IntN(at)]
					case 1: // or says something else in the middle
						changed := *clone(&log[random.IntN(at)])
						for i := range changed.Parts {
							changed.Parts[i].Text += " Or not."
						}
						messages = append([]session.Message(nil), messages...)
						for i := range messages {
							if messages[i].ID == changed.ID {
								messages[i] = changed
							}
						}
					}
					src := written(t, dialect, messages, random)
					alone, _, err := ReadRequest(src, dialect, nil, 0)
					if err != nil {
						t.Fatal(err)
					}
					first := before.Session.Messages
					doc, same, err := ReadRequest(src, dialect, before, span.Common(before.Source, src))
					if err != nil {
						t.Fatal(err)
					}
					if extended++; same == 0 {
						extended, whole = extended-1, whole+1
					}
					for i := range same {
						if !reflect.DeepEqual(first[i], doc.Session.Messages[i]) {
							t.Fatalf("seed %d, %d messages: message %d is said to be the same, and is not", seed, at, i)
						}
					}
					if difference := differ(doc, alone); difference != "" {
						t.Fatalf("seed %d, %d messages: %s", seed, at, difference)
					}
					if random.IntN(3) == 0 {
						ledger = ledger.With(elided(doc.Session.Messages, random)...)
					}
					got, err := spliced(doc, ledger)
					if err != nil {
						t.Fatal(err)
					}
					want, err := spliced(alone, ledger)
					if err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(got, want) {
						t.Fatalf("seed %d, %d messages, %d left out:\n%s\nwant\n%s", seed, at, ledger.Len(), got, want)
					}
					if !bytes.Equal(got, src) {
						edited++
					}
					before = doc
				}
			}
			t.Logf("%d of %d extended, of %d something left out", extended, extended+whole, edited)
			if edited < (extended+whole)/2 {
				t.Errorf("of only %d something was left out", edited)
			}
			if kind != wire.Gemini && extended < 2*whole {
				t.Errorf("only %d of %d were extended", extended, extended+whole)
			}
		})
	}
}

// spliced is a body with what a ledger leaves out of it.
func spliced(doc *format.Document, ledger rule.Ledger) ([]byte, error) {
	return doc.Native.(*Native).Splice(format.Change{Session: doc.Session, Ledger: ledger})
}

// elided are a few elisions of all kinds.
func elided(messages []session.Message, random *rand.Rand) (some []rule.Elision) {
	m := &messages[random.IntN(len(messages))]
	for i := range m.Parts {
		p := &m.Parts[i]
		e := rule.Elision{Part: p.ID, Message: m.ID, Rule: "r", Field: rule.Text, Shown: "[left out]"}
		switch {
		case p.Type == session.ToolPart && random.IntN(4) == 0:
			e.Field, e.Shown = rule.Input, `{"left":"out"}`
		case p.Type == session.ToolPart:
			e.Field = rule.Output
		case random.IntN(4) == 0:
			e.Field, e.Shown = rule.Whole, ""
		}
		some = append(some, e)
	}
	return some
}

func clone(m *session.Message) *session.Message {
	c := *m
	c.Parts = append([]session.Part(nil), m.Parts...)
	return &c
}

// written is the body of a client that has these messages. It moves its cache marks, and its system
// prompt stands before or behind the messages.
func written(t *testing.T, d Dialect, messages []session.Message, random *rand.Rand) []byte {
	t.Helper()
	body, err := d.Encode(messages, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Kind == wire.Anthropic {
		body.Elements = anthropic.Cached(body.Elements)
	}
	list := bytes.Join(func() (b [][]byte) {
		for _, e := range body.Elements {
			b = append(b, e)
		}
		return b
	}(), []byte(", "))
	if d.Kind == wire.Chat {
		list = append([]byte(`{"role":"system","content":"Be brief."}, `), list...)
	}
	if d.Kind == wire.Responses {
		list = append([]byte(`{"role":"developer","content":[{"type":"input_text","text":"Be brief."}]}, `), list...)
	}
	tools := jsontext.Value(fmt.Sprintf(`[{"name":"t%d"}]`, random.IntN(2)))
	if d.Kind == wire.Anthropic && random.IntN(40) > 0 { // these stand before the messages
		long := strings.Repeat("Say what you do. ", 50)
		return fmt.Appendf(nil, `{"model": "m", "tools": [{"name":"t","description":%q}], "system": [{"type":"text",`+
			`"text":%q}], %q: [%s], "stream": true}`, long, long, d.Form.List, list)
	}
	if d.Kind == wire.Responses && random.IntN(40) > 0 {
		return fmt.Appendf(nil, `{"model": "m", "instructions": %q, %q: [%s], "tools": %s, "stream": true}`,
			strings.Repeat("Say what you do. ", 50), d.Form.List, list, tools)
	}
	return fmt.Appendf(nil, `{"model": "m", %q: [%s], "tools": %s, "stream": true}`, d.Form.List, list, tools)
}

// differ says in what two documents of one body differ, "" if in nothing.
func differ(a, b *format.Document) string {
	one, other := a.Native.(*Native), b.Native.(*Native)
	for _, pair := range []struct {
		what string
		a, b any
	}{
		{"messages", a.Session, b.Session}, {"counts", a.Counts, b.Counts}, {"elements", one.Decoded.Elements, other.Decoded.Elements},
		{"places", one.Decoded.Places, other.Decoded.Places}, {"starts", one.Decoded.Starts, other.Decoded.Starts},
		{"frame", one.framed, other.framed}, {"all messages", one.messages, other.messages},
		{"the rest", shell(one.Decoded), shell(other.Decoded)},
	} {
		if !reflect.DeepEqual(pair.a, pair.b) {
			return fmt.Sprintf("%s:\n%+v\nwant\n%+v", pair.what, pair.a, pair.b)
		}
	}
	return ""
}

// shell is what is read of a body beside its messages.
func shell(d *wire.Decoded) wire.Decoded {
	s := *d
	s.Messages, s.Starts, s.Elements, s.Places = nil, nil, nil, nil
	return s
}
