// Package wire reads and writes the JSON of providers. It holds what the protocols below it share:
// what of a message reaches a model at all, and where each piece is in a request body.
//
// Each format has a package of its own. Encode writes messages that are already a view as a request
// body, Decode reads a request body as messages with the byte ranges of their pieces, and Check
// reports what in a body the provider would refuse.
//
// Its rooms, in reading order:
//
//   - anthropic: Messages
//   - openaichat: Chat Completions
//   - responses: Responses
//   - gemini: generateContent
//   - protocols: their functions in one table
//
// Begin with protocol.go, wire.go and elements.go, then wire/anthropic.
package wire
