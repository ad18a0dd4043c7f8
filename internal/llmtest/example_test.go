package llmtest_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/winnowhq/winnow/internal/llmtest"
)

func ExampleNew() {
	s, err := llmtest.New(llmtest.Script{Answer: llmtest.Text("It is a small server.").Fails(llmtest.Overloaded)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for range 2 {
		r, _ := http.NewRequest("POST", s.URL+"/v1/messages",
			strings.NewReader(`{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"What is it?"}]}`))
		r.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"any"},
			"Anthropic-Version": {"2023-06-01"}}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		response.Body.Close()
	}
	for _, r := range s.Records() {
		fmt.Println(r.Number, r.Protocol, r.Last(), r.Status)
	}
	// Output:
	// 1 anthropic What is it? 529
	// 2 anthropic What is it? 200
}

// An agent's loop is tested with a script that looks at the request: what a model would do depends
// on what it has been told.
func ExampleScript() {
	s, err := llmtest.New(llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		if r.Results() == 0 {
			return llmtest.Reply{Text: "I read it.", Calls: []llmtest.Call{{ID: "toolu_1", Name: "read",
				Arguments: `{"path":"a.go"}`}}}
		}
		return llmtest.Reply{Text: "It is a small server."}
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	const asks = `{"role":"user","content":"What is it?"}`
	const called = asks + `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read",` +
		`"input":{"path":"a.go"}}]}`
	const answered = called + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1",` +
		`"content":"package a"}]}`
	// in the place of the agent; the last is a mistake of its
	for _, messages := range []string{asks, answered, called} {
		r, _ := http.NewRequest("POST", s.URL+"/v1/messages",
			strings.NewReader(`{"model":"m","max_tokens":100,"messages":[`+messages+`]}`))
		r.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"any"},
			"Anthropic-Version": {"2023-06-01"}}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		response.Body.Close()
	}
	for _, r := range s.Records() {
		fmt.Printf("%d %q\n", r.Status, r.Reply.Text)
	}
	fmt.Println(len(s.Problems()), "request would be refused")
	// Output:
	// 200 "I read it."
	// 200 "It is a small server."
	// 400 ""
	// 1 request would be refused
}
