package config

import (
	"iter"
	"path/filepath"
)

// commands yields the hooks with their keys, in the order of Keys.
func (h *Hooks) commands() iter.Seq2[string, *[]string] {
	return func(yield func(string, *[]string) bool) {
		_ = yield(hooks+"session.compacting", &h.Compacting) && yield(hooks+"session.compacted", &h.Compacted) &&
			yield(hooks+"elision.committed", &h.Elided)
	}
}

// hooks is what the keys of the hooks begin with. The rest of such a key is one name, dots and all.
const hooks = "hooks."

// located makes the programs of a file's hooks that are named by a path relative to that file
// absolute: they are the same in whatever folder winnow is run.
func (l *Loaded) located(file string) error {
	for key, command := range l.Settings.Hooks.commands() {
		if l.Origins[key] != file || len(*command) == 0 {
			continue
		}
		program := &(*command)[0]
		if filepath.Base(*program) == *program || filepath.IsAbs(*program) {
			continue
		}
		folder, err := filepath.Abs(filepath.Dir(file))
		if err != nil {
			return &Error{File: file, Key: key, Err: err}
		}
		*program = filepath.Join(folder, *program)
	}
	return nil
}
