package cline

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/text/span"
)

// ours reports whether the record was written by us as a whole.
func ours(m *entries.Mark) bool { return m != nil && (m.Message != nil || m.Of != "") }

// original is the content of a record without elisions. The product may have split the record: it
// writes each result as a message of its own, all with the metadata of the one that they came from.
func original(m *entries.Mark, content jsontext.Value) jsontext.Value {
	if m == nil || len(m.Original) == 0 {
		return content
	}
	had, has := entries.Blocks(m.Original), entries.Blocks(content)
	if len(had) == len(has) {
		return m.Original
	}
	here, other := map[string]bool{}, false
	for _, b := range has {
		id := resultOf(b)
		here[id], other = true, other || id == ""
	}
	stays := slices.DeleteFunc(slices.Clone(had), func(b []byte) bool {
		id := resultOf(b)
		return id != "" && !here[id] || id == "" && !other
	})
	if len(stays) == len(had) {
		return m.Original
	}
	return span.Array(stays)
}

func textBlock(text string) []byte { return span.Make("type", "text", "text", text) }

// resultOf is the id of the call that a block has the result of, "" if it is no result.
func resultOf(b []byte) string { return span.String(span.Get(b, "tool_use_id")) }

// splitOf reports whether the product gave a record this id when it split the one with that id.
func splitOf(id, whole string) bool {
	rest, ok := strings.CutPrefix(id, whole)
	return ok && (rest == "" || strings.HasPrefix(rest, "_tool_") || strings.HasPrefix(rest, "_part_"))
}
