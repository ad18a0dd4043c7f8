package quality

import (
	"context"
	"strings"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/session"
)

// Scripted is a weak summariser in place of a model: of each message it notes the beginning, and
// its earlier notes wear off from the oldest. It shows how much a fold loses with a summary that
// says little.
type Scripted struct{}

// Name is "scripted".
func (Scripted) Name() string { return "scripted" }

// Limit is 0: it takes requests of any size.
func (Scripted) Limit() int { return 0 }

// noted is how many bytes of a message are noted.
const noted = 160

// Summarize writes the notes. It fails only if ctx has ended.
func (Scripted) Summarize(ctx context.Context, r pivot.Request) (pivot.Answer, error) {
	var asked, did []string
	heading := ""
	for line := range strings.Lines(r.Previous) {
		line = strings.TrimSpace(line)
		switch note, bullet := strings.CutPrefix(line, "- "); {
		case !bullet:
			heading = line
		case heading == "## Goal":
			asked = append(asked, note)
		default:
			did = append(did, note)
		}
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		text := m.Text()
		if text == "" {
			continue
		}
		if sentences := recall.Sentences(text); len(sentences) > 0 {
			text = sentences[0]
		}
		text = strings.ToValidUTF8(text[:min(len(text), noted)], "")
		if m.Role == session.User {
			asked = append(asked, text)
		} else {
			did = append(did, text)
		}
	}
	most := 4 * max(r.Budget, 64) * 4 / 5 // bytes
	text := "## Goal\n\n" + newest(asked, most/2) + "\n## Done\n\n" + newest(did, most/2)
	return pivot.Answer{Text: text, Finish: "stop", Model: "scripted"}, ctx.Err()
}

// newest writes the newest notes that fit into size bytes.
func newest(notes []string, size int) string {
	at := len(notes)
	for at > 0 && size > len(notes[at-1])+3 {
		at--
		size -= len(notes[at]) + 3
	}
	var b strings.Builder
	for _, n := range notes[at:] {
		b.WriteString("- " + n + "\n")
	}
	return b.String()
}
