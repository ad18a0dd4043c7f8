package rule_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/token"
)

// data is a data: URL of the given number of bytes.
func data(mime string, size int) string {
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, size))
}

// picture is a data: URL of a PNG.
func picture(t testing.TB, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

// returned puts a file beside the output of a call.
func returned(l *ruletest.Log, part string, files ...session.Part) {
	for i := range files {
		files[i].Type = session.FilePart
	}
	l.Part(part).State.Attachments = files
}

func TestAttachments_theLetterShowsNameAndSize(t *testing.T) {
	for _, c := range []struct{ name, file, url, want string }{
		{"a picture", "image.png", data("image/png", 12*1024), "[File: image.png, 12KB]"},
		{"rounded up from the half", "image.png", data("image/png", 12*1024+512), "[File: image.png, 13KB]"},
		{"padding is no content", "image.png", data("image/png", 12*1024+511), "[File: image.png, 12KB]"},
		{"an address tells no size", "shot.png", "file:///tmp/shot.png", "[File: shot.png]"},
		{"an address has a name", "", "https://a.example/pics/cat.png?w=9", "[File: cat.png]"},
		{"no name at all", "", data("image/png", 3000), "[File: attachment, 3KB]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			id := l.Attach(c.file, "image/png", c.url)
			l.Quiet(1)
			if got := l.Found(t, formOf(true, &rule.AttachedFiles{}))[id]; got.Shown != c.want || got.Field != rule.Attachments {
				t.Errorf("%s becomes %q, want %q", got.Field, got.Shown, c.want)
			}
		})
	}
}

func TestAttachments_theSoundFormShowsTypeAndDimensions(t *testing.T) {
	small := picture(t, 640, 480)
	size, _ := rule.FileSize(small)
	l := ruletest.New()
	id := l.Attach("image.png", "image/png", small)
	l.Quiet(3)
	got := l.Found(t, &rule.AttachedFiles{Age: rule.Age{Steps: 3}})[id].Shown
	if !strings.HasPrefix(got, "[winnow ") || !strings.HasSuffix(got, ": image.png, image/png, 640×480, "+sizeWords(size)+" left out]") {
		t.Errorf("it becomes %q", got)
	}
	if !rule.ContainsPlaceholder(got) {
		t.Errorf("%q is not known as a placeholder", got)
	}
}

func sizeWords(size int) string {
	if size < 1024 {
		return quantity.Number(size) + " bytes"
	}
	return quantity.Number((size+512)/1024) + " KB"
}

func TestAttachments_aLargePictureLeavesAShortLine(t *testing.T) {
	url := data("image/png", 2<<20)
	for _, letter := range []bool{true, false} {
		l := ruletest.New()
		id := l.Attach("image.png", "image/png", url)
		l.Quiet(1)
		e := l.Found(t, formOf(letter, &rule.AttachedFiles{}))[id]
		if n := (token.Chars4{}).Count(e.Shown); n == 0 || n >= 60 || strings.Contains(e.Shown, url[30:60]) {
			t.Errorf("letter %v: %d tokens: %q", letter, n, e.Shown)
		}
		if want := token.Image - (token.Chars4{}).Count(e.Shown); e.Saves != want {
			t.Errorf("letter %v: it saves %d, want %d", letter, e.Saves, want)
		}
	}
}

func TestAttachments_theCallAndItsTextStay(t *testing.T) {
	for _, letter := range []bool{true, false} {
		l := ruletest.New()
		id := l.Call("screenshot", ruletest.Args{"page": "home"}, "Taken.")
		returned(l, id, session.Part{Filename: "a.png", Mime: "image/png", URL: data("image/png", 5000)}, session.Part{Filename: "b.png", Mime: "image/png", URL: data("image/png", 6000)})
		l.Quiet(1)
		e := l.Found(t, formOf(letter, &rule.AttachedFiles{}))[id]
		shown, stays := view.Apply(*l.Part(id), e)
		if !stays || string(shown.State.Input) != `{"page":"home"}` || !strings.HasPrefix(shown.State.Output, "Taken.\n[") || len(shown.State.Attachments) != 0 {
			t.Fatalf("letter %v: it is shown as %+v", letter, shown.State)
		}
		for _, name := range []string{"a.png", "b.png"} {
			if !strings.Contains(shown.State.Output, name) {
				t.Errorf("letter %v: %s is not named in %q", letter, name, shown.State.Output)
			}
		}
		facts := rule.NewFacts(token.Chars4{})
		before := facts.Size(l.Part(id)).Total()
		shown.ID = "shown"
		if saved := before - facts.Size(&shown).Total(); saved != e.Saves {
			t.Errorf("letter %v: claimed %d, measured %d", letter, e.Saves, saved)
		}
	}
}

func TestAttachments_whatNoModelHasSeenStays(t *testing.T) {
	for _, letter := range []bool{true, false} {
		l := ruletest.New()
		l.Quiet(2)
		l.User("Look at this.")
		id := l.Attach("image.png", "image/png", data("image/png", 5000))
		if got := l.Found(t, formOf(letter, &rule.AttachedFiles{})); len(got) != 0 {
			t.Errorf("letter %v: before the next step %v goes", letter, got)
		}
		shot := l.Call("screenshot", ruletest.Args{}, "Taken.")
		returned(l, shot, session.Part{Filename: "a.png", Mime: "image/png", URL: data("image/png", 5001)})
		got := l.Found(t, formOf(letter, &rule.AttachedFiles{}))
		if _, goes := got[id]; !goes || len(got) != 1 {
			t.Errorf("letter %v: after a step %v goes, want %s alone", letter, got, id)
		}
	}
}

func TestAttachments_theNewestOfEqualOnesStays(t *testing.T) {
	url := data("image/png", 5000)
	for _, c := range []struct {
		name           string
		url, name1, n2 string
		goes           bool
	}{
		{"equal bytes, whatever the name", url, "a.png", "b.png", true},
		{"one file by its address", "file:///a.png", "a.png", "a.png", true},
		{"one address, two names", "file:///a.png", "a.png", "b.png", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			first := l.Attach(c.name1, "image/png", c.url)
			l.Quiet(1)
			l.User("Again.")
			second := l.Attach(c.n2, "image/png", c.url)
			got := l.Found(t, &rule.AttachedFiles{Age: rule.Age{Turns: 5}})
			if e, goes := got[first]; goes != c.goes || goes && e.By != second {
				t.Errorf("the first goes: %v because of %q; want %v because of %s", goes, e.By, c.goes, second)
			}
			if e, goes := got[second]; goes {
				t.Errorf("the newest goes: %+v", e)
			}
		})
	}
}

func TestAttachments_aResultWithTwoFilesNeedsBothAgain(t *testing.T) {
	a, b := session.Part{Filename: "a.png", Mime: "image/png", URL: data("image/png", 5000)}, session.Part{Filename: "b.png", Mime: "image/png", URL: data("image/png", 6000)}
	l := ruletest.New()
	first := l.Call("screenshot", ruletest.Args{"n": 1}, "Taken.")
	returned(l, first, a, b)
	second := l.Call("screenshot", ruletest.Args{"n": 2}, "Taken.")
	returned(l, second, b)
	r := &rule.AttachedFiles{Age: rule.Age{Turns: 5}}
	if got := l.Found(t, r); len(got) != 0 {
		t.Fatalf("after one of the two %v goes", got)
	}
	third := l.Call("screenshot", ruletest.Args{"n": 3}, "Taken.")
	returned(l, third, a)
	if got := l.Found(t, r)[first]; got.By != second+" "+third {
		t.Errorf("after both it goes because of %q, want %s and %s", got.By, second, third)
	}
}

func TestAttachments_textFilesStay(t *testing.T) {
	l := ruletest.New()
	l.Attach("a.txt", "text/plain", data("text/plain", 5000))
	id := l.Call("fetch", ruletest.Args{"url": "https://a.example"}, "Here.")
	returned(l, id, session.Part{Filename: "b.txt", Mime: "text/plain", URL: data("text/plain", 5000)})
	l.Quiet(3)
	for _, letter := range []bool{true, false} {
		if got := l.Found(t, formOf(letter, &rule.AttachedFiles{})); len(got) != 0 {
			t.Errorf("letter %v: %v goes", letter, got)
		}
	}
}

func TestFileSize(t *testing.T) {
	for _, c := range []struct {
		url  string
		size int
		ok   bool
	}{
		{data("image/png", 0), 0, true}, {data("image/png", 1), 1, true}, {data("image/png", 2), 2, true}, {data("image/png", 3), 3, true}, {data("image/png", 1000), 1000, true},
		{"data:text/plain,a%20b", 3, true}, {"data:text/plain,100%", 4, true}, {"data:", 0, false}, {"https://a.example/,b", 0, false}, {"", 0, false},
	} {
		if size, ok := rule.FileSize(c.url); size != c.size || ok != c.ok {
			t.Errorf("%.40q has %d bytes, %v; want %d, %v", c.url, size, ok, c.size, c.ok)
		}
	}
}
