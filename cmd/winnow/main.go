// Command winnow shows where the tokens of an agent's session went, and makes the session smaller
// without losing anything.
package main

import "github.com/winnowhq/winnow/cmd/internal/command"

// version is set by the build of a release: -ldflags "-X main.version=v1.2.3".
var version = ""

func main() { command.Program{Version: version}.Start() }
