package letter

import (
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/rule"
)

// On says which of the strategies that supersede calls are switched on.
type On struct{ Files, URLs, Queries, Snapshots, Retries bool }

// Inputs is S002 1, the input leak fix: the arguments of a call that a newer one supersedes, by
// whatever strategy is on, are stripped to metadata.
func Inputs(on On) rule.Rule {
	return &program{"inputs", rule.Age{}, on.inputs, func(f *rule.Finding) string { return metadata(f.Item) }}
}

func (on On) inputs(w rule.Window) (found []*rule.Finding) {
	var all []*rule.Finding
	for _, s := range []struct {
		on   bool
		find func(rule.Window) []*rule.Finding
	}{
		{on.Files, files}, {!on.Files, writes}, {on.URLs, urls}, {on.Queries, queries}, {on.Snapshots, snapshots},
		{on.Retries, retries},
	} {
		if s.on {
			all = append(all, s.find(w)...)
		}
	}
	known := map[*rule.Item]bool{}
	for _, f := range inOrder(all) {
		if !known[f.Item] && !f.Item.LeftOut(rule.Input) {
			found = append(found, &rule.Finding{Item: f.Item, Field: rule.Input, By: f.By, Why: f.Why, Unsent: true})
		}
		known[f.Item] = true
	}
	return found
}

// identifying are the arguments that say what a call was about: they stay, however long.
var identifying = slices.Concat(rule.PathKeys, rule.TargetKeys, []string{
	"uri", "q", "search_term", "regex", "glob", "include", "dir", "dir_path", "workdir", "cwd", "working_directory",
	"target_file", "relative_workspace_path", "id", "subagent_type", "skill", "tool",
})

// payload are the arguments that hold what a call wrote: they go, however short.
var payload = []string{
	"content", "contents", "file_text", "text", "oldString", "newString", "old_string", "new_string", "old_str",
	"new_str",
	"oldText", "newText", "old_text", "new_text", "insert_text", "new_source", "code_edit", "edits", "replacements",
	"patch", "patchText", "patch_text",
}

// longArgument is from how many characters on any other argument goes.
const longArgument = 200

// metadata are the arguments of a call that say what it was about, "" when that is all of them. The
// name of an argument goes with its value.
func metadata(x *rule.Item) string {
	return rule.Replace(x.Part, func(name string, value jsontext.Value) jsontext.Value {
		switch {
		case slices.Contains(identifying, name):
			return value
		case slices.Contains(payload, name), value.Kind() == '[', value.Kind() == '{',
			utf8.RuneCount(value) > longArgument:
			return nil
		}
		return value
	})
}
