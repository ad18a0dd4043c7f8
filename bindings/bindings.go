// Package bindings holds what programs in other languages need to speak to "winnow engine --stdio":
// the schema of the protocol, and below this folder a thin client for each language.
package bindings

import _ "embed"

// Schema is the protocol as a JSON Schema. It is made from the types of package rpc and their
// comments: go test ./internal/schema -update.
//
//go:embed schema.json
var Schema []byte
