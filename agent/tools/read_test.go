//go:build unix

package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/permission"
	"github.com/winnowhq/winnow/plan/coverage"
)

func TestRead_showsNumberedLines(t *testing.T) {
	for _, c := range []struct {
		name, file string
		in         args
		want       string
	}{
		{"whole", "one\ntwo\n", nil, "1: one\n2: two\n\n(End of file, 2 lines)"},
		{"one line", "one\n", nil, "1: one\n\n(End of file, 1 line)"},
		{"without newline", "one\ntwo", nil, "1: one\n2: two\n\n(End of file, 2 lines; no newline at its end)"},
		{"blank lines", "\n\nx\n\n", nil, "1: \n2: \n3: x\n4: \n\n(End of file, 4 lines)"},
		{"from an offset", "a\nb\nc\n", args{"offset": 2}, "2: b\n3: c\n\n(End of file, 3 lines)"},
		{"a piece", "a\nb\nc\n", args{"offset": 2, "limit": 1},
			"2: b\n\n(Showing lines 2-2 of 3. Go on with offset 3.)"},
		{"numbers as texts", "a\nb\nc\n", args{"offset": "2", "limit": "1"},
			"2: b\n\n(Showing lines 2-2 of 3. Go on with offset 3.)"},
		{"offset 0", "a\n", args{"offset": 0}, "1: a\n\n(End of file, 1 line)"},
		{"CRLF", "a\r\nb\r\n", nil, "1: a\n2: b\n\n(End of file, 2 lines; CRLF line ends)"},
		{"an empty line with CRLF", "\r\nb\r\n", nil, "1: \n2: b\n\n(End of file, 2 lines; CRLF line ends)"},
		{"mixed line ends", "a\r\nb\n", nil, "1: a\n2: b\n\n(End of file, 2 lines; line ends mixed, 1 of them CRLF)"},
		{"byte order mark", "\xEF\xBB\xBFa\n", nil, "1: a\n\n(End of file, 1 line; begins with a byte order mark)"},
		{"Unicode", "日本語\nñ\u0301 🎉\n", nil, "1: 日本語\n2: ñ\u0301 🎉\n\n(End of file, 2 lines)"},
		{"Latin 1", "caf\xe9\n", nil, "1: caf\uFFFD\n\n(End of file, 1 line; not UTF-8 throughout)"},
		{"a single carriage return", "\r", nil, "1: \r\n\n(End of file, 1 line; no newline at its end)"},
		{"empty", "", nil, "(The file is empty.)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "a.txt", c.file)
			in := args{"filePath": "a.txt"}
			for name, v := range c.in {
				in[name] = v
			}
			if got := b.run(Read{}, in).Output; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRead_saysWhyItCannot(t *testing.T) {
	b := newBench(t, "a.txt", "a\n", "b.bin", "x\x00y", "u.txt", "\xff\xfea\x00", "sub/c.txt", "", "Main.go", "")
	if err := syscall.Mkfifo(b.at("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in    args
		words string
	}{
		{args{"filePath": "none.txt"}, "no file none.txt"},
		{args{"filePath": "main.ts"}, "there is Main.go"},
		{args{"filePath": "a.txt/x"}, "no file"},
		{args{"filePath": "sub"}, "a folder: use list"},
		{args{"filePath": "b.bin"}, "a binary file of 3 bytes"},
		{args{"filePath": "u.txt"}, "UTF-16"},
		{args{"filePath": "pipe"}, "a named pipe"},
		{args{"filePath": "/dev/zero"}, "a device"},
		{args{"filePath": "a.txt", "offset": 9}, "has 1 line"},
		{args{"filePath": "a.txt", "offset": -1}, "offset"},
		{args{"filePath": "a.txt", "limit": "all"}, "whole number"},
		{args{"filePath": ""}, "filePath"},
		{args{"path": "a.txt"}, "filePath"},
		{args{"filePath": "a\x00b"}, "not a path"},
	} {
		b.fails(Read{}, c.in, c.words)
	}
}

func TestRead_aHugeFileIsShownInPieces(t *testing.T) {
	var file strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&file, "line %d\n", i+1)
	}
	b := newBench(t, "a.txt", file.String())
	r := b.run(Read{}, args{"filePath": "a.txt", "limit": 4000})
	if !strings.HasSuffix(r.Output, "2000: line 2000\n\n(Showing lines 1-2,000 of 5,000. Go on with offset 2001.)") {
		t.Errorf("got …%q", r.Output[len(r.Output)-120:])
	}
	seen := 0
	for offset := 1; offset <= 5000; {
		r := b.run(Read{}, args{"filePath": "a.txt", "offset": offset})
		n := r.Metadata["lines"].(int)
		seen, offset = seen+n, offset+n
	}
	if seen != 5000 {
		t.Errorf("read on, %d lines were seen, want 5000", seen)
	}
}

func TestRead_staysBelowItsBytes(t *testing.T) {
	line := strings.Repeat("é", 500) + "\n"
	b := newBench(t, "a.txt", strings.Repeat(line, 200))
	r := b.run(Read{}, args{"filePath": "a.txt"})
	if len(r.Output) > readBytes+200 || !strings.Contains(r.Output, "Go on with offset 51.") {
		t.Errorf("got %d bytes ending in %q, want 50 lines", len(r.Output), r.Output[len(r.Output)-80:])
	}
}

func TestRead_cutsLongLines(t *testing.T) {
	b := newBench(t, "a.js", "x\n"+strings.Repeat("é", 300_000)+"\r\ny\n")
	r := b.run(Read{}, args{"filePath": "a.js"})
	want := "1: x\n2: " + strings.Repeat("é", 2000) +
		" … [596,000 more bytes of this line, truncated]\n3: y\n\n(End of file, 3 lines; line ends mixed, 1 of them " +
		"CRLF)"
	if r.Output != want {
		t.Errorf("got %d bytes ending in %q, want %d", len(r.Output), r.Output[max(0, len(r.Output)-120):], len(want))
	}
	if !utf8.ValidString(r.Output) {
		t.Error("cut in the middle of a character")
	}
	if s := b.shown(Read{}, args{"filePath": "a.js"}); len(s.Views) != 1 || s.Views[0].Full ||
		len(s.Views[0].Lines) != 3 {
		t.Errorf("coverage: got %+v, want three lines that are not the full file", s)
	}
}

func TestRead_attachesImages(t *testing.T) {
	b := newBench(t, "a.png", "\x89PNG\r\n\x1a\n\x00\x00", "fake.png", "text\n", "big.pdf",
		"%PDF-"+strings.Repeat("x", mediaBytes))
	r := b.run(Read{}, args{"filePath": "a.png"})
	if len(r.Attachments) != 1 || r.Attachments[0].Mime != "image/png" ||
		r.Attachments[0].URL != "data:image/png;base64,iVBORw0KGgoAAA==" || !r.Attachments[0].IsMedia() {
		t.Errorf("attachments: got %+v", r.Attachments)
	}
	if s := b.shown(Read{}, args{"filePath": "a.png"}); len(s.Views) != 0 {
		t.Errorf("coverage of an image: got %+v, want none", s)
	}
	if got := b.run(Read{}, args{"filePath": "fake.png"}).Output; !strings.HasPrefix(got, "1: text") {
		t.Errorf("a text that is called .png: got %q", got)
	}
	b.fails(Read{}, args{"filePath": "big.pdf"}, "at most 5,242,880")
}

func TestRead_isWhatCoverageReads(t *testing.T) {
	texts := []string{"one\ntwo\n", "one", "\n", "a\n\n", "\n\nx\n\n\n", "a\r\n\r\nb\r\n", "\xEF\xBB\xBFa\nb\n",
		"(End of file\n(3 more lines)\n", "1: x\n2: y\n", "[90 more lines in file]\n", "error: x\n",
		"<system-reminder>\nx", strings.Repeat("x\n", 1999), strings.Repeat("x\n", 2000)}
	for _, text := range texts {
		b := newBench(t, "a.txt", text)
		read := b.shown(Read{}, args{"filePath": "a.txt"})
		if len(read.Views) != 1 || !read.OutputIsViews {
			t.Errorf("%.40q: coverage understands %+v, want one view and nothing else", text, read)
			continue
		}
		v := read.Views[0]
		if v.Path != b.at("a.txt") || !v.Full || v.Start != 1 || !v.End {
			t.Errorf("%.40q: got path %s, start %d, end %v, full %v, want the full file", text, v.Path, v.Start, v.End,
				v.Full)
		}
		wrote := b.shown(Write{}, args{"filePath": "a.txt", "content": strings.TrimPrefix(text, bom)})
		if len(wrote.Views) != 1 || !wrote.Views[0].Full {
			t.Errorf("%.40q: of write coverage understands %+v, want the full file", text, wrote)
			continue
		}
		old := wrote.Views[0]
		old.Full = false // compare by lines
		again := v
		again.Full = false
		if len(v.Lines) != len(old.Lines) || !coverage.Covered(old, again) {
			t.Errorf("%.40q: what is read does not cover what was written: %d and %d lines", text, len(v.Lines),
				len(old.Lines))
		}
	}
}

func TestRead_aPieceCoversThatPieceAlone(t *testing.T) {
	b := newBench(t, "a.txt", strings.Repeat("x\n", 2500))
	s := b.shown(Read{}, args{"filePath": "a.txt"})
	if len(s.Views) != 1 || s.Views[0].Full || s.Views[0].End || len(s.Views[0].Lines) != 2000 || !s.OutputIsViews {
		t.Errorf("2,000 of 2,500 lines: got %d views, %+v", len(s.Views), s.OutputIsViews)
	}
	s = b.shown(Read{}, args{"filePath": "a.txt", "offset": 2001})
	if len(s.Views) != 1 || s.Views[0].Full || !s.Views[0].End || s.Views[0].Start != 2001 ||
		len(s.Views[0].Lines) != 500 {
		t.Errorf("the rest: got %+v", s.Views)
	}
	if s := newBench(t, "a.txt", "").shown(Read{}, args{"filePath": "a.txt"}); len(s.Views) != 0 {
		t.Errorf("an empty file: got %+v, want no view", s)
	}
}

func TestRead_throughALinkNeedsPermissionForWhereItLeads(t *testing.T) {
	b, outside := newBench(t), newBench(t, "secret.txt", "key\n")
	if err := os.Symlink(outside.folder, b.at("link")); err != nil {
		t.Fatal(err)
	}
	_, err := Read{}.Run(t.Context(), agent.Call{Input: input(t, args{"filePath": "link/secret.txt"}),
		Directory: b.folder, Ask: permission.Policy{Directory: b.folder}.Asker(nil)})
	var refused *permission.Refused
	if !errors.As(err, &refused) || refused.Permission.Target != outside.at("secret.txt") || refused.Permission.Inside {
		t.Errorf("got %v, want it refused for %s", err, outside.at("secret.txt"))
	}
}

func TestRead_endsWithItsContext(t *testing.T) {
	b := newBench(t, "a.txt", "x\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.try(ctx, Read{}, args{"filePath": "a.txt"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestResolve_linksDoNotLeadOutsideUnseen(t *testing.T) {
	b, outside := newBench(t, "sub/a.txt", "a\n"), newBench(t, "secret.txt", "key\n")
	for name, target := range map[string]string{
		"file": outside.at("secret.txt"), "folder": outside.folder, "dangling": outside.at("new.txt"),
		"chain": "folder", "up": "../" + "../etc",
		"inner": "sub/a.txt", "innerfolder": "sub", "round": "round", "detour": "sub/../folder/secret.txt",
	} {
		if err := os.Symlink(target, b.at(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, want string
		inside     bool
	}{
		{"file", outside.at("secret.txt"), false},
		{"folder/secret.txt", outside.at("secret.txt"), false},
		{"chain/secret.txt", outside.at("secret.txt"), false},
		{"chain/none/deep.txt", outside.at("none/deep.txt"), false},
		{"dangling", outside.at("new.txt"), false},
		{"detour", outside.at("secret.txt"), false},
		{"inner", b.at("sub/a.txt"), true},
		{"innerfolder/a.txt", b.at("sub/a.txt"), true},
		{"innerfolder/../sub/none", b.at("sub/none"), true},
		{"sub/../../x", "", false},
		{"../" + b.folder[strings.LastIndexByte(b.folder, '/')+1:] + "-not/x", "", false},
		{".", b.folder, true},
		{"/", "/", false},
	} {
		at, err := locate(agentCall(b.folder), c.name)
		if err != nil || at.inside != c.inside || c.want != "" && at.path != c.want {
			t.Errorf("%s: got %s, inside %v, %v; want %s, inside %v", c.name, at.path, at.inside, err, c.want, c.inside)
		}
	}
	if _, err := locate(agentCall(b.folder), "round"); err == nil {
		t.Error("a link to itself: no error")
	}
	b.run(Write{}, args{"filePath": "dangling", "content": "x"})
	if p := b.asked[len(b.asked)-1]; p.Inside || p.Target != outside.at("new.txt") {
		t.Errorf("writing through a dangling link asked for %+v, want %s outside", p, outside.at("new.txt"))
	}
}

func TestRead_ofAnyTextCoverageSeesEveryLine(t *testing.T) {
	b := newBench(t)
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("a1: \t日|→…[](\n\n.")), 1, 200, -1).Draw(r, "text")
		wrote := b.shown(Write{}, args{"filePath": "a.txt", "content": text})
		read := b.shown(Read{}, args{"filePath": "a.txt"})
		if len(wrote.Views) != 1 || len(read.Views) != 1 || !read.OutputIsViews {
			r.Fatalf("%q: got %d and %d views", text, len(wrote.Views), len(read.Views))
		}
		if !slices.Equal(wrote.Views[0].Lines, read.Views[0].Lines) {
			r.Fatalf("%q: the lines differ", text)
		}
	})
}
