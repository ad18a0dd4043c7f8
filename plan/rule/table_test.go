package rule_test

import (
	"testing"

	"github.com/winnowhq/winnow/internal/shelltest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
)

// What was asked again stands for its older answer, and what did anything, or cannot be parsed, is no question.
func TestCases_whichCommandsAskTheSame(t *testing.T) {
	asked := 0
	for _, c := range shelltest.Cases {
		l := ruletest.New()
		first := l.Call("bash", ruletest.Args{"command": c.Command}, pebbleListing)
		l.Call("bash", ruletest.Args{"command": " " + c.Command + "\n"}, pebbleListing)
		if _, goes := l.Found(t, &rule.Queries{})[first]; goes != c.Asks {
			t.Errorf("%s: is a question: %v, want %v", c.Command, goes, c.Asks)
		}
		if c.Asks {
			asked++
		}
	}
	if asked < 2 {
		t.Errorf("%d questions are too few to tell anything", asked)
	}
}

// Different commands are different questions, and different attempts.
func TestCases_whichCommandsAreDifferent(t *testing.T) {
	for _, c := range shelltest.Cases {
		asks, fails := ruletest.New(), ruletest.New()
		asks.Call("bash", ruletest.Args{"command": c.Command}, pebbleListing)
		first := fails.Fail("bash", ruletest.Args{"command": c.Command}, pebbleFailure)
		for _, other := range shelltest.Cases {
			if other.Command != c.Command {
				asks.Call("bash", ruletest.Args{"command": other.Command}, pebbleListing)
				fails.Call("bash", ruletest.Args{"command": other.Command}, "made")
			}
		}
		if found := asks.Found(t, &rule.Queries{}); len(found) > 0 {
			t.Errorf("%s: another command is taken for the same question: %v", c.Command, found)
		}
		if _, goes := fails.Found(t, &rule.Retries{})[first]; goes {
			t.Errorf("%s: another command is taken for its retry", c.Command)
		}
		fails.Call("bash", ruletest.Args{"command": c.Command, "description": "Once more"}, "made")
		if _, goes := fails.Found(t, &rule.Retries{})[first]; !goes {
			t.Errorf("%s: its failure stays, and it worked later", c.Command)
		}
	}
}
