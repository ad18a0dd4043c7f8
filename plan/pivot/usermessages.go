package pivot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/session"
)

// shortMessage is the size in bytes of a message that is quoted before longer ones: a sentence or
// three, such as people give rules in.
const shortMessage = 300

// messages quotes the user's messages, and returns the ids of those that are quoted or stand in the
// summary: the first, the newest, and before others the short ones.
func (c Carrying) messages(pinned Pinned) (lines []string, quoted map[string]bool) {
	left := c.Settings.UserMessages
	if left <= 0 {
		return nil, nil
	}
	summary := plain(c.Summary)
	var written []*session.Message
	size := 0
	for i := range c.Log {
		m := &c.Log[i]
		if text := m.Text(); m.Written() && replayed(m) == "" && !c.stays(m.ID) && text != "" && !pinned.Has(m) &&
			!strings.Contains(summary, plain(text)) && !slices.Contains(c.before.Remarks, text) {
			written = append(written, m)
			size += c.Facts.Count(text)
		}
	}
	if len(written) == 0 {
		return nil, nil
	}
	short := c.Settings.Short
	if size > left {
		left -= left / remarkShare
	}
	// The first message is the task: it is carried whatever else there is.
	first := cutTo(written[0].Text(), min(firstMessage, left), c.Facts)
	left -= c.Facts.Count(first)
	quoted = map[string]bool{written[0].ID: first == written[0].Text()}
	omitted := len(written) - 1
	for _, brief := range []bool{true, false} {
		for i := len(written) - 1; i > 0; i-- {
			text := written[i].Text()
			if quoted[written[i].ID] || brief && len(text) > shortMessage {
				continue
			}
			n := c.Facts.Count(text)
			if !brief && n > left || brief && n > short {
				break
			}
			left, omitted = left-n, omitted-1
			if quoted[written[i].ID] = true; brief {
				short -= n
			}
		}
	}
	lines = append(quote(first), c.superseded(first)...)
	if first != written[0].Text() {
		lines = append(lines, "> [the rest of this message is in the log]")
	}
	if omitted > 0 {
		lines = append(lines, "", fmt.Sprintf("[%d messages in between are in the log]", omitted))
	}
	for _, m := range written[1:] {
		if quoted[m.ID] {
			lines = append(append(append(lines, ""), quote(m.Text())...), c.superseded(m.Text())...)
		}
	}
	return lines, quoted
}

// remarkShare is the part of the budget for the user's messages that goes to single sentences of
// messages that are not quoted: nobody can guess the names, paths and figures in them.
const remarkShare = 3

// remarks quotes sentences of messages that are not quoted, as many as fit. Sentences with names go
// first, and among them statements before tasks; then other sentences that are no tasks, because an
// unrecognised instruction may be among them. Newer sentences go before older ones.
func (c Carrying) remarks(pinned Pinned, quoted map[string]bool) []string {
	left := c.Settings.UserMessages / remarkShare
	all := c.history.Remarks
	stays := make([]bool, len(all))
	summary := plain(c.Summary)
	for _, pass := range []struct{ named, task bool }{{true, false}, {true, true}, {false, false}} {
		if !pass.named { // most of these are done with
			left /= 2
		}
		for i := len(all) - 1; i >= 0; i-- {
			t := &all[i]
			if t.Names > 0 != pass.named || t.Task != pass.task || quoted[t.MessageID] || c.stays(t.MessageID) ||
				pinned.Contains(t.Text) || strings.Contains(summary, plain(t.Text)) {
				continue
			}
			n := c.Facts.Count(t.Text)
			if n > left {
				break
			}
			left, stays[i] = left-n, true
		}
	}
	var lines []string
	for i := range all {
		if stays[i] {
			lines = append(lines, strings.Join(append([]string{"- " + all[i].Text}, c.superseded(all[i].Text)...), " "))
		}
	}
	return lines
}

// superseded notes below a quotation what in it no longer holds.
func (c Carrying) superseded(text string) []string {
	notes := append(recall.Superseded(text, c.history.Values), recall.Revoked(text, c.history.Rules)...)
	for _, known := range c.before.Notes[text] {
		name, _, _ := strings.Cut(known, ": now ")
		taken := func(k recall.Constraint) bool { return "\""+k.Since+"\"" == known }
		if known[0] == '"' && !slices.ContainsFunc(c.history.Rules, taken) {
			continue // the instruction was given again
		}
		if !slices.ContainsFunc(notes, func(n string) bool { return n == known || strings.HasPrefix(n, name+": now ") }) {
			notes = append(notes, known)
		}
	}
	if len(notes) > 0 {
		return []string{strings.TrimSpace(recall.Since) + " " + strings.Join(notes, "; ") + "]"}
	}
	return nil
}

// plain removes line breaks and Markdown quotation marks from a text, so that a quotation can be
// found again.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll("\n"+text, "\n>", "\n")), " ")
}

// replayed returns the id of the message that this one repeats, or "".
func replayed(m *session.Message) string {
	for i := range m.Parts {
		if n, ok := m.Parts[i].Note(); ok {
			return n.Replay
		}
	}
	return ""
}

func quote(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("> "+l, " ")
	}
	return lines
}
