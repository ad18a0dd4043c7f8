// Package llm asks a model. It holds the one interface through which models are asked, its errors,
// and Retry; each protocol has a client of its own below it.
//
// Its rooms, in reading order:
//
//   - upstream: the connection that all clients have
//   - anthropic: Messages
//   - openai: Chat Completions and Responses
//   - gemini: generateContent
//   - providers: clients by the name of a provider
//
// Begin with llm.go.
package llm
