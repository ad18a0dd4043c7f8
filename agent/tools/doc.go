// Package tools answers: with what does an agent work? It holds the tools that read and change files, run commands, look for names and text, get pages from
// the web, keep a list of what is to be done, load instructions, let another agent work, and look at or leave out what is in the context; and the rules by
// which a call is allowed, asked about or denied.
//
// The arguments have the names that package call understands, and what the tools print is what package coverage reads, so that the rules know which
// lines of which file a result shows.
package tools

import "github.com/winnowhq/winnow/agent"

// All are the tools that need nothing but a folder, in a fixed order, always the same to the byte. Standard gives more. The todo list is that of
// lists; nil is a new one, which knows nothing of the log. The policy keeps grep out of files that a search of their folder must not show; what the other
// tools do is decided by whom they ask, see Policy.Asker.
func All(lists *Lists, p Policy) []agent.Tool {
	if lists == nil {
		lists = &Lists{}
	}
	return []agent.Tool{Read{}, Write{}, Edit{}, Bash{}, Glob{}, Grep{p}, List{}, TodoWrite{lists}, TodoRead{lists}}
}
