package upstream

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/wire"
)

// carrier keeps what it is given of a request.
type carrier struct {
	body, again string
	size        int64
}

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(iotest.OneByteReader(r.Body))
	r.Body.Close()
	second, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	again, _ := io.ReadAll(second)
	c.body, c.again, c.size = string(body), string(again), r.ContentLength
	return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
}

// carried sends a body with elements and returns what the network is given.
func carried(t *testing.T, body string, elements ...jsontext.Value) *carrier {
	t.Helper()
	under := &carrier{}
	k := &taker{message: Message{Body: []byte(body), List: "list", Elements: elements}}
	client, err := New(Config{Transport: under}.With("p", "http://p.test"), k)
	if err != nil {
		t.Fatal(err)
	}
	client.Ask(t.Context(), llm.Request{})
	return under
}

func TestFill_anEmptyListIsFilledAndNothingElse(t *testing.T) {
	one, two := jsontext.Value(`{"a":1}`), jsontext.Value(`2`)
	for _, c := range []struct {
		body     string
		elements []jsontext.Value
		want     string
	}{
		{`{"a":[],"list":[],"b":[]}`, []jsontext.Value{one, two}, `{"a":[],"list":[{"a":1},2],"b":[]}`},
		{`{"list":[]}`, []jsontext.Value{one}, `{"list":[{"a":1}]}`},
		{`{"list":[]}`, nil, `{"list":[]}`},
		{`{"a":{"list":[]}}`, []jsontext.Value{one}, `{"a":{"list":[]}}`},
		{`{"list":[3]}`, []jsontext.Value{one}, `{"list":[3]}`}, // the user's own, in place of ours
		{`{"list":null}`, []jsontext.Value{one}, `{"list":null}`},
		{`{}`, []jsontext.Value{one}, `{}`},
	} {
		got := carried(t, c.body, c.elements...)
		if got.body != c.want || got.again != c.want || got.size != int64(len(c.want)) {
			t.Errorf("%s with %s: sent %s of %d bytes, and again %s; want %s", c.body, c.elements, got.body, got.size,
				got.again, c.want)
		}
	}
}

func TestFilled_readsTheSameInPiecesOfAnySize(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		parts := rapid.SliceOf(rapid.StringN(0, 9, -1)).Draw(r, "elements")
		f := filled{before: []byte(rapid.String().Draw(r, "before")), after: []byte(rapid.String().Draw(r, "after"))}
		for _, p := range parts {
			f.elements = append(f.elements, jsontext.Value(p))
		}
		want := string(f.before) + strings.Join(parts, ",") + string(f.after)
		size, piece := f.size(), make([]byte, rapid.IntRange(1, 20).Draw(r, "piece"))
		var got strings.Builder
		if _, err := io.CopyBuffer(&got, struct{ io.Reader }{&f}, piece); err != nil {
			r.Fatal(err)
		}
		if got.String() != want || size != int64(len(want)) {
			r.Fatalf("read %q, said to be %d bytes; want %q", got.String(), size, want)
		}
	})
}

func TestMemory_keepsTheNewestConversations(t *testing.T) {
	var m Memory
	all := map[string]*wire.Elements{}
	for i := range remembered + 1 {
		name := string(rune('a' + i))
		all[name] = m.take(name)
		m.keep(name, all[name])
	}
	if m.take("a") == all["a"] {
		t.Error("the oldest of too many was kept")
	}
	if m.take("c") != all["c"] {
		t.Error("another conversation, or nothing, was handed out")
	}
	if m.take("c") == all["c"] {
		t.Error("one conversation was handed out to two")
	}
	nameless := new(wire.Elements)
	m.keep("", nameless)
	if m.take("") == nameless {
		t.Error("a conversation without a name was remembered")
	}
}
