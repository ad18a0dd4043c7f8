package tools

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// shelf is an engine that has one part.
type shelf struct{ part report.Whole }

func (s shelf) Whole(_ context.Context, id, part string) (report.Whole, error) {
	if part != s.part.Handle {
		return report.Whole{}, &winnow.Error{Code: winnow.NotFound, Op: "read",
			Err: fmt.Errorf("there is no part %s", part), Hint: "words for people"}
	}
	return s.part, nil
}

func text(text string) Recall { return Recall{shelf{report.Whole{Handle: "k3f9a2", Text: text}}} }

func TestRecall_pages(t *testing.T) {
	few := "one\ntwo\nthree\nfour\nfive\n"
	for _, c := range []struct {
		name, text string
		in         args
		want       string
	}{
		{"all of it", few, args{}, few + "\n(All of it, 5 lines.)"},
		{"no newline at the end", "one\ntwo", args{}, "one\ntwo\n\n(All of it, 2 lines.)"},
		{"a piece", few, args{"offset": 2, "limit": 2}, "two\nthree\n\n(Lines 2-3 of 5. Go on with offset 4.)"},
		{"the end", few, args{"offset": 5, "limit": 9}, "five\n\n(Lines 5-5 of 5.)"},
		{"so many lines at once", numbers(1, 401), args{},
			numbers(1, 400) + "\n(Lines 1-400 of 401. Go on with offset 401.)"},
		{"as many as may be", numbers(1, 2001), args{"limit": 5000},
			numbers(1, 2000) + "\n(Lines 1-2,000 of 2,001. Go on with offset 2001.)"},
		{"nothing", "", args{}, "(It is empty.)"},
		{"a long line", strings.Repeat("x", 2000) + "y", args{"offset": 2}, "y\n\n(Lines 2-2 of 2.)"},
		{"what is no UTF-8", "a\xffb", args{}, "a\uFFFDb\n\n(All of it, 1 line.)"},
		{"a pattern", numbers(1, 30), args{"pattern": "^1?[05]$"},
			"3- 3\n4- 4\n5: 5\n6- 6\n7- 7\n8- 8\n9- 9\n10: 10\n11- 11\n12- 12\n13- 13\n14- 14\n15: 15\n16- 16\n17- " +
				"17\n\n(3 matching lines of 30 lines.)"},
		{"far apart", numbers(1, 30), args{"pattern": "^(1|30)$"},
			"1: 1\n2- 2\n3- 3\n--\n28- 28\n29- 29\n30: 30\n\n(2 matching lines of 30 lines.)"},
		{"a pattern from a line on", numbers(1, 30), args{"pattern": "^(1|30)$", "offset": 29},
			"29- 29\n30: 30\n\n(1 matching line of 30 lines.)"},
		{"a pattern without a match", few, args{"pattern": "six"}, "(No line matches, of 5 lines.)"},
		{"a pattern, so many lines", numbers(1, 30), args{"pattern": "^(1|30)$", "limit": 4},
			"1: 1\n2- 2\n3- 3\n--\n28- 28\n\n(2 matching lines of 30 lines. Go on with offset 29.)"},
		{"lines that a tool numbered", "  100→a\n  101→b\n  102→c", args{"offset": 101},
			"  101→b\n  102→c\n\n(Lines 101-102 of 102.)"},
		{"all of them", "<file>\n00001| a\n00002| b\n</file>", args{},
			"<file>\n00001| a\n00002| b\n</file>\n\n(All of it, 4 lines.)"},
		{"a pattern in them", "  100→a\n  101→b\n  102→c\n  103→d", args{"pattern": "a", "limit": 2},
			"100:   100→a\n101-   101→b\n\n(1 matching line of 4 lines. Go on with offset 102.)"},
	} {
		c.in["name"] = "k3f9a2"
		if got := newBench(t).run(text(c.text), c.in).Output; got != c.want {
			t.Errorf("%s: got\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

func TestRecall_saysWhatIsWrong(t *testing.T) {
	b := newBench(t)
	b.fails(text("x"), args{}, `needs the argument "name"`)
	b.fails(text("x"), args{"name": "nosuch"}, "nothing has the name nosuch", "there is no part nosuch")
	b.fails(text("x"), args{"name": "k3f9a2", "offset": 2}, "1 line", "behind its end")
	b.fails(text("x"), args{"name": "k3f9a2", "pattern": "("}, "not a regular expression")
	b.fails(text("x"), args{"name": "k3f9a2", "pattern": strings.Repeat("x", 1001)}, "1,001 bytes")
	b.fails(text("x"), args{"name": "k3f9a2", "limit": 0}, "must be at least 1")
	if _, err := b.try(t.Context(), text("x"), args{"name": "nosuch"}); strings.Contains(err.Error(), "people") {
		t.Errorf("the model is told what is for people: %v", err)
	}
}

// Going on where the last answer says, one comes to the end and misses nothing.
func TestRecall_goesOnToTheEnd(t *testing.T) {
	again := regexp.MustCompile(`\n\(Lines \S+ of \S+?(?:\. Go on with offset (\d+))?\.\)$|\n\(All of it, .*\.\)$`)
	rapid.Check(t, func(r *rapid.T) {
		whole := rapid.StringOf(rapid.SampledFrom([]rune("aé\n\n🎉"))).Draw(r, "text")
		whole = strings.Repeat(whole, rapid.SampledFrom([]int{1, 3, 2000}).Draw(r, "times"))
		var read []string
		for next := "1"; next != ""; {
			got := newBench(t).run(text(whole), args{"name": "k3f9a2", "offset": next,
				"limit": rapid.IntRange(1, 3000).Draw(r, "limit")}).Output
			at := again.FindStringSubmatchIndex(got)
			if at == nil {
				if whole == "" {
					return
				}
				r.Fatalf("no note in %.200q", got)
			}
			if len(got) > recallBytes+200+8000 {
				r.Fatalf("%d bytes at once", len(got))
			}
			read = append(read, strings.TrimSuffix(got[:at[0]], "\n"))
			if next = ""; at[2] >= 0 {
				next = got[at[2]:at[3]]
			}
		}
		got, want := strings.Join(read, "\n"), strings.TrimSuffix(whole, "\n")
		if strings.ReplaceAll(got, "\n", "") != strings.ReplaceAll(want, "\n", "") ||
			strings.Count(got, "\n") < strings.Count(want, "\n") {
			r.Fatalf("read %d bytes of %d", len(got), len(want))
		}
	})
}

func TestRecall_showsArgumentsAndFilesThatWereLeftOut(t *testing.T) {
	picture := session.Part{ID: "prt_9", Type: session.FilePart, Mime: "image/png", Filename: "a.png",
		URL: "data:image/png;base64,AA=="}
	call := report.Whole{Handle: "k3f9a2", Text: "Done.", Target: "a.go",
		Part: session.Part{Type: session.ToolPart, Tool: "write", State: &session.ToolState{
			Input: []byte(`{"filePath":"a.go","content":"package a\n\nvar n = 1\n","mode":7}`), Output: "Done.",
			Attachments: []session.Part{picture}}}}
	b := newBench(t)
	r := b.run(Recall{shelf{call}}, args{"name": "k3f9a2"})
	if want := "Done.\n\n(All of it, 1 line.)"; r.Output != want || len(r.Attachments) != 0 || r.Title != "write a.go" {
		t.Errorf("got %q, titled %q", r.Output, r.Title)
	}
	call.Elided = []rule.Field{rule.Input, rule.Attachments}
	r = b.run(Recall{shelf{call}}, args{"name": "k3f9a2"})
	want := "[argument content]\npackage a\n\nvar n = 1\n[argument filePath]\na.go\n[argument " +
		"mode]\n7\n[result]\nDone.\n\n(All of it, 10 lines.)"
	if r.Output != want || len(r.Attachments) != 1 || r.Attachments[0].URL != picture.URL || r.Attachments[0].ID != "" {
		t.Errorf("got\n%s\nwith %d files", r.Output, len(r.Attachments))
	}
	r = b.run(Recall{shelf{report.Whole{Handle: "k3f9a2", Part: picture}}}, args{"name": "k3f9a2"})
	if r.Output != "Attached: 1 file." || len(r.Attachments) != 1 {
		t.Errorf("of a file: %q, %d files", r.Output, len(r.Attachments))
	}
}
