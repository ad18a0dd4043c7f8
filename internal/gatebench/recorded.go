//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
)

// recording is a recorded session, whatever product it is of.
type recording struct {
	name string
	log  []session.Message
}

// recordings are the sessions of the files below a folder in which somebody was answered, in the
// order of their paths. Files that are no session are left out.
func recordings(folder string) (found []recording) {
	must(filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		doc, err := all.Read(data)
		if err != nil {
			return nil
		}
		r := recording{strings.TrimSuffix(d.Name(), ".gz"), asSent(doc.Session.Messages)}
		if r.steps() > 1 {
			found = append(found, r)
		}
		return nil
	}))
	return found
}

// asSent are messages as a client can send them: the user begins, and each call has ended.
func asSent(messages []session.Message) []session.Message {
	all := slices.Clone(messages)
	if len(all) > 0 && all[0].Role == session.Assistant {
		begins := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: wire.Beginning}}}
		begins.Role = session.User
		all = slices.Insert(all, 0, begins)
	}
	for i := range all {
		parts := slices.Clone(all[i].Parts)
		for j := range parts {
			if parts[j].State == nil || parts[j].State.Final() {
				continue
			}
			state := *parts[j].State
			state.Status, state.Output = session.Completed, wire.Interrupted
			parts[j].State = &state
		}
		all[i].Parts = parts
	}
	return all
}

// steps are how many requests there were.
func (r recording) steps() (n int) {
	for i := range r.log {
		if r.log[i].Role == session.Assistant {
			n++
		}
	}
	return n
}

// script is an upstream that says what was said.
type script struct {
	*llmtest.Server
	next llmtest.Reply
}

func startScript() *script {
	s := &script{}
	server, err := llmtest.New(llmtest.Script{Bare: true, Lenient: true,
		Answer: func(llmtest.Request) llmtest.Reply { return s.next }})
	must(err)
	s.Server = server
	return s
}

var declared = jsontext.Value(`[{"name":"read","input_schema":{"type":"object"}}]`)

// play sends the requests of a recording one after the other, through the Messages API and without
// the pauses between them, and tells of each that was answered. It returns how many were, and their
// bytes.
func (s *script) play(r recording, address string, answered func()) (requests int, sent int64) {
	return s.playLast(r, r.steps(), address, answered)
}

// playLast is play of the newest requests alone.
func (s *script) playLast(r recording, last int, address string, answered func()) (requests int, sent int64) {
	var elements wire.Elements
	left := r.steps()
	for at := range r.log {
		if r.log[at].Role != session.Assistant {
			continue
		}
		if left--; left >= last {
			continue
		}
		body, err := elements.Encode(r.log[:at], wire.Options{Model: "claude-sonnet-4-5", MaxTokens: 32_000,
			Tools: declared}, anthropic.Form)
		if err != nil {
			return requests, sent // such a request was never sent to this API
		}
		body.Elements = withMark(body.Elements)
		text, err := body.JSON()
		must(err)
		text = bytes.Replace(text, []byte("{"),
			[]byte(`{"stream":true,"system":[{"type":"text","text":"You write code."}],`), 1)
		s.next = llmtest.Said(&r.log[at])
		q, err := http.NewRequest(http.MethodPost, address+"/v1/messages?beta=true", bytes.NewReader(text))
		must(err)
		q.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"any"},
			"Anthropic-Version": {"2023-06-01"},
			"X-Winnow-Session":  {r.name}}
		answer, err := client.Do(q)
		must(err)
		_, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			log.Printf("%s, message %d: %s %v", r.name, at, answer.Status, err)
			return requests, sent
		}
		requests, sent = requests+1, sent+int64(len(text))
		s.Forget()
		answered()
	}
	return requests, sent
}

// withMark are messages with a cache mark on the last block.
func withMark(messages []jsontext.Value) []jsontext.Value {
	messages = slices.Clone(messages)
	newest := &messages[len(messages)-1]
	var last wire.Value
	for block := range wire.ValueOf(*newest).Get("content").Values() {
		last = block
	}
	*newest = span.Splice(*newest, anthropic.Mark(last)...)
	return messages
}

func bytesOf(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", n/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f KB", n/1e3)
	}
	return fmt.Sprintf("%.0f B", n)
}
