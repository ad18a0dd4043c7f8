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
	return &program{"inputs", rule.Age{}, on.follow, func(f *rule.Finding) string { return metadata(f.Item) }}
}

// inputs follows the findings of the strategies that are on.
type inputs struct {
	findings
	strategies []rule.Follower
	known      map[*rule.Item]bool
}

func (on On) follow() rule.Follower {
	f := &inputs{known: map[*rule.Item]bool{}}
	for _, s := range []struct {
		on     bool
		follow func() rule.Follower
	}{
		{on.Files, newFiles}, {!on.Files, newWrites}, {on.URLs, newURLs}, {on.Queries, newQueries},
		{on.Snapshots, newSnapshots}, {on.Retries, newRetries},
	} {
		if s.on {
			f.strategies = append(f.strategies, s.follow())
		}
	}
	return f
}

func (f *inputs) Read(x *rule.Item) {
	for _, s := range f.strategies {
		before := len(s.Found())
		s.Read(x)
		for _, old := range s.Found()[before:] {
			if !f.known[old.Item] {
				f.known[old.Item] = true
				f.add(&rule.Finding{Item: old.Item, Field: rule.Input, By: old.By, Why: old.Why, Unsent: true})
			}
		}
	}
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
