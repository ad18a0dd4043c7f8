package pivot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

func nothingStays(string) bool { return false }

func TestPinnedBlocks_nameWhatTheyQuote(t *testing.T) {
	write := ran("w", "write", `{"filePath":"/repo/a.go","content":"package a"}`, "ok", session.Completed)
	thought := session.Message{MessageInfo: session.MessageInfo{ID: "r", Role: session.Assistant},
		Parts: []session.Part{
			{ID: "r:step", Type: session.StepStartPart}, {ID: "r:0", Type: session.ReasoningPart, Text: "hm"},
			{ID: "r:1", Type: session.TextPart, Text: "Done."},
		}}
	file := session.Message{MessageInfo: session.MessageInfo{ID: "f", Role: session.User}, Parts: []session.Part{
		{ID: "f:0", Type: session.FilePart, Mime: "text/plain", Filename: "a.txt",
			URL: "data:text/plain;base64,b25lCnR3bw=="},
		{ID: "f:1", Type: session.FilePart, Mime: "image/png", Filename: "a.png", URL: "data:image/png;base64,AAAA"},
	}}
	log := []session.Message{
		said("u", session.User, "  Two  spaces\n\nand a tab\t"),
		ran("c", "bash", `{"command":"go test"}`, "FAIL\n", session.Failed), write, thought, file,
	}
	for _, c := range []struct {
		name string
		pin  rule.Pin
		want []string
	}{
		{"a text, to the byte", rule.Pin{Text: " a\n\n b "}, []string{">  a\n> \n>  b "}},
		{"what the user said, to the byte", rule.Pin{Part: "u:0"},
			[]string{"The user said (u:0):\n\n>   Two  spaces\n> \n> and a tab\t"}},
		{"a result whose call is told by its name", rule.Pin{Part: "c:0"},
			[]string{"bash go test (c:0) gave:\n\n> FAIL\n> "}},
		{"a call by its call id", rule.Pin{Part: "c"}, []string{"bash go test (c:0) gave:\n\n> FAIL\n> "}},
		{"a call whose input says more", rule.Pin{Part: "w:0"}, []string{
			`write /repo/a.go (w:0) was called with:` + "\n\n" + `> {"filePath":"/repo/a.go","content":"package a"}` +
				"\n\nwrite /repo/a.go (w:0) gave:\n\n> ok",
		}},
		{"every part of a message", rule.Pin{Message: "r"},
			[]string{"The assistant thought (r:0):\n\n> hm", "The assistant said (r:1):\n\n> Done."}},
		{"a file of text", rule.Pin{Part: "f:0"}, []string{"The file a.txt (text/plain, f:0):\n\n> one\n> two"}},
		{"a picture, by its name", rule.Pin{Part: "f:1"},
			[]string{"The file a.png (image/png, f:1) is in the log; it cannot be written here."}},
		{"nothing of a part that is no more", rule.Pin{Part: "gone"}, nil},
	} {
		if diff := cmp.Diff(c.want, PinnedBlocks(log, []rule.Pin{c.pin}, nothingStays).Blocks); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestPinnedBlocks_holdEachOnce(t *testing.T) {
	log := []session.Message{said("u", session.User, "Keep me.")}
	p := PinnedBlocks(log, []rule.Pin{{ID: "1", Part: "u:0"}, {ID: "2", Message: "u"}, {ID: "3", Text: "me too"},
		{ID: "4", Text: "me too"}}, nothingStays)
	if len(p.Blocks) != 2 || p.Pins != 4 {
		t.Errorf("%d pins gave %q", p.Pins, p.Blocks)
	}
	p = PinnedBlocks(log, []rule.Pin{{Part: "u:0"}, {Message: "u"}}, func(id string) bool { return id == "u" })
	if len(p.Blocks) != 0 || p.Pins != 0 {
		t.Errorf("what stays verbatim is written too: %q", p.Blocks)
	}
}

func TestCarry_saysNothingTwiceThatIsPinned(t *testing.T) {
	c := carrying()
	c.Pins = []rule.Pin{{Message: "m1"}, {Message: "m7"}}
	text, told := Carry(c)
	if told.Constraints != 0 || told.Messages != 0 || strings.Contains(text, "Never touch the Store type.") ||
		strings.Contains(text, "small please.") {
		t.Errorf("a pinned message is carried otherwise too: %+v\n%s", told, text)
	}
}

func TestCarry_leavesOutDismissedConstraints(t *testing.T) {
	c := carrying()
	c.Dismissed = map[string]bool{"never touch the store type": true}
	text, told := Carry(c)
	if told.Constraints != 1 || strings.Contains(text, "- Never touch") || !strings.Contains(text, "- Keep it") {
		t.Errorf("carried %+v\n%s", told, text)
	}
	if told.Messages != 2 || !strings.Contains(text, "> Port the shop to slog. Never touch the Store type.") {
		t.Errorf("the message that it stands in is not what it was:\n%s", text)
	}
}

func TestCarry_doesNotRepeatTheConstraintsOfTheTail(t *testing.T) {
	c := carrying()
	c.Cut = Cut{Fold: c.Log[1:], Tail: c.Log[:1]}
	if text, told := Carry(c); told.Constraints != 1 || strings.Contains(text, "Never touch") {
		t.Errorf("carried %+v\n%s", told, text)
	}
}
