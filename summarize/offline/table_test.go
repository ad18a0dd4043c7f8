package offline

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/shelltest"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

// A summary says of files what the commands did to them, no more, and of what may not have been
// reached that it is not sure.
func TestCases_whatASummarySaysOfFiles(t *testing.T) {
	for _, c := range shelltest.Cases {
		input, err := json.Marshal(map[string]string{"command": c.Command})
		if err != nil {
			t.Fatal(err)
		}
		log := []session.Message{
			{MessageInfo: session.MessageInfo{ID: "msg_1", Role: session.User},
				Parts: []session.Part{{Type: session.TextPart, Text: "Do it."}}},
			{MessageInfo: session.MessageInfo{ID: "msg_2", Role: session.Assistant},
				Parts: []session.Part{{Type: session.ToolPart, Tool: "bash", CallID: "c",
					State: &session.ToolState{Status: session.Completed, Input: input,
						Metadata: []byte(`{"exit":0}`)}}}},
		}
		var got []string
		for row := range strings.Lines(sectionOf(summarize(t,
			pivot.Request{Log: log, Directory: "/repo", Budget: 4000}), headDone)) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(row), "- `"); ok {
				rest, _, _ = strings.Cut(rest, " (+")
				rest, _, _ = strings.Cut(rest, ": `") // how it was edited
				got = append(got, "`"+rest)
			}
		}
		slices.Sort(got)
		want := changesOf(c)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the summary says (-want +got):\n%s", c.Command, diff)
		}
	}
}

// changesOf are the lines of a summary of a command alone.
func changesOf(c shelltest.Case) (lines []string) {
	for _, f := range c.Files {
		name, maybe := strings.CutSuffix(f, "?")
		did := map[byte]string{'+': "created", '~': "edited once", '-': "deleted"}[name[0]]
		switch from, to, moved := strings.Cut(name, ">"); {
		case moved:
			name, did = "+"+to, "moved from `"+from+"`"
		case did == "":
			continue // it was read
		}
		if maybe {
			did = "perhaps " + strings.TrimSuffix(did, " once")
		}
		lines = append(lines, "`"+name[1:]+"`: "+did)
	}
	slices.Sort(lines)
	return lines
}
