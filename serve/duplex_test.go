package serve

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// An answer that begins as soon as the request has arrived comes through whole, however the reading
// of the request's end falls out.
func TestServe_answersThatBeginAtOnceAreWhole(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for range 3 {
			io.WriteString(w, "data: a piece\n\n")
			w.(http.Flusher).Flush()
		}
	}))
	defer upstream.Close()
	handler, err := New(Config{Upstreams: map[string]string{"up": upstream.URL}})
	if err != nil {
		t.Fatal(err)
	}
	relay := httptest.NewServer(handler)
	defer relay.Close()
	body := bytes.Repeat([]byte("x"), 10_000)
	for i := range 300 {
		answer, err := http.Post(relay.URL+"/up/v1/files", "application/octet-stream", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || len(got) != 3*len("data: a piece\n\n") {
			t.Fatalf("request %d: %q, %v", i, got, err)
		}
	}
}
