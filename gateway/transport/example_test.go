package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
)

// reader is a model that reads the same three files over and over, and is done after 30 calls.
func reader(r llmtest.Request) llmtest.Reply {
	n := r.Results()
	if n == 30 {
		return llmtest.Reply{Text: "Done."}
	}
	return llmtest.Reply{Calls: []llmtest.Call{{Name: "read", Arguments: fmt.Sprintf(`{"path":"f%d.go"}`, n%3)}}}
}

// A program with an HTTP client of its own. What an SDK needs is the same client: anthropic-sdk-go
// takes it with option.WithHTTPClient, openai-go too, genai in its ClientConfig.
func ExampleNew() {
	provider, _ := llmtest.New(llmtest.Script{Answer: reader})
	defer provider.Close()
	set := settings.Default()
	set.Compaction.Auto = false // what is old is left out; nothing is folded into a summary
	engine, err := winnow.Open(winnow.Config{Settings: &set})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	pruning := transport.New(engine, transport.Options{})
	client := &http.Client{Transport: pruning}

	type block map[string]any
	messages := []block{{"role": "user", "content": "Read all files."}}
	for {
		body, _ := json.Marshal(block{
			"model": "claude-sonnet-4-5", "max_tokens": 1024, "messages": messages,
			"tools": []block{{"name": "read", "input_schema": block{"type": "object"}}},
		})
		r, _ := http.NewRequest("POST", provider.URL+"/v1/messages", bytes.NewReader(body))
		r.Header = http.Header{"X-Api-Key": {"key"}, "Anthropic-Version": {"2023-06-01"}, "Content-Type": {"application/json"}}
		response, err := client.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		var answer struct{ Content []block }
		err = json.NewDecoder(response.Body).Decode(&answer)
		response.Body.Close()
		if err != nil {
			fmt.Println(err)
			return
		}
		said := answer.Content[len(answer.Content)-1]
		if said["type"] == "text" {
			fmt.Println(said["text"])
			break
		}
		result := strings.Repeat(fmt.Sprintf("// a line of %v\n", said["input"]), 600)
		messages = append(messages, block{"role": "assistant", "content": answer.Content}, block{"role": "user",
			"content": []block{{"type": "tool_result", "tool_use_id": said["id"], "content": result}}})
	}
	totals := pruning.Totals()
	fmt.Println(totals.Requests, "requests; some were pruned:", totals.Edited > 0)
	fmt.Println("the bill is smaller:", totals.Otherwise.Over(totals.Billed) > 0)
	// Output:
	// Done.
	// 31 requests; some were pruned: true
	// the bill is smaller: true
}

// A program whose library sends requests by itself hands its messages over before it does.
func ExampleAsk() {
	set := settings.Default()
	set.Compaction.Auto = false
	engine, err := winnow.Open(winnow.Config{Settings: &set})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	pruning := transport.New(engine, transport.Options{})

	type line struct{ who, text, call string } // the library's message
	read := func(l line) transport.Message {
		m := transport.Message{Role: l.who, Text: l.text}
		switch {
		case l.who == "tool":
			m.Text, m.Results = "", []transport.Result{{ID: l.call, Text: l.text}}
		case l.call != "":
			m.Calls = []transport.Call{{ID: l.call, Name: "read", Arguments: `{"path":"a.go"}`}}
		}
		return m
	}
	write := func(l line, m transport.Message) line {
		if l.who == "tool" {
			l.text = m.Results[0].Text
		}
		return l
	}
	said := func(l line) (transport.Message, session.Usage) {
		return read(l), session.Usage{Input: 2_000, Output: 10, Cache: session.CacheUsage{Read: 30_000}}
	}
	lines := []line{{who: "user", text: "Read the file again and again."}}
	var sent []line
	for n := range 20 {
		send := func(pruned []line) (line, error) {
			sent = pruned
			return line{"assistant", "", fmt.Sprint("call_", n)}, nil // the library asks its model here
		}
		answer, err := transport.Ask(context.Background(), pruning,
			transport.Conversation{Model: "anthropic/claude-sonnet-4-5", Tools: true}, lines, read, write, send, said)
		if err != nil {
			fmt.Println(err)
			return
		}
		lines = append(lines, answer, line{"tool", strings.Repeat("// a line of the file\n", 300), answer.call})
	}
	fmt.Println("as many messages are sent as there were:", len(sent) == len(lines)-2)
	fmt.Println("some of the old results are placeholders:", strings.Count(fmt.Sprint(sent), "// a line") < 19*300)
	// Output:
	// as many messages are sent as there were: true
	// some of the old results are placeholders: true
}
