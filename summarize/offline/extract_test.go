package offline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/pivot"
)

func TestSymbols_areWhatCodeDefines(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a.go", "func New() *Table {\n}\n\nfunc (t *Table) Close() error {\n\tconst inner = 1\n}\ntype Table struct{}\nconst Limit = 3\n", "New Close Table Limit"},
		{"a.py", "class Field(Base):\n    def _serialize(self):\n        return 1\nasync def main():\n",
			"Field _serialize main"},
		{"a.ts", "export async function load(x: string) {\nexport interface Props {\nexport const useThing = () => 1\nclass App {\n", "load Props useThing App"},
		{"a.rs", "pub fn run() {}\nimpl Widget {\nenum Kind { A }\n", "run Widget Kind"},
		{"A.java", "public static void main(String[] args) {\nprivate final int x = 3;\n", "main"},
		{"a.md", "# Title\ntext\n```\n# not a heading\n```\n## Part\n", "\"Title\" \"Part\""},
		{"a.sh", "# a comment\nfoo=1\n", ""},
	} {
		if got := strings.Join(symbols(c.file, c.text, 8), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.file, got, c.want)
		}
	}
}

func TestTouches_sayWhatAnEditChanged(t *testing.T) {
	for _, c := range []struct {
		name string
		a    call.Action
		want []string
	}{
		{"a replacement", call.Action{Op: call.Edit, Exact: true, Old: "a\nx := 1\nb", New: "a\nx := 2\nb"},
			[]string{"`x := 1` → `x := 2`"}},
		{"an addition", call.Action{Op: call.Edit, Exact: true, Old: "a\n", New: "a\nnew line\n"},
			[]string{"added `new line`"}},
		{"a removal", call.Action{Op: call.Edit, Exact: true, Old: "a\nold line\n", New: "a\n"},
			[]string{"removed `old line`"}},
		{"a definition", call.Action{Op: call.Edit, Exact: true, Path: "a.go", Old: "func A() {}\n",
			New: "func A() {}\nfunc Bar() {}\n"}, []string{"Bar"}},
		{"a stream edit", call.Action{Op: call.Edit, New: "s/a/b/"}, []string{"`s/a/b/`"}},
		{"nothing", call.Action{Op: call.Edit, Exact: true}, nil},
	} {
		if diff := cmp.Diff(c.want, touches(&c.a)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestGist_isTheProseOfAReport(t *testing.T) {
	text := "Perfect!\n\n# All done\n\nThe parser **works**. It reads three formats.\n\n| a | b |\n|---|---|\n---\nThe steps:\n- first\n"
	if got, want := gist(text, 300), "The parser **works**. It reads three formats. first"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := gist("# Only a title", 300); got != "Only a title " {
		t.Errorf("got %q", got)
	}
}

func TestCommitted_isTheLineOfGit(t *testing.T) {
	for output, want := range map[string]string{
		"hook ran\n[main 7a23400] Fix it\n 1 file changed": "[main 7a23400] Fix it",
		"To github.com:x/y.git\n   a..b  main -> main":     "To github.com:x/y.git",
		"nothing to commit, working tree clean":            "",
	} {
		if got := committed(output); got != want {
			t.Errorf("%q: got %q, want %q", output, got, want)
		}
	}
}

func TestKeyFacts_findPortsAndAddresses(t *testing.T) {
	text := "The port stays 8417, see http://localhost:9000/x and <https://example.org/a?b=1>, or (https://example.org/c)."
	if diff := cmp.Diff([]string{"9000", "8417"}, ports(text)); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"https://example.org/a?b=1", "https://example.org/c", "http://localhost:9000/x"},
		urls(text)); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestBlock_keepsHeadAndTail(t *testing.T) {
	text := strings.Repeat("line\n", 100) + "the end\n\n"
	got := block(text, 40)
	if n := len(got); n < 3 || n > 14 || got[0] != "> line" || got[n-2] != "> …" || got[n-1] != "> the end" {
		t.Errorf("got %q", got)
	}
	if got := block("one\ntwo", 40); !cmp.Equal(got, []string{"> one", "> two"}) {
		t.Errorf("got %q", got)
	}
}

func TestDecisions_areReasonsNotAnnouncements(t *testing.T) {
	log := fixture(t, `[{"role":"user","text":"go"},
		{"role":"assistant","text":"Let me look at the file because I need to see it. I decided to keep the old format, since other programs read it. Should I use a map instead of a list?"},
		{"role":"assistant","text":"Die Ursache ist, dass der Zähler ohne Sperre gelesen wird. J'ai décidé de garder le format actuel du fichier."},
		{"role":"assistant","text":"| instead of | a table row that says nothing |"}]`)
	text := sectionOf(summarize(t, pivot.Request{Log: log, Budget: 2000}), headDecisions)
	for _, want := range []string{"I decided to keep the old format", "Die Ursache ist", "J'ai décidé de garder"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, unwanted := range []string{"Let me look", "Should I use", "table row"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("%q stands in\n%s", unwanted, text)
		}
	}
}

// TestParseChange_readsBackWhatWasWritten holds the merge of summaries to its own format.
func TestParseChange_readsBackWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := change{
			path:    rapid.StringMatching(`[a-z]{1,8}(/[a-z]{1,8}){0,3}\.[a-z]{2}`).Draw(t, "path"),
			creates: rapid.IntRange(0, 1).Draw(t, "creates"), edits: rapid.IntRange(0, 40).Draw(t, "edits"),
			added: rapid.IntRange(0, 999).Draw(t, "added"), removed: rapid.IntRange(0, 999).Draw(t, "removed"),
		}
		if rapid.Bool().Draw(t, "named") {
			want.what = []string{"New, `a: b` → `c: d`"}
		}
		if rapid.Bool().Draw(t, "moved") {
			want.moved = "old/name.go"
		}
		got, ok := parseChange(want.String())
		if !ok {
			t.Fatalf("%q was not understood", want.String())
		}
		if got.String() != want.String() {
			t.Fatalf("got  %s\nwant %s", got.String(), want.String())
		}
	})
}

func TestEstimate_isAboveWhatTokenisersCount(t *testing.T) {
	for text, atLeast := range map[string]int{"hello world": 2, "不要修改文件": 6, "": 0, strings.Repeat("a b ", 100): 100} {
		if got := estimate(text); got < atLeast {
			t.Errorf("%q: got %d, want at least %d", text, got, atLeast)
		}
	}
}

func TestClip_halfAWordIsNoWord(t *testing.T) {
	for _, c := range []struct {
		text string
		size int
		want string
	}{
		{"plain", 10, "plain"},
		{"two plain words", 10, "two plain …"},
		{"import {x} from './store/pebbles.ts'", 28, "import {x} from './store/peb…"},
		{"größer", 3, "gr…"},
	} {
		if got := clip(c.text, c.size); got != c.want {
			t.Errorf("%q in %d bytes: got %q, want %q", c.text, c.size, got, c.want)
		}
	}
}
