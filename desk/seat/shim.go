package seat

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/text/plainfile"
)

// shim is a file in the language of a product, with the program that it calls.
func shim(text []byte, p Place) []byte {
	program, err := json.Marshal(p.Winnow)
	if err != nil { // a path that is no text: the name alone is looked up
		program = []byte(`"winnow"`)
	}
	text = bytes.Replace(text, []byte("// winnow VERSION."), []byte("// winnow "+oneLine(p.Version)+"."), 1)
	return bytes.Replace(text, []byte(`const program = "winnow"`), append([]byte("const program = "), program...), 1)
}

// oneLine is a version as it can stand in a comment.
func oneLine(version string) string { return strings.Join(strings.Fields(version), " ") }

// rivals are the other files in a folder of plugins that have a word: they rewrite, too.
func rivals(folder, own, word, what string) (found []Finding) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.Name() == own || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(folder, e.Name())
		text, _, err := plainfile.Read(path, 1<<20)
		if err == nil && bytes.Contains(text, []byte(word)) {
			found = append(found, Finding{Code: "seat-rival", Path: path,
				What: "another plugin rewrites what is sent: " + what, Do: "keep one of them"})
		}
	}
	return found
}
