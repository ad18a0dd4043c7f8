package upstream

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/model"
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
	c := Config{Transport: under}.With("p", "http://p.test")
	call := c.Begin(t.Context(), model.Model{}, false)
	defer call.End(true, nil)
	half := len(elements) / 2
	call.Fill("list", elements[:half], nil, elements[half:])
	request, err := http.NewRequestWithContext(call.Context(), http.MethodPost, c.BaseURL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client().Do(request); err != nil {
		t.Fatal(err)
	}
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
			t.Errorf("%s with %s: sent %s of %d bytes, and again %s; want %s", c.body, c.elements, got.body, got.size, got.again, c.want)
		}
	}
}

func TestStretched_readsTheSameInPiecesOfAnySize(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		parts := rapid.SliceOf(rapid.StringN(0, 9, -1)).Draw(r, "elements")
		s := stretched{before: []byte(rapid.String().Draw(r, "before")), after: []byte(rapid.String().Draw(r, "after"))}
		for _, p := range parts {
			if len(s.elements) == 0 || rapid.Bool().Draw(r, "another list") {
				s.elements = append(s.elements, nil)
			}
			last := len(s.elements) - 1
			s.elements[last] = append(s.elements[last], jsontext.Value(p))
		}
		want := string(s.before) + strings.Join(parts, ",") + string(s.after)
		size, piece := s.size(), make([]byte, rapid.IntRange(1, 20).Draw(r, "piece"))
		var got strings.Builder
		if _, err := io.CopyBuffer(&got, struct{ io.Reader }{&s}, piece); err != nil {
			r.Fatal(err)
		}
		if got.String() != want || size != int64(len(want)) {
			r.Fatalf("read %q, said to be %d bytes; want %q", got.String(), size, want)
		}
	})
}

func TestEncoders_keepsTheNewestConversations(t *testing.T) {
	var k Encoders[int]
	for i := range remembered + 1 {
		e := k.Take(string(rune('a' + i)))
		*e = i + 1
		k.Keep(string(rune('a'+i)), e)
	}
	if got := *k.Take("a"); got != 0 {
		t.Errorf("the oldest of too many was kept: %d", got)
	}
	if got := *k.Take("c"); got != 3 {
		t.Errorf("the encoder of another conversation, or none: %d, want 3", got)
	}
	if got := *k.Take("c"); got != 0 {
		t.Errorf("one encoder was handed out to two: %d", got)
	}
	nameless := 7
	k.Keep("", &nameless)
	if got := *k.Take(""); got != 0 {
		t.Errorf("a conversation without name was remembered: %d", got)
	}
}
