package workbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/agent/permission"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/plainfile"
	"github.com/winnowhq/winnow/text/quantity"
)

// ours is the member of a session's info that holds its system prompt. Other products pass it
// over.
const ours = "winnow"

type ourInfo struct {
	System string `json:"system,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

// system is the system prompt of a session. It is made once, from the folder and the day as they
// are when the session begins, and is the session's from then on: the provider's cache knows the
// session by it, and an agent that changes its own instructions must not lose the cache.
func (b *Bench) system(ctx context.Context, id string) (string, error) {
	for {
		state, err := b.store.State(ctx, id)
		if err != nil {
			return "", err
		}
		if text := systemOf(state.Info); text != "" {
			return text, nil
		}
		info := state.Info
		read := instructions(b.Folder, b.app.Env.Home())
		text := systemPrompt(b.Folder, platform(runtime.GOOS), b.app.Env.Now(), read)
		if info.Unknown, err = withSystem(info.Unknown, text); err != nil {
			return "", err
		}
		_, err = b.store.Apply(ctx, id, store.Change{Base: state.Revision, Info: &info})
		if !errors.Is(err, store.ErrConflict) {
			return text, err
		}
	}
}

func systemOf(info session.Info) string {
	var own ourInfo
	var members map[string]jsontext.Value
	if json.Unmarshal(info.Unknown, &members, session.ReadOptions()) != nil ||
		json.Unmarshal(members[ours], &own, session.ReadOptions()) != nil {
		return ""
	}
	return own.System
}

// withSystem puts a system prompt among members that nobody else knows.
func withSystem(unknown jsontext.Value, text string) (jsontext.Value, error) {
	members := map[string]jsontext.Value{}
	if len(unknown) > 0 {
		if err := json.Unmarshal(unknown, &members, session.ReadOptions()); err != nil {
			return nil, err
		}
	}
	var own ourInfo
	if len(members[ours]) > 0 {
		if err := json.Unmarshal(members[ours], &own, session.ReadOptions()); err != nil {
			return nil, err
		}
	}
	own.System = text
	written, err := json.Marshal(own, session.ReadOptions(), json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	members[ours] = written
	return json.Marshal(members, session.ReadOptions(), json.Deterministic(true))
}

// systemPrompt is short on purpose: it is paid for with every request.
func systemPrompt(folder, platform string, day time.Time, instructions []instruction) string {
	var text strings.Builder
	fmt.Fprintf(&text, `You are a coding agent. Somebody works with you in a terminal; you work with the tools that you are given, in one folder of their computer.

- Do what was asked, all of it, and nothing that was not asked. When it cannot be done as it was asked, say so before you do something else.
- Look before you change: read the files that matter, and follow the conventions that they show. Make the smallest change that does it.
- Afterwards check it: run the tests or the program, and say what you ran and what it showed. Never say that something works that you did not see work.
- Write a todo list for work of several parts, and keep it true.
- Calls that do not need each other's results belong into one answer.
- A call that was refused is not tried another way: say what you would have needed.
- Results that are no longer needed may be replaced by a line that names them, and the past by a summary. What such a line names can be read again.
- Answer briefly, in the language in which you are spoken to.

Folder: %s
Platform: %s
Day on which this session began: %s
`, folder, platform, day.Format("2006-01-02"))
	for _, one := range instructions {
		fmt.Fprintf(&text, "\nInstructions from %s, which the user wrote for everyone who works here:\n\n%s\n",
			one.path, one.text)
	}
	return text.String()
}

// instruction is a file that says how to work in a folder.
type instruction struct{ path, text string }

// mostInstructions is how many bytes of one such file are taken: some 8,000 tokens, which every
// request carries.
const mostInstructions = 32 << 10

// instructions are the files AGENTS.md, or without it CLAUDE.md, of a folder and of those
// above it up to the root of its repository; outside a repository those of the folder alone. The
// one nearest to the folder comes last. A link among them that leads out of there is passed over:
// the repository may be anybody's, and what it leads to would be sent without a question.
func instructions(folder, home string) []instruction {
	var found []instruction
	dirs := upToRoot(folder, home)
	root, err := permission.Resolve(dirs[len(dirs)-1])
	if err != nil {
		return nil
	}
	for _, dir := range dirs {
		for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
			path := filepath.Join(dir, name)
			if at, err := permission.Resolve(path); err != nil || !permission.Within(root, at) {
				continue
			}
			text, size, err := beginning(path, mostInstructions)
			if text = strings.TrimSpace(text); err != nil || text == "" || !utf8.ValidString(text) {
				continue
			}
			if size > mostInstructions {
				text += fmt.Sprintf("\n[%s of %s bytes; the rest is in the file]", quantity.Number(len(text)),
					quantity.Number(int(size)))
			}
			found = append([]instruction{{path, text}}, found...)
			break
		}
	}
	return found
}

// beginning is the beginning of a plain file, cut between two characters, and how many bytes the
// whole has.
func beginning(path string, most int64) (text string, size int64, err error) {
	f, info, err := plainfile.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most))
	for n := len(data); info.Size() > most && n > 0 && n > len(data)-utf8.UTFMax; n-- {
		if utf8.RuneStart(data[n-1]) {
			if !utf8.FullRune(data[n-1:]) {
				data = data[:n-1]
			}
			break
		}
	}
	return string(data), info.Size(), err
}

// upToRoot is a folder and those above it up to the root of its repository, nearest first. A
// repository that is the home folder, or above it, does not count.
func upToRoot(folder, home string) []string {
	var dirs []string
	for dir := folder; ; dir = filepath.Dir(dir) {
		if dir == home && dir != folder {
			return []string{folder}
		}
		dirs = append(dirs, dir)
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dirs
		}
		if filepath.Dir(dir) == dir {
			return []string{folder}
		}
	}
}
