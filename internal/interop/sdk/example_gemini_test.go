package sdk_test

import (
	"context"
	"fmt"
	"net/http"

	"google.golang.org/genai"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/settings"
)

// The tool loop of genai. What winnow needs is between its two marks.
func Example_gemini() {
	provider, _ := llmtest.New(llmtest.Script{Answer: chore})
	defer provider.Close()
	ctx := context.Background()

	// winnow >
	set := settings.Default()
	set.Compaction.Auto = false // what is old is left out; nothing is folded into a summary
	engine, err := winnow.Open(winnow.Config{Settings: &set})
	if err != nil {
		panic(err)
	}
	defer engine.Close()
	pruning := transport.New(engine, transport.Options{})
	// < winnow

	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		HTTPClient: &http.Client{Transport: pruning}, APIKey: "test", Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: provider.BaseURL(llmtest.Gemini)},
	})
	if err != nil {
		panic(err)
	}
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
		Name: "read", Parameters: &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{
			"path": {Type: genai.TypeString},
		}},
	}}}}}
	contents := genai.Text("Read the code.")
	for {
		answer, err := client.Models.GenerateContent(ctx, "gemini-2.5-flash", contents, config)
		if err != nil {
			panic(err)
		}
		contents = append(contents, answer.Candidates[0].Content)
		var results []*genai.Part
		for _, call := range answer.FunctionCalls() {
			output := map[string]any{"output": content(call.Args["path"].(string))}
			result := genai.NewPartFromFunctionResponse(call.Name, output)
			result.FunctionResponse.ID = call.ID
			results = append(results, result)
		}
		if len(results) == 0 {
			fmt.Println(answer.Text())
			break
		}
		contents = append(contents, genai.NewContentFromParts(results, genai.RoleUser))
	}

	totals := pruning.Totals()
	fmt.Println("requests:", totals.Requests)
	fmt.Println("most of them were pruned:", totals.Edited > totals.Requests/2)
	fmt.Println("the bill is smaller:", totals.Otherwise.Over(totals.Billed) > 0)
	// Output:
	// I have read all of it.
	// requests: 41
	// most of them were pruned: true
	// the bill is smaller: true
}
