package demo

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

// script is what the models say. Which step comes next it keeps for itself, for a conversation that
// was folded does not show it. It is called by one request at a time.
type script struct {
	pause time.Duration // between two events of a stream

	asked []string // what somebody typed, for summaries
	done  []string // what was done, in the words of the steps
	plan  []step   // what comes
}

// step is one answer.
type step struct {
	does string // for summaries; "" for what need not be remembered
	say  func(results []string) reply
}

// answer is what is said to the messages of a request.
func (s *script) answer(messages []session.Message) reply {
	said := ""
	if n := len(messages); n > 0 {
		said = messages[n-1].Text()
	}
	if strings.Contains(said, "hand-over notes") {
		return reply{Text: s.summary()}
	}
	if n := len(messages); n > 0 && messages[n-1].Role == session.User && said != "" && !goesOn(said) {
		s.asked = append(s.asked, said)
		s.plan = planFor(said)
	}
	if len(s.plan) == 0 {
		return reply{Text: "That was all that I have to do. I know: " + strings.Join(Topics, ", ") + "."}
	}
	next := s.plan[0]
	s.plan = s.plan[1:]
	if next.does != "" {
		s.done = append(s.done, next.does)
	}
	return next.say(results(messages))
}

// goesOn reports whether a message is not a new request: what the engine and the loop say in the
// user's place.
func goesOn(said string) bool {
	return strings.Contains(said, pivot.ContinueText) || strings.HasPrefix(said, "Your last answer was interrupted")
}

// results are the outputs of the calls of the last answer.
func results(messages []session.Message) []string {
	var all []string
	for i := len(messages) - 1; i >= 0 && len(all) == 0; i-- {
		for _, p := range messages[i].Parts {
			if p.Type == session.ToolPart && p.State != nil {
				all = append(all, p.State.Result())
			}
		}
	}
	return all
}

// summary is what a model would write, from what was asked and done.
func (s *script) summary() string {
	var text strings.Builder
	list := func(heading string, lines []string) {
		if len(lines) == 0 {
			return
		}
		text.WriteString("## " + heading + "\n\n")
		for _, line := range lines {
			text.WriteString("- " + strings.Join(strings.Fields(line), " ") + "\n")
		}
		text.WriteString("\n")
	}
	var asked, next []string
	for _, one := range s.asked {
		if len(one) > 200 {
			one = "a text of the user's, which stands below"
		}
		asked = append(asked, "The user asked: "+one)
	}
	for _, one := range s.plan {
		if one.does != "" {
			next = append(next, "To come: "+one.does)
		}
	}
	list("Goal", asked[max(0, len(asked)-3):])
	list("Constraints and preferences", []string{"Never change anything below logs/",
		"Run sh test.sh before saying that something works"})
	list("Done", s.done[max(0, len(s.done)-12):])
	list("Next steps", next)
	return text.String()
}

// planFor is what is done about what somebody typed.
func planFor(said string) []step {
	said = strings.ToLower(said)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(said, w) {
				return true
			}
		}
		return false
	}
	look, fix, read, report := look(), fix(), read(), report()
	switch {
	case len(said) > 2000:
		return topic{closing: "That is a long text. It is in the log now, whole, and /context shows what it takes. I " +
			"am a script and make nothing of it."}.plan()
	case has("tour", "everything"):
		tour := topic{closing: "lamp.sh is repaired, the logs are read, REPORT.md is written. The window filled on " +
			"the way and was made smaller; nothing was lost. /context shows what " +
			"takes its space, /receipt what was done, /undo takes it back."}
		for _, t := range []topic{look, fix, read, report} {
			tour.steps = append(tour.steps, t.steps...)
		}
		return tour.plan()
	case has("report", "write"):
		return report.plan()
	case has("log", "read", "fog"):
		return read.plan()
	case has("test", "fix", "repair", "bug"):
		return append(look.steps, fix.plan()...)
	}
	return topic{closing: "I am a script and no model, so I understand few words: " + strings.Join(Topics, ", ") +
		". Try also /context, /compact, /prune, /cost and /help."}.plan()
}

// topic is something that the script can do, and what it says at the end.
type topic struct {
	steps   []step
	closing string
}

func (t topic) plan() []step {
	return append(t.steps, step{"", func([]string) reply { return reply{Text: t.closing} }})
}

// call makes a call; the arguments are names and values.
func call(name string, arguments ...any) toolCall {
	object := map[string]any{}
	for i := 0; i+1 < len(arguments); i += 2 {
		object[arguments[i].(string)] = arguments[i+1]
	}
	text, err := json.Marshal(object, json.Deterministic(true))
	if err != nil {
		text = []byte("{}")
	}
	return toolCall{Name: name, Arguments: string(text)}
}

func calls(does, text string, all ...toolCall) step {
	return step{does, func([]string) reply { return reply{Text: text, Calls: all} }}
}
