package providers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// each runs a test for every dialect, in a bubble: a goroutine that is left behind fails it.
func each(t *testing.T, test func(t *testing.T, d dialect)) {
	t.Helper()
	for _, d := range dialects {
		t.Run(string(d.protocol), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, d) })
		})
	}
}

func said(role session.Role, text string) session.Message {
	m := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: text}}}
	m.Role = role
	if role == session.Assistant {
		m.ProviderID, m.ModelID = reader.Provider, reader.ID
	}
	return m
}

func question() llm.Request {
	return llm.Request{Model: reader, System: "You help.", Messages: []session.Message{said(session.User, "Hello?")}}
}

// beginning is a stream up to its first piece of text, "Hello".
func beginning(d dialect) []string {
	stream := d.text("Hello", " world")
	return stream[:1+slices.IndexFunc(stream, func(e string) bool { return strings.Contains(e, "Hello") })]
}

// failure asserts that an error is of a kind and gives nothing away.
func failure(t *testing.T, err error, kind llm.Kind) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want an *llm.Error of kind %s", err, kind)
	}
	if e.Kind != kind {
		t.Errorf("kind %s, want %s: %v", e.Kind, kind, err)
	}
	if e.Provider != "house" || e.Model != "model-a" {
		t.Errorf("the error names %s/%s", e.Provider, e.Model)
	}
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v %#v", err, err), fmt.Sprintf("%+v %#v", e.Err, e.Err)} {
		if strings.Contains(text, key) {
			t.Errorf("the error holds the key: %s", text)
		}
	}
	return e
}

func TestAsk_textArrivesPieceByPieceWithUsageAndCost(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		n := serve(t, events(d.text("Hel", "lo ", "wörld\n", "🙂")))
		var heard []string
		r := question()
		r.Delta = func(text string) { heard = append(heard, text) }
		a, err := client(t, d, n).Ask(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"Hel", "lo ", "wörld\n", "🙂"}; !slices.Equal(heard, want) {
			t.Errorf("heard %q, want %q", heard, want)
		}
		if a.Text() != "Hello wörld\n🙂" || len(a.Parts) != 1 || a.Finish != llm.Stop || a.Model != "house/model-a" {
			t.Errorf("got %+v", a)
		}
		if a.Usage.Input != d.usage.Input || cmp.Diff(d.usage, a.Usage) != "" {
			t.Errorf("usage (-want +got):\n%s", cmp.Diff(d.usage, a.Usage))
		}
		want := float64(100*1+50*10)/1e6 + float64(900)*0.1/1e6 + float64(d.usage.Cache.Write)*2/1e6
		if diff := cmp.Diff(want, a.Cost, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
			t.Errorf("cost (-want +got):\n%s", diff)
		}
		if n.requests.Load() != 1 || a.Attempts != nil {
			t.Errorf("%d requests, attempts %v", n.requests.Load(), a.Attempts)
		}
	})
}

// again writes an answer down once more, as the next request has it.
func again(t *testing.T, d dialect, a llm.Answer) []jsontext.Value {
	t.Helper()
	answer := session.Message{Parts: a.Parts}
	answer.Role, answer.ProviderID, answer.ModelID = session.Assistant, reader.Provider, reader.ID
	elements, err := d.encode([]session.Message{said(session.User, "Hello?"), answer},
		wire.Options{Provider: reader.Provider, Model: reader.ID})
	if err != nil {
		t.Fatal(err)
	}
	return elements[1:]
}

func TestAsk_thoughtsGoBackAsTheyCame(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		var heard string
		r := question()
		r.Delta = func(text string) { heard += text }
		a, err := client(t, d, serve(t, events(d.thinking))).Ask(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if a.Text() != "Done." || heard != "Done." || a.Finish != llm.Stop || !a.Has(session.ReasoningPart) {
			t.Errorf("heard %q, got %+v", heard, a)
		}
		var written []string
		for _, element := range again(t, d, a) {
			written = append(written, string(element))
		}
		if diff := cmp.Diff(d.writtenThinking, written); diff != "" {
			t.Errorf("written again (-want +got):\n%s", diff)
		}
	})
}

func TestAsk_callsArePendingAndGoBackAsTheyCame(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		a, err := client(t, d, serve(t, events(d.call))).Ask(t.Context(), question())
		if err != nil {
			t.Fatal(err)
		}
		call := a.Parts[len(a.Parts)-1]
		if a.Finish != llm.Calls || call.Type != session.ToolPart || call.Tool != "read" || call.CallID == "" ||
			call.ID != "" || call.State.Status != session.Pending {
			t.Fatalf("got %+v", a)
		}
		written := again(t, d, a)
		var texts []string
		for _, element := range written[:len(written)-1] { // the last one is the result
			texts = append(texts, string(element))
		}
		if diff := cmp.Diff(d.writtenCall, texts); diff != "" {
			t.Errorf("written again (-want +got):\n%s", diff)
		}
	})
}

func TestAsk_theReasonOfTheEnd(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		for want, stream := range map[llm.Finish][]string{llm.Length: d.length, llm.Refused: d.refused} {
			a, err := client(t, d, serve(t, events(stream))).Ask(t.Context(), question())
			if err != nil || a.Finish != want || a.Usage.Input == 0 {
				t.Errorf("finish %s, usage %+v, error %v; want %s", a.Finish, a.Usage, err, want)
			}
		}
	})
}

func TestAsk_refusalsByStatus(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		other := fmt.Sprintf(d.body, "your key "+key)
		for _, c := range []struct {
			name    string
			answer  http.HandlerFunc
			kind    llm.Kind
			status  int
			waiting time.Duration
			message string
		}{
			{"wrong key", status(401, other), llm.Auth, 401, 0, "It went wrong: your key [key]"},
			{"no credit", status(402, other), llm.Auth, 402, 0, "[key]"},
			{"no permission", status(403, other), llm.Auth, 403, 0, "[key]"},
			{"no such model", status(404, other), llm.Rejected, 404, 0, "[key]"},
			{"bad request", status(400, other), llm.Rejected, 400, 0, "[key]"},
			{"too long", status(400, d.overflow), llm.Overflow, 400, 0, ""},
			{"too large", status(413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
				llm.Overflow, 413, 0, "413 Request Entity Too Large"},
			{"too many", status(429, other), llm.RateLimited, 429, 0, "[key]"},
			{"too many, in seconds", status(429, other, "Retry-After", "7"), llm.RateLimited, 429, 7 * time.Second,
				"[key]"},
			{"too many, in milliseconds", status(429, other, "Retry-After", "1", "Retry-After-Ms", "250"),
				llm.RateLimited, 429, 250 * time.Millisecond, "[key]"},
			{"too many, until then", status(429, other, "Date", "Wed, 21 Oct 2026 07:28:00 GMT", "Retry-After",
				"Wed, 21 Oct 2026 07:28:30 GMT"), llm.RateLimited, 429, 30 * time.Second, "[key]"},
			{"too many tokens", status(429, other, "X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens",
				"1m6s", "X-Ratelimit-Remaining-Requests", "9", "X-Ratelimit-Reset-Requests", "9h"), llm.RateLimited,
				429, 66 * time.Second, "[key]"},
			{"failed", status(500, other), llm.Server, 500, 0, "[key]"},
			{"failed without a word", status(502, ""), llm.Server, 502, 0, "Bad Gateway"},
			{"unavailable", status(503, "<html><title>nginx is busy</title></html>", "Retry-After", "2"),
				llm.Overloaded, 503, 2 * time.Second, "nginx is busy"},
			{"at capacity", status(529, other), llm.Overloaded, 529, 0, "[key]"},
			{"moved", status(307, "", "Location", "http://elsewhere.test/"), llm.Rejected, 307, 0,
				"redirected to http://elsewhere.test/: set the base URL"},
		} {
			n := serve(t, c.answer)
			a, err := client(t, d, n).Ask(t.Context(), question())
			e := failure(t, err, c.kind)
			if e.Status != c.status || !strings.Contains(e.Message, c.message) || e.RetryAfter != c.waiting {
				t.Errorf("%s: got %+v", c.name, *e)
			}
			if n.requests.Load() != 1 || a.Model != "house/model-a" {
				t.Errorf("%s: %d requests, answer %+v", c.name, n.requests.Load(), a)
			}
		}
	})
}

func TestAsk_errorsInsideAStream(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		begun := beginning(d)
		a, err := client(t, d, serve(t, events(begun, []string{d.overload}))).Ask(t.Context(), question())
		failure(t, err, llm.Overloaded)
		if a.Text() != "Hello" {
			t.Errorf("what had arrived is %q", a.Text())
		}
		_, err = client(t, d, serve(t, events([]string{d.limited}))).Ask(t.Context(), question())
		if e := failure(t, err, llm.RateLimited); e.RetryAfter != 11*time.Second {
			t.Errorf("got %+v", *e)
		}
		// The same reports as a document with status 200.
		_, err = client(t, d, serve(t, status(200, d.overflow))).Ask(t.Context(), question())
		failure(t, err, llm.Overflow)
	})
}

func TestAsk_aStreamThatIsCut(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		whole := d.call
		ends := map[string]http.HandlerFunc{"closed": func(http.ResponseWriter, *http.Request) {}, "broken": breakOff}
		for name, end := range ends {
			for n := range len(whole) - d.tail {
				if n == 0 && name == "broken" {
					continue // no headers came: that is the network's
				}
				a, err := client(t, d, serve(t, then(whole[:n], end))).Ask(t.Context(), question())
				failure(t, err, llm.Cut)
				if d.protocol == wire.Anthropic && n > 0 && a.Usage.Input != 100 {
					t.Errorf("%s after %d events: usage %+v", name, n, a.Usage)
				}
				if text := a.Text(); !strings.HasPrefix("I read.", text) {
					t.Errorf("%s after %d events: %q", name, n, text)
				}
			}
			half := whole[len(whole)/2]
			_, err := client(t, d, serve(t, then(append(slices.Clone(whole[:len(whole)/2]), half[:len(half)/2]),
				end))).Ask(t.Context(), question())
			failure(t, err, llm.Cut)
		}
	})
}

func TestAsk_aCallThatIsCutKeepsItsArgumentsAsFarAsTheyCame(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		for n := range d.call {
			if !strings.Contains(d.call[n], `{\"path\":\"a.go\",`) {
				continue
			}
			a, err := client(t, d, serve(t, events(d.call[:n+1]))).Ask(t.Context(), question())
			failure(t, err, llm.Cut)
			call := a.Parts[len(a.Parts)-1]
			if call.Type != session.ToolPart || call.Tool != "read" || call.State.Raw != `{"path":"a.go",` ||
				len(call.State.Input) > 0 {
				t.Errorf("got %+v %+v", call, call.State)
			}
			again(t, d, a)
			break
		}
	})
}

func TestAsk_garbage(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		begun := beginning(d)
		for name, answer := range map[string]http.HandlerFunc{
			"a page": page("<!doctype html><html><head><title>Sign in to the " +
				"hotel</title></head><body>…"),
			"a page without a title":   page("\n\n <p>hello"),
			"a document":               status(200, `{"id":"x","choices":[]}`),
			"words":                    page("Hello there, this is no model."),
			"words with line breaks":   page("Hello there,\nthis is no model.\n\n"),
			"an event that is no JSON": events(begun, []string{"data: {\"cut\": \n\n"}),
			"an event of words":        events(begun, []string{"data: hello\n\n"}),
			"an event that is a list":  events(begun, []string{"data: [1,2]\n\n"}),
			"bytes":                    page("\x00\x01\xff\xfe\x80garbage"),
			"words amid a stream":      events(begun, []string{"Internal Server Error\n"}),
			"a null":                   events([]string{"data: null\n\n"}),
		} {
			_, err := client(t, d, serve(t, answer)).Ask(t.Context(), question())
			if e := failure(t, err, llm.Garbage); e.Message == "" {
				t.Errorf("%s: %+v", name, *e)
			}
		}
		_, err := client(t, d, serve(t, page("<title>Sign in to the hotel</title>"))).Ask(t.Context(), question())
		if !strings.Contains(err.Error(), "Sign in to the hotel") {
			t.Errorf("got %v", err)
		}
	})
}

func TestAsk_readsAnyFormOfStream(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		whole := strings.Join(d.text("Hello", " world"), "")
		for name, text := range map[string]string{
			"with carriage returns": strings.ReplaceAll(whole, "\n", "\r\n"),
			"with comments": strings.ReplaceAll(": hello\n\n"+whole, "\n\n",
				"\n\n: keep-alive\n\nid: 4\nretry: 10\n"),
			"with a byte order mark": "\xEF\xBB\xBF" + whole,
			"without spaces":         strings.ReplaceAll(whole, "data: ", "data:"),
			"with data in lines":     strings.ReplaceAll(whole, "data: {", "data: {\ndata: "),
			"with empty events":      strings.ReplaceAll(whole, "\n\n", "\n\n\n\nevent: nothing\n\n"),
		} {
			a, err := client(t, d, serve(t, func(w http.ResponseWriter,
				_ *http.Request) {
				io.WriteString(w, text)
			})).Ask(t.Context(), question())
			if err != nil || a.Text() != "Hello world" || a.Finish != llm.Stop {
				t.Errorf("%s: %q, %s, %v", name, a.Text(), a.Finish, err)
			}
		}
	})
}

func TestAsk_endsWithItsContext(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		begun := beginning(d)
		for name, answer := range map[string]http.HandlerFunc{
			"before the headers": hang,
			"amid the stream":    then(begun, hang),
			"amid a slow drip":   then(begun, drip),
			"amid an error's answer": then(nil, func(w http.ResponseWriter,
				r *http.Request) {
				w.WriteHeader(500)
				w.(http.Flusher).Flush()
				hang(w, r)
			}),
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			mine := errors.New("the user pressed a key")
			time.AfterFunc(5*time.Second, func() { cancel(mine) })
			began := time.Now()
			_, err := client(t, d, serve(t, answer)).Ask(ctx, question())
			failure(t, err, llm.Cancelled)
			if took := time.Since(began); took > 5*time.Second+250*time.Millisecond || !errors.Is(err, mine) {
				t.Errorf("%s: %s after the context ended: %v", name, took-5*time.Second, err)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		n := serve(t, events(d.text("Hello")))
		_, err := client(t, d, n).Ask(ended, question())
		failure(t, err, llm.Cancelled)
		if n.requests.Load() != 0 {
			t.Error("a request was made though the context had ended")
		}
	})
}

func TestAsk_givesUpWhenNothingIsReceived(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		begun := beginning(d)
		for name, answer := range map[string]http.HandlerFunc{"before the headers": hang,
			"amid the stream": then(begun, hang)} {
			for seconds, want := range map[int]time.Duration{0: 2 * time.Minute, 7: 7 * time.Second} {
				began := time.Now()
				_, err := client(t, d, serve(t, answer), func(p *Provider) { p.Idle = seconds }).Ask(t.Context(),
					question())
				failure(t, err, llm.Stalled)
				if took := time.Since(began); took != want {
					t.Errorf("%s: given up after %s, want %s", name, took, want)
				}
			}
		}
		slow := func(w http.ResponseWriter, r *http.Request) { // each piece comes before the patience ends
			for _, e := range d.text("Hello", " world") {
				time.Sleep(100 * time.Second)
				events([]string{e})(w, r)
			}
		}
		if a, err := client(t, d, serve(t, slow)).Ask(t.Context(), question()); err != nil ||
			a.Text() != "Hello world" {
			t.Errorf("%q, %v", a.Text(), err)
		}
	})
}

func TestAsk_withoutConnection(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		refused := &http.Transport{DialContext: (&listener{closed: closed()}).dial}
		_, err := client(t, d, refused).Ask(t.Context(), question())
		failure(t, err, llm.Network)
		_, err = client(t, d, serve(t, breakOff)).Ask(t.Context(), question())
		failure(t, err, llm.Network)
	})
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func TestAsk_theSummaryRequestExtendsTheConversation(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		var bodies [][]byte
		n := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, body)
			events(d.text("ok"))(w, r)
		})
		c := client(t, d, n, func(p *Provider) { p.Body = jsontext.Value(`{"extra":{"a":1}}`) })
		r := question()
		r.Tools = jsontext.Value(`[{"name":"read","html":"<b> & 9007199254740993"}]`)
		r.Messages = append(r.Messages, said(session.Assistant, "<hello>"), said(session.User, "Go on."))
		for range 2 {
			if _, err := c.Ask(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			r.Messages, r.MaxOutput = append(r.Messages, said(session.Assistant, "I went."),
				said(session.User, "Summarise.")), 100
		}
		of := func(body []byte, member string) string {
			return string(wire.ValueOf(body).Get(member).Bytes())
		}
		before, after := of(bodies[0], d.list), of(bodies[1], d.list)
		if !strings.HasPrefix(after, strings.TrimSuffix(before, "]")) || before == "" {
			t.Errorf("the request\n%s\ndoes not go on with\n%s", after, before)
		}
		for _, member := range []string{"tools", "system", "instructions", "systemInstruction", "extra"} {
			if of(bodies[0], member) != of(bodies[1], member) {
				t.Errorf("%s changed from %s to %s", member, of(bodies[0], member), of(bodies[1], member))
			}
		}
		if !strings.Contains(of(bodies[0], "tools"), "9007199254740993") || of(bodies[0], "extra") != `{"a":1}` {
			t.Errorf("sent %s", bodies[0])
		}
	})
}

func TestAsk_manyAtOnce(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		c := client(t, d, serve(t, events(d.text("Hello", " world"))))
		done := make(chan error)
		for range 8 {
			go func() {
				a, err := c.Ask(context.Background(), question())
				if err == nil && a.Text() != "Hello world" {
					err = errors.New(a.Text())
				}
				done <- err
			}()
		}
		for range 8 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// A temperature stands where the protocol has it; without one the body says nothing of it, so that
// models that take none are asked as before.
func TestAsk_temperature(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		for _, temperature := range []float64{-1, 0, 0.7, 2} {
			var sent []byte
			answer := events(d.text("Hello"))
			n := serve(t, func(w http.ResponseWriter, r *http.Request) {
				sent, _ = io.ReadAll(r.Body)
				answer(w, r)
			})
			r := question()
			if temperature >= 0 {
				r.Temperature = &temperature
			}
			if _, err := client(t, d, n).Ask(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			body := wire.ValueOf(sent)
			at := body.Get("temperature")
			if d.protocol == wire.Gemini {
				at = body.Get("generationConfig").Get("temperature")
			}
			want := ""
			if temperature >= 0 {
				want = fmt.Sprint(temperature)
			}
			if got := string(at.Bytes()); got != want {
				t.Errorf("the temperature is %q, want %q", got, want)
			}
		}
	})
}
