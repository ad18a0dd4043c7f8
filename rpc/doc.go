// Package rpc serves an engine to programs in other languages: JSON-RPC 2.0, one object a line, in
// UTF-8, over two streams. One process serves many sessions.
//
// What a client can ask stands in [Methods]; the types of parameters and results are the protocol.
// schema.json is made from them and from their comments.
//
// Its rooms, in reading order:
//
//   - bindings: the clients, in TypeScript and Python, a file each
//
// Begin with Methods in methods.go; requests come in through lines.go and queue.go.
package rpc
