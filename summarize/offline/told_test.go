package offline

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

func spoken(texts ...string) []session.Message {
	var log []session.Message
	for _, text := range texts {
		role, text := session.User, text
		if rest, ok := strings.CutPrefix(text, "a: "); ok {
			role, text = session.Assistant, rest
		}
		log = append(log, session.Message{MessageInfo: session.MessageInfo{Role: role, Finish: "stop"},
			Parts: []session.Part{{Type: session.TextPart, Text: text}}})
	}
	return log
}

// What the user told is quoted once: among the facts if the request that has it is cut or left out.
func TestSummarize_keepsWhatTheUserTold(t *testing.T) {
	long := strings.Repeat("This is how it looks to me when I read it in the evening. ", 30)
	log := spoken("Build the importer.", "a: Done.", long+"Ann owns api/v2, Ben owns web/ui.", "a: I see.", "Chidi reads web/docs.", "a: Good.")
	for _, budget := range []int{3000, 250} {
		text := summarize(t, pivot.Request{Log: log, Budget: budget})
		if n := strings.Count(text, "Ann owns api/v2, Ben owns web/ui."); n != 1 {
			t.Errorf("budget %d: what the user told stands %d times in\n%s", budget, n, text)
		}
		if !strings.Contains(text, "Then: \"Chidi reads web/docs.\"") || strings.Contains(text, "said: \"Chidi") {
			t.Errorf("budget %d: a short request does not stand once in\n%s", budget, text)
		}
	}
}

func TestSummarize_saysWhatTookAnInstructionBack(t *testing.T) {
	log := spoken("Never touch db/migrations.", "a: I will not.", "You may change db/migrations now, the freeze is over.", "a: Good.")
	text := summarize(t, pivot.Request{Log: log, Budget: 2000})
	want := `- "Never touch db/migrations." [since then: "You may change db/migrations now, the freeze is over."]`
	if !strings.Contains(text, want) {
		t.Errorf("the summary has no %s:\n%s", want, text)
	}
}
