// Package winnow answers: how do I use it? It keeps an LLM agent's session inside its context window, and its
// bill down, without losing anything.
//
// The log is immutable, the context is a view of it. A program appends messages, asks for the view, sends it, and reports the usage;
// the engine finds when the window overflows, elides old tool outputs by marking them, folds the past into a
// summary, and writes a receipt for each of these. Everything can be explained, undone and recalled.
//
//	engine, err := winnow.Open(winnow.Config{Model: "anthropic/claude-sonnet-4-5"})
//	id, err := engine.Create(ctx, session.Info{Title: "Fix the parser"})
//	err = engine.Append(ctx, id, message)
//	outcome, err := engine.Begin(ctx, id) // before the request: leaves out what costs nothing to leave out now, or pays
//	view, err := engine.View(ctx, id)     // what to send
//	outcome, err = engine.Observe(ctx, id, usage) // after the step: prunes and folds when it must
//	outcome, err = engine.EndTurn(ctx, id)
//
// An Engine is safe for concurrent use. What it hands out shares memory with its log and must not be changed.
package winnow
