package wire

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// read reads all events, each as "name data".
func read(text io.Reader) (events []string, err error) {
	for r := NewEventReader(text); ; {
		e, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, e.Name+" "+string(e.Data))
	}
}

func TestNext_readsEveryFormOfStream(t *testing.T) {
	for _, c := range []struct {
		name, from string
		want       []string
	}{
		{"as it should be", "event: a\ndata: {\"x\":1}\n\n", []string{`a {"x":1}`}},
		{"carriage returns", "event: a\r\ndata: {\"x\":1}\r\n\r\n", []string{`a {"x":1}`}},
		{"without spaces", "event:a\ndata:{}\n\n", []string{"a {}"}},
		{"data in lines", "data: {\ndata: \"x\":1}\n\n", []string{` { "x":1}`}},
		{"the end", "data: [DONE]\n\n", []string{" [DONE]"}},
		{"what the end cuts off", "event: a\ndata: {}\n\ndata: {\"x\":\n", []string{"a {}"}},
		{"what the end cuts off amid a line", "event: a\ndata: {}\n\ndata: {\"x\":{}", []string{"a {}"}},
		{"a last event without its line breaks", "data: {}\n\nevent: a\ndata: {\"x\":1}", []string{" {}", `a {"x":1}`}},
		{"a last event with one line break", "data: {}\n\nevent: a\ndata:{\"x\":1}\r\n", []string{" {}", `a {"x":1}`}},
		{"the end without its line breaks", "data: [DONE]", []string{" [DONE]"}},
		{"the name of a field, cut off", "data: {}\n\nda", []string{" {}"}},
		{"comments and other fields", ": hi\n\nevent: a\nid: 7\n:\nretry: 1\ndata: {}\n\n", []string{"a {}"}},
		{"a name without data is forgotten", "event: b\n\ndata: {}\n\n", []string{" {}"}},
		{"a long event", "data: \"" + strings.Repeat("é", 100_000) + "\"\n\n",
			[]string{` "` + strings.Repeat("é", 100_000) + `"`}},
	} {
		got, err := read(strings.NewReader(c.from))
		if diff := cmp.Diff(c.want, got); diff != "" || !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

// endless never stops.
type endless struct{ text string }

func (e endless) Read(p []byte) (int, error) {
	return copy(p, strings.Repeat(e.text, 1+len(p)/len(e.text))), nil
}

func TestNext_ofWhatNeverEndsEnds(t *testing.T) {
	for name, text := range map[string]string{"a line": "data: aaaaaaaaaa", "an event": "data: " +
		strings.Repeat("1", 10_000) + "\n"} {
		if _, err := read(endless{text}); !errors.Is(err, ErrEndless) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNext_wordsAreNotEvents(t *testing.T) {
	var not *NotEventsError
	for _, text := range []string{"Internal Server Error\n", "data: {}\nHello\n", "Hello"} {
		if _, err := read(strings.NewReader(text)); !errors.As(err, &not) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add("event: a\ndata: {\"x\":1}\n\ndata: [DONE]\n\n")
	f.Add(": c\r\n\r\ndata: {\ndata: }\n\nda")
	f.Fuzz(func(t *testing.T, text string) {
		events, err := read(strings.NewReader(text))
		if err == nil {
			t.Fatal("a stream without end")
		}
		for _, e := range events {
			if strings.HasSuffix(e, "\n") || strings.TrimSpace(e) == "" && !strings.Contains(text, "data") {
				t.Errorf("read %q of %q", e, text)
			}
		}
	})
}
