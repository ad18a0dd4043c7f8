package pivot

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

func said(id string, role session.Role, text string) session.Message {
	return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: role, Finish: "stop"},
		Parts: []session.Part{{ID: id + ":0", Type: session.TextPart, Text: text}}}
}

func ran(id, tool, input, output string, status session.Status) session.Message {
	state := &session.ToolState{Status: status, Input: []byte(input), Output: output}
	if status == session.Failed {
		state.Output, state.Error = "", output
	}
	return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant, Finish: "tool-calls"},
		Parts: []session.Part{{ID: id + ":0", CallID: id, Type: session.ToolPart, Tool: tool, State: state}}}
}

func carrying() Carrying {
	log := []session.Message{
		said("m1", session.User, "Port the shop to slog. Never touch the Store type."),
		ran("m2", "read", `{"filePath":"/repo/store.go"}`, strings.Repeat("line of code\n", 200), session.Completed),
		ran("m3", "skill", `{"name":"go-style"}`, "use short names", session.Completed),
		ran("m4", "edit", `{"filePath":"/repo/log.go","oldString":"a","newString":"b\nc"}`, "ok", session.Completed),
		ran("m5", "todowrite", `{"todos":[{"content":"run the tests","status":"pending"},{"content":"write code","status":"completed"}]}`, "", session.Completed),
		ran("m6", "bash", `{"command":"go test ./..."}`, "log_test.go:7: no newline\nFAIL", session.Failed),
		said("m7", session.User, "Keep it\nsmall please."),
		said("m8", session.Assistant, "I will."),
	}
	f := facts()
	return Carrying{Log: log, Cut: Cut{Fold: log}, Facts: f, Settings: Settings{UserMessages: 1000}, Directory: "/repo"}
}

func TestCarry_holdsWhatMustNotRideOnTheSummary(t *testing.T) {
	c := carrying()
	c.Pins = []rule.Pin{{Text: "Ask before you push."}, {Part: "m2:0"}}
	text, told := Carry(c)
	for _, want := range []string{
		"- Never touch the Store type.", "> Keep it", "> small please.",
		"- run the tests (pending)", "- go-style:", "- log.go: edited", "log_test.go:7: no newline",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the carry-over has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "Ask before you push.") || strings.Contains(text, "line of code") {
		t.Error("what is pinned has a message of its own, and stands here too")
	}
	if strings.Contains(text, "write code") {
		t.Error("a todo that is done is carried")
	}
	if told.Pins != 2 || told.Messages != 2 || told.Constraints != 2 || told.Todos != 1 || told.Failures != 1 ||
		told.Recallable != 0 || told.Tokens != c.Facts.Count(text) {
		t.Errorf("it tells %+v", told)
	}
	c.Pins = nil
	if text, told := Carry(c); told.Recallable != 1 || !strings.Contains(text, "m2:0: read /repo/store.go (about") {
		t.Errorf("an output that is not pinned cannot be recalled: %+v\n%s", told, text)
	}
	if text, _ := Carry(c); !strings.Contains(text, "\n## Left out here, still in the log\n") {
		t.Errorf("without a way back it says %s", text)
	}
	c.Recall = true
	if text, _ := Carry(c); strings.Count(text, "## Left out here, still in the log: \"winnow recall ID\" shows it\n") != 1 {
		t.Errorf("it does not name the way back: %s", text)
	}
}

// A session of a gateway has no folder of its own; its messages have the one that the client names.
func TestCarry_takesTheFolderFromTheLog(t *testing.T) {
	c := carrying()
	want, _ := Carry(c)
	c.Directory, c.Log[0].Path = "", &session.Path{Cwd: "/repo"}
	if got, _ := Carry(c); got != want {
		t.Errorf("without a folder of the session it carries\n%s\nwith it\n%s", got, want)
	}
}

func TestCarry_doesNotRepeatTheSummary(t *testing.T) {
	c := carrying()
	c.Summary = "## Goal\n> Port the shop to slog. Never touch the Store type.\n\n## Constraints\n- Never touch the Store type.\n- \"Keep it small please.\"\n\n## Next steps\n- run the tests\n- log.go\n- log_test.go:7: no newline"
	text, told := Carry(c)
	if told.Constraints+told.Messages+told.Todos+told.Failures != 0 {
		t.Errorf("it repeats the summary: %+v\n%s", told, text)
	}
}

func TestCarry_keepsTheTaskWhenThereIsNoRoomForAll(t *testing.T) {
	c := carrying()
	c.Settings.UserMessages = 16
	text, _ := Carry(c)
	if !strings.Contains(text, "> Port the shop to slog.") || strings.Contains(text, "small please") ||
		!strings.Contains(text, "1 messages in between") {
		t.Errorf("with room for one message it carries:\n%s", text)
	}
}

func TestCarry_leavesOutWhatStaysVerbatim(t *testing.T) {
	c := carrying()
	c.Cut = Cut{Fold: c.Log[:6], Tail: c.Log[6:]}
	if text, _ := Carry(c); strings.Contains(text, "small please") {
		t.Errorf("a message of the tail is carried as well:\n%s", text)
	}
	replay := c.Log[6]
	c.Cut = Cut{Fold: c.Log, Replay: &replay}
	if text, _ := Carry(c); strings.Contains(text, "small please") {
		t.Errorf("the message that is repeated is carried as well:\n%s", text)
	}
}

func TestCarry_theLetterCarriesNothing(t *testing.T) {
	c := carrying()
	c.Settings.SummaryAlone = true
	if text, told := Carry(c); text != "" || told != (Carried{}) {
		t.Errorf("carried %q, %+v", text, told)
	}
}
