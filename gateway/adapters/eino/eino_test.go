package eino_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/adapters/eino"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/adaptertest"
	"github.com/winnowhq/winnow/session"
)

// scripted is a chat model that says what a function says, streamed word by word.
type scripted struct {
	says   adaptertest.Model[*schema.Message]
	tools  int
	closed chan bool // closed when a stream that nobody reads to its end is given up
}

func (s *scripted) IsCallbacksEnabled() bool { return true }

func (s *scripted) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	return &scripted{s.says, len(tools), s.closed}, nil
}

func (s *scripted) Generate(_ context.Context, sent []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	answer, u, err := s.says(sent)
	if err != nil {
		return nil, err
	}
	answer.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: u.Prompt(),
		PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: u.Cache.Read}, CompletionTokens: u.Output}}
	return answer, nil
}

func (s *scripted) Stream(
	ctx context.Context, sent []*schema.Message, options ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	answer, err := s.Generate(ctx, sent, options...)
	if err != nil {
		return nil, err
	}
	stream, write := schema.Pipe[*schema.Message](0)
	go func() {
		defer write.Close()
		for _, word := range strings.SplitAfter(answer.Content, " ") {
			if write.Send(schema.AssistantMessage(word, nil), nil) {
				close(s.closed)
				return
			}
		}
		end := *answer
		end.Content = ""
		write.Send(&end, nil)
	}()
	return stream, nil
}

// adapter is how the suite asks, with Generate or with Stream.
func adapter(ask func(*testing.T, model.ToolCallingChatModel, []*schema.Message) (*schema.Message, error)) adaptertest.Adapter[*schema.Message] {
	return adaptertest.Adapter[*schema.Message]{
		Make: func(m transport.Message) *schema.Message {
			made := &schema.Message{Role: schema.RoleType(m.Role), Content: m.Text}
			for _, c := range m.Calls {
				made.ToolCalls = append(made.ToolCalls, schema.ToolCall{ID: c.ID, Type: "function",
					Function: schema.FunctionCall{Name: c.Name, Arguments: c.Arguments}})
			}
			for _, r := range m.Results {
				made.Content, made.ToolCallID, made.ToolName = r.Text, r.ID, r.Name
			}
			return made
		},
		Text: func(m *schema.Message) string {
			if m.Role == schema.Tool {
				return ""
			}
			return m.Content
		},
		Results: func(m *schema.Message) []string {
			if m.Role == schema.Tool {
				return []string{m.Content}
			}
			return nil
		},
		Ask: func(
			t *testing.T, pruning *transport.Transport, inner adaptertest.Model[*schema.Message], messages []*schema.Message,
		) (*schema.Message, error) {
			m, err := eino.Prune(&scripted{says: inner}, pruning, "openai/gpt-4.1").WithTools([]*schema.ToolInfo{{Name: "read"}})
			if err != nil {
				t.Fatal(err)
			}
			return ask(t, m, messages)
		},
	}
}

func TestPrune_generate(t *testing.T) {
	adaptertest.Run(t, adapter(func(t *testing.T, m model.ToolCallingChatModel, messages []*schema.Message) (*schema.Message, error) {
		return m.Generate(t.Context(), messages)
	}))
}

func TestPrune_stream(t *testing.T) {
	adaptertest.Run(t, adapter(func(t *testing.T, m model.ToolCallingChatModel, messages []*schema.Message) (*schema.Message, error) {
		stream, err := m.Stream(t.Context(), messages)
		if err != nil {
			return nil, err
		}
		defer stream.Close()
		var pieces []*schema.Message
		for {
			piece, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			pieces = append(pieces, piece)
		}
		if len(pieces) < 3 {
			t.Errorf("%d pieces were heard", len(pieces))
		}
		return schema.ConcatMessages(pieces)
	}))
}

func open(t *testing.T) *transport.Transport {
	engine, err := winnow.Open(winnow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return transport.New(engine, transport.Options{})
}

// A program that closes a stream closes the model's, and callbacks are the model's own.
func TestPrune_whoLeavesClosesTheStream(t *testing.T) {
	inner := &scripted{closed: make(chan bool), says: func([]*schema.Message) (*schema.Message, session.Usage, error) {
		return schema.AssistantMessage(strings.Repeat("word ", 100), nil), session.Usage{}, nil
	}}
	m := eino.Prune(inner, open(t), "openai/gpt-4.1")
	if !components.IsCallbacksEnabled(m) {
		t.Error("the model runs its callbacks, and Eino would run them once more")
	}
	stream, err := m.Stream(t.Context(), []*schema.Message{schema.UserMessage("Go.")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	stream.Close()
	<-inner.closed
}

// Eino's own agent runs over the model: it is sent less of the files that it has read.
func TestPrune_underAnAgent(t *testing.T) {
	const steps = 24
	content := strings.Repeat("a line of the file\n", 1000)
	had, sent := 0, 0
	inner := &scripted{says: func(messages []*schema.Message) (*schema.Message, session.Usage, error) {
		n := len(messages) / 2
		had, sent = n*len(content), 0
		for _, m := range messages {
			if m.Role == schema.Tool {
				sent += len(m.Content)
			}
		}
		u := session.Usage{Input: 12_000, Output: 20, Cache: session.CacheUsage{Read: 6000 * max(0, n-2)}}
		if n == steps {
			return schema.AssistantMessage("I have read it.", nil), u, nil
		}
		call := schema.ToolCall{ID: fmt.Sprint("call_", n), Type: "function",
			Function: schema.FunctionCall{Name: "read", Arguments: fmt.Sprintf(`{"path":"f%d"}`, n%3)}}
		return schema.AssistantMessage("", []schema.ToolCall{call}), u, nil
	}}
	read, err := utils.InferTool("read", "Reads a file.", func(context.Context, struct {
		Path string `json:"path"`
	}) (string, error) {
		return content, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	pruning := open(t)
	agent, err := react.NewAgent(t.Context(), &react.AgentConfig{
		ToolCallingModel: eino.Prune(inner, pruning, "openai/gpt-4.1"),
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{read}}, MaxStep: 3 * steps,
	})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := agent.Generate(t.Context(), []*schema.Message{schema.UserMessage("Read all of it.")})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the agent has %d bytes of results, %d were sent; %+v", had, sent, pruning.Totals())
	if answer.Content != "I have read it." || sent > had*3/4 || had != steps*len(content) {
		t.Errorf("%q; the agent has %d bytes of results, %d were sent", answer.Content, had, sent)
	}
}
