package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/outside"
)

// took is how long the summary took, which is said where it is a tenth of a second and more.
var took = regexp.MustCompile(`(written by {2}offline), [0-9.]+ s`)

// What README.md and docs/tour.md show of the example is what the program prints of it, with nothing
// configured, 80 columns wide.
func TestReadme_showsWhatTheProgramPrints(t *testing.T) {
	sequential(t)
	root := outside.Root(t)
	session, err := os.ReadFile(filepath.Join(root, "examples", "long-session.json"))
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	d.env = []string{"HOME=" + filepath.Join(d.dir, "home")}
	if err := os.WriteFile(filepath.Join(d.dir, "long-session.json"), session, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, shown := range []struct{ page, command string }{{"README.md", "inspect"}, {"docs/tour.md", "inspect"}, {"docs/tour.md", "compact"}} {
		page, err := os.ReadFile(filepath.Join(root, shown.page))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, said := strings.Cut(string(page), "What `"+shown.command+"` prints for")
		_, rest, opened := strings.Cut(rest, "\n```\n")
		block, _, closed := strings.Cut(rest, "```\n")
		if !said || !opened || !closed {
			t.Fatalf("%s shows nothing of what %s prints", shown.page, shown.command)
		}
		o := d.run(shown.command, "long-session.json")
		o.wants(t, cli.ExitDone)
		o.stdout = took.ReplaceAllString(o.stdout, "$1")
		if !strings.HasPrefix(o.stdout, block) {
			t.Errorf("%s prints something else than %s shows. It prints:\n%s\nThe page has:\n%s", shown.command, shown.page, o.stdout, block)
		}
	}
}
