package tools

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
)

// placeholder is one as a model sees it.
const placeholder = "[winnow k3f7a2: read src/a.go, 412 lines left out; shown again below]"

func TestWrite_makesAFileAndItsFolders(t *testing.T) {
	b := newBench(t)
	r := b.run(Write{}, args{"filePath": "a/b/c.txt", "content": "one\ntwo"})
	if got := b.text("a/b/c.txt"); got != "one\ntwo" {
		t.Errorf("the file holds %q", got)
	}
	if want := "Done: wrote 2 lines (7 bytes) to a/b/c.txt, a new file."; r.Output != want {
		t.Errorf("got %q, want %q", r.Output, want)
	}
	if r.Metadata["created"] != true || r.Metadata["added"] != 2 || r.Metadata["removed"] != 0 {
		t.Errorf("metadata: got %v", r.Metadata)
	}
}

func TestWrite_bytesAreWhatWasSent(t *testing.T) {
	for _, text := range []string{"", "\n", "a\r\nb\r\n", "\xEF\xBB\xBFx", "日本語 🎉\x00", "no end", "\t \n\n"} {
		b := newBench(t, "a.txt", "old\n")
		b.run(Write{}, args{"filePath": "a.txt", "content": text})
		if got := b.text("a.txt"); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
}

func TestWrite_keepsTheModeAndTheLink(t *testing.T) {
	b := newBench(t, "run.sh", "old\n")
	if err := os.Chmod(b.at("run.sh"), 0o751); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run.sh", b.at("link")); err != nil {
		t.Fatal(err)
	}
	b.run(Write{}, args{"filePath": "link", "content": "new\n"})
	b.run(Edit{}, args{"filePath": "link", "oldString": "new", "newString": "newer"})
	if info, err := os.Lstat(b.at("run.sh")); err != nil || info.Mode() != 0o751 {
		t.Errorf("mode: got %v, %v, want -rwxr-x--x", info.Mode(), err)
	}
	if info, err := os.Lstat(b.at("link")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became a file: %v, %v", info.Mode(), err)
	}
	if got := b.text("run.sh"); got != "newer\n" {
		t.Errorf("got %q", got)
	}
}

func TestWrite_leavesNothingBehind(t *testing.T) {
	b := newBench(t, "a.txt", "old\n", "folder/x", "")
	b.run(Write{}, args{"filePath": "a.txt", "content": "new\n"})
	b.fails(Write{}, args{"filePath": "folder", "content": "x"}, "a folder")
	b.fails(Write{}, args{"filePath": "a.txt/b.txt", "content": "x"})
	entries, err := os.ReadDir(b.folder)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder holds %v, %v, want a.txt and folder", entries, err)
	}
}

func TestWrite_aReadOnlyFileStays(t *testing.T) {
	b := newBench(t, "a.txt", "old\n")
	if err := os.Chmod(b.at("a.txt"), 0o444); err != nil {
		t.Fatal(err)
	}
	b.fails(Write{}, args{"filePath": "a.txt", "content": "new"}, "read-only")
	if got := b.text("a.txt"); got != "old\n" {
		t.Errorf("got %q", got)
	}
}

func TestWrite_namesTheFileThatCannotBeWritten(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	b := newBench(t)
	if err := os.Chmod(b.folder, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(b.folder, 0o755) })
	b.fails(Write{}, args{"filePath": "a.txt", "content": "new"}, "a.txt cannot be written: permission denied")
}

func TestWrite_refusesWhatWasCopiedFromAPlaceholder(t *testing.T) {
	if !rule.ContainsPlaceholder(placeholder) {
		t.Fatal("the test's placeholder is not one")
	}
	b := newBench(t, "a.txt", "old\n", "holds.txt", placeholder+"\n")
	b.fails(Write{}, args{"filePath": "a.txt", "content": "x\n" + placeholder + "\ny\n"}, "left out",
		"Read the piece again")
	b.fails(Write{}, args{"filePath": "b.txt", "content": placeholder}, "nothing was written")
	b.fails(Edit{}, args{"filePath": "a.txt", "oldString": "old", "newString": placeholder}, "nothing was written")
	b.fails(Edit{}, args{"filePath": "a.txt", "oldString": placeholder, "newString": "x"}, "nothing was written")
	if got := b.text("a.txt"); got != "old\n" {
		t.Errorf("got %q", got)
	}
	if _, err := os.Stat(b.at("b.txt")); err == nil {
		t.Error("b.txt was made")
	}
	// A file that really holds such a text can be mended.
	b.run(Edit{}, args{"filePath": "holds.txt", "oldString": placeholder, "newString": "x"})
}

func TestWrite_needsContentThatIsAText(t *testing.T) {
	b := newBench(t)
	b.fails(Write{}, args{"filePath": "a.txt"}, "content")
	b.fails(Write{}, args{"filePath": "a.txt", "content": args{"a": 1}}, "must be a string")
}

func TestWrite_aHugeDiffIsLeftOut(t *testing.T) {
	b := newBench(t)
	r := b.run(Write{}, args{"filePath": "a.txt", "content": strings.Repeat("x\n", 200_000)})
	if _, ok := r.Metadata["diff"]; ok || r.Metadata["diffOmitted"] == nil || r.Metadata["added"] != 200_000 {
		t.Errorf("got added %v, omitted %v", r.Metadata["added"], r.Metadata["diffOmitted"])
	}
}

func TestWrite_aHugeFileIsReplacedUnread(t *testing.T) {
	b := newBench(t, "a.bin", "")
	if err := os.Truncate(b.at("a.bin"), mostEdited+1); err != nil {
		t.Fatal(err)
	}
	b.fails(Edit{}, args{"filePath": "a.bin", "oldString": "x", "newString": "y"}, "larger than 33,554,432 bytes")
	r := b.run(Write{}, args{"filePath": "a.bin", "content": "x\n"})
	if want := "Done: wrote 1 line (2 bytes) to a.bin, in place of 33,554,433 bytes."; r.Output != want ||
		r.Metadata["diff"] != nil || b.text("a.bin") != "x\n" {
		t.Errorf("got %q, %v", r.Output, r.Metadata)
	}
}

func TestEdit_putsOneTextInThePlaceOfAnother(t *testing.T) {
	for _, c := range []struct {
		name, file, from, to string
		all                  bool
		want                 string
	}{
		{"one place", "a\nb\nc\n", "b", "x", false, "a\nx\nc\n"},
		{"removed", "a\nb\nc\n", "b\n", "", false, "a\nc\n"},
		{"all", "a a a\n", "a", "b", true, "b b b\n"},
		{"one of all", "a\n", "a", "b", true, "b\n"},
		{"all that overlap", "aaaa", "aa", "b", true, "bb"},
		{"no dollar and no backslash means anything", "x", "x", `$1 \n ${y}`, false, `$1 \n ${y}`},
		{"Unicode", "naïve 日本\n", "日本", "🎉", false, "naïve 🎉\n"},
		{"CRLF, sent as LF", "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\r\nz\r\nc\r\n"},
		{"CRLF, a piece of a line", "a\r\nb\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\n"},
		{"CRLF, sent as CRLF", "a\r\nb\r\n", "a\r\nb", "x\r\ny", false, "x\r\ny\r\n"},
		{"CRLF, from its line end on", "a\r\nb\r\n", "\nb", "", false, "a\r\n"},
		{"LF, sent as CRLF", "a\nb\n", "a\r\nb", "x\r\ny", false, "x\ny\n"},
		{"mixed, at the LF", "a\r\nb\r\nc\nd\r\ne\r\n", "c\nd", "x\ny", false, "a\r\nb\r\nx\ny\r\ne\r\n"},
		{"mixed, at the CRLF", "a\nb\nc\r\nd\ne\n", "c\nd", "x\ny", false, "a\nb\nx\r\ny\ne\n"},
		{"byte order mark", "\xEF\xBB\xBFa\nb\n", "a", "x", false, "\xEF\xBB\xBFx\nb\n"},
		{"byte order mark, sent", "\xEF\xBB\xBFa\n", "\uFEFFa", "\uFEFFx", false, "\xEF\xBB\xBFx\n"},
		{"Latin 1 beside it", "caf\xe9\nb\n", "b", "x", false, "caf\xe9\nx\n"},
		{"the whole file", "a\n", "a\n", "b", false, "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "a.txt", c.file)
			b.run(Edit{}, args{"filePath": "a.txt", "oldString": c.from, "newString": c.to, "replaceAll": c.all})
			if got := b.text("a.txt"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestEdit_saysWhyItDidNot(t *testing.T) {
	b := newBench(t, "a.txt", "one\n  two\nthree\naaa\none\n", "b.bin", "a\x00b", "crlf.txt", "a\r\nb\r\n")
	for _, c := range []struct {
		in    args
		words []string
	}{
		{args{"filePath": "a.txt", "oldString": "four", "newString": "x"},
			[]string{"was not found in a.txt", "Read the file again"}},
		{args{"filePath": "a.txt", "oldString": "one", "newString": "x"},
			[]string{"found 2 times", "lines 1, 5", "replaceAll"}},
		{args{"filePath": "a.txt", "oldString": "aa", "newString": "x"}, []string{"found 2 times"}},
		{args{"filePath": "a.txt", "oldString": "one\ntwo", "newString": "x"}, []string{"blanks or line breaks alone"}},
		{args{"filePath": "a.txt", "oldString": "three\nfour", "newString": "x"}, []string{"line 3", "differs"}},
		{args{"filePath": "a.txt", "oldString": "one", "newString": "one"}, []string{"the same"}},
		{args{"filePath": "crlf.txt", "oldString": "a\nb", "newString": "a\r\nb"}, []string{"nothing to change"}},
		{args{"filePath": "a.txt", "oldString": "", "newString": "x"}, []string{"empty"}},
		{args{"filePath": "a.txt", "newString": "x"}, []string{"oldString"}},
		{args{"filePath": "none.txt", "oldString": "a", "newString": "x"}, []string{"no file none.txt"}},
		{args{"filePath": "b.bin", "oldString": "a", "newString": "x"}, []string{"binary"}},
		{args{"filePath": "a.txt", "oldString": "one", "newString": "x", "replaceAll": "maybe"},
			[]string{"true or false"}},
	} {
		b.fails(Edit{}, c.in, c.words...)
	}
	if got := b.text("a.txt"); got != "one\n  two\nthree\naaa\none\n" {
		t.Errorf("the file changed: %q", got)
	}
}

func TestEdit_tellsPeopleWhatChanged(t *testing.T) {
	b := newBench(t, "errors/a.txt", "one\ntwo\nthree\ntwo\n")
	in := args{"filePath": "errors/a.txt", "oldString": "two", "newString": "2\n3", "replaceAll": true}
	r := b.run(Edit{}, in)
	want := "diff a/errors/a.txt b/errors/a.txt\n--- a/errors/a.txt\n+++ b/errors/a.txt\n@@ -1,4 +1,6 @@\n " +
		"one\n-two\n+2\n+3\n three\n-two\n+2\n+3\n"
	if got := r.Metadata["diff"]; got != want {
		t.Errorf("diff: got %q, want %q", got, want)
	}
	if r.Metadata["matches"] != 2 || r.Metadata["added"] != 4 || r.Metadata["removed"] != 2 {
		t.Errorf("metadata: got %v", r.Metadata)
	}
	if want := "Done: replaced 2 matches in errors/a.txt, in lines 2, 4."; r.Output != want {
		t.Errorf("got %q, want %q", r.Output, want)
	}
	b.put("errors/a.txt", "one\ntwo\n")
	s := b.shown(Edit{}, in)
	if len(s.Views) != 1 || !s.Views[0].Change || s.Views[0].Path != b.at("errors/a.txt") {
		t.Errorf("coverage: got %+v, want a change of the file", s)
	}
}

func TestEdit_changesThatPlaceAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab日\n"))).Draw(t, "text")
		if text == "" {
			return
		}
		from := rapid.IntRange(0, len(text)-1).Draw(t, "from")
		old := text[from:rapid.IntRange(from+1, len(text)).Draw(t, "to")]
		now := rapid.StringOf(rapid.SampledFrom([]rune("ab\n"))).Draw(t, "new")
		crlf := rapid.Bool().Draw(t, "crlf")
		sent := rapid.Bool().Draw(t, "sent as crlf")
		windows := func(s string, yes bool) string {
			if yes {
				return strings.ReplaceAll(s, "\n", "\r\n")
			}
			return s
		}
		if !strings.Contains(text, "\n") {
			crlf, sent = false, false
		}
		e := edited(windows(text, crlf), windows(old, sent), windows(now, sent && strings.Contains(old, "\n")))
		if want := strings.Count(text, old); e.replaced != want || e.places < want {
			t.Fatalf("%q in %q: %d of %d places, want %d", old, text, e.replaced, e.places, want)
		}
		if got, want := e.apply(), windows(strings.ReplaceAll(text, old, now), crlf); got != want {
			t.Fatalf("%q for %q in %q: got %q, want %q", now, old, text, got, want)
		}
	})
}

// A process that was killed in the middle of a write leaves a file that nobody needs. The next
// write there takes it away, but none that may be under way.
func TestWrite_sweepsWhatKilledProcessesLeft(t *testing.T) {
	b := newBench(t, "src/.winnow-OLD.tmp", "half a file", "src/.winnow-NEW.tmp", "being written", "src/.winnow.jsonc",
		"{}", "src/a.go", "package a\n")
	long := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{".winnow-OLD.tmp", ".winnow.jsonc", "a.go"} {
		if err := os.Chtimes(b.at("src/"+name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	b.run(Write{}, args{"filePath": "src/b.go", "content": "package b\n"})
	entries, err := os.ReadDir(b.at("src"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if want := []string{".winnow-NEW.tmp", ".winnow.jsonc", "a.go", "b.go"}; !slices.Equal(got, want) {
		t.Errorf("the folder has %q, want %q", got, want)
	}
}
