package fact_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/pivot/fact"
	"github.com/winnowhq/winnow/session"
)

func small(t testing.TB) *recorded {
	t.Helper()
	file, err := os.ReadFile("testdata/session.json")
	if err != nil {
		t.Fatal(err)
	}
	var s session.Session
	if err := json.Unmarshal(file, &s, session.ReadOptions()); err != nil {
		t.Fatal(err)
	}
	return record("session.json", file, &s)
}

// The same as over recorded sessions, on one that is always here.
func TestCheck_findsWhatIsPlantedInASmallSession(t *testing.T) {
	r := small(t)
	s := r.source()
	summary, err := os.ReadFile("testdata/summary.md")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(2, 71))
	trueSummary(t, r.name, string(summary), s)
	text, planted := r.inventions(rng, string(summary), 60)
	found, _ := judge(t, r, s, text, planted, nil)
	told, honest := r.truths(rng, 100)
	_, struck := judge(t, r, s, told, nil, honest)
	t.Logf("planted %d, found %d: %s", len(planted), found, perKind(planted))
	t.Logf("true %d, struck %d: %s", len(honest), struck, perKind(honest))
	if len(planted) < 40 || len(honest) < 200 {
		t.Errorf("%d planted and %d true are too few", len(planted), len(honest))
	}
}

func TestClaims_areWhatCanBeLookedUp(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"Edited `internal/store/db.go:40` and README.md.", "path internal/store/db.go:40 · path README.md"},
		{"1. First step\n2) Second\n## 3.1 Heading 4\n- [x] done", ""},
		{"Run `go test ./... -v` again; `foo` stays.", "command go test ./... -v · identifier foo"},
		{"```sh\n$ make build # now\nnpm ci\n```", "command make build · command npm ci"},
		{"The `SessionManager.open()` and parse_line(x) use --no-cache and $HOME_DIR",
			"identifier SessionManager.open() · identifier parse_line · identifier --no-cache · identifier $HOME_DIR"},
		{"It read/write and/or client/server CI/CD, e.g. JavaScript on macOS.", ""},
		{"1,234 of 5678 (85%), 12KB, v1.26.0, 2026-01-16, 7 files, about 300, ~40, +40 −2, edited 14 times",
			"number 1,234 · number 5678 · number 85% · number 12KB · number 1.26.0 · number 2026-01-16"},
		{"981965d and 1048576B", "identifier 981965d · number 1048576B"},
		{"commit 7a23400, error TS2305, see https://example.org/a/b?c=1.",
			"identifier 7a23400 · identifier TS2305 · identifier https://example.org/a/b?c=1"},
		{"[the notes](docs/notes.md) and [top](#top)", "path docs/notes.md"},
		{"`the start of a long path/to/some…` and foo_bar… and `cut...`", ""},
		{"~~gone/away.go~~ (unconfirmed) and ~~`x y_z`~~ (unconfirmed)", ""},
		{"three files, ten tests, 12 of 12 passed", ""},
		{"修改foo_bar函数 in `größe.txt`", "identifier foo_bar · path größe.txt"},
		{"C:\\Users\\me\\a.txt and ~/.config/app.toml", "path C:\\Users\\me\\a.txt · path ~/.config/app.toml"},
		{"", ""},
	} {
		var got []string
		for _, claim := range fact.Claims(c.text) {
			got = append(got, string(claim.Kind)+" "+claim.Text)
			if c.text[claim.Start:claim.End] != claim.Text {
				t.Errorf("%q: %q is not at %d:%d", c.text, claim.Text, claim.Start, claim.End)
			}
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " · ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

// call makes a message with one call in it.
func call(tool, input, output string) *session.Message {
	return &session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant},
		Parts: []session.Part{{Type: session.ToolPart, Tool: tool,
			State: &session.ToolState{Status: session.Completed, Input: []byte(input), Output: output}}}}
}

func TestCheck_knowsHowHonestSummariesRewrite(t *testing.T) {
	s := fact.NewSource()
	s.AddFolder("/repo/shop")
	s.AddText("The port is 8417. It took 1500 ms for 1234567 rows, 0.85 of them new; go1.26.1 is installed. Limit: 12,288 bytes. \"a\\nTable_name\\tb\"")
	s.AddMessage(call("bash", `{"command":"cd web && npm run build --if-present -- --mode production 2>&1 | tail -5"}`,
		"src/main.tsx:40:2 - error TS2305\n\x1b[31mweb.config.js\x1b[0m changed"))
	s.AddMessage(call("bash", `{"command":"ls -la internal/store"}`, "total 8\n-rw-r--r-- 1 me me 40 db.go\n"))
	s.AddMessage(call("edit", `{"file_path":"/repo/shop/internal/api/session-manager.ts","new_string":"class SessionManager {\n  open() {}\n}\nfunc (t *Table) Close() error\nSet::insert"}`, "ok"))
	s.AddMessage(call("bash", `{"command":"git mv old/a_file.py lib/sub/"}`, ""))
	s.AddMessage(call("todowrite", `{"todos":["a","b","c","d","e","f","g","h","i","j","k","l","m","n"]}`, ""))
	s.AddMessage(call("bash", `{"command":"ls one two"}`, "one:\nalpha.txt\n\ntwo:\nbeta.txt\n"))
	strikes(t, s, []checked{
		{"`internal/api/session-manager.ts`, `/repo/shop/internal/api/session-manager.ts`, `./internal/api/`, `api/session-manager.ts`", ""},
		{"`internal/store/db.go` was listed", ""},
		{"`internal/api/db.go` was not", "internal/api/db.go"},
		{"`web/src/main.tsx` and `/repo/shop/web/src/main.tsx:40`", ""},
		{"`src/main.tsx:77`", "src/main.tsx:77"},
		{"`one/alpha.txt`, `two/beta.txt`", ""},
		{"`one/beta.txt`", "one/beta.txt"},
		{"`lib/sub/a_file.py`", ""},
		{"`lib/a_file.py`", "lib/a_file.py"},
		{"`npm run build`, `npm run build -- --mode production`", ""},
		{"`npm run build --mode staging`", "npm run build --mode staging"},
		{"`npm run build --if-absent`", "npm run build --if-absent"},
		{"`production build`", ""},
		{"`SessionManager.open()`, `Table.Close`, `Set.insert`, Table_name", ""},
		{"`SessionManager.insert()`", "SessionManager.insert()"},
		{"`--if`", "--if"},
		{"port 8417, 1.5s, 1,234,567 rows, 1.2M rows, 85%, Go 1.26.1, v1.26, 12KB, 12 KiB", ""},
		{"port 8418, 1.7s, 1,234,568 rows, 86%", "8418 · 1.7s · 1,234,568 · 86%"},
		{"14 todos", ""},
		{"15 todos", "15"},
		{"13 files:\n" + strings.Repeat("- a\n", 13), ""},
		{"13 files:\n" + strings.Repeat("- a\n", 14), "13"},
		{"see web.config.js", ""},
		{"Production mode; Table_name; TS2305; TS2306", "TS2306"},
	})
}

func TestMark_strikesSoThatMarkdownStays(t *testing.T) {
	s := fact.NewSource()
	for _, c := range []struct{ text, want string }{
		{"- see internal/foo.go, then", "- see ~~internal/foo.go~~ (unconfirmed), then"},
		{"## The `foo_bar`", "## The ~~`foo_bar`~~ (unconfirmed)"},
		{"**a/b.go**: x", "**~~a/b.go~~ (unconfirmed)**: x"},
		{"`if foo_bar then baz_qux`.", "`if foo_bar then baz_qux` (unconfirmed: `foo_bar`, `baz_qux`)."},
		{"[here](docs/a.md)!", "[here](docs/a.md) (unconfirmed: `docs/a.md`)!"},
		{"~~old~~ a/b.go", "~~old~~ a/b.go (unconfirmed)"},
		{"x\n```go\nfoo_bar()\n```\ny", "x\n```go\nfoo_bar()\n```\n(unconfirmed: `foo_bar()`)\ny"},
		{"  ```sh\n  npm run foo-x\n  ```", "  ```sh\n  npm run foo-x\n  ```\n  (unconfirmed: `npm run foo-x`)"},
		{"```\nfoo_bar", "```\nfoo_bar\n```\n(unconfirmed: `foo_bar`)"},
		{"| a/b.go | 4711 |", "| ~~a/b.go~~ (unconfirmed) | ~~4711~~ (unconfirmed) |"},
		{"nothing to see", "nothing to see"},
	} {
		got := fact.Mark(c.text, fact.Check(c.text, s))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
		if again := fact.Mark(got, fact.Check(got, s)); again != got {
			t.Errorf("marked again, %q became %q", got, again)
		}
	}
}

func TestMark_leavesAloneWhatIsNotThere(t *testing.T) {
	text := "short"
	for _, c := range []fact.Claim{{Text: "x", Start: 3, End: 90}, {Text: "x", Start: -1, End: 1},
		{Text: "other", Start: 0, End: 5}, {Start: 2, End: 2}} {
		if got := fact.Mark(text, []fact.Claim{c}); got != text {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

// FuzzCheck holds for every text: claims are where they say, in order and apart; a text says only
// what it contains; marking keeps every byte and marking again changes nothing.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"", "see `a/b.go:3` and 1,234 foo_bar()\n```sh\n$ go test ./... -v\n",
		"[x](y/z.md) ~~a.go~~ `` `b` ``", "> - [ ] **12.5%** C:\\a\\b.txt {a,b}.ts …", "~~a_b~~ (unconfirmed)",
		"`a b_c` (unconfirmed: `b_c`)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		claims := fact.Claims(text)
		for _, c := range claims {
			if c.Start < last || c.End <= c.Start || c.End > len(text) || text[c.Start:c.End] != c.Text {
				t.Fatalf("claim %+v in %q, behind %d", c, text, last)
			}
			last = c.End
		}
		own := fact.NewSource()
		own.AddText(text)
		own.AddMessage(call("x", text, text))
		fact.Check(text, own)
		marked := fact.Mark(text, claims)
		if len(marked) < len(text) {
			t.Fatalf("marking took something away: %q became %q", text, marked)
		}
		at := 0 // every byte is still there, in its order
		for i := 0; i < len(marked) && at < len(text); i++ {
			if marked[i] == text[at] {
				at++
			}
		}
		if at != len(text) {
			t.Fatalf("marking changed the text: %q became %q", text, marked)
		}
		// In text as people write it, what was marked is no claim any more: elsewhere a mark may
		// make a word of what stands beside it.
		known, plain := map[string]bool{}, !strings.ContainsAny(text, "`~\\")
		for _, c := range claims {
			known[c.Text] = true
			plain = plain && (c.Start == 0 || strings.IndexByte(" \n", text[c.Start-1]) >= 0) &&
				(c.End == len(text) || strings.IndexByte(" \n", text[c.End]) >= 0)
		}
		for _, c := range fact.Claims(marked) {
			if plain && known[c.Text] && !strings.Contains(text, "(unconfirmed") {
				t.Fatalf("%q is claimed again in %q", c.Text, marked)
			}
		}
	})
}

// To look for a path in a listing changes nothing about which commands ran; and what stands in the
// source word for word is true wherever it ends.
func TestCheck_aCommandIsKnownAfterItsListingWasLookedThrough(t *testing.T) {
	s := fact.NewSource()
	s.AddFolder("/repo/shop")
	s.AddMessage(call("bash", `{"command":"ls -la lib/core"}`, "pebble.go\n"))
	s.AddText("Then run if [ -f lamp.sh ]; then")
	strikes(t, s, []checked{
		{"`lib/core/pebble.go` was found by `ls -a -l lib/core`", ""},
		{"`ls -l lib/core -t`", "ls -l lib/core -t"},
		{"`if [ -f lamp.sh ]; then`", ""},
		{"`if [ -f lamp.sh ]; the`", "if [ -f lamp.sh ]; the"},
	})
}
