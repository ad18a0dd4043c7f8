package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/letter"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
)

// Tests of S002 by their numbers, in both forms. t37 is a matter of package view.

func TestS002_t35_inputsAreStrippedOnSupersede(t *testing.T) {
	content := strings.Repeat("A", 1000)
	l := ruletest.New()
	first := l.Call("write", ruletest.Args{"filePath": "/repo/test.txt", "content": content}, "Wrote the file.")
	last := l.Call("write", ruletest.Args{"filePath": "/repo/test.txt", "content": content + "B"}, "Wrote the file.")
	t.Run("letter", func(t *testing.T) {
		got := l.Found(t, formOf(true, &rule.Inputs{}))
		if len(got) != 1 || got[first].Shown != `{"filePath":"/repo/test.txt"}` || got[first].By != last {
			t.Errorf("got %+v, want the input of %s without its content", got, first)
		}
	})
	t.Run("sound", func(t *testing.T) {
		got := l.Found(t, &rule.Inputs{})
		var args map[string]string
		err := json.Unmarshal([]byte(got[first].Shown), &args)
		if err != nil || len(got) != 1 || args["filePath"] != "/repo/test.txt" || !rule.ContainsPlaceholder(args["content"]) || strings.Contains(args["content"], "AAAA") {
			t.Errorf("got %+v, want both arguments of %s, the content as a short marker (%v)", got, first, err)
		}
	})
}

func TestS002_t36_readsSupersedeReads(t *testing.T) {
	l := ruletest.New()
	first := l.Call("read", ruletest.Args{"filePath": "/repo/config.json"}, wholeFile(40))
	other := l.Call("read", ruletest.Args{"filePath": "/repo/other.json"}, wholeFile(40))
	last := l.Call("read", ruletest.Args{"filePath": "/repo/config.json"}, wholeFile(40))
	for _, letter := range []bool{true, false} {
		t.Run(form(letter), func(t *testing.T) {
			got := l.Found(t, formOf(letter, &rule.Files{}))
			if len(got) != 1 || got[first].By != last || letter && got[first].Shown != rule.Superseded {
				t.Errorf("got %+v, want %s because of %s, and not %s", got, first, last, other)
			}
		})
	}
}

func TestS002_t42_attachmentsBecomeBreadcrumbs(t *testing.T) {
	for _, letter := range []bool{true, false} {
		t.Run(form(letter), func(t *testing.T) {
			url := data("image/png", 12*1024)
			l := ruletest.New()
			file := l.Attach("image.png", "image/png", url)
			shot := l.Call("screenshot", ruletest.Args{"page": "home"}, "Taken.")
			returned(l, shot, session.Part{Filename: "shot.png", Mime: "image/png", URL: url})
			l.Quiet(1)
			got := l.Found(t, formOf(letter, &rule.AttachedFiles{Age: rule.Age{Steps: 1}}))
			want := "image.png, image/png, 12 KB left out]"
			if letter {
				want = "[File: image.png, 12KB]"
			}
			if !strings.HasSuffix(got[file].Shown, want) || len(got) != 2 {
				t.Errorf("got %+v, want %s and %s, the first as %q", got, file, shot, want)
			}
			rendered := view.Render(l.Messages, rule.NewLedger(got[file], got[shot]))
			body, err := anthropic.Encode(rendered, wire.Options{Model: "m", MaxTokens: 9})
			if err != nil {
				t.Fatal(err)
			}
			text, err := body.JSON()
			if sent := string(text); err != nil || strings.Contains(sent, "base64") || strings.Contains(sent, url[40:80]) || !strings.Contains(sent, "Taken.") {
				t.Errorf("what is sent holds data, or not the text of the call (%v): %.300s", err, sent)
			}
		})
	}
}

// S002 7 masks file parts of any type. Of others than images and PDFs no model is sent a byte, so that there is nothing to mask.
func TestS002_t42_otherFilesAreNotSent(t *testing.T) {
	for _, mime := range []string{"application/zip", "audio/mpeg", "text/plain", "application/x-directory"} {
		url := data(mime, 12*1024)
		l := ruletest.New()
		l.Attach("pebbles", mime, url)
		call := l.Call("fetch", ruletest.Args{"path": "pebbles"}, "Fetched.")
		returned(l, call, session.Part{Filename: "pebbles", Mime: mime, URL: url})
		l.Quiet(1)
		if got := l.Found(t, letter.Attachments()); len(got) != 0 {
			t.Errorf("%s: got %+v", mime, got)
		}
		body, err := anthropic.Encode(l.Messages, wire.Options{Model: "m", MaxTokens: 9})
		if err != nil {
			t.Fatal(err)
		}
		text, err := body.JSON()
		if sent := string(text); err != nil || strings.Contains(sent, "base64") || strings.Contains(sent, url[40:80]) {
			t.Errorf("%s: what is sent holds data (%v): %.300s", mime, err, sent)
		}
	}
}

func TestS002_t43_oldCodeBlocksAreTruncated(t *testing.T) {
	for _, letter := range []bool{true, false} {
		t.Run(form(letter), func(t *testing.T) {
			l := ruletest.New()
			old := l.User("Mind this:\n```typescript\n" + codeOf(15) + "```\nand this:\n```\n" + codeOf(3) + "```")
			r := formOf(letter, &rule.CodeBlocks{Age: rule.Age{Turns: 5}})
			l.Turns(4)
			if got := l.Found(t, r); len(got) != 0 {
				t.Errorf("after four turns %+v goes", got)
			}
			l.Turns(1)
			shown := l.Found(t, r)[old].Shown
			want := "12 of 15 lines left out]\n"
			short := "and this:\n```\n" + codeOf(3) + "```"
			if letter { // its document knows no shortest block
				want = "Mind this:\n[Code block: typescript, 15 lines - truncated to save context]\nand this:"
				short = "and this:\n[Code block: unknown, 3 lines - truncated to save context]"
			}
			if !strings.Contains(shown, want) || !strings.HasSuffix(shown, short) {
				t.Errorf("after five turns it is %q, want in it %q and %q", shown, want, short)
			}
		})
	}
}

// A part that its product compacted is left alone by every rule, whatever the rule would do with it.
func TestS002_t45_compactedPartsAreSkipped(t *testing.T) {
	trace := "Error: cannot open the file\n" + strings.Repeat("  at Object.read (internal/modules/loader:12)\n", 30)
	twice := func(tool string, args ruletest.Args, output string) func(*ruletest.Log) string {
		return func(l *ruletest.Log) string {
			id := l.Call(tool, args, output)
			l.Call(tool, args, output)
			return id
		}
	}
	pictured := func(l *ruletest.Log) string {
		id := l.Call("screenshot", ruletest.Args{}, "Taken.")
		returned(l, id, session.Part{Mime: "image/png", URL: data("image/png", 5000)})
		l.Quiet(1)
		return id
	}
	reread := twice("read", ruletest.Args{"filePath": "a.go"}, wholeFile(40))
	for _, c := range []struct {
		name string
		rule rule.Rule
		log  func(*ruletest.Log) string // returns the part that goes
	}{
		{"files, letter", formOf(true, &rule.Files{}), reread},
		{"files, sound", &rule.Files{}, reread},
		{"inputs, letter", formOf(true, &rule.Inputs{}), twice("write", ruletest.Args{"filePath": "a.go", "content": page}, "Done.")},
		{"inputs, sound", &rule.Inputs{}, twice("write", ruletest.Args{"filePath": "a.go", "content": page}, "Done.")},
		{"urls, letter", formOf(true, &rule.URLs{}), twice("webfetch", ruletest.Args{"url": "https://a.example"}, page)},
		{"urls, sound", &rule.URLs{}, twice("webfetch", ruletest.Args{"url": "https://a.example"}, page)},
		{"queries, letter", formOf(true, &rule.Queries{}), twice("bash", ruletest.Args{"command": "ls -la"}, page)},
		{"queries, sound", &rule.Queries{}, twice("bash", ruletest.Args{"command": "ls -la"}, page)},
		{"snapshots, letter", formOf(true, &rule.Snapshots{Keep: 1}), twice("snapshot", ruletest.Args{}, page)},
		{"snapshots, sound", &rule.Snapshots{Keep: 1}, twice("browser_snapshot", ruletest.Args{}, page)},
		{"retries, letter", formOf(true, &rule.Retries{}), failedOnce(trace)},
		{"retries, sound", &rule.Retries{}, failedOnce(trace)},
		{"errors, letter", formOf(true, &rule.Errors{}), failedOnce(trace)},
		{"errors, sound", &rule.Errors{}, failedOnce(trace)},
		{"attachments, letter", formOf(true, &rule.AttachedFiles{}), pictured},
		{"attachments, sound", &rule.AttachedFiles{}, pictured},
		{"duplicates", &rule.Duplicates{}, reread},
		{"todos", &rule.Todos{}, twice("todowrite", ruletest.Args{"todos": todos(6)}, listed(6))},
		{"backward, letter", letter.Backward{Protect: 10}, reread},
		{"backward, sound", rule.Backward{Protect: 10}, reread},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			id := c.log(l)
			goes := func(ledger rule.Ledger) bool {
				w := l.Window()
				w.Ledger = ledger
				for _, e := range c.rule.Find(w).Elisions {
					if e.Part == id {
						return true
					}
				}
				return false
			}
			if !goes(rule.Ledger{}) {
				t.Fatalf("%s stays although it is not compacted", id)
			}
			state := *l.Part(id).State
			state.Time = &session.Span{Compacted: 1}
			l.Part(id).State = &state
			if goes(rule.NewLedger(rule.Marks(l.Messages)...)) {
				t.Errorf("%s goes although it is compacted", id)
			}
		})
	}
}

func failedOnce(failure string) func(*ruletest.Log) string {
	return func(l *ruletest.Log) string {
		id := l.Fail("bash", ruletest.Args{"command": "make"}, failure)
		l.Call("bash", ruletest.Args{"command": "make"}, "Done.")
		return id
	}
}

// wholeFile is what a tool shows of a file with the given number of lines.
func wholeFile(lines int) string {
	var b strings.Builder
	b.WriteString("<file>\n")
	for n := range lines {
		fmt.Fprintf(&b, "%05d| line %d, as it stands in the file\n", n+1, n+1)
	}
	fmt.Fprintf(&b, "\n(End of file - total %d lines)\n</file>", lines)
	return b.String()
}

func form(letter bool) string {
	if letter {
		return "letter"
	}
	return "sound"
}

func TestFiles_theLetterClaimsWhatIsMeasured(t *testing.T) {
	l := ruletest.New()
	first := l.Call("read", ruletest.Args{"filePath": "a.go"}, page)
	l.Call("read", ruletest.Args{"filePath": "a.go"}, page)
	found := l.Found(t, formOf(true, &rule.Files{}))
	facts := rule.NewFacts(token.Chars4{})
	before, after := view.Tokens(l.Messages, rule.Ledger{}, facts), view.Tokens(l.Messages, rule.NewLedger(found[first]), facts)
	if before-after != found[first].Saves {
		t.Errorf("claimed %d tokens, measured %d", found[first].Saves, before-after)
	}
}
