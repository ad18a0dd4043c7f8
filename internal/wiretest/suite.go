package wiretest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Format is one wire format, as the suite calls it.
type Format struct {
	Form   *wire.Form
	Decode func(body []byte) *wire.Decoded
	Check  func(body []byte) error
	// Errors is set where the format tells a failed call from another.
	Errors bool
	// Thoughts is set where the reasoning of a random session can be written down.
	Thoughts bool
	// Merges is set where neighbours of one role become one element: the last element may then
	// grow, and Tail is what closes an element ("]}").
	Merges bool
	Tail   string
}

// encode returns the elements of the body, and the body. What is known is not encoded again.
func (f Format) encode(known *wire.Elements, messages []session.Message, o wire.Options) ([]jsontext.Value, []byte,
	error) {
	b, err := known.Encode(messages, o, f.Form)
	if err != nil {
		return nil, nil, err
	}
	text, err := b.JSON()
	return b.Elements, text, err
}

// Encode is encode with nothing known.
func (f Format) Encode(messages []session.Message, o wire.Options) ([]jsontext.Value, []byte, error) {
	return f.encode(new(wire.Elements), messages, o)
}

// Golden compares the encoding of the shared session with a golden file beside the test; update
// writes it anew.
func Golden(t *testing.T, f Format, o wire.Options, update bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "session.json"))
	if err != nil {
		t.Fatal(err)
	}
	messages, err := Load(text)
	if err != nil {
		t.Fatal(err)
	}
	_, got, err := f.Encode(messages, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(got); err != nil {
		t.Error(err)
	}
	indented := jsontext.Value(bytes.Clone(got))
	if err := indented.Indent(); err != nil {
		t.Fatal(err)
	}
	indented = append(indented, '\n')
	golden := filepath.Join("testdata", "session.golden.json")
	if update {
		if err := os.WriteFile(golden, indented, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(indented)); diff != "" {
		t.Errorf("the body changed (-want +got), -update when it should have:\n%s", diff)
	}
}

// Recorded encodes the session of a real agent: every call has its result, and the body is
// accepted.
func Recorded(t *testing.T, f Format) {
	t.Helper()
	text, err := os.ReadFile(outside.Path(t, "fixtures", "opencode-export.json"))
	if err != nil {
		t.Fatal(err)
	}
	messages, err := Load(text)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for i := range messages {
		for j := range messages[i].Parts {
			if messages[i].Parts[j].Type == session.ToolPart {
				calls++
			}
		}
	}
	_, body, err := f.Encode(messages, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(body); err != nil {
		t.Error(err)
	}
	if d := f.Decode(body); d.ToolCalls != calls || d.ToolResults != calls || calls == 0 {
		t.Errorf("the body has %d calls and %d results, the session %d", d.ToolCalls, d.ToolResults, calls)
	}
}

// Run holds a format to what all of them promise, on random sessions.
func Run(t *testing.T, f Format) {
	o := wire.Options{Model: Model}
	t.Run("any session is accepted and reads back as it was", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) { roundTrip(r, f, Messages(r), o) })
	})
	t.Run("one more message changes nothing but the end", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) { grows(r, f, Messages(r), o) })
	})
	t.Run("what was encoded before is the same as when it is encoded anew", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) { growing(r, f) })
	})
	t.Run("two encodings are the same", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) {
			messages := Messages(r)
			_, one, _ := f.Encode(messages, o)
			if _, two, _ := f.Encode(messages, o); !bytes.Equal(one, two) {
				r.Fatalf("%s\n%s", one, two)
			}
		})
	})
}

func roundTrip(r *rapid.T, f Format, messages []session.Message, o wire.Options) {
	elements, body, err := f.Encode(messages, o)
	if err != nil {
		r.Fatal(err)
	}
	if err := f.Check(body); err != nil && len(elements) > 0 {
		r.Fatalf("%v\n%s", err, body)
	}
	decoded := f.Decode(body)
	if len(decoded.Skipped) > 0 {
		r.Fatalf("skipped %v of %s", decoded.Skipped, body)
	}
	want, got := Says(messages, o, f.Errors), Says(decoded.Messages, o, f.Errors)
	if !f.Thoughts {
		want.Thoughts, got.Thoughts = nil, nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Fatalf("read back differently (-want +got):\n%s\n%s", diff, body)
	}
	_, again, err := f.Encode(decoded.Messages, o)
	if err != nil {
		r.Fatal(err)
	}
	if err := f.Check(again); err != nil && len(elements) > 0 {
		r.Fatalf("written once more: %v\n%s", err, again)
	}
}

func grows(r *rapid.T, f Format, messages []session.Message, o wire.Options) {
	if len(messages) == 0 {
		return
	}
	before, _, _ := f.Encode(messages[:len(messages)-1], o)
	after, _, _ := f.Encode(messages, o)
	same := Prefix(before, after)
	if same == len(before) {
		return
	}
	if !f.Merges || same < len(before)-1 {
		r.Fatalf("%d of %d elements stayed", same, len(before))
	}
	last, now := string(before[same]), string(after[same])
	if !strings.HasPrefix(now, strings.TrimSuffix(last, f.Tail)+",") {
		r.Fatalf("the last element did not only grow:\n%s\n%s", last, now)
	}
	if speaker(before[same]) == string(session.User) && messages[len(messages)-1].Role == session.Assistant {
		r.Fatal("a new step of the assistant's changed what was sent before")
	}
}

func speaker(element jsontext.Value) string {
	return wire.ValueOf(element).Get("role").String()
}
