package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
)

// codeOf is the given number of lines of code.
func codeOf(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "const value%d = compute(%d) // as it was measured\n", i+1, i+1)
	}
	return b.String()
}

// shortened is the text of a message in a log of its own after CodeBlocks, and its handle.
func shortened(t testing.TB, text string, letter bool) string {
	t.Helper()
	l := ruletest.New()
	id := l.User(text)
	l.Quiet(1)
	e, ok := l.Found(t, formOf(letter, &rule.CodeBlocks{}))[id]
	if !ok {
		return text
	}
	if e.Field != rule.Text || e.Saves <= 0 {
		t.Errorf("elided is %s, it saves %d", e.Field, e.Saves)
	}
	return e.Shown
}

func TestCodeBlocks_theLetter(t *testing.T) {
	fifteen, three, four := codeOf(15), codeOf(3), codeOf(4)
	line := func(language string, n int) string {
		return fmt.Sprintf("[Code block: %s, %d lines - truncated to save context]", language, n)
	}
	for _, c := range []struct{ name, text, want string }{
		{"a block", "See:\n```typescript\n" + fifteen + "```\nand go on.\n", "See:\n" + line("typescript", 15) + "\nand go on.\n"},
		{"without a language", "```\n" + four + "```", line("unknown", 4)},
		{"of three lines", "```ts\n" + three + "```", line("ts", 3)},
		{"of one long line", "```\n" + strings.Repeat("x", 4000) + "\n```", line("unknown", 1)},
		{"one that nobody closes stays", "```ts\n" + fifteen, "```ts\n" + fifteen},
		{"a longer fence holds shorter ones", "````md\n```ts\n" + fifteen + "```\n````\nend", line("md", 17) + "\nend"},
		{"a short fence inside a long text is not its end", "````\n" + four + "```\n" + four + "````", line("unknown", 9)},
		{"the fence stands in a list", "- so:\n  ```go\n" + four + "  ```\n- and", "- so:\n  " + line("go", 4) + "\n- and"},
		{"fences of tildes are none", "~~~\n" + fifteen + "~~~", "~~~\n" + fifteen + "~~~"},
		{"lines end as they do elsewhere", "a\r\n```ts\r\n" + strings.ReplaceAll(four, "\n", "\r\n") + "```\r\nb", "a\r\n" + line("ts", 4) + "\r\nb"},
		{"code inside of a line is no block", "use ```" + strings.Repeat("a\n", 90) + "b``` here", "use ```" + strings.Repeat("a\n", 90) + "b``` here"},
		{"smaller than what would stand there", "```\n1\n2\n3\n4\n```", "```\n1\n2\n3\n4\n```"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := shortened(t, c.text, true); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// The text of a block may hold what a replacement would read as a pattern, and stand in the message twice.
func TestCodeBlocks_theRightBlockGoes(t *testing.T) {
	odd := "x = s.replace(/a/, \"$&$1$$\")\n" + codeOf(4)
	text := odd + "```js\n" + odd + "```\n" + odd + "```js\n" + odd + "```\nthe end $&"
	want := odd + "[Code block: js, 5 lines - truncated to save context]\n" + odd + "[Code block: js, 5 lines - truncated to save context]\nthe end $&"
	if got := shortened(t, text, true); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestCodeBlocks_theSoundFormKeepsHeadAndTail(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		text := strings.ReplaceAll("See:\n```typescript title=a.ts\n"+codeOf(15)+"```\nGo on.", "\n", end)
		got := shortened(t, text, false)
		lines := strings.Split(got, end)
		code := strings.Split(codeOf(15), "\n")
		if len(lines) != 8 || lines[1] != "```typescript title=a.ts" || lines[2] != code[0] || lines[3] != code[1] || lines[5] != code[14] || lines[6] != "```" || lines[7] != "Go on." {
			t.Fatalf("got %q", got)
		}
		if !strings.HasPrefix(lines[4], "[winnow ") || !strings.HasSuffix(lines[4], ": code block, typescript, 12 of 15 lines left out]") || !rule.ContainsPlaceholder(lines[4]) {
			t.Errorf("in its place stands %q", lines[4])
		}
	}
}

func TestCodeBlocks_onlyOldMessagesOfTheUser(t *testing.T) {
	text := "```go\n" + codeOf(20) + "```"
	for _, letter := range []bool{true, false} {
		l := ruletest.New()
		old := l.User(text)
		l.Turns(4)
		l.User(text)
		l.Call("read", ruletest.Args{"filePath": "a.md"}, text)
		r := formOf(letter, &rule.CodeBlocks{Age: rule.Age{Turns: 5}})
		if got := l.Found(t, r); len(got) != 1 || got[old].Part != old {
			t.Errorf("letter %v: after five turns %v goes, want %s alone", letter, got, old)
		}
		l = ruletest.New()
		l.User(text)
		l.Turns(4)
		if got := l.Found(t, r); len(got) != 0 {
			t.Errorf("letter %v: after four turns %v goes", letter, got)
		}
	}
}

// What is outside of the blocks stands in what is shown, in its order and to the byte.
func TestCodeBlocks_touchNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"```", "````", "~~~", "go", "\n", "\n", "\n", "\r\n", "  ", "$&", codeOf(2), codeOf(6), "text `x` text"}), 0, 40).Draw(t, "text")
		text := strings.Join(pieces, "")
		l := ruletest.New()
		id := l.User(text)
		for _, letter := range []bool{true, false} {
			for _, e := range formOf(letter, &rule.CodeBlocks{}).Find(l.Window()).Elisions {
				if e.Part != id {
					continue
				}
				rest := text
				for line := range strings.Lines(e.Shown) {
					if rule.ContainsPlaceholder(line) {
						before, _, _ := strings.Cut(line, "[")
						if !strings.Contains(rest, before) {
							t.Fatalf("%q is not of the text %q", before, text)
						}
						continue
					}
					at := strings.Index(rest, line)
					if at < 0 {
						t.Fatalf("%q is not of what follows in %q", line, text)
					}
					rest = rest[at+len(line):]
				}
				if len(e.Shown) >= len(text) {
					t.Fatalf("%d bytes became %d", len(text), len(e.Shown))
				}
			}
		}
	})
}
