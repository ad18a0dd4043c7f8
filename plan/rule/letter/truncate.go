package letter

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// Errors is S002 9: of an error older than this many turns the first line stays. A part is older
// than N turns once the user has written N messages behind it: by S002's tests (t43, t44) "5+ turns
// of work" are enough for a block of code, and errors of less than 3 turns stay.
func Errors(turns int) rule.Rule {
	return each("errors", rule.Age{Asked: turns}, func(x *rule.Item) *rule.Finding {
		if !x.Failed() {
			return nil
		}
		return &rule.Finding{Item: x, Field: rule.Error, Why: "it is an old error", Unsent: true}
	}, func(f *rule.Finding) string {
		text := f.Item.Part.State.Error
		first, _, _ := strings.Cut(text, "\n")
		return first + fmt.Sprintf("\n[Error output truncated - %d chars total]", token.UTF16Len(text))
	})
}

// Code is S002 8: a block of code in a message of the user that is older than this many turns goes
// with its fences, if what stands in its place is shorter. A block without a language is called
// "unknown", where S002 says nothing.
func Code(turns int) rule.Rule {
	return each("code", rule.Age{Asked: turns}, func(x *rule.Item) *rule.Finding {
		if x.Call != nil || len(rule.Blocks(x.Part.Text)) == 0 {
			return nil
		}
		return &rule.Finding{Item: x, Field: rule.Text, Why: "the block of code is old", Unsent: true}
	}, func(f *rule.Finding) string {
		return rule.ReplaceBlocks(f.Item.Part.Text, func(b *rule.Block) (from, to int, instead string) {
			if b.Fence[0] != '`' { // S002 knows fences of backticks alone
				return b.Open, b.Open, ""
			}
			return b.Open, b.End, fmt.Sprintf("[Code block: %s, %d lines - truncated to save context]",
				cmp.Or(b.Language, "unknown"), b.Count())
		})
	})
}

// Attachments is S002 7: images and documents are shown as breadcrumbs. One that no model has seen
// yet stays, although S002 does not say so, because the model could not know what to fetch again.
func Attachments() rule.Rule {
	return each("attachments", rule.Age{Steps: 1}, func(x *rule.Item) *rule.Finding {
		asked := x.Part.Type == session.FilePart && x.Role == session.User
		if x.Call == nil && !asked || len(rule.Media(x.Part)) == 0 {
			return nil
		}
		return &rule.Finding{Item: x, Field: rule.Attachments, Unsent: true, Why: "the model has seen it, and it is old"}
	}, func(f *rule.Finding) string { return breadcrumbs(rule.Media(f.Item.Part)) })
}

// breadcrumbs are one line a file, without a size where only the address is known.
//
//	[File: image.png, 12KB]
func breadcrumbs(files []*session.Part) string {
	lines := make([]string, len(files))
	for i, f := range files {
		lines[i] = "[File: " + rule.FileName(f)
		if size, ok := rule.FileSize(f.URL); ok {
			lines[i] += ", " + strconv.Itoa((size+512)/1024) + "KB"
		}
		lines[i] += "]"
	}
	return strings.Join(lines, "\n")
}
