package rule

// Defaults of the backward scan (S000, S001 phase 2).
const (
	DefaultProtect      = 40_000 // tokens of the newest tool output: recent reads are what the next edit is made from
	DefaultMinimum      = 20_000 // tokens: a commit rewrites the prompt from its first change on, small ones do not pay
	DefaultProtectTurns = 2      // the request being worked on, and the one before
)

// DefaultProtectedTools are the tools whose output is never pruned: a skill is an instruction, not
// a finding.
func DefaultProtectedTools() []string { return []string{"skill"} }
