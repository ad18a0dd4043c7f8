package gateway

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/pgtest"
)

// page asks a replica for something of ann's page.
func (l *till) page(through int, method, path, body string, head ...string) *http.Response {
	l.t.Helper()
	at := "http://" + l.relays[through].Address()
	r, err := http.NewRequestWithContext(l.t.Context(), method, at+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header = http.Header{"X-Winnow-Token": {l.token}, "Accept": {"text/html"}, "Origin": {at},
		"Content-Type": {"application/json"}}
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// The page of each replica shows the requests of all, and its buttons work for sessions that another
// replica carried, which shows what they did.
func TestPage_showsOtherReplicas(t *testing.T) {
	l := newTill(t, pgtest.Start(t), tenant.Budget{}, says)
	l.relay()
	ask := func(through int) {
		t.Helper()
		q := asks(llmtest.Anthropic, false, `,"tools":[{"name":"a","input_schema":{"type":"object"}}]`)
		q.through = through
		if status, text := l.send(q); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
	}
	browse := func(through int) *browsing {
		b := &browsing{t: t, stream: l.page(through, "GET", "/~/events", "")}
		b.lines = bufio.NewScanner(b.stream.Body)
		b.lines.Buffer(nil, 1<<20)
		return b
	}
	ask(0)
	ask(1) // so that both have what belongs to ann at hand
	first, second := browse(0), browse(1)
	ask(0)
	first.told(`"requests":2`)
	second.told(`"requests":2`)

	kept := l.relays[0].tenants.states["ann"].store
	list, err := kept.List(t.Context())
	if err != nil || len(list) == 0 {
		t.Fatalf("%d sessions, %v", len(list), err)
	}
	id, part := list[0].Info.ID, ""
	for m := range kept.Messages(t.Context(), id) {
		part = m.Parts[0].ID
	}
	html, _ := io.ReadAll(l.page(1, "GET", "/", "").Body)
	_, rest, _ := strings.Cut(string(html), `name="winnow-page" content="`)
	word, _, _ := strings.Cut(rest, `"`)
	done := l.page(1, "POST", "/~/act", `{"do":"pin","session":"`+id+`","part":"`+part+`"}`, "X-Winnow-Page", word)
	if text, _ := io.ReadAll(done.Body); done.StatusCode != http.StatusOK || !strings.Contains(string(text), "Pinned") {
		t.Fatalf("%d %s", done.StatusCode, text)
	}
	first.told(`"kind":"pin"`)
}
