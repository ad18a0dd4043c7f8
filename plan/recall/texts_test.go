package recall

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/session"
)

// What was read at earlier folds changes nothing of what a later one reads: the log grows, a message is replaced, and the cut moves.
func TestRead_saysTheSameWhateverWasReadBefore(t *testing.T) {
	sentences := []string{"Never change the migrations.", "You may change the migrations again.", "The port is 8080.", "Use port 9090 instead of 8080.", "Always run `make check` first.",
		"Ann owns api/v2.", "Would you look at it?", "I prefer short names.", "```\nnever mind\n```", "From now on answer in German.", "Fix the parser in a/b.go, please.", "> never quote this"}
	rapid.Check(t, func(t *rapid.T) {
		texts := &Texts{}
		var log []session.Message
		for range rapid.IntRange(1, 12).Draw(t, "messages") {
			role := rapid.SampledFrom([]session.Role{session.User, session.Assistant}).Draw(t, "role")
			text := ""
			for _, s := range rapid.SliceOfN(rapid.SampledFrom(sentences), 1, 3).Draw(t, "said") {
				text += s + "\n"
			}
			id := fmt.Sprint("m", len(log))
			m := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: role}, Parts: []session.Part{{ID: id + "p", Type: session.TextPart, Text: text}}}
			if n := len(log); n > 0 && rapid.IntRange(0, 5).Draw(t, "replaces") == 0 {
				m.ID, m.Parts[0].ID = log[n-1].ID, log[n-1].Parts[0].ID
				log = append(log[:n-1:n-1], m)
			} else {
				log = append(log, m)
			}
			cut := rapid.IntRange(0, len(log)).Draw(t, "cut")
			want, got := Read(nil, nil, log[:cut], log[cut:]), Read(texts, nil, log[:cut], log[cut:])
			if !reflect.DeepEqual(want, got) {
				t.Fatalf("read at once\n%+v\nread with what was read before\n%+v", want, got)
			}
			if want, got := Constraints(log), texts.Constraints(log); !reflect.DeepEqual(want, got) {
				t.Fatalf("instructions at once\n%+v\nwith what was read before\n%+v", want, got)
			}
		}
	})
}
