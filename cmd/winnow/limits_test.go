package main

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
)

// answered is an export of OpenCode's: one question, and an answer for which the provider reported
// this usage.
func answered(model string, input, output, read, write int) []byte {
	return fmt.Appendf(nil, `{"info": {"id": "ses_1", "title": "Fix it", "directory": "/w", "time": {"created": 1, "updated": 2}},
"messages": [
  {"info": {"id": "msg_1", "role": "user", "sessionID": "ses_1", "time": {"created": 1}},
   "parts": [{"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", "type": "text", "text": "Fix the parser."}]},
  {"info": {"id": "msg_2", "role": "assistant", "sessionID": "ses_1", "parentID": "msg_1", "providerID": "anthropic", "modelID": %q,
    "mode": "build", "path": {"cwd": "/w", "root": "/w"}, "cost": 0, "time": {"created": 1, "completed": 2},
    "tokens": {"input": %d, "output": %d, "reasoning": 0, "cache": {"read": %d, "write": %d}}},
   "parts": [{"id": "prt_2", "messageID": "msg_2", "sessionID": "ses_1", "type": "text", "text": "It is fixed."}]}]}
`, model, input, output, read, write)
}

// S001 phase 1: input + cache.read + output > usable. Cache writes are not in it, and meeting the
// budget is no overflow.
func TestInspect_theVerdictIsThePolicysOwn(t *testing.T) {
	d := newDesk(t)
	for _, tt := range []struct {
		policy                     string
		input, output, read, write int
		total                      float64
		overflow                   bool
		said                       string
	}{
		{"classic", 100_000, 10_000, 26_000, 90_000, 136_000, false, `▪ reported +136,000  input \+ cache reads \+ output, as classic counts`},
		{"classic", 100_000, 10_000, 58_000, 0, 168_000, false, "it fits, with room for"},
		{"classic", 100_000, 10_000, 58_001, 0, 168_001, true, `^7 tokens in 2 messages; 1 over the usable window, as reported`},
		{"aggressive", 100_000, 10_000, 60_900, 0, 170_900, true, "2,900 over the usable window, as reported"},
		{"balanced", 100_000, 10_000, 26_000, 40_000, 176_000, true, `reported +176,000  with cache writes and what came since`},
		{"balanced", 100_000, 10_000, 26_000, 0, 136_000, false, "it fits"},
		{"balanced", 100_000, 22_000, 26_000, 0, 148_000, true, "0 over the usable window, as reported"},
	} {
		name := fmt.Sprintf("%s of %v", tt.policy, tt.total)
		file := d.put("verdict.json", answered("claude-sonnet-4-5", tt.input, tt.output, tt.read, tt.write))
		window := d.run("inspect", file, "--policy", tt.policy, "--json").document(t)["window"].(map[string]any)
		verdict, _ := window["verdict"].(map[string]any)
		if verdict["total"] != tt.total || verdict["overflow"] != tt.overflow || window["overflow"] != tt.overflow ||
			verdict["step"] != "msg_2" {
			t.Errorf("%s: overflow %v, %v; want total %v, overflow %t", name, window["overflow"], verdict, tt.total, tt.overflow)
		}
		o := d.run("inspect", file, "--policy", tt.policy)
		o.wants(t, cli.ExitDone)
		if said, _ := regexp.MatchString(tt.said, o.stdout); !said {
			t.Errorf("%s: it does not say %s:\n%s", name, tt.said, o.stdout)
		}
	}
}
