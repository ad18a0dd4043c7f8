package tools

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/agent"
)

// Who agreed to a file has not agreed to what a link leads to that came in its place before they
// had answered.
func TestPermit_aLinkThatComesWhileItIsAskedForIsNotFollowed(t *testing.T) {
	for _, tool := range []agent.Tool{Read{}, Write{}, Edit{}, Bash{}, List{}} {
		b, away := newBench(t, "sub/a.txt", "one\n"), newBench(t, "a.txt", "one\n")
		in := map[string]args{
			"read": {"filePath": "sub/a.txt"}, "write": {"filePath": "sub/a.txt", "content": "x"},
			"bash": {"command": "touch b", "workdir": "sub"},
			"edit": {"filePath": "sub/a.txt", "oldString": "one", "newString": "x"}, "list": {"path": "sub"},
		}[tool.Name()]
		_, err := tool.Run(t.Context(), agent.Call{Input: input(t, in), Directory: b.folder,
			Ask: func(context.Context, agent.Permission) error {
				return errors.Join(os.RemoveAll(b.at("sub")), os.Symlink(away.folder, b.at("sub")))
			}})
		if err == nil || !strings.Contains(err.Error(), "became a link") {
			t.Errorf("%s: error %v, want one that says that it became a link", tool.Name(), err)
		}
		if list, _ := os.ReadDir(away.folder); len(list) != 1 || away.text("a.txt") != "one\n" {
			t.Errorf("%s changed what the link leads to", tool.Name())
		}
	}
}

func TestBash_asksWithTheFolderThatItRunsIn(t *testing.T) {
	b, away := newBench(t, "sub/a", ""), newBench(t)
	for folder, want := range map[string]string{"": "", ".": "", "sub": b.at("sub"), away.folder: away.folder} {
		b.asked = nil
		b.run(Bash{}, args{"command": "true", "workdir": folder})
		if len(b.asked) != 1 || b.asked[0].Folder != want {
			t.Errorf("workdir %q: asked %+v, want the folder %q", folder, b.asked, want)
		}
	}
}
