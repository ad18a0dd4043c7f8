package transport

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/store/memory"
)

// The messages of a session have the folder in which the client says that it works, from where it
// says so on, also of requests that go on with what was read before.
func TestTransport_theFolderOfTheClient(t *testing.T) {
	environment := func(folder string) string {
		return fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text",`+
			`"text":"<environment_context>\n  <cwd>%s</cwd>\n</environment_context>"}]}`, folder)
	}
	said := func(role, text string) string {
		kind := map[string]string{"user": "input_text", "assistant": "output_text"}[role]
		return fmt.Sprintf(`{"type":"message","role":%q,"content":[{"type":%q,"text":%q}]}`, role, kind, text)
	}
	items := []string{
		environment("/repo/shop"), said("user", "Look."), said("assistant", "I see."), said("user", "Go on."),
		said("assistant", "Done."), environment("/repo/depot"), said("user", "And here?"), said("assistant", "The same."),
		said("user", "Thanks."),
	}
	want := []string{"/repo/shop", "/repo/shop", "/repo/shop", "/repo/shop", "/repo/depot", "/repo/depot",
		"/repo/depot", "/repo/depot"}
	s := settings.Default()
	kept := memory.New()
	engine, err := winnow.Open(winnow.Config{Settings: &s, Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	through := New(engine, Options{Base: carrier(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	})})
	for _, n := range []int{2, 4, 7, 9} {
		body := `{"model":"gpt-4.1","tools":[{"type":"function","name":"shell"}],"input":[` + strings.Join(items[:n], ",") + `]}`
		r, err := http.NewRequest("POST", "https://provider.test/v1/responses", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := through.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	list, err := kept.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%d sessions, %v", len(list), err)
	}
	got, _, err := engine.Session(t.Context(), list[0].Info.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Messages) != len(want) {
		t.Fatalf("%d messages, want %d", len(got.Messages), len(want))
	}
	for i, m := range got.Messages {
		if m.Path == nil || m.Path.Cwd != want[i] {
			t.Errorf("message %d, %q, has the folder %v, want %s", i, m.Text(), m.Path, want[i])
		}
	}
}
