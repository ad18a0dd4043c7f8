package draw

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/agent/chat/internal/drawtest"
	"github.com/winnowhq/winnow/look/tui"
)

// tagged writes colours and weights as words, so that a golden file can be read.
var tagged = strings.NewReplacer("\x1b[m", "⟨⟩", "\x1b[1m", "⟨bold⟩", "\x1b[2m", "⟨faint⟩", "\x1b[3m", "⟨italic⟩",
	"\x1b[9m", "⟨struck⟩", "\x1b[1;3m", "⟨bold italic⟩", "\x1b[3;1m", "⟨bold italic⟩", "\x1b[2;1m", "⟨faint bold⟩", "\x1b[36m", "⟨accent⟩", "\x1b[32m", "⟨good⟩",
	"\x1b[33m", "⟨warn⟩", "\x1b[31m", "⟨bad⟩", "\x1b[35m", "⟨keyword⟩", "\x1b[4;36m", "⟨link⟩", "\x1b[1;4m", "⟨title⟩", "\x1b[1;36m", "⟨bold accent⟩", "\x1b", "␛")

func sample(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "sample.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMarkdown_look(t *testing.T) {
	text := sample(t)
	for _, width := range []int{120, 80, 40, 20} {
		var b strings.Builder
		lines := Markdown(text, width, NewStyle(true))
		drawtest.Fits(t, lines, width, len(lines))
		b.WriteString(ansi.Strip(strings.Join(lines, "\n")) + "\n")
		drawtest.Golden(t, fmt.Sprintf("markdown-%d", width), b.String())
	}
	drawtest.Golden(t, "markdown-colour-80", tagged.Replace(strings.Join(Markdown(text, 80, NewStyle(true)), "\n"))+"\n")
	drawtest.Golden(t, "markdown-plain-80", strings.Join(Markdown(text, 80, NewStyle(false)), "\n")+"\n")
}

func TestSpans(t *testing.T) {
	s := NewStyle(true)
	for _, c := range []struct{ text, want string }{
		{"a **bold** b", "a ⟨bold⟩bold⟨⟩ b"},
		{"__bold__ and *it* and _it_", "⟨bold⟩bold⟨⟩ and ⟨italic⟩it⟨⟩ and ⟨italic⟩it⟨⟩"},
		{"***both***", "⟨bold italic⟩both⟨⟩"},
		{"~~gone~~ ~one~", "⟨struck⟩gone⟨⟩ ~one~"},
		{"**bold `a*b` end**", "⟨bold⟩bold ⟨⟩⟨bold accent⟩a*b⟨⟩⟨bold⟩ end⟨⟩"},
		{"`a` ``b ` c`` `` ` ``", "⟨accent⟩a⟨⟩ ⟨accent⟩b ` c⟨⟩ ⟨accent⟩`⟨⟩"},
		{"2 * 3 * 4, snake_case_name, a*b", "2 * 3 * 4, snake_case_name, a*b"},
		{"**not closed", "**not closed"},
		{"`not closed", "`not closed"},
		{`\*plain\*`, "*plain*"},
		{"*it **both** it*", "⟨italic⟩it ⟨⟩⟨bold italic⟩both⟨⟩⟨italic⟩ it⟨⟩"},
		{"[the docs](https://go.dev/a_(b)) end", "⟨link⟩the docs⟨⟩⟨faint⟩ (https://go.dev/a_(b))⟨⟩ end"},
		{"see https://go.dev/x, and (https://go.dev).", "see ⟨link⟩https://go.dev/x⟨⟩, and (⟨link⟩https://go.dev⟨⟩)."},
		{"<https://go.dev>", "⟨link⟩https://go.dev⟨⟩"},
		{"a[0](x) and [x", "a⟨link⟩0⟨⟩⟨faint⟩ (x)⟨⟩ and [x"},
		{"![picture](a.png)", "⟨link⟩picture⟨⟩⟨faint⟩ (a.png)⟨⟩"},
	} {
		runs := spans(c.text, s, Look(""), false)
		if got := tagged.Replace(paintRuns(runs, 0, math.MaxInt)); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// Where the terminal knows links, an address is shown only where the label pretends to be another
// one, and only addresses of the web are links at all.
func TestSpans_links(t *testing.T) {
	s := NewStyle(true)
	s.Links = true
	link := func(to, label string) string {
		return "␛]8;;" + to + "␛\\⟨link⟩" + label + "⟨⟩␛]8;;␛\\"
	}
	for _, c := range []struct{ text, want string }{
		{"[docs](https://go.dev/doc)", link("https://go.dev/doc", "docs")},
		{"[go.dev](https://go.dev/doc)", link("https://go.dev/doc", "go.dev")},
		{"[bank.example](https://evil.example)", link("https://evil.example", "bank.example") +
			"⟨faint⟩ (https://evil.example)⟨⟩"},
		{"[x](javascript:alert)", "⟨link⟩x⟨⟩⟨faint⟩ (javascript:alert)⟨⟩"},
		{"https://go.dev.", link("https://go.dev", "https://go.dev") + "."},
	} {
		painted := paintRuns(spans(c.text, s, Look(""), false), 0, math.MaxInt)
		if got := tagged.Replace(painted); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
		if safe := Safe(painted); safe != painted {
			t.Errorf("%q: as it is sent to the terminal: %q", c.text, safe)
		}
	}
	if got, want := Safe("a \x1b]8;;javascript:x\x1b\\b \x1b]52;c;eA==\x07"), "a ␛]8;;javascript:x␛\\b ␛]52;c;eA==␇"; got != want {
		t.Errorf("what is not ours: %q, want %q", got, want)
	}
}

// While an answer is written nothing of it goes away again, but for a mark or two.
func TestProse_growsAsItIsWritten(t *testing.T) {
	text := sample(t)
	for _, color := range []bool{true, false} {
		for _, width := range []int{100, 60} {
			p := Prose{Width: width, Style: NewStyle(color)}
			tall := 0
			for i, r := range text {
				p.Write(string(r))
				n := len(p.All())
				if n < tall {
					t.Fatalf("colour %v, %d columns: %d lines after %q, and %d before it", color, width, n,
						text[max(0, i-40):i+1], tall)
				}
				tall = n
			}
		}
	}
}

// What is half written looks as it will.
func TestProse_halfWritten(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a **bo", "  a ⟨bold⟩bo⟨⟩"},
		{"a **bo*", "  a ⟨bold⟩bo⟨⟩"},
		{"a **", "  a"},
		{"a `co", "  a ⟨accent⟩co⟨⟩"},
		{"see [docs](https://go.d", "  see ⟨link⟩docs⟨⟩"},
		{"```go\nx\n``", "    x"},
		{"| a | b |\n|--", "  ⟨bold⟩a⟨⟩⟨faint⟩ │ ⟨⟩⟨bold⟩b⟨⟩"},
		{"##", ""},
	} {
		p := Prose{Width: 60, Style: NewStyle(true)}
		p.Write(c.text)
		if got := strings.TrimRight(tagged.Replace(strings.Join(p.All(), "\n")), " "); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// Cells stand under each other, however wide their letters are.
func TestTable_isAligned(t *testing.T) {
	cell := rapid.SampledFrom([]string{"a", "日本語", "👩‍🔧 fix", "**bold**", "`code`", "größe", "", "a long cell of words",
		"e\u0301\u0301\u0301", "🇩🇪", "x \\| y"})
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(1, 4).Draw(t, "columns")
		var text strings.Builder
		row := func(next func() string) {
			for range columns {
				text.WriteString("| " + next() + " ")
			}
			text.WriteString("|\n")
		}
		row(func() string { return cell.Draw(t, "head") })
		row(func() string { return rapid.SampledFrom([]string{"---", ":-:", "--:"}).Draw(t, "side") })
		for range rapid.IntRange(0, 4).Draw(t, "rows") {
			row(func() string { return cell.Draw(t, "cell") })
		}
		color := rapid.Bool().Draw(t, "colour")
		lines := Markdown(text.String(), 100, NewStyle(color))
		bars := ""
		for i, l := range lines {
			l = ansi.Strip(l)
			var at []string
			for j, r := range l {
				if r == '│' || r == '┼' {
					at = append(at, fmt.Sprint(tui.Columns(l[:j])))
				}
			}
			if got := strings.Join(at, " "); i == 0 {
				bars = got
			} else if got != bars {
				t.Fatalf("line %d has its bars at %s, the first at %s:\n%s", i, got, bars, ansi.Strip(strings.Join(lines, "\n")))
			}
		}
	})
}

func TestCode_colours(t *testing.T) {
	for _, c := range []struct{ language, text, want string }{
		{"go", `x := "a" // why`, `x := ⟨good⟩"a"⟨⟩ ⟨faint⟩// why⟨⟩`},
		{"go", "if n > 10 { return nil }", "⟨keyword⟩if⟨⟩ n > ⟨warn⟩10⟨⟩ { ⟨keyword⟩return⟨⟩ ⟨keyword⟩nil⟨⟩ }"},
		{"py", "def f(): # don't", "⟨keyword⟩def⟨⟩ f(): ⟨faint⟩# don't⟨⟩"},
		{"sh", "echo ${#a} 'b'", "⟨keyword⟩echo⟨⟩ ${#a} ⟨good⟩'b'⟨⟩"},
		{"rust", "fn f<'a>(x: &'a str)", "⟨keyword⟩fn⟨⟩ f<'a>(x: &'a str)"},
		{"sql", "SELECT 1", "⟨keyword⟩SELECT⟨⟩ ⟨warn⟩1⟨⟩"},
		{"diff", "+added", "⟨good⟩+added⟨⟩"},
		{"", "as it is", "⟨accent⟩as it is⟨⟩"},
	} {
		one := codeOf(c.language)
		if got := tagged.Replace(paintRuns(one.line(c.text, NewStyle(true)), 0, math.MaxInt)); got != c.want {
			t.Errorf("%s %q:\n got %s\nwant %s", c.language, c.text, got, c.want)
		}
	}
	lines := Markdown("```go\na /* b\nc */ d\nx := `e\nf` + 1\n```\n", 40, NewStyle(true))
	want := "    a ⟨faint⟩/* b⟨⟩\n    ⟨faint⟩c */⟨⟩ d\n    x := ⟨good⟩`e⟨⟩\n    ⟨good⟩f`⟨⟩ + ⟨warn⟩1⟨⟩"
	if got := tagged.Replace(strings.Join(lines, "\n")); got != want {
		t.Errorf("over lines:\n%s\nwant\n%s", got, want)
	}
}

// Colouring changes no letter of a text.
func TestCode_changesNoLetter(t *testing.T) {
	piece := rapid.SampledFrom([]string{"if x {", `"a`, `"`, "'", "`", `\`, " // b", "/*", "*/", " # g", "--f", "日本 ", `"""`,
		"<!--", "-->", "10.5", "\n", "return nil", "\xff", "-", "+"})
	rapid.Check(t, func(t *rapid.T) {
		name, _, _ := strings.Cut(rapid.SampledFrom(languages).Draw(t, "language").names, " ")
		c := codeOf(name)
		for line := range strings.SplitSeq(strings.Join(rapid.SliceOf(piece).Draw(t, "text"), ""), "\n") {
			line = Clean(line)
			if got := plainText(append([]run{{}}, c.line(line, NewStyle(true))...)); got != line {
				t.Fatalf("%q became %q", line, got)
			}
		}
	})
}

// On a white background every colour has the contrast that small letters need: 4.5 to 1.
func TestLightStyle_canBeRead(t *testing.T) {
	s := LightStyle()
	for name, look := range map[string]Look{"accent": s.Accent, "good": s.Good, "warn": s.Warn, "bad": s.Bad,
		"keyword": s.Keyword, "text": s.Text, "figure": s.Figure, "code": s.Code} {
		var number uint8
		if _, err := fmt.Sscanf(string(look), "38;5;%d", &number); err != nil {
			t.Fatalf("%s is %q: %v", name, look, err)
		}
		for _, ground := range []color.Color{color.White, color.RGBA{0xfd, 0xf6, 0xe3, 0xff}} {
			a, b := luminance(ground), luminance(ansi.IndexedColor(number))
			if ratio := (a + 0.05) / (b + 0.05); ratio < 4.5 {
				t.Errorf("%s: a contrast of %.1f", name, ratio)
			}
		}
	}
	if !Light(color.White) || Light(color.Black) || Light(color.RGBA{0x28, 0x2c, 0x34, 0xff}) ||
		!Light(color.RGBA{0xfd, 0xf6, 0xe3, 0xff}) {
		t.Error("a background is taken for what it is not")
	}
}

// luminance is that of WCAG 2.
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	part := func(v uint32) float64 {
		x := float64(v) / 0xffff
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*part(r) + 0.7152*part(g) + 0.0722*part(b)
}

// BenchmarkMarkdown lays out an answer of 7.7 kB.
func BenchmarkMarkdown(b *testing.B) {
	data, err := os.ReadFile(filepath.Join("testdata", "sample.md"))
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat(string(data), 7_700/len(data)+1)[:7_700]
	for b.Loop() {
		Markdown(text, 80, NewStyle(true))
	}
	b.SetBytes(int64(len(text)))
}
