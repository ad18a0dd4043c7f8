package visible

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func TestText_writesOutWhatATerminalObeys(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\n":                      "plain\ttext\n",
		"a\r\nb\rc":                          "a\nb␍c",
		"\x1b[31mred":                        "␛[31mred",
		"a \x1b]52;c;cm0gLXJm\x07 clipboard": "a ␛]52;c;cm0gLXJm␇ clipboard",
		"echo \x1b]0;\nrm -rf .\x07":         "echo ␛]0;\nrm -rf .␇", // what a sequence encloses stays to be seen
		"nul \x00 back\b del\x7f":            "nul ␀ back␈ del␡",
		"bad \xff utf, c1 \x9b31m":           "bad � utf, c1 �31m",
		"c1 \u009b31m":                       "c1 ⟨U+009B⟩31m",
		"\u202eright\u2069":                  "⟨U+202E⟩right⟨U+2069⟩",
		"mark\u200f \u200e \u061c bom\ufeff": "mark⟨U+200F⟩ ⟨U+200E⟩ ⟨U+061C⟩ bom⟨U+FEFF⟩",
		"tag \U000e0041":                     "tag ⟨U+E0041⟩",
		"hidden \ufe0f\U000e0101":            "hidden \ufe0f⟨U+E0101⟩",
		"line\u2028sep":                      "line⟨U+2028⟩sep",
		"größe 日本 👩\u200d🔧 עברית نام\u200cه\u200cها fl": "größe 日本 👩\u200d🔧 עברית نام\u200cه\u200cها fl",
	} {
		if got := Text(text); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLine_isOneLine(t *testing.T) {
	if got, want := Line(" a\n b\t\tc\r\nd\x1b[2J "), "a b c d␛[2J"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWithoutColour_takesColoursAlone(t *testing.T) {
	for text, want := range map[string]string{"\x1b[1;31mred\x1b[0m \x1b[2K.": "red .", "\x1b[31": "\x1b[31",
		"\x1b]0;x\x07": "\x1b]0;x\x07", "\x1b[\x1b[1m": "\x1b["} {
		if got := WithoutColour(text); got != want {
			t.Errorf("WithoutColour(%q) = %q, want %q", text, got, want)
		}
	}
	if n := len(WithoutColour(strings.Repeat("\x1b[1", 1<<20))); n != 3<<20 {
		t.Errorf("%d bytes are left", n)
	}
}

// pieces are what hostile text is made of.
var pieces = []string{"a", "é", "日", "\n", "\t", "\r", "\r\n", "\x1b", "\x1b[31m", "\x1b]52;c;eA==\x07", "\x1bP",
	"\x9b2J", "\u009b", "\u202e", "\u2066", "\xff", "\xe2", "\x80", "\xae", "\U000e0041", "\x00", "\b", "\x7f",
	"\ufeff", "\u200d"}

func hostile(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "text"), "")
}

// harmful reports what in a text a terminal would obey or nobody would see, "" for nothing.
func harmful(text string) string {
	if !utf8.ValidString(text) {
		return "bytes that are no UTF-8"
	}
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || Unseen(r) {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}

func TestText_isHarmlessAndDoneOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := hostile(t)
		got := Text(in)
		if bad := harmful(got); bad != "" {
			t.Fatalf("Text(%q) = %q has %s", in, got, bad)
		}
		if again := Text(got); again != got {
			t.Fatalf("Text(%q) = %q, and again %q", in, got, again)
		}
	})
}

// However a text is cut into writes, the same is written, and only what has a method of its own is
// obeyed.
func TestWriter_letsNothingThroughThatIsNotItsOwn(t *testing.T) {
	ours := regexp.MustCompile("\x1b\\[[0-9;]+m|\r\x1b\\[K")
	rapid.Check(t, func(t *rapid.T) {
		in := hostile(t)
		var out bytes.Buffer
		w := To(&out)
		for rest := in; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if got, err := w.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatalf("wrote %d of %d: %v", got, n, err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != Text(in) {
			t.Fatalf("got %q, want %q", got, Text(in))
		}
		w.Spans(Span{"1;33", in}, Span{in, in}, Span{"", in})
		w.Progress(in)
		if bad := harmful(ours.ReplaceAllString(out.String(), "")); bad != "" {
			t.Fatalf("%q has %s", out.String(), bad)
		}
	})
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestWriter_tellsThatItFailed(t *testing.T) {
	w := To(broken{})
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("Write hides it")
	}
	if w.Spans(Span{"", "x"}) == nil || w.Progress("x") == nil {
		t.Error("Spans or Progress hides it")
	}
	if To(w) != w {
		t.Error("a writer is wrapped twice")
	}
}

func TestJSON_meansWhatItDid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := hostile(t)
		document, err := json.Marshal(map[string]string{"a": text, text: "b"}, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			t.Fatal(err)
		}
		got := JSON(document)
		if bad := harmful(string(got)); bad != "" {
			t.Fatalf("%s has %s", got, bad)
		}
		var before, after map[string]string
		if err := errors.Join(json.Unmarshal(document, &before), json.Unmarshal(got, &after)); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		for k, v := range before {
			if after[k] != v {
				t.Fatalf("%q became %q", v, after[k])
			}
		}
	})
	if got, want := string(JSON([]byte("{\"a\":\"\u202e \U000e0041 \xff \x7f\"}"))),
		`{"a":"\u202e \udb40\udc41 \ufffd \u007f"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPrintable_isWhatCanBeTypedAgain(t *testing.T) {
	for text, want := range map[string]bool{"ses_1": true, "a\tb": false, "a\nb": false, "a\x1bb": false, "日本": true,
		"\u202ea": false} {
		if Printable(text) != want {
			t.Errorf("Printable(%q) is not %v", text, want)
		}
	}
}

func TestWriter_whatIsWrittenTakesThePlaceOfProgress(t *testing.T) {
	for name, write := range map[string]func(w *Writer){
		"Write": func(w *Writer) { io.WriteString(w, "said\n") },
		"Spans": func(w *Writer) { w.Spans(Span{"", "said\n"}) },
	} {
		var out strings.Builder
		w := To(&out)
		w.Progress("12 of 17")
		write(w)
		write(w)
		if got, want := out.String(), "\r\x1b[K12 of 17\r\x1b[Ksaid\nsaid\n"; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
