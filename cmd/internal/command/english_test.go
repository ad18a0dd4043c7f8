package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/winnowhq/winnow/internal/outside"
)

// foreign are phrases that read as translated. Each of them was once printed or documented.
var foreign = []string{
	"over the usable window, as reported", "with cache writes and what came since", "could go: a rule would leave it out",
	"what rules found and left alone", "it is too new: it stays", "because it shows what they showed",
	"what every request carries besides", "Who takes the tokens", "dearest sessions", "unpruned it would have been",
	"Say who shares winnow serve", "Leave out single parts, by their handles", "resume as it was meant",
	"otherwise than it was meant", "Make a token count no more", "how long the old one counts yet",
	"agents that read it cannot ask anything", "nothing has to be done if that is meant", "where it is, resume with:",
	"carry in vain", "An error of the transport's own", "needs a terminal to talk in", "nothing to judge by",
	"which model is to be asked?", "starts as ever",
}

// Nothing that is printed or documented has one of the phrases; comments in code may.
func TestEnglish_noForeignPhrases(t *testing.T) {
	t.Parallel()
	root := outside.Root(t)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".md", ".html", ".js", ".yaml", ".yml":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for n, line := range strings.Split(string(text), "\n") {
			if filepath.Ext(path) == ".go" && strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
			for _, phrase := range foreign {
				if strings.Contains(line, phrase) {
					t.Errorf("%s:%d: %q", path, n+1, phrase)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// mostWords is how many words the documents have at most, without the generated description of JSON.
// It may fall, not rise.
const mostWords = 40_000

// A stranger reads README.md in a minute, and the documents in a day.
func TestEnglish_theDocumentsAreShort(t *testing.T) {
	t.Parallel()
	root := outside.Root(t)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(readme), "\n"); n > 90 {
		t.Errorf("README.md has %d lines, at most 90 are wanted", n)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	words := 0
	for _, page := range pages {
		if filepath.Base(page) == "json.md" {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for field := range strings.FieldsSeq(string(text)) {
			if strings.ContainsFunc(field, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				words++ // the lines of a table are none
			}
		}
	}
	if len(pages) < 20 || words > mostWords {
		t.Errorf("%d documents have %d words, at most %d are wanted", len(pages), words, mostWords)
	}
}
