// Command winnowd is winnow for a team: the same commands, plus PostgreSQL, tenants, sign-in, jobs
// that replicas share, and metrics.
package main

import (
	"github.com/winnowhq/winnow/cmd/internal/command"
	"github.com/winnowhq/winnow/team"
)

// version is set by the build of a release: -ldflags "-X main.version=v1.2.3".
var version = ""

func main() { command.Program{Version: version, Shared: team.Parts()}.Start() }
