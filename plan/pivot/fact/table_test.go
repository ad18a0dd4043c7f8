package fact_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/internal/shelltest"
	"github.com/winnowhq/winnow/plan/pivot/fact"
)

func TestCases_whatASummaryMaySayOfACommand(t *testing.T) {
	for _, c := range shelltest.Cases {
		input, err := json.Marshal(map[string]string{"command": c.Command})
		if err != nil {
			t.Fatal(err)
		}
		s := fact.NewSource()
		s.AddFolder("/repo")
		s.AddMessage(call("bash", string(input), ""))
		said := func(text string) bool { return len(fact.Check("```sh\n$ "+text+"\n```\n", s)) == 0 }
		if !strings.Contains(c.Command, "\n") && !said(c.Command) {
			t.Errorf("%s: struck, and it ran", c.Command)
		}
		for _, one := range c.Says {
			if !said(one) {
				t.Errorf("%s: %q is struck, and may be said", c.Command, one)
			}
		}
		for _, one := range append(c.Unsaid, "rm zebra.go", "git commit --no-verify") {
			if said(one) {
				t.Errorf("%s: %q may be said, and did not run", c.Command, one)
			}
		}
		for _, f := range c.Files {
			name := strings.TrimSuffix(strings.TrimLeft(f, "+~-="), "?")
			for one := range strings.SplitSeq(name, ">") {
				if invented := fact.Check("`"+one+"`", s); len(invented) > 0 && !strings.HasPrefix(one, "/") {
					t.Errorf("%s: its file %s is struck", c.Command, one)
				}
			}
		}
	}
}
