package page

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/chromiumtest"
	"github.com/winnowhq/winnow/internal/outside"
)

func TestBrowser_replay(t *testing.T) {
	b := chromiumtest.Start(t)
	path := replayFile(t, replayPage(t, replayed(3, 6, 250), ReplayDetails{Name: "~/watches"}))
	text := func(selector string) (s string) {
		b.Eval("document.querySelector('"+selector+"').textContent", &s)
		return s
	}
	drawn := func() (n int) {
		b.Eval("[...document.querySelectorAll('#view .curves:first-of-type path.curve')].filter(p => p.checkVisibility()).length", &n)
		return n
	}
	t.Run("another session can be chosen", func(t *testing.T) {
		b.T = t
		b.Screen(1200, 900, "light")
		b.Open(path)
		if got := text("#view h3"); got != "watch-1.jsonl" {
			t.Errorf("the page begins with %q, want the session that gains most", got)
		}
		b.Eval("document.getElementById('after').click()", nil)
		b.Until("document.querySelector('#view h3').textContent === 'watch-2.jsonl'")
		b.Eval("document.querySelector('#sessions a[data-s=\"2\"]').click()", nil)
		b.Until("document.querySelector('#view h3').textContent === 'watch-3.jsonl'")
		disabled := false
		if b.Eval("document.getElementById('after').disabled", &disabled); !disabled {
			t.Error("there is a next session after the last")
		}
		b.Quiet(path)
	})
	t.Run("policies can be left out and put in", func(t *testing.T) {
		b.T = t
		b.Open(path)
		before := drawn()
		b.Eval("document.querySelector('#shown input').click()", nil)
		if got := drawn(); got != before-1 {
			t.Errorf("%d lines are drawn without the first policy, want %d", got, before-1)
		}
		b.Eval("document.querySelectorAll('#shown input:not(:checked)').forEach(i => i.click())", nil)
		if got := drawn(); got != 6 {
			t.Errorf("%d lines are drawn with all policies, want 6", got)
		}
		b.Eval("document.getElementById('after').click()", nil)
		b.Until("document.querySelector('#view h3').textContent === 'watch-2.jsonl'")
		if got := drawn(); got != 6 {
			t.Errorf("of another session %d lines are drawn, want those that were chosen: 6", got)
		}
		b.Quiet(path)
	})
	t.Run("the arrow keys tell the figures of a step", func(t *testing.T) {
		b.T = t
		b.Open(path)
		b.Eval("document.querySelector('.course').focus()", nil)
		b.Press("End")
		b.Press("ArrowLeft")
		if got := text("#view .step"); !strings.HasPrefix(got, "Step 249 (bill so far, prompt): A 3.") ||
			!strings.Contains(got, "B ") {
			t.Errorf("the last step but one says %q", got)
		}
		b.Quiet(path)
	})
	t.Run("nothing is wider than a phone, in either scheme", func(t *testing.T) {
		b.T = t
		hostile := replayFile(t, replayPage(t, hostileReplay(), ReplayDetails{Name: evil}))
		for _, one := range []string{path, hostile} {
			for _, width := range []int{360, 1200} {
				b.Screen(width, 740, map[int]string{360: "dark", 1200: "light"}[width])
				b.Open(one)
				b.Eval("document.querySelectorAll('details').forEach(d => d.open = true)", nil)
				over := 0
				if b.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth",
					&over); over > 0 {
					t.Errorf("the page is %d pixels wider than the screen of %d", over, width)
				}
				b.Quiet(one)
			}
		}
		pwned := 0
		if b.Eval("Number(window.pwned ?? 0)", &pwned); pwned != 0 {
			t.Error("text became code")
		}
	})
	t.Run("without JavaScript the page still tells", func(t *testing.T) {
		b.T = t
		b.Screen(1200, 900, "light")
		b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
		defer b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
		b.Open(path)
		says := ""
		b.Eval("document.body.innerText", &says)
		for _, want := range []string{"Recommended: balanced", "everything kept", "Statistics: all policies", "watch-1.jsonl", "Bill so far",
			"shows the course of one session alone"} {
			if !strings.Contains(says, want) {
				t.Errorf("without JavaScript the page does not say %q", want)
			}
		}
		if strings.Contains(says, "Previous") {
			t.Error("the chooser is shown although it does not work")
		}
		if got := drawn(); got != 4 {
			t.Errorf("%d lines are drawn, want those of the policies that are shown at first: 4", got)
		}
	})
}

// TestBrowser_opensAReplayOfManySessions measures and does not judge, as the other one: it fails
// when the page is not usable at all.
func TestBrowser_opensAReplayOfManySessions(t *testing.T) {
	b := chromiumtest.Start(t)
	html := replayPage(t, replayed(200, 8, 300), ReplayDetails{})
	path := replayFile(t, html)
	b.Open(path)
	b.Until("document.documentElement.classList.contains('js') && performance.getEntriesByName('first-contentful-paint').length")
	var paint, loaded, chosen float64
	b.Eval("performance.getEntriesByName('first-contentful-paint')[0].startTime", &paint)
	b.Eval("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd", &loaded)
	b.Eval(`(async () => {
		const from = performance.now();
		const list = document.getElementById('session');
		list.selectedIndex = list.length - 1; list.dispatchEvent(new Event('change'));
		while (document.querySelector('#view h3').textContent !== 'watch-200.jsonl') await new Promise(r => setTimeout(r, 1));
		document.querySelector('.course').getBoundingClientRect();
		return performance.now() - from;
	})()`, &chosen)
	t.Logf("%d KB: first paint %.0f ms, all loaded %.0f ms, the last session chosen %.0f ms", len(html)>>10, paint,
		loaded, chosen)
	b.Quiet(path)
}

// frontierCommand is the command before the picture of the frontier in docs/economics.md.
func frontierCommand(t *testing.T) string {
	t.Helper()
	doc := outside.Read(t, filepath.Join(outside.Root(t), "docs", "economics.md"))
	before, _, found := bytes.Cut(doc, []byte("(frontier.png)"))
	command := string(before[bytes.LastIndex(before, []byte("\nwinnow replay "))+1:])
	command, _, fenced := strings.Cut(command, "\n```")
	if !found || !fenced {
		t.Fatal("docs/economics.md shows no command before the picture")
	}
	return command
}

// TestBrowser_pictureOfTheFrontier makes docs/frontier.png with the command above it in
// docs/economics.md, and docs/frontier-hour.png with the same for a cache of an hour, where the
// recorded sessions are: make pictures
func TestBrowser_pictureOfTheFrontier(t *testing.T) {
	if os.Getenv("WINNOW_SHOTS") == "" {
		t.Skip("WINNOW_SHOTS names no folder")
	}
	folder, root := outside.Path(t, "corpus", "dev"), outside.Root(t)
	command := frontierCommand(t)
	program := filepath.Join(t.TempDir(), "winnow")
	build := exec.Command("go", "build", "-o", program, "./cmd/winnow")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	b := chromiumtest.Start(t)
	for lifetime, picture := range map[string]string{"5m": "frontier.png", "1h": "frontier-hour.png"} {
		path := filepath.Join(t.TempDir(), "replay.html")
		named := strings.NewReplacer("FOLDER", folder, "INDEX.tsv", filepath.Join(folder, "INDEX.tsv"),
			"--cache 5m", "--cache "+lifetime)
		replay := exec.Command(program, append(strings.Fields(named.Replace(command))[1:], "--html", path)...)
		replay.Env = []string{"HOME=" + t.TempDir()} // no configuration
		if out, err := replay.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", replay, err, out)
		}
		b.Screen(1040, 1000, "light")
		b.Open(path)
		b.Eval("document.querySelector('.statistics').open = true", nil)
		var at struct{ Top, Bottom float64 }
		b.Eval(`({ Top: document.getElementById('frontier').getBoundingClientRect().top + scrollY,
			Bottom: document.querySelector('figure.for-wide').getBoundingClientRect().bottom + scrollY })`, &at)
		b.Shoot(picture, int(at.Top)-10, 1040, int(at.Bottom-at.Top)+20)
		b.Quiet(path)
	}
}
