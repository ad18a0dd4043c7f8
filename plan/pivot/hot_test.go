package pivot

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// worked is a long turn in which a file is edited and checked; its last messages are the tail.
func longTurn() Carrying {
	log := []session.Message{
		said("m1", session.User, "Make the parser faster."),
		ran("t0", "todowrite", `{"todos":[{"content":"old plan","status":"pending"}]}`, "", session.Completed),
		ran("t1", "todowrite", `{"todos":[{"content":"measure","status":"completed"},{"content":"inline next","status":"in_progress"}]}`, "", session.Completed),
	}
	for i := range 12 {
		id := fmt.Sprintf("w%d", i)
		log = append(log,
			ran(id+"r", "read", fmt.Sprintf(`{"filePath":"/repo/part%d.go"}`, i),
				strings.Repeat("a line of the part\n", 120), session.Completed),
			ran(id+"b", "bash", `{"command":"cd /repo && go test -run Parse -count 3 ./parse"}`, "ok parse",
				session.Completed),
			ran(id+"l", "bash", `{"command":"cd /repo && git status --short | head -5"}`, " M parse.go", session.Completed),
		)
	}
	log = append(log,
		ran("e1", "edit", `{"filePath":"/repo/parse.go","oldString":"func next()","newString":"func next() (r rune, size int) {\n\treturn\n}"}`, "ok", session.Completed),
		ran("e2", "edit", `{"filePath":"/repo/secret.env","oldString":"a","newString":"KEY=do-not-tell"}`, "ok",
			session.Completed),
		ran("x1", "bash", `{"command":"go vet ./parse ./lex"}`, "parse.go:3: unused", session.Failed),
		ran("x2", "bash", `{"command":"ls /repo/lexer"}`, "ls: cannot access '/repo/lexer': No such file or directory",
			session.Failed),
		ran("x3", "bash", `{"command":"git log --format=%H > hashes.txt"}`, "", session.Completed),
		ran("tail", "read", `{"filePath":"/repo/parse.go"}`, "package parse", session.Completed),
	)
	n := len(log)
	return Carrying{Log: log, Cut: Cut{Fold: log[:n-1], Tail: log[n-1:]}, Facts: facts(),
		Settings: Settings{UserMessages: DefaultUserMessages}, Directory: "/repo"}
}

func TestCarry_keepsWhatTheWorkGoesOnWith(t *testing.T) {
	text, told := Carry(longTurn())
	for _, want := range []string{
		`- bash {"command":"cd /repo && go test -run Parse -count 3 ./parse"}`,
		`- bash {"command":"go vet ./parse ./lex"} (failed)`,
		`- bash {"command":"ls /repo/lexer"} (failed)`,
		`- bash {"command":"git log --format=%H > hashes.txt"}`,
		"- and 24 that only looked\n",
		"- inline next (in_progress)",
		"Put into parse.go:\n\n> func next() (r rune, size int) {\n> \treturn\n> }",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("the carry-over has %q %d times, want once:\n%s", want, strings.Count(text, want), text)
		}
	}
	for _, gone := range []string{"old plan", "- todowrite", "git status"} {
		if strings.Contains(text, gone) {
			t.Errorf("the carry-over has %q:\n%s", gone, text)
		}
	}
	if told.Hot != 6 {
		t.Errorf("it tells of %d pieces, want 6", told.Hot)
	}
}

func TestCarry_quotesNothingThatIsProtected(t *testing.T) {
	c := longTurn()
	c.Guard = &rule.Guard{Paths: []string{"**/*.env"}}
	if text, _ := Carry(c); strings.Contains(text, "do-not-tell") {
		t.Errorf("a protected file is quoted:\n%s", text)
	}
}

func TestCarry_quotesNothingThatAnElisionHides(t *testing.T) {
	c := longTurn()
	c.Ledger = rule.NewLedger(rule.Elision{Message: "e1", Part: "e1:0", Field: rule.Input})
	if text, _ := Carry(c); strings.Contains(text, "Put into parse.go") {
		t.Errorf("arguments that an elision hides are quoted:\n%s", text)
	}
}

func TestCarry_whatAFileWasGivenGoesWithTheFile(t *testing.T) {
	for name, later := range map[string]session.Message{
		"written anew": ran("later", "write", `{"filePath":"/repo/parse.go","content":"package parse // anew"}`, "ok",
			session.Completed),
		"deleted": ran("later", "delete", `{"filePath":"/repo/parse.go"}`, "ok", session.Completed),
	} {
		c := longTurn()
		c.Cut.Tail = append([]session.Message{}, later)
		c.Log = append(c.Log[:len(c.Log)-1:len(c.Log)-1], later)
		if text, _ := Carry(c); strings.Contains(text, "func next() (r rune") {
			t.Errorf("%s: what an edit had put into it is kept:\n%s", name, text)
		}
	}
}

func TestCarry_repeatsNoCallOfTheTail(t *testing.T) {
	c := longTurn()
	again := ran("again", "bash", `{"command":"cd /repo && go test -run Parse -count 3 ./parse"}`, "ok parse",
		session.Completed)
	c.Log = append(c.Log[:len(c.Log):len(c.Log)], again)
	c.Cut.Tail = c.Log[len(c.Log)-2:]
	if text, _ := Carry(c); strings.Contains(text, `- bash {"command":"cd /repo && go test`) {
		t.Errorf("a call that stays verbatim is carried as well:\n%s", text)
	}
}

func TestCarry_whatIsHotStaysWithinItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := longTurn()
		c.Facts = rule.NewFacts(token.Chars4{})
		c.Settings.UserMessages = rapid.SampledFrom([]int{0, 100, 2_000, 20_000}).Draw(t, "user messages")
		n := rapid.IntRange(1, len(c.Log)).Draw(t, "cut")
		c.Cut.Fold, c.Cut.Tail = c.Log[:n], c.Log[n:]
		text, _ := Carry(c)
		folded := 0
		for i := range c.Cut.Fold {
			folded += messageTokens(&c.Cut.Fold[i], c.Facts)
		}
		hot := 0
		for _, title := range hotTitles {
			if _, rest, ok := strings.Cut(text, "\n## "+title+"\n"); ok {
				section, _, _ := strings.Cut(rest, "\n## ")
				hot += c.Facts.Count(section)
			}
		}
		if most := min(folded/hotShare, c.Settings.UserMessages/4) + 16; hot > most {
			t.Fatalf("of %d tokens that are folded and %d of the user's words %d are hot, want %d at the most:\n%s",
				folded, c.Settings.UserMessages, hot, most, text)
		}
	})
}
