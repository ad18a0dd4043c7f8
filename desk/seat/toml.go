package seat

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// A file of settings may be TOML. What is set there is a table of its own, and the value of its
// Member is its text, which is put behind everything else: the rest of the file stays as it is, and
// is not understood.

func isTOML(path string) bool { return filepath.Ext(path) == ".toml" }

// table is the text of a member.
func table(m Member) []byte {
	var text string
	if err := json.Unmarshal(m.Value, &text); err != nil {
		return nil
	}
	return []byte(text)
}

// withTables is a file with the tables in it.
func withTables(path string, text []byte, members []Member) ([]byte, error) {
	for _, m := range members {
		added, name := table(m), "["+strings.Join(m.Keys, ".")+"]"
		switch {
		case bytes.Contains(text, added):
			continue
		case hasLine(text, name):
			return nil, fmt.Errorf("%s has a table %s that winnow did not write; take it out, and install again", path,
				name)
		}
		text = slices.Clone(text)
		if len(text) > 0 && text[len(text)-1] != '\n' {
			text = append(text, '\n')
		}
		text = append(text, added...)
	}
	return text, nil
}

// withoutTables is a file without them. One that somebody changed stays.
func withoutTables(text []byte, members []Member) []byte {
	for _, m := range members {
		if added := table(m); len(added) > 0 {
			text = bytes.Replace(text, added, nil, 1)
		}
	}
	return text
}

func hasLine(text []byte, line string) bool {
	for l := range bytes.Lines(text) {
		if before, _, _ := bytes.Cut(l, []byte("#")); string(bytes.TrimSpace(before)) == line {
			return true
		}
	}
	return false
}
