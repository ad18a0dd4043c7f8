package words

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"github.com/winnowhq/winnow/session"
)

func TestOf_cutsAndFolds(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		"src/main.go:42 lib_util --flag=1": "src main go 42 lib util flag 1 ",
		"Übung NAÏVE Straße ﬁn Ⅳ":          "ubung naive strasse fin iv ",
		"U\u0308bung e\u0301":              "ubung e ",
		"\u0301alone":                      "alone ",
		"привет, Мир":                      "привет мир ",
		"检查ab日本":                           "检 查 ab 日 本 ",
		"ภาษา":                             "ภ า ษ า ",
		"a\x00b\xffc\xed\xa0\x80d":         "a b c d ",
		strings.Repeat("x", 1000):          strings.Repeat("x", longest) + " ",
	} {
		if got := Folded(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestParse_noQueryIsWrong(t *testing.T) {
	for text, want := range map[string]Query{
		"":                 nil,
		`"`:                nil,
		"* ** !!":          nil,
		"a B":              {{Words: []string{"a"}}, {Words: []string{"b"}}},
		"a*":               {{Words: []string{"a"}, Prefix: true}},
		`x"a b"y`:          {{Words: []string{"x"}}, {Words: []string{"a", "b"}}, {Words: []string{"y"}}},
		`"a b"*`:           {{Words: []string{"a", "b"}, Prefix: true}},
		`"a b`:             {{Words: []string{"a", "b"}}},
		"src/main.go AND*": {{Words: []string{"src", "main", "go"}}, {Words: []string{"and"}, Prefix: true}},
	} {
		if diff := cmp.Diff(want, Parse(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	if got, want := Parse(`a "b c"* d.e`).FTS5(), `"a" AND "b c" * AND "d e"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFind_prefersWhereTermsStandTogether(t *testing.T) {
	filler := strings.Repeat("filler ", 100)
	text := "heron " + filler + "lamp " + filler + "the heron and the lamp " + filler
	q := Parse("lamp heron")
	at, met := q.Find(text)
	if at.Terms != 2 || !met[0] || !met[1] {
		t.Fatalf("found %+v, %v", at, met)
	}
	snippet, marks := q.Snippet(text, at)
	var marked []string
	for _, m := range marks {
		marked = append(marked, snippet[m[0]:m[1]])
	}
	if diff := cmp.Diff([]string{"heron", "lamp"}, marked); diff != "" {
		t.Errorf("in %q (-want +got):\n%s", snippet, diff)
	}
	if !strings.HasPrefix(snippet, "…") || !strings.HasSuffix(snippet, "…") {
		t.Errorf("the snippet is %q", snippet)
	}
}

func TestFields_ofInputAreItsValues(t *testing.T) {
	p := session.Part{Type: session.ToolPart, Tool: "bash",
		State: &session.ToolState{Title: "runs", Output: "out", Error: "err", Metadata: []byte(`{"not":"this"}`),
			Input:       []byte(` {"command":"ls \"a\"","list":["x",{"deep":1.5}],"yes":true} `),
			Attachments: []session.Part{{Filename: "f.png", URL: "data:image/png;base64,xyz"}}}}
	want := []Field{{"input", Asked, "bash\nruns\nls \"a\"\nx\n1.5", false}, {"output", Answered, "out\nf.png", false},
		{"error", Answered, "err", false},
		{"output", Answered, "all of it", true}}
	if diff := cmp.Diff(want, Fields(&p, "all of it")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzSnippet_staysWithinItsText(f *testing.F) {
	f.Add("look at src/main.go", "main.go")
	f.Add("日本語 \x00\xff é", `"日本" *`)
	f.Add(strings.Repeat("a b ", 200), `b "a b"*`)
	f.Fuzz(func(t *testing.T, text, words string) {
		last := 0
		for w := range Of(text) {
			if w.Start < last || w.End <= w.Start || w.End > len(text) || len(w.Text) > longest+64 {
				t.Fatalf("word %q at %d to %d after %d of %d", w.Text, w.Start, w.End, last, len(text))
			}
			last = w.End
		}
		// Characters that stand for several, or for one of another script, are words of their own
		// kind: what they fold to may be cut anew.
		if again := Folded(Folded(text)); norm.NFKD.IsNormalString(text) && again != Folded(text) {
			t.Fatalf("folded twice %q is %q", Folded(text), again)
		}
		q := Parse(words)
		if len(q) == 0 {
			return
		}
		at, _ := q.Find(text)
		if at.Start < 0 || at.End < at.Start || at.End > len(text) {
			t.Fatalf("found at %+v of %d", at, len(text))
		}
		snippet, marks := q.Snippet(text, at)
		end := 0
		for _, m := range marks {
			if m[0] < end || m[1] < m[0] || m[1] > len(snippet) {
				t.Fatalf("marks %v in %q", marks, snippet)
			}
			end = m[1]
		}
		if at.Terms > 0 && len(marks) == 0 {
			t.Fatalf("the snippet %q of %+v in %q for %q has no mark", snippet, at, text, words)
		}
		if !utf8.ValidString(snippet) || strings.ContainsAny(snippet, "\n\r\t\x00\x1b") {
			t.Fatalf("the snippet is %q", snippet)
		}
	})
}
