package rpc

import _ "embed"

// SchemaText is the protocol as a JSON Schema. It is made from the types of this package and their
// comments: go test ./internal/schema -update.
func SchemaText() []byte { return []byte(schemaText) }

//go:embed schema.json
var schemaText string
