package recall

import (
	"path"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
)

// Skill is a text with instructions that was loaded into the session: a skill, or a file such as
// AGENTS.md.
type Skill struct {
	Name              string // of a skill
	Path              string // of a file with instructions
	MessageID, PartID string // of the newest load
}

// instructionFiles are files that hold instructions for agents.
var instructionFiles = map[string]bool{"AGENTS.md": true, "CLAUDE.md": true, "CLAUDE.local.md": true, "GEMINI.md": true,
	"SKILL.md": true, "CONTRIBUTING.md": true, ".cursorrules": true, "copilot-instructions.md": true}

// Skills returns the instructions that calls loaded, each once, in the order of first load.
func Skills(calls []call.Call) []Skill {
	var skills []Skill
	at := map[string]int{}
	for n := range calls {
		c := &calls[n]
		if c.Outcome.Failed || !c.Outcome.Known && c.Command() == "" {
			continue
		}
		for i := range c.Actions {
			a := &c.Actions[i]
			s := Skill{MessageID: c.MessageID, PartID: c.PartID}
			switch {
			case a.Op == call.Load:
				s.Name = a.Query
			case a.Op == call.Read && instructionFiles[path.Base(strings.ReplaceAll(a.Path, `\`, "/"))]:
				s.Path = a.Path
			default:
				continue
			}
			if s.Name == "" && s.Path == "" {
				continue
			}
			if k, ok := at[s.Name+"\x00"+s.Path]; ok {
				skills[k] = s
				continue
			}
			at[s.Name+"\x00"+s.Path] = len(skills)
			skills = append(skills, s)
		}
	}
	return skills
}
