//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// conversation is that of a coding agent that reads files, 2 KB at a time, some of them again and
// again.
type conversation struct {
	id     string
	random *rand.Rand
	list   bytes.Buffer // its messages, but for the newest
	newest string       // the newest message, which has the cache mark
	steps  int
	result int    // bytes of a result
	head   string // what a request begins with
	again  bool   // every fourth step reads a file again that has not changed
	read   [2]string
}

func newSession(size int, seed uint64) *conversation { return sessionOf(size, seed, 2000, head, false) }

// sessionOf is a session whose messages have size bytes, with results and a head of its own.
func sessionOf(size int, seed uint64, result int, head string, again bool) *conversation {
	s := &conversation{again: again, id: fmt.Sprintf("%08d-0000-4000-8000-000000000000", seed),
		random: rand.New(rand.NewPCG(seed, 1)),
		result: result, head: head}
	s.newest = `{"role":"user","content":[{MARK"type":"text","text":"Add request logging to the shop."}]}`
	for s.list.Len() < size {
		s.grow()
	}
	return s
}

// call is the call of a step that reads a file for the first time, or after all others.
func call(step int) (id, path string) {
	return fmt.Sprintf("toolu_%08d", step), fmt.Sprint("/repo/pkg/file", step%40, ".go")
}

// call is the call that the session makes next, and whether it repeats the one before the last.
func (s *conversation) call() (id, path string, repeats bool) {
	id, path = call(s.steps)
	if s.again && s.steps%4 == 3 {
		_, path = call(s.steps - 2)
		return id, path, true
	}
	return id, path, false
}

// grow appends the call of the newest answer and its result.
func (s *conversation) grow() {
	id, path, repeats := s.call()
	text := s.read[0]
	if !repeats {
		text = s.text(s.result)
	}
	s.read = [2]string{s.read[1], text}
	s.steps++
	s.list.WriteString(strings.Replace(s.newest, "MARK", "", 1))
	fmt.Fprintf(&s.list, `,{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"Read","input":{"file_path":%q}}]},`,
		id, path)
	s.newest = fmt.Sprintf(`{"role":"user","content":[{MARK"type":"tool_result","tool_use_id":%q,"content":%q}]}`, id,
		text)
}

var words = strings.Fields("func return error string config handler store session request response import package " +
	"type struct if err nil for range append len map context test value index file path read write open close " +
	"buffer token count table query result user order price")

func (s *conversation) text(size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "%s %s x%d %s\n", words[s.random.IntN(len(words))], words[s.random.IntN(len(words))],
			s.random.IntN(100_000), words[s.random.IntN(len(words))])
	}
	return b.String()
}

// head is what a request begins with: tools and a system prompt of the size that agents have.
var head = headOf(300)

// headOf is a head of about 42 bytes for each of n.
func headOf(n int) string {
	return `{"model":"claude-sonnet-4-5","max_tokens":1024,"stream":true,"tools":[{"name":"Read","description":"` +
		strings.Repeat("Reads a file of the project. ", n) + `","input_schema":{"type":"object","properties":{"file_path":{"type":"string"}}}}],` +
		`"system":[{"type":"text","text":"` + strings.Repeat("You are an agent. ", n*2/3) +
		`","cache_control":{"type":"ephemeral"}}],"messages":[`
}

func (s *conversation) body() []byte {
	return slices.Concat([]byte(s.head), s.list.Bytes(), []byte(strings.Replace(s.newest, "MARK",
		`"cache_control":{"type":"ephemeral"},`, 1)+`]}`))
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}

// send sends a body and reads its answer to the end.
func (s *conversation) send(address string, body []byte) (took timed) {
	r, err := http.NewRequest(http.MethodPost, address+"/v1/messages?beta=true", bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", "none")
	r.Header.Set("X-Claude-Code-Session-Id", s.id)
	id, path, _ := s.call()
	r.Header.Set("X-Call", id)
	r.Header.Set("X-Path", path)
	began := time.Now()
	answer, err := client.Do(r)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	begins := make([]byte, 1)
	_, err = io.ReadFull(answer.Body, begins)
	took.first = time.Since(began)
	if err == nil {
		_, err = io.Copy(io.Discard, answer.Body)
	}
	took.whole = time.Since(began)
	if err != nil || answer.StatusCode != http.StatusOK {
		log.Fatal(address, ": ", answer.Status, " ", err)
	}
	return took
}

// upstream answers each request with the call that its session makes next.
type upstream struct {
	address  string
	received atomic.Int64 // bytes of bodies
}

func startUpstream() *upstream {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	u := &upstream{address: "http://" + l.Addr().String()}
	go func() { log.Fatal(http.Serve(l, u)) }()
	return u
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, r.Body)
	u.received.Add(n)
	id, path := r.Header.Get("X-Call"), r.Header.Get("X-Path")
	w.Header().Set("Content-Type", "text/event-stream")
	for i, data := range []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5",` +
			`"content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":1000,"cache_creation_input_tokens":100,"output_tokens":1}}}`,
		fmt.Sprintf(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":%q,"name":"Read","input":{}}}`, id),
		fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":%q}}`,
			fmt.Sprintf(`{"file_path":%q}`, path)),
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}`,
		`{"type":"message_stop"}`,
	} {
		fmt.Fprintf(w, "data: %s\n\n", data)
		if i == 0 {
			w.(http.Flusher).Flush()
		}
	}
}
