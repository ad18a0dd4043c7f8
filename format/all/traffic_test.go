package all

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/internal/bodytest"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire/anthropic"
	"github.com/winnowhq/winnow/wire/gemini"
	"github.com/winnowhq/winnow/wire/openaichat"
	"github.com/winnowhq/winnow/wire/responses"
)

// Requests of real clients, folded before each of their messages: what the client put before the
// conversation stays, once, also when the body is folded again, and no provider refuses the body that
// took it before.
func TestTraffic_whatTheClientPutBeforeTheConversationStays(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(outside.Path(t, "fixtures", "traffic"), "*", "[0-9]*.json*"))
	if err != nil {
		t.Fatal(err)
	}
	bodies, framed := 0, 0
	for _, path := range paths {
		var request struct {
			Path string `json:"path"`
			Body string `json:"body"`
		}
		if err := json.Unmarshal(outside.Read(t, path), &request, session.ReadOptions()); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		src := []byte(request.Body)
		f := Detect(src)
		if f == nil || strings.Contains(request.Path, "count") {
			continue
		}
		doc, err := f.Read(src)
		if err != nil || len(doc.Session.Messages) < 3 {
			continue
		}
		name := filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
		bodies++
		if got := bodytest.Write(t, f, doc, bodytest.Unchanged(doc)); !bytes.Equal(got, src) {
			t.Errorf("%s: nothing was changed, and it is not as it was", name)
		}
		frames := framesOf(t, src)
		framed += len(frames)
		for _, at := range []int{1, len(doc.Session.Messages) / 2, len(doc.Session.Messages) - 1} {
			folded := foldAt(t, f, doc, at)
			if err := check(request.Path, src); err == nil {
				if err := check(request.Path, folded); err != nil {
					t.Errorf("%s folded at %d: %v", name, at, err)
				}
			}
			again := foldAt(t, f, bodytest.Read(t, f, folded), 1)
			for _, frame := range frames {
				for times, body := range map[string][]byte{"once": folded, "twice": again} {
					kept := 0
					for _, text := range textsOf(t, body, false) {
						if strings.TrimSpace(text) == frame {
							kept++
						}
					}
					if kept != 1 {
						t.Errorf("%s folded %s at %d: %.60q is there %d times", name, times, at, frame, kept)
					}
				}
			}
		}
	}
	if bodies < 20 || framed < 20 {
		t.Errorf("only %d bodies were looked at, and %d such texts", bodies, framed)
	}
}

func foldAt(t *testing.T, f format.Format, doc *format.Document, at int) []byte {
	t.Helper()
	c := bodytest.Unchanged(doc)
	messages := c.Session.Messages
	tail := ""
	if at < len(messages) {
		tail = messages[at].ID
	}
	c.Session.Messages = append(messages[:len(messages):len(messages)],
		bodytest.Marker("k", tail), bodytest.Summary("s", "k", "What was done so far."))
	return bodytest.Write(t, f, doc, c)
}

func check(path string, body []byte) error {
	switch {
	case strings.Contains(path, "/messages"):
		return anthropic.Check(body)
	case strings.Contains(path, "/chat/completions"):
		return openaichat.Check(body)
	case strings.Contains(path, "/responses"):
		return responses.Check(body)
	}
	return gemini.Check(body)
}

// framesOf are the texts in tags before the first answer of a body, without the last text there.
func framesOf(t *testing.T, body []byte) (frames []string) {
	t.Helper()
	for _, text := range textsOf(t, body, true) {
		if text = strings.TrimSpace(text); strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") {
			frames = append(frames, text)
		}
	}
	return frames
}

// textsOf are the texts of a body's messages; opening stops before the first answer, and leaves out
// the last text.
func textsOf(t *testing.T, body []byte, opening bool) (texts []string) {
	t.Helper()
	type block struct {
		Text string `json:"text"`
	}
	type element struct {
		Role    string         `json:"role"`
		Type    string         `json:"type"`
		Content jsontext.Value `json:"content"`
		Parts   []block        `json:"parts"`
	}
	var b struct {
		Messages []element `json:"messages"`
		Input    []element `json:"input"`
		Contents []element `json:"contents"`
	}
	if err := json.Unmarshal(body, &b, session.ReadOptions()); err != nil {
		t.Fatal(err)
	}
	for _, e := range slices.Concat(b.Messages, b.Input, b.Contents) {
		if opening && (e.Role == "assistant" || e.Role == "model" || e.Role == "" && e.Type != "additional_tools") {
			break
		}
		blocks := e.Parts
		if e.Content.Kind() == '[' {
			if err := json.Unmarshal(e.Content, &blocks, session.ReadOptions()); err != nil {
				t.Fatal(err)
			}
		}
		for _, b := range blocks {
			texts = append(texts, b.Text)
		}
	}
	if opening && len(texts) > 0 {
		texts = texts[:len(texts)-1]
	}
	return texts
}
