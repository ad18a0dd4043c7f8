package floors

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
)

// reads are the words with which a package reads what others wrote: JSON, files, streams, pages,
// databases, what programs print.
var reads = regexp.MustCompile(`json\.Unmarshal|jsontext\.NewDecoder|hujson\.Parse|html\.NewTokenizer|zstd\.NewReader|gzip\.NewReader|sql\.Open\(|exec\.Command|os\.ReadFile|io\.ReadAll|bufio\.NewReader|image\.DecodeConfig`)

// through are packages that read what others wrote and are fuzzed through a target elsewhere, which
// stands here.
var through = map[string]string{
	"":                             "internal/stories FuzzEngine_anyLogCanBeHadBack", // the log of a session
	"agent":                        "agent/chat/internal/transcript FuzzCall",        // it reads the metadata that tools of its own wrote
	"agent/chat":                   "agent/chat/internal/editor FuzzEditor",          // what somebody wrote in $EDITOR
	"agent/chat/demo":              "wire/anthropic FuzzDecode",                      // bodies of its own loop
	"agent/chat/internal/drawtest": "",                                               // golden files of tests
	"cmd/internal/command":         "format/all FuzzCut",                             // it hands every file on to format, config, replay or the engine
	"cmd/internal/change":          "format/all FuzzCut",                             // what it remembers of a file, beside that file
	"cmd/internal/output":          "format/all FuzzCut",                             // the file that it replaced
	"cmd/internal/simulation":      "format/all FuzzCut",                             // sessions, and the configuration
	"cmd/internal/source":          "format/all FuzzCut",                             // every file
	"cmd/internal/workbench":       "format/all FuzzCut",                             // sessions, and instructions that it hands on
	"format":                       "format/all FuzzCut",                             // the lines of a file
	"format/internal/entries":      "format/copilot FuzzRead",                        // what formats that are lists of entries share
	"format/internal/gemini":       "format/qwen FuzzRead",                           // what contents of the Gemini API share
	"format/internal/jsonl":        "format/all FuzzCut",                             // what sessions of lines share
	"format/internal/transcript":   "format/sweagent FuzzRead",                       // what the records of runs share
	"llm/anthropic":                "llm/providers FuzzAsk",                          // all of them through one
	"llm/gemini":                   "llm/providers FuzzAsk",                          //
	"llm/openai":                   "llm/providers FuzzAsk",                          //
	"plan/pivot":                   "summarize/offline FuzzSummarize",                // the log and what a summariser wrote
	"plan/settings":                "desk/config FuzzLoad",                           // the lists in a configuration
	"store/fold":                   "internal/stories FuzzEngine_anyLogCanBeHadBack", // summaries that the engine prepared
	"wire":                         "wire/anthropic FuzzDecode",                      // the scanner that all protocols share
	"wire/protocols":               "wire/anthropic FuzzDecode",                      // the table of all protocols
}

var target = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(f \*testing\.F\)`)

// fuzzed are the fuzz targets of each package.
func fuzzed(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, p := range list(t, "./...") {
		name := short(p.ImportPath)
		for _, text := range sources(t, name, true) {
			for _, found := range target.FindAllStringSubmatch(text, -1) {
				all[name] = append(all[name], found[1])
			}
		}
	}
	return all
}

func sources(t *testing.T, name string, tests bool) (texts []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(outside.Root(t), filepath.FromSlash(name), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") == tests {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
	}
	return texts
}

// Who reads what others wrote has a fuzz target, or is read through one that is named here; so has
// every format, protocol and provider.
func TestFuzz_everyReaderHasATarget(t *testing.T) {
	targets := fuzzed(t)
	for _, p := range list(t, "./...") {
		name := short(p.ImportPath)
		if tool(name) {
			continue
		}
		kin := strings.HasPrefix(name, "format/") || strings.HasPrefix(name, "wire/") || strings.HasPrefix(name, "llm/") || strings.HasPrefix(name, "store/internal/")
		if !kin && !slices.ContainsFunc(sources(t, name, false), reads.MatchString) || len(targets[name]) > 0 {
			continue
		}
		where, one, _ := strings.Cut(through[name], " ")
		if where == "." {
			where = ""
		}
		if !slices.Contains(targets[where], one) {
			t.Errorf("%s reads what others wrote: give it a fuzz target, or say in this test through which it is fuzzed (%q is none)", name, through[name])
		}
	}
}

// fuzz.md has a row for each target and no other.
func TestFuzz_everyTargetIsInTheBook(t *testing.T) {
	book, err := os.ReadFile("fuzz.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, found := range regexp.MustCompile("(?m)^\\| `(Fuzz\\w*)`[^|]*\\| `([^`]*)` \\|").FindAllStringSubmatch(string(book), -1) {
		rows[found[2]+" "+found[1]] = true
	}
	for name, all := range fuzzed(t) {
		if name == "" {
			name = "."
		}
		for _, one := range all {
			if !rows[name+" "+one] {
				t.Errorf("fuzz.md has no row for %s of %s", one, name)
			}
			delete(rows, name+" "+one)
		}
	}
	for row := range rows {
		t.Errorf("fuzz.md has a row for %s, which is no target", row)
	}
}
