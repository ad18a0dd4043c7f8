package winnow_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

// say is a message with one text.
func say(role session.Role, text string) session.Message {
	m := session.Message{MessageInfo: session.MessageInfo{Role: role}, Parts: []session.Part{{Type: session.TextPart, Text: text}}}
	if role == session.Assistant {
		m.Finish = "stop"
	}
	return m
}

// read is a step in which the model read a file: a call and its result are one part.
func read(call, file, content string) session.Message {
	return session.Message{
		MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "tool-calls"},
		Parts: []session.Part{{Type: session.ToolPart, Tool: "read", CallID: call, State: &session.ToolState{
			Status: session.Completed, Input: []byte(`{"filePath":"` + file + `"}`), Output: content,
		}}},
	}
}

// A model with a small window, so that the examples need little text.
func smallModels() *model.Catalogue {
	return &model.Catalogue{Models: []model.Model{{Provider: "acme", ID: "small", Limits: model.Limits{Context: 16_000, Output: 4_000}}}}
}

// One function over messages, here as plain JSON: call it before each request.
func ExamplePrune() {
	type message = map[string]any
	history := []message{{"role": "user", "content": "Fix the parser. Never touch the lexer."}}
	for i := range 40 { // the model reads 40 files
		call := fmt.Sprint("call_", i)
		history = append(history,
			message{"role": "assistant", "tool_calls": []message{{"id": call, "type": "function",
				"function": message{"name": "read", "arguments": fmt.Sprintf(`{"path":"file%d.go"}`, i)}}}},
			message{"role": "tool", "tool_call_id": call, "content": strings.Repeat("func parse() error { return nil }\n", 1200)})
	}
	messages, report, err := winnow.Prune(context.Background(), history, winnow.Options{Model: "openai/gpt-5"})
	if err != nil {
		fmt.Println(err) // messages is the history then
	}
	fmt.Println(len(history), "messages:", report.Before, "tokens, at most half are sent:", report.After <= report.Before/2)
	fmt.Println("the constraint survives:", strings.Contains(fmt.Sprint(messages[0]), "Never touch the lexer."))
	// Output:
	// 81 messages: 393369 tokens, at most half are sent: true
	// the constraint survives: true
}

// Append messages, ask for the view, report the usage: the engine prunes and folds when it must.
func Example() {
	ctx := context.Background()
	engine, err := winnow.Open(winnow.Config{Model: "acme/small", Models: smallModels()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	id, _ := engine.Create(ctx, session.Info{Title: "Fix the parser"})

	engine.Append(ctx, id, say(session.User, "Fix the parser. Never touch the lexer."))
	for i := range 12 {
		engine.Append(ctx, id, read(fmt.Sprint("call_", i), fmt.Sprintf("file%d.go", i), strings.Repeat("func parse() error { return nil }\n", 160)))
		view, _ := engine.View(ctx, id) // what to send: package wire writes it down for a provider
		outcome, err := engine.Observe(ctx, id, session.Usage{Input: view.Tokens, Output: 50})
		if err != nil {
			fmt.Println(err)
			return
		}
		if r := outcome.Compacted; r != nil {
			fmt.Println("folded; the view shrank:", r.TokensAfter < r.TokensBefore)
			break
		}
	}
	view, _ := engine.View(ctx, id)
	fmt.Println("the constraint survives:", strings.Contains(view.Messages[1].Parts[0].Text+view.Messages[1].Parts[1].Text, "Never touch the lexer."))
	// Output:
	// folded; the view shrank: true
	// the constraint survives: true
}

// Every pruning and every compaction can be taken back; nothing was deleted.
func ExampleEngine_Undo() {
	ctx := context.Background()
	engine, _ := winnow.Open(winnow.Config{Model: "acme/small", Models: smallModels()})
	defer engine.Close()
	id, _ := engine.Create(ctx, session.Info{Title: "Undo"})
	for i := range 5 {
		engine.Append(ctx, id, say(session.User, fmt.Sprintf("Change number %d, please.", i)))
		engine.Append(ctx, id, read(fmt.Sprint("call_", i), "main.go", strings.Repeat("line of code\n", 300)))
		engine.Append(ctx, id, say(session.Assistant, "Done."))
	}
	before, _ := engine.View(ctx, id)
	receipt, err := engine.Compact(ctx, id, winnow.CompactOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	folded, _ := engine.View(ctx, id)
	engine.Undo(ctx, id, receipt.Marker)
	after, _ := engine.View(ctx, id)
	fmt.Println(len(before.Messages), "messages, folded", len(folded.Messages) < len(before.Messages), "then", len(after.Messages))
	// Output:
	// 15 messages, folded true then 15
}

// Events tell what the engine does. A subscriber that is slow loses events and holds nothing up.
func ExampleEngine_Subscribe() {
	ctx := context.Background()
	engine, _ := winnow.Open(winnow.Config{Model: "acme/small", Models: smallModels()})
	events := engine.Subscribe(16)
	id, _ := engine.Create(ctx, session.Info{Title: "Events"})
	engine.Append(ctx, id, say(session.User, "Hello."), say(session.Assistant, "Hello."))
	engine.Observe(ctx, id, session.Usage{Input: 1200, Output: 3})
	engine.Close()
	for e := range events.C {
		fmt.Println(e.Type)
	}
	// Output:
	// message.appended
	// message.appended
	// usage.recorded
}
