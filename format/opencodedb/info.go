package opencodedb

import (
	"github.com/winnowhq/winnow/format"
)

// infoOf writes a row of the table of sessions as the export's info, its members in the product's order. Columns that are NULL have
// no member.
func infoOf(r record, damage func(format.Damage)) []byte {
	text := func(column string) []byte {
		if !r.has(column) {
			return nil
		}
		return quoted(r.text(column))
	}
	number := func(column string) []byte {
		n, ok := r.number(column)
		if !ok {
			return nil
		}
		return numeral(n)
	}
	json := func(column string) []byte {
		value := plain(r.text(column))
		if len(value) == 0 && r.text(column) != "" && r.text(column) != "null" {
			damage(format.Damage{Bytes: len(r.text(column)), Reason: "session: the column " + column + " is no JSON"})
		}
		return value
	}
	var o, summary, tokens, cache, share, time object
	o.add("id", text("id"))
	o.add("slug", text("slug"))
	o.add("projectID", text("project_id"))
	o.add("workspaceID", text("workspace_id"))
	o.add("directory", text("directory"))
	o.add("path", text("path"))
	o.add("parentID", text("parent_id"))
	o.add("title", text("title"))
	o.add("agent", text("agent"))
	o.add("model", json("model"))
	o.add("version", text("version"))
	if r.has("summary_additions") || r.has("summary_deletions") || r.has("summary_files") {
		for _, name := range []string{"additions", "deletions", "files"} {
			n, _ := r.number("summary_" + name)
			summary.add(name, numeral(n))
		}
		summary.add("diffs", json("summary_diffs"))
		o.add("summary", summary.value())
	}
	o.add("cost", number("cost"))
	if r.has("tokens_input") {
		tokens.add("input", number("tokens_input"))
		tokens.add("output", number("tokens_output"))
		tokens.add("reasoning", number("tokens_reasoning"))
		cache.add("read", number("tokens_cache_read"))
		cache.add("write", number("tokens_cache_write"))
		tokens.add("cache", cache.value())
		o.add("tokens", tokens.value())
	}
	if r.has("share_url") {
		share.add("url", text("share_url"))
		o.add("share", share.value())
	}
	o.add("metadata", json("metadata"))
	o.add("revert", json("revert"))
	o.add("permission", json("permission"))
	time.add("created", number("time_created"))
	time.add("updated", number("time_updated"))
	time.add("compacting", number("time_compacting"))
	time.add("archived", number("time_archived"))
	o.add("time", time.value())
	return o.value()
}
