package rule

import (
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// letter finds what S002 1 does: the arguments of a call that a newer one supersedes, by whatever rule of the letter, are stripped to metadata.
func (r *Inputs) letter(w Window) Found {
	seen := remember(w, r, letterArguments)
	return w.propose(r.Name(), r.Age, true, seen.found, func(d *redundant) []Elision {
		if shown := metadata(d.old); shown != "" {
			return []Elision{{Field: Input, Shown: shown}}
		}
		return nil
	})
}

func letterArguments() *arguments {
	return newArguments(newOperations(), newFetches(true), newQuestions(true), newShots(true, 1), newAttempts(true))
}

// relation is the reader of a rule by which newer calls supersede older ones.
type relation interface {
	reader
	superseded() []*redundant // in the order in which it was found; it only grows
}

// arguments is what the letter of Inputs remembers: calls that any of the relations superseded, each once.
type arguments struct {
	relations []relation
	taken     []int // parallel to relations: how many of theirs were seen
	known     map[*Item]bool
	found     []*redundant
}

func newArguments(relations ...relation) *arguments {
	return &arguments{relations: relations, taken: make([]int, len(relations)), known: map[*Item]bool{}}
}

func (s *arguments) read(x *Item) {
	for i, r := range s.relations {
		r.read(x)
		all := r.superseded()
		for _, d := range all[s.taken[i]:] {
			if !s.known[d.old] {
				s.known[d.old] = true
				s.found = append(s.found, &redundant{old: d.old, by: d.by, why: d.why})
			}
		}
		s.taken[i] = len(all)
	}
}

// identifying are the arguments that say what a call was about: they stay, however long.
var identifying = slices.Concat(pathKeys, targetKeys, []string{
	"uri", "q", "search_term", "regex", "glob", "include", "dir", "dir_path", "workdir", "cwd", "working_directory", "target_file", "relative_workspace_path", "id", "subagent_type",
	"skill", "tool",
})

// payload are the arguments that hold what a call wrote: they go, however short.
var payload = []string{
	"content", "contents", "file_text", "text", "oldString", "newString", "old_string", "new_string", "old_str", "new_str", "oldText", "newText", "old_text", "new_text", "insert_text",
	"new_source", "code_edit", "edits", "replacements", "patch", "patchText", "patch_text",
}

// longArgument is from how many characters on an argument is no metadata.
const longArgument = 200

// metadata are the arguments of a call without what is no metadata, "" when that is all of them. By the letter the name of an argument goes with
// its value.
func metadata(x *Item) string {
	return replaced(x.Part, func(name string, value jsontext.Value) jsontext.Value {
		switch {
		case slices.Contains(identifying, name):
			return value
		case slices.Contains(payload, name), value.Kind() == '[', value.Kind() == '{', utf8.RuneCount(value) > longArgument:
			return nil
		}
		return value
	})
}
