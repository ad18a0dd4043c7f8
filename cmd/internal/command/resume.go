package command

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/format/cline"
	"github.com/winnowhq/winnow/format/copilot"
	"github.com/winnowhq/winnow/format/geminicli"
	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/format/pi"
	"github.com/winnowhq/winnow/format/qwen"
)

// resumption is how the program that owns a session goes on with it.
type resumption struct {
	Folder string     // in which the session works; most programs find it only there
	Steps  [][]string // commands, one after the other; none if nobody knows how
}

// kilo is the product whose sessions are in OpenCode's format.
const kilo = "kilo"

// resumptionOf says how a product goes on with a session. path is the file that it is in, which is
// a copy of the product's own or that itself.
func resumptionOf(product, id, folder, path string, copied bool) resumption {
	r := resumption{Folder: folder}
	step := func(words ...string) { r.Steps = append(r.Steps, words) }
	switch product {
	case opencode.Name, kilo:
		if copied {
			step(product, "import", path)
		}
		step(product, "--session", id)
	case pi.Name:
		step("pi", "--session", path)
	case source.Own:
		step("winnow", "chat", "--session", id)
	default:
		if words := resumeByID(product, id); words != nil && !copied {
			step(words...)
		}
	}
	return r
}

// resumeByID is the command of a product that finds its own sessions by their ids.
func resumeByID(product, id string) []string {
	switch product {
	case claudecode.Name:
		return []string{"claude", "--resume", id}
	case "codex":
		return []string{"codex", "resume", id}
	case qwen.Name:
		return []string{"qwen", "--resume", id}
	case geminicli.Name:
		return []string{"gemini", "--resume", id}
	case copilot.Name:
		return []string{"copilot", "--resume=" + id}
	case cline.Name:
		return []string{"cline", "--id", id}
	}
	return nil
}

// line is the commands as a shell takes them, from anywhere; "" if there are none.
func (r resumption) line() string {
	var all []string
	if len(r.Steps) > 0 && r.Folder != "" {
		all = append(all, "cd "+cli.ShellWord(r.Folder))
	}
	for _, words := range r.Steps {
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = cli.ShellWord(w)
		}
		all = append(all, strings.Join(quoted, " "))
	}
	return strings.Join(all, " && ")
}

// from is the same for somebody who is in a folder.
func (r resumption) from(here string) string {
	if r.Folder == here {
		r.Folder = ""
	}
	return r.line()
}

// wrapped is the same with the requests of the last command going through winnow, "" if winnow does
// not know how.
func (r resumption) wrapped() (client string, args []string) {
	if len(r.Steps) == 0 {
		return "", nil
	}
	last := r.Steps[len(r.Steps)-1]
	for _, c := range gateway.Clients() {
		if c.Name == last[0] {
			return last[0], last[1:]
		}
	}
	return "", nil
}

// enter goes to the folder of the session.
func (r resumption) enter(a *cli.App) error {
	if r.Folder == "" || r.Folder == a.Env.Dir {
		return nil
	}
	if err := os.Chdir(r.Folder); err != nil {
		return cli.Hint(fmt.Errorf("the session's folder cannot be entered: %w", err), "resume it with: "+r.line())
	}
	a.Env.Dir = r.Folder
	return nil
}

// run goes on with the session in the terminal of this program, and ends as the last command does.
func (r resumption) run(ctx context.Context, a *cli.App) error {
	if len(r.Steps) == 0 {
		return nil
	}
	program := r.Steps[len(r.Steps)-1][0]
	if _, err := exec.LookPath(program); err != nil && program != "winnow" {
		return cli.Hint(fmt.Errorf("%s is not installed: there is no such program in PATH", program),
			"once installed, resume with: "+r.line())
	}
	if err := r.enter(a); err != nil {
		return err
	}
	a.Show()
	_ = a.Err.Flush()
	a.Enduring.Store(true)
	for i, words := range r.Steps {
		name := words[0]
		if self, err := os.Executable(); err == nil && name == "winnow" {
			name = self
		}
		code, err := gateway.Run(name, words[1:], a.Env.Environ)
		switch {
		case err != nil:
			return cli.Hint(fmt.Errorf("%s cannot be started: %w", words[0], err), "resume with: "+r.line())
		case code != 0 && i < len(r.Steps)-1:
			return cli.Hint(fmt.Errorf("%s ended with exit code %d", strings.Join(words, " "), code),
				"resume with: "+r.line())
		case code != 0:
			return cli.Passed(code)
		}
	}
	return ctx.Err()
}

// resumed says how to go on with a session that was written to a file, in place of its own or beside
// it by a command. If its product cannot resume the copy, again is the command to run first: the
// one that replaces the original.
func resumed(a *cli.App, s *source.Session, out output.Target, command, written string) (r resumption, again string) {
	if !s.FromFile() {
		return resumptionOf(source.Own, s.ID, "", "", false), ""
	}
	product := cmp.Or(out.Format, s.Doc.Format)
	if path, _, _ := strings.Cut(s.Path, "#"); product == opencode.Name && filepath.Base(path) == "kilo.db" {
		product = kilo
	}
	folder, copied := s.Doc.Session.Info.Directory, !out.InPlace && out.Told == nil
	r = resumptionOf(product, s.ID, folder, a.Path(cmp.Or(written, s.Path)), copied)
	if len(r.Steps) == 0 && copied && out.Format == "" && source.Kept(a, s.Path) {
		return resumptionOf(product, s.ID, folder, "", false),
			"winnow " + command + " " + cli.ShellWord(product+":"+s.ID) + " --in-place"
	}
	return r, ""
}
