package cline

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/text/span"
)

// hash is what the product notes beside a compaction of the messages that it was made from. If it
// is another one later, the compaction does not count.
func (r *reader) hash(sent []int) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "cline-session-compaction-source-v2\n%d\n", len(sent))
	for _, i := range sent {
		text := r.records[i].at.Of(r.Source)
		var members [][]byte
		for _, name := range []string{"role", "content", "agent", "sessionId", "metadata", "modelInfo", "metrics"} {
			value := span.Get(text, name)
			if name == "content" && r.records[i].Role == "user" {
				value = displayed(value)
			}
			members = append(members, span.Array([][]byte{span.Quote(name), canonical(value)}))
		}
		sum.Write(append(span.Array(members), '\n'))
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// canonical writes a value as JavaScript does; one that is missing is null.
func canonical(value jsontext.Value) jsontext.Value {
	value = jsontext.Value(cmp.Or(string(value), "null"))
	_ = value.Format(jsontext.CanonicalizeRawInts(true), jsontext.CanonicalizeRawFloats(true),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // or it stays as it is
	return value
}

// displayed is a content in the user's name with its texts as the product shows them to people.
func displayed(content []byte) []byte {
	if span.Kind(content) == '"' {
		return span.Quote(display(span.String(content)))
	}
	var edits []span.Edit
	for at := range span.Values(content, span.All(content)) {
		if text := span.Find(content, at, "text"); span.String(span.Find(content, at, "type").Of(content)) == "text" {
			edits = append(edits, span.Edit{Span: text, With: span.Quote(display(span.String(text.Of(content))))})
		}
	}
	return span.Splice(content, edits...)
}

var (
	wrapped  = regexp.MustCompile(`<user_input\b[^>]*>([\s\S]*?)</user_input>`)
	opened   = regexp.MustCompile(`<user_input[^>]*>`)
	commands = regexp.MustCompile(`<user_command\b[^>]*>([\s\S]*?)</user_command>`)
	begun    = regexp.MustCompile(`<user_command[^>]*>`)
	command  = regexp.MustCompile(`(?i)^<user_command\b([^>]*)>[\s\S]*?</user_command>$`)
	slash    = regexp.MustCompile(`(?i)slash="([^"]+)"`)
	notices  = regexp.MustCompile(`<mode_notice>[\s\S]*?</mode_notice>`)
)

// display takes out of a text what the product put around it.
func display(text string) string {
	text = strings.TrimSpace(text)
	shown := text
	for _, tag := range [][2]*regexp.Regexp{{wrapped, opened}, {commands, begun}} {
		inner := tag[0].ReplaceAllString(shown, "$1")
		if inner == shown {
			inner = tag[1].ReplaceAllString(shown, "")
		}
		shown = strings.TrimSpace(inner)
	}
	shown = strings.TrimSpace(notices.ReplaceAllString(shown, ""))
	found := command.FindStringSubmatch(text)
	if found == nil {
		return shown
	}
	name := slash.FindStringSubmatch(found[1])
	if name == nil || strings.TrimSpace(name[1]) == "" {
		return shown
	}
	word := strings.TrimSpace(name[1])
	const team = "spawn a team of agents for the following task:"
	if strings.EqualFold(word, "team") {
		word = "team"
		if len(shown) >= len(team) && strings.EqualFold(shown[:len(team)], team) {
			shown = strings.TrimSpace(shown[len(team):])
		}
	}
	return strings.TrimSpace("/" + word + " " + shown)
}
