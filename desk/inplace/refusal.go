package inplace

import (
	"cmp"
	"fmt"
	"strings"
)

// Code says why a file was not replaced.
type Code string

const (
	Open       Code = "open"       // another process has it open
	Fresh      Code = "recent"     // it was written to in the last seconds
	Torn       Code = "torn"       // its last line is incomplete
	Alive      Code = "agent"      // a living agent has this session
	Changed    Code = "changed"    // it was written to since it was read
	Foreign    Code = "owner"      // the new file could not belong to whom the old one belongs
	Unlinkable Code = "unlinkable" // no hard link can be made of it, and it is or may be open
	Unseen     Code = "unseen"     // whether another process has it open cannot be found out
)

// Refusal is the error of a file that is not replaced. Nothing has been changed.
type Refusal struct {
	Code   Code
	Path   string
	Reason string
	Hint   string // what to do
	Risk   string // what --force risks; "" when it does not help

	verb string // "" is "replaced"
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s was not %s: %s (%s)", r.Path, cmp.Or(r.verb, "replaced"), r.Reason, r.Code)
}

// Advice is what to do, and what --force would risk, one line each.
func (r *Refusal) Advice() []string {
	lines := []string{r.Hint}
	if r.Risk != "" {
		lines = append(lines, "--force replaces it all the same; "+r.Risk)
	}
	return lines
}

const (
	lateLines = "what is still written to the original is only carried over while this command runs, " +
		"and stays in the original afterwards"
	lostFold = "an agent that goes on from what it remembers writes behind the old past, " +
		"and its product may then ignore the change"
)

func (c *Claim) openBy(holders []Process) *Refusal {
	return &Refusal{Code: Open, Path: c.Path, Reason: "it is open in " + names(holders),
		Hint: "end that program and try again", Risk: lateLines}
}

func (c *Claim) alive(agent Process) *Refusal {
	reason := "a living agent has this session: " + agent.String()
	return &Refusal{Code: Alive, Path: c.Path, Reason: reason,
		Hint: "end the agent, and resume the session afterwards", Risk: lostFold}
}

func (c *Claim) fresh() *Refusal {
	seconds := Recent.Seconds()
	reason := fmt.Sprintf("it was written to in the last %.0f seconds, so an agent may be at work on it", seconds)
	hint := fmt.Sprintf("end the agent, wait for %.0f seconds and try again", seconds)
	return &Refusal{Code: Fresh, Path: c.Path, Reason: reason, Hint: hint, Risk: lostFold}
}

func (c *Claim) torn(bytes int64) *Refusal {
	reason := fmt.Sprintf("its last line is incomplete (%d bytes without a line break): "+
		"it is being written, or its writer was killed", bytes)
	risk := "the incomplete line then stays in the original alone"
	return &Refusal{Code: Torn, Path: c.Path, Reason: reason, Hint: "if an agent runs, end it and try again",
		Risk: risk}
}

// changed is for a file that is not what was read. --force helps if lines were only added.
func (c *Claim) changed(reason string, grown bool) *Refusal {
	risk := ""
	if grown {
		risk = "lines that were added are carried over, but " + lostFold
	}
	hint := "nothing was changed; end the program that writes it and try again"
	return &Refusal{Code: Changed, Path: c.Path, Reason: reason, Hint: hint, Risk: risk}
}

func (c *Claim) foreign() *Refusal {
	reason := "it belongs to another user or group, and the new file would not"
	return &Refusal{Code: Foreign, Path: c.Path, Reason: reason,
		Hint: "run winnow as the user to whom it belongs", Risk: "it then belongs to you"}
}

func names(list []Process) string {
	var words []string
	for i, p := range list {
		if i == 3 {
			words = append(words, fmt.Sprintf("%d more", len(list)-i))
			break
		}
		words = append(words, p.String())
	}
	return strings.Join(words, ", ")
}
