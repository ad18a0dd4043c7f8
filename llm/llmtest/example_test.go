package llmtest_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/winnowhq/winnow/llm/llmtest"
)

func ExampleNew() {
	s, err := llmtest.New(llmtest.Script{Answer: llmtest.Text("It is a small server.").Fails(llmtest.Overloaded)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for range 2 {
		r, _ := http.NewRequest("POST", s.URL+"/v1/messages", strings.NewReader(`{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"What is it?"}]}`))
		r.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"any"}, "Anthropic-Version": {"2023-06-01"}}
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
