package gateway

// Tried is a program that works with sessions, and the newest version of it that was tried: its
// files read, written and resumed (docs/formats.md).
type Tried struct {
	Program string
	Name    string // as its makers write it
	Version string
}

// AllTried are the programs that were tried.
func AllTried() []Tried {
	return []Tried{
		{"claude", "Claude Code", "2.1.332"}, {"codex", "Codex", "0.171.0"}, {"opencode", "OpenCode", "1.18.33"},
		{"kilo", "Kilo", "7.7.7"}, {"pi", "pi", "0.87.1"}, {"gemini", "Gemini CLI", "0.61.0"},
		{"qwen", "Qwen Code", "0.24.4"}, {"copilot", "Copilot CLI", "1.0.102"}, {"cline", "Cline", "3.0.65"},
	}
}
