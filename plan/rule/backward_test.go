package rule_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/letter"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

func classic() letter.Backward {
	return letter.Backward{
		Protect: rule.DefaultProtect, Minimum: rule.DefaultMinimum, Turns: rule.DefaultProtectTurns,
		ProtectedTools: rule.DefaultProtectedTools(),
	}
}

// What the real program marked, it marks, and nothing else.
func TestBackward_marksWhatTheProgramMarked(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(outside.Path(t, "vectors", "prune"), "*.json.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var vector struct {
				Session          session.Session `json:"session"`
				AlreadyCompacted []string        `json:"alreadyCompacted"`
				Marked           []string        `json:"marked"`
			}
			if err := json.Unmarshal(outside.Read(t, file), &vector, session.ReadOptions()); err != nil {
				t.Fatal(err)
			}
			messages := vector.Session.Messages
			ledger := rule.NewLedger(rule.Marks(messages)...)
			var already []string
			for _, e := range ledger.All() {
				already = append(already, e.Part)
			}
			slices.Sort(already)
			if diff := cmp.Diff(vector.AlreadyCompacted, already, emptyIsNil); diff != "" {
				t.Errorf("already compacted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(vector.Marked, marked(messages, ledger), emptyIsNil); diff != "" {
				t.Errorf("marked (-want +got):\n%s", diff)
			}
		})
	}
}

var emptyIsNil = cmp.Transformer("emptyIsNil", func(s []string) []string {
	if len(s) == 0 {
		return nil
	}
	return s
})

func marked(messages []session.Message, ledger rule.Ledger) []string {
	found := classic().Find(rule.Window{Messages: messages, Ledger: ledger, Facts: rule.NewFacts(token.Chars4{})})
	var ids []string
	for _, e := range found.Elisions {
		ids = append(ids, e.Part)
	}
	slices.Sort(ids)
	return ids
}

// A log in words: "u" a user message, "s" a summary, "m" a marker, otherwise tool:tokens[*] where * is an output that was
// compacted before and ! one that failed.
func log(words string) (messages []session.Message, ledger rule.Ledger) {
	for i, word := range strings.Fields(words) {
		id := "m" + string(rune('a'+i))
		m := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant}}
		switch word {
		case "u":
			m.Role = session.User
			m.Parts = []session.Part{{ID: id + "0", Type: session.TextPart, Text: "do it"}}
		case "m":
			m.Role = session.User
			m.Parts = []session.Part{{ID: id + "0", Type: session.CompactionPart}}
		case "s":
			m.Summary = []byte("true")
		default:
			tool, size, _ := strings.Cut(word, ":")
			n := 0
			for _, c := range size {
				if c >= '0' && c <= '9' {
					n = n*10 + int(c-'0')
				}
			}
			state := &session.ToolState{Status: session.Completed, Output: strings.Repeat("abcd", n)}
			if strings.HasSuffix(size, "!") {
				state.Status, state.Error, state.Output = session.Failed, state.Output, ""
			}
			p := session.Part{ID: word, CallID: word, Type: session.ToolPart, Tool: tool, State: state}
			if strings.HasSuffix(size, "*") {
				ledger = ledger.With(rule.Elision{Part: p.ID, Field: rule.Output})
			}
			m.Parts = []session.Part{p}
		}
		messages = append(messages, m)
	}
	return messages, ledger
}

func TestBackward_byTheLetter(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"empty":                                    {"", nil},
		"nothing before the last two turns":        {"bash:90000 u u", []string{"bash:90000"}},
		"one turn only":                            {"u bash:90000", nil},
		"the protected zone stays":                 {"u a:30000 b:40000 u u", []string{"a:30000"}},
		"exactly protect stays":                    {"u a:40000 u u", nil},
		"the part that crosses the limit goes":     {"u a:40001 u u", []string{"a:40001"}},
		"exactly minimum is not enough":            {"u a:20000 b:40000 u u", nil},
		"one over minimum is":                      {"u a:20001 b:40000 u u", []string{"a:20001"}},
		"a skill stays and counts for nothing":     {"u skill:90000 a:40000 u u", nil},
		"an error counts for nothing":              {"u a:90000! b:40000 u u", nil},
		"a summary ends the walk":                  {"u a:90000 m s b:40000 u u", nil},
		"what was compacted ends the walk":         {"u a:90000 b:5* c:40000 u u", nil},
		"protected tools come before the boundary": {"u a:90000 skill:5* c:40000 u u", []string{"a:90000"}},
		"a marker counts as a turn":                {"u a:90000 m u", []string{"a:90000"}},
	} {
		t.Run(name, func(t *testing.T) {
			messages, ledger := log(c.log)
			if diff := cmp.Diff(c.want, marked(messages, ledger)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.log, diff)
			}
		})
	}
}

func TestBackward_isIdempotent(t *testing.T) {
	messages, ledger := log("u a:30000 b:25000 u c:40000 u u")
	facts := rule.NewFacts(token.Chars4{})
	first := classic().Find(rule.Window{Messages: messages, Ledger: ledger, Facts: facts})
	if len(first.Elisions) != 2 {
		t.Fatalf("first run found %d, want 2", len(first.Elisions))
	}
	second := classic().Find(rule.Window{Messages: messages, Ledger: ledger.With(first.Elisions...), Facts: facts})
	if len(second.Elisions) != 0 {
		t.Errorf("second run found %v, want nothing", second.Elisions)
	}
}

func TestBackward_saysWhatFellShort(t *testing.T) {
	messages, ledger := log("u a:20000 b:40000 u u")
	found := classic().Find(rule.Window{Messages: messages, Ledger: ledger, Facts: rule.NewFacts(token.Chars4{})})
	if len(found.Refusals) != 1 || found.Refusals[0].Code != rule.BelowMinimum || found.Refusals[0].Tokens != 20000 {
		t.Errorf("refusals = %+v, want one below-minimum of 20000 tokens", found.Refusals)
	}
}

func TestFacts_countAPartOnce(t *testing.T) {
	messages, _ := log("u a:30000 b:25000 u c:40000 u u")
	facts := rule.NewFacts(token.Chars4{})
	facts.Total(messages)
	counted := facts.Counted()
	facts.Total(messages)
	if got := facts.Counted(); got != counted {
		t.Errorf("a second look counted %d parts again, want 0", got-counted)
	}
	p := &messages[1].Parts[0]
	p.State = &session.ToolState{Status: session.Completed, Output: "abcd"}
	if got := facts.Size(p).Output; got != 1 {
		t.Errorf("a changed part is %d tokens, want 1", got)
	}
}
