package pivot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
)

func changing() []session.Message {
	return []session.Message{
		said("m1", session.User, "The port is 7070. Never touch db/migrations. Answer in French."),
		said("m2", session.Assistant, "D'accord."),
		said("m3", session.User, "The port is now 8080. You may change db/migrations, the freeze is over."),
	}
}

func TestMarkOutdated_saysWhatTookThePlace(t *testing.T) {
	summary := "## Constraints\n\n- Never touch db/migrations.\n- Answer in French.\n\n## Facts\r\n- The port is 7070.\n" +
		"- The port went from 7070 to 8080.\n```\nport: 7070\n```\nport: 7070"
	want := "## Constraints\n\n- Never touch db/migrations. [since then: \"You may change db/migrations, the freeze is over.\"]\n" +
		"- Answer in French.\n\n## Facts\r\n- The port is 7070. [since then: port: now 8080]\n" +
		"- The port went from 7070 to 8080.\n```\nport: 7070\n```\nport: 7070 [since then: port: now 8080]"
	marked, lines := MarkOutdated(summary, changing())
	if diff := cmp.Diff(want, marked); diff != "" || lines != 3 {
		t.Errorf("%d lines were marked, want 3 (-want +got):\n%s", lines, diff)
	}
	if again, lines := MarkOutdated(marked, changing()); again != marked || lines != 0 {
		t.Errorf("%d lines were marked twice:\n%s", lines, again)
	}
}

func TestDigest_tellsWhatWasTakenBack(t *testing.T) {
	text := Digest("- Never touch db/migrations.", Past{Log: changing()}, DigestSize)
	if want := "You may change db/migrations, the freeze is over."; !strings.Contains(text, want) {
		t.Errorf("the digest has no %q:\n%s", want, text)
	}
}

// Where the user's messages do not fit, sentences that nobody can guess do, in what room there is.
func TestCarry_keepsWhatTheUserToldInLongMessages(t *testing.T) {
	c := carrying()
	long := strings.Repeat("This is how it looks to me when I read it in the evening. ", 40)
	c.Log = append([]session.Message{said("m0", session.User, "Make it fast.")},
		said("a1", session.User, long+"Ann owns api/v2, Ben owns web/ui. "+long),
		said("a2", session.Assistant, "I see."),
		said("a3", session.User, long+"Please look at cmd/serve.go first."))
	c.Cut = Cut{Fold: c.Log}
	c.Settings.UserMessages = 120
	text, told := Carry(c)
	if !strings.Contains(text, "- Ann owns api/v2, Ben owns web/ui.\n") || strings.Contains(text, "in the evening") {
		t.Errorf("the carry-over is\n%s", text)
	}
	if told.Messages != 1 {
		t.Errorf("%d messages are quoted, want the first", told.Messages)
	}
	c.Summary = "Ann owns api/v2,\n> Ben owns web/ui."
	if text, _ := Carry(c); strings.Contains(text, "- Ann owns") {
		t.Errorf("what the summary has stands here again:\n%s", text)
	}
}
