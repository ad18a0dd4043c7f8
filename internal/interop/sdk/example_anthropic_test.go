package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/settings"
)

// The tool loop of anthropic-sdk-go. What winnow needs is between its two marks.
func Example_anthropic() {
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

	client := anthropic.NewClient(option.WithHTTPClient(&http.Client{Transport: pruning}),
		option.WithBaseURL(provider.BaseURL(llmtest.Anthropic)), option.WithAPIKey("test"))
	messages := []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Read the code."))}
	tools := []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
		Name: "read", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{
			"path": map[string]string{"type": "string"},
		}},
	}}}
	for {
		message, err := client.Messages.New(ctx, anthropic.MessageNewParams{
			Model: "claude-sonnet-4-5", MaxTokens: 1024, Messages: messages, Tools: tools,
		})
		if err != nil {
			panic(err)
		}
		messages = append(messages, message.ToParam())
		var results []anthropic.ContentBlockParamUnion
		for _, block := range message.Content {
			switch block := block.AsAny().(type) {
			case anthropic.TextBlock:
				if message.StopReason == anthropic.StopReasonEndTurn {
					fmt.Println(block.Text)
				}
			case anthropic.ToolUseBlock:
				var input struct{ Path string }
				if err := json.Unmarshal(block.Input, &input); err != nil {
					panic(err)
				}
				results = append(results, anthropic.NewToolResultBlock(block.ID, content(input.Path), false))
			}
		}
		if len(results) == 0 {
			break
		}
		messages = append(messages, anthropic.NewUserMessage(results...))
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
