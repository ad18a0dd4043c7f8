package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/settings"
)

// The tool loop of openai-go. What winnow needs is between its two marks.
func Example_openai() {
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

	client := openai.NewClient(option.WithHTTPClient(&http.Client{Transport: pruning}),
		option.WithBaseURL(provider.BaseURL(llmtest.Chat)), option.WithAPIKey("test"))
	params := openai.ChatCompletionNewParams{
		Model:    "gpt-4.1",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Read the code.")},
		Tools: []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "read", Parameters: shared.FunctionParameters{
				"type": "object", "properties": map[string]any{"path": map[string]string{"type": "string"}},
			}}),
		},
	}
	for {
		completion, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			panic(err)
		}
		message := completion.Choices[0].Message
		if len(message.ToolCalls) == 0 {
			fmt.Println(message.Content)
			break
		}
		params.Messages = append(params.Messages, message.ToParam())
		for _, call := range message.ToolCalls {
			var input struct{ Path string }
			if err := json.Unmarshal([]byte(call.Function.Arguments), &input); err != nil {
				panic(err)
			}
			params.Messages = append(params.Messages, openai.ToolMessage(content(input.Path), call.ID))
		}
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
