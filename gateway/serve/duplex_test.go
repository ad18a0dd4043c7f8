package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// An answer may begin before the request has ended, and both come through whole.
func TestServe_answersThatBeginEarlyAreWhole(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		first := make([]byte, len("first "))
		io.ReadFull(r.Body, first)
		w.Write(first)
		w.(http.Flusher).Flush()
		io.Copy(w, r.Body)
	}))
	defer upstream.Close()
	handler, err := New(Config{Upstreams: map[string]string{"up": upstream.URL}})
	if err != nil {
		t.Fatal(err)
	}
	relay := httptest.NewServer(handler)
	defer relay.Close()
	body, more := io.Pipe()
	go io.WriteString(more, "first ")
	client := &http.Client{Timeout: 20 * time.Second}
	answer, err := client.Post(relay.URL+"/up/v1/files", "application/octet-stream", body)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got := make([]byte, len("first "))
	if _, err := io.ReadFull(answer.Body, got); err != nil {
		t.Fatal(err)
	}
	io.WriteString(more, "second")
	more.Close()
	rest, err := io.ReadAll(answer.Body)
	if string(got)+string(rest) != "first second" || err != nil {
		t.Errorf("%q, %v", string(got)+string(rest), err)
	}
}
