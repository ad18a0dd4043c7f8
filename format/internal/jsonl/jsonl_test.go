package jsonl

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

func TestStamp_isReadByMillis(t *testing.T) {
	const at = session.Millis(1_769_932_800_123)
	if got, want := Stamp(at), "2026-02-01T08:00:00.123Z"; got != want {
		t.Errorf("Stamp is %s, want %s", got, want)
	}
	for stamp, want := range map[string]session.Millis{
		Stamp(at): at, "2026-02-01T09:00:00.123456+01:00": at, "2026-02-01T08:00:00.123456": at,
		"2026-02-01 08:00:00": 0, "": 0,
	} {
		if got := Millis(stamp); got != want {
			t.Errorf("Millis of %q is %v, want %v", stamp, got, want)
		}
	}
}

func TestUUID(t *testing.T) {
	if a, b := UUID("a"), UUID("b"); !IsUUID(a) || !IsUUID(b) || a == b || a != UUID("a") || a[14] != '8' {
		t.Errorf("UUIDs of two texts: %s and %s; want two of version 8", a, b)
	}
	for _, id := range []string{"", "msg_1", UUID("a") + "0", "g" + UUID("a")[1:]} {
		if IsUUID(id) {
			t.Errorf("%q is taken for a UUID", id)
		}
	}
}

func TestIDs(t *testing.T) {
	used := IDs{}
	var got []string
	for _, id := range []string{"a", "a#2", "a", "b", "a"} {
		got = append(got, used.New(id))
	}
	if diff := cmp.Diff([]string{"a", "a#2", "a#3", "b", "a#4"}, got); diff != "" {
		t.Errorf("ids (-want +got)\n%s", diff)
	}
}

func TestShows(t *testing.T) {
	for _, c := range []struct {
		field                  rule.Field
		answered, call, result bool
	}{
		{rule.Output, true, false, true},
		{rule.Output, false, true, false},
		{rule.Attachments, true, false, true},
		{rule.Error, true, false, true},
		{rule.Whole, true, true, true},
		{rule.Whole, false, true, false},
		{rule.Input, true, true, false},
		{rule.Text, false, true, false},
	} {
		if call, result := Shows(c.field, c.answered); call != c.call || result != c.result {
			t.Errorf("%s, answered %v: in the call %v, in the result %v; want %v and %v",
				c.field, c.answered, call, result, c.call, c.result)
		}
	}
}

func TestArgument(t *testing.T) {
	for shown, want := range map[string]string{
		`{"path": "a"}`: `{"path": "a"}`,
		`left "out"`:    `{"elided":"left \"out\""}`, `{`: `{"elided":"{"}`, `[1]`: `{"elided":"[1]"}`,
	} {
		if got := string(Argument(shown)); got != want {
			t.Errorf("%s becomes %s, want %s", shown, got, want)
		}
	}
}

func TestPromptBefore(t *testing.T) {
	log := []session.Message{
		{MessageInfo: session.MessageInfo{Role: session.Assistant, Tokens: &session.Usage{Input: 5, Output: 2}}},
		{MessageInfo: session.MessageInfo{Role: session.User}},
		{MessageInfo: session.MessageInfo{Role: session.Assistant, Tokens: &session.Usage{Input: 90}, Error: Failed("APIError", "x")}},
		{MessageInfo: session.MessageInfo{Role: session.Assistant, Tokens: &session.Usage{Input: 80}, Summary: []byte("true")}},
	}
	if got := PromptBefore(log); got != 7 {
		t.Errorf("the prompt is %d tokens, want 7: failed answers and summaries do not count", got)
	}
}

func TestUnreadable(t *testing.T) {
	damaged := []format.Damage{{Line: 3, Offset: 7, Reason: "not a JSON object"}, {Line: 4}}
	err := Unreadable("pi", "a line", damaged)
	var syntax *format.SyntaxError
	if want := "pi: line 3 (byte 7): expected a line: not a JSON object"; !errors.As(err, &syntax) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if want := "pi: line 1 (byte 0): expected a line: the file is empty"; Unreadable("pi", "a line", nil).Error() != want {
		t.Errorf("got %v, want %s", Unreadable("pi", "a line", nil), want)
	}
}
