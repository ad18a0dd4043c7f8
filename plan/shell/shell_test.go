package shell_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/shelltest"
	"github.com/winnowhq/winnow/plan/shell"
)

func TestCases_whatCannotBeParsedIsUnknown(t *testing.T) {
	for _, c := range shelltest.Cases {
		_, err := shell.Parse(c.Command)
		if unknown := errors.Is(err, shell.ErrUnknown); unknown != c.Unknown || unknown != (err != nil) {
			t.Errorf("%s: %v, want it unknown: %v", c.Command, err, c.Unknown)
		}
	}
}

func TestParse_whatSurelyRuns(t *testing.T) {
	for text, want := range map[string]string{
		"a; b":                                "a surely, b surely",
		"a && b && c":                         "a surely, b succeeding, c succeeding",
		"a || b && c":                         "a surely, b perhaps, c perhaps",
		"a | b & c":                           "a surely, b surely, c surely",
		"(a; b) && { c; }":                    "a surely, b surely, c succeeding",
		"if a; then b; elif c; then d; fi":    "a surely, b perhaps, c perhaps, d perhaps",
		"while a; do b; done":                 "a surely, b perhaps",
		"for i in 1; do a; done":              "a perhaps",
		"case x in x) a;; esac":               "a perhaps",
		"f() { a; }; f; b":                    "f surely, a perhaps, b surely",
		"f() { f; a; }; f":                    "f surely, f perhaps, a perhaps",
		"a $(b && c)":                         "b surely, c succeeding, a surely",
		"sh -c 'a && b'; c":                   "sh surely, a surely, b succeeding, c surely",
		"x && sh -c 'a; b'":                   "x surely, sh succeeding, a succeeding, b succeeding",
		"find . -exec a ';' | xargs b":        "find surely, a perhaps, xargs surely, b perhaps",
		"time a; ! b; coproc c":               "a surely, b surely, c surely",
		"ssh host 'a; b'":                     "ssh surely, a perhaps, b perhaps",
		"bash <<'X'\na\nX\n":                  "bash surely, a surely",
		"echo a | bash -s":                    "echo surely, bash surely, a surely",
		"a <<X\n$(b)\nX":                      "b surely, a surely",
		"[[ $(a) > $(b) ]]":                   "a surely, b surely, [[ surely",
		"export X=$(a)":                       "a surely, export surely",
		"function f { a; }\nf && b":           "f surely, a perhaps, b succeeding",
		"echo ${x:-$(a)} \"$((1+$(b)))\" `c`": "a surely, b surely, c surely, echo surely",
		"select x in 1; do a; done":           "a perhaps",
		"a\\\n b; # c\nd":                     "a surely, d surely",
	} {
		script, err := shell.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var all []string
		for _, c := range script.Commands {
			if len(c.Words) > 0 {
				all = append(all, c.Words[0].Text+" "+[]string{"surely", "succeeding", "perhaps"}[c.When])
			}
		}
		if got := strings.Join(all, ", "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestParse_words(t *testing.T) {
	for text, want := range map[string]string{
		`a 'b c' "d e" f\ g`:                 `a|b c|d e|f g`,
		`a "\$x \q \"" '\n'`:                 `a|$x \q "|\n`,
		`a $'it\'s\t\x41\101é'`:              "a|it's\tAAé~",
		`a $x "b$x" *.go {c,d} ~ ~x "~" '*'`: `a|$x~|b$x~|*.go~|{c,d}~|~~|~x~|~|*`,
		`a $(b c) "$(d)"`:                    `a|$(b c)~|$(d)~`,
		"a b\\\nc":                           "a|bc",
		`a --x={1..3} a=b [ ]`:               `a|--x={1..3}~|a=b|[|]`,
		`a "" ''`:                            `a||`,
	} {
		script, err := shell.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		c := script.Commands[len(script.Commands)-1]
		var all []string
		for _, w := range c.Words {
			mark := ""
			if !w.Plain() {
				mark = "~"
			}
			all = append(all, w.Text+mark)
		}
		if diff := cmp.Diff(want, strings.Join(all, "|")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestUnwrap_takesOffWhatOnlyAccompanies(t *testing.T) {
	for text, want := range map[string]string{
		"sudo -u root -n a b": "a b", "sudo -- a": "a", "env -i -u X A=1 B=2 a": "a", "timeout -k 1 5 a": "a", "timeout --signal=KILL 5 a": "a", "nice -n5 a": "a", "nice -n 5 a": "a", "nice a": "a",
		"uv run --with x --frozen a": "a", "poetry run a": "a", "npx -p x a": "a", "bundle exec a": "a", "command -v a": "command -v a", "command a": "a", "stdbuf -oL a": "a", "sudo nohup nice a": "a", "env": "env", "sudo": "sudo", "timeout 5": "timeout 5",
		"env -S 'a b'": "env -S a b", "docker exec x a": "docker exec x a", "git status": "git status", "uv sync": "uv sync", "npm run a": "npm run a", "flock x a": "a",
	} {
		script, err := shell.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		inner := shell.Unwrap(script.Commands[0].Words)
		var all []string
		for _, w := range inner {
			all = append(all, w.Text)
		}
		if got := strings.Join(all, " "); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestJoin_isTakenApartAsItWas(t *testing.T) {
	words := []string{"a", "b c", "it's", "", "$x", "a\nb", "*", "~", "A=b", "#", "é"}
	script, err := shell.Parse(shell.Join(words))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(words, script.Commands[0].Texts()); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}

// hostile are pieces of texts that are nested or long beyond measure.
var hostile = []string{"(", "$(", "{ ", "if ", "if a; then ", "`", "\\`", "${a:-", "\"${a:-", "$((", "((", "((1+(", "a && ", "a|", "a;", "<<a\n", "<<a <<b\n", "\"$(", "while ", "while a; do ", "for i in a; do ", "f() ", "f() { ", "<(", "$[", "! ", "case a in (", "case a in a) ", "'", "[[ (", "[[ ! ", "[[ a && ", "$'", "{a,", "*/", "?(", "a=(", "a[", "time ", "coproc ", "function f ", "f() { f; f; }; ",
	"sh -c ", "eval eval ", "sudo ", "env -S ", "xargs ", "\\", "\n", ">a", "let a=", "$((a?", "$((a,", "$((-", "elif a; then b\n", "\x00", "\xff", "\r", "#", "select a in b; do "}

func TestParse_hostileTextsEndInTime(t *testing.T) {
	for _, unit := range hostile {
		for _, n := range []int{1 << 10, shell.Longest, 4 << 20} {
			text := strings.Repeat(unit, n/len(unit))
			script, err := shell.Parse(text)
			if err == nil && len(script.Commands) > 2000 || len(text) > shell.Longest && !errors.Is(err, shell.ErrUnknown) {
				t.Errorf("%q × %d: %v", unit, n/len(unit), err)
			}
			if shell.Beginning(text) == nil {
				t.Errorf("%q × %d: no beginning", unit, n/len(unit))
			}
		}
	}
	deep := strings.Repeat("(", 100_000) + "a" + strings.Repeat(")", 100_000)
	if _, err := shell.Parse(deep[:shell.Longest]); !errors.Is(err, shell.ErrUnknown) {
		t.Errorf("100,000 parentheses: %v", err)
	}
	if _, err := shell.Parse(strings.Repeat("(", 50) + "a" + strings.Repeat(")", 50)); err != nil {
		t.Errorf("50 parentheses: %v", err)
	}
	calls := "a() { b; b; }; b() { c; c; }; c() { d; d; }; d() { e; e; }; e() { f; f; }; f() { g; g; }; g() { h; h; }; h() { i; i; }; i() { j; j; }; j() { k; k; }; k() { l; l; }; a; a; a; a; a; a; a; a"
	if _, err := shell.Parse(calls); !errors.Is(err, shell.ErrUnknown) {
		t.Errorf("functions that call functions: %v", err)
	}
}

// FuzzParse holds what every user of a script relies on, and that a real shell takes words that were joined for what they were.
func FuzzParse(f *testing.F) {
	for _, c := range shelltest.Cases {
		f.Add(c.Command)
	}
	for _, unit := range hostile {
		f.Add(strings.Repeat(unit, 20))
	}
	sh, _ := exec.LookPath("sh")
	f.Fuzz(func(t *testing.T, text string) {
		script, err := shell.Parse(text)
		shell.Beginning(text)
		if err != nil {
			if !errors.Is(err, shell.ErrUnknown) || script != nil {
				t.Fatalf("%q: %v, %v", text, script, err)
			}
			return
		}
		for i, outer := range script.Outer {
			if outer > i || outer < 0 {
				t.Fatalf("%q: environment %d is begun in %d", text, i, outer)
			}
		}
		for i := range script.Commands {
			c := &script.Commands[i]
			if c.Env < 0 || c.Env >= len(script.Outer) || len(c.Words)+len(c.Assigns)+len(c.Redirects) == 0 {
				t.Fatalf("%q: %+v", text, c)
			}
			if len(c.Words) > 0 {
				if inner := shell.Unwrap(c.Words); len(inner) == 0 {
					t.Fatalf("%q: nothing is left of %+v", text, c.Words)
				}
			}
		}
		if sh == "" || len(text) > 200 || script.Odd || script.Functions() || len(script.Commands) != 1 || !utf8.ValidString(text) {
			return
		}
		c := &script.Commands[0]
		if c.Keyword || c.Negated || c.Group != shell.Bare || c.Depth > 0 || c.After != "" || len(c.Assigns)+len(c.Redirects) > 0 || len(c.Words) == 0 {
			return
		}
		quoted := "printf '<%s>'"
		want := ""
		for _, w := range c.Words {
			if !w.Plain() {
				return
			}
			quoted += " " + shell.Join([]string{"x" + w.Text})
			want += "<x" + w.Text + ">"
		}
		out, err := exec.Command(sh, "-c", quoted).Output()
		if err != nil || string(out) != want {
			t.Fatalf("%q: a shell has %q (%v), want %q", text, out, err, want)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct{ name, text string }{{"short", "go test ./... 2>&1 | tail -20"}, {"document", "cat > notes.md <<'EOF'\n" + strings.Repeat("It's (one) of {many} lines.\n", 400) + "EOF"}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				if _, err := shell.Parse(c.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
