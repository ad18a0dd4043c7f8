package inplace

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"
)

// Process is a running program.
type Process struct {
	PID     int    `json:"pid"`     // its process id
	Name    string `json:"name"`    // its name
	Writing bool   `json:"writing"` // whether it has the file open for writing
}

func (p Process) String() string {
	text := fmt.Sprintf("process %d", p.PID)
	if p.Writing {
		text += ", writing"
	}
	if p.Name != "" {
		text = p.Name + " (" + text + ")"
	}
	return text
}

func (r Room) proc() string { return cmp.Or(r.Proc, "/proc") }

// processes lists the processes that can be seen, without this one. known is false if the system
// does not show them.
func (r Room) processes() (pids []int, known bool) {
	if _, err := os.Stat(filepath.Join(r.proc(), "self", "fd")); err != nil {
		return nil, false
	}
	list, err := os.ReadDir(r.proc())
	if err != nil {
		return nil, false
	}
	for _, entry := range list {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, true
}

// Openers are the other processes that have a file open, whatever its name is now. known is false
// if that cannot be found out; only root sees processes of other users.
func (r Room) Openers(file fs.FileInfo) (open []Process, known bool) {
	pids, known := r.processes()
	for _, pid := range pids {
		folder := filepath.Join(r.proc(), strconv.Itoa(pid))
		descriptors, err := os.ReadDir(filepath.Join(folder, "fd"))
		if err != nil {
			continue
		}
		p, has := Process{PID: pid}, false
		for _, d := range descriptors {
			name := filepath.Join(folder, "fd", d.Name())
			if to, err := os.Readlink(name); err != nil || !strings.HasPrefix(to, "/") {
				continue // a pipe or a socket
			}
			if info, err := os.Stat(name); err == nil && os.SameFile(info, file) {
				has = true
				p.Writing = p.Writing || writes(filepath.Join(folder, "fdinfo", d.Name()))
			}
		}
		if has {
			p.Name = nameOf(folder)
			open = append(open, p)
		}
	}
	return open, known
}

// writes reports whether a descriptor was opened for writing. If that is unknown, it may have been.
func writes(fdinfo string) bool {
	text, err := os.ReadFile(fdinfo)
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(text)) {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(flags), 8, 64)
			return err != nil || n&3 != 0 // O_ACCMODE; 0 is O_RDONLY
		}
	}
	return true
}

func writersOf(list []Process) []Process {
	return slices.DeleteFunc(slices.Clone(list), func(p Process) bool { return !p.Writing })
}

func arguments(folder string) []string {
	text, err := os.ReadFile(filepath.Join(folder, "cmdline"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
}

func nameOf(folder string) string {
	if args := arguments(folder); len(args) > 0 && args[0] != "" {
		return filepath.Base(args[0])
	}
	comm, _ := os.ReadFile(filepath.Join(folder, "comm")) // without it the number must do
	return strings.TrimSpace(string(comm))
}

// programs are what the clients of formats look like among the first words of a command line: a
// program's name, or a piece of a script's path.
var programs = map[string][]string{
	"claude-code": {"claude", "/claude-code/"},
	"codex":       {"codex", "/@openai/codex/"},
	"pi":          {"pi", "/pi-coding-agent/"},
	"qwen-code":   {"qwen", "/@qwen-code/"},
	"gemini-cli":  {"gemini", "/gemini-cli/"},
}

func runs(args []string, format string) bool {
	for _, arg := range args[:min(len(args), 2)] {
		for _, sign := range programs[format] {
			if filepath.Base(arg) == sign || strings.HasPrefix(sign, "/") && strings.Contains(arg, sign) {
				return true
			}
		}
	}
	return false
}

// Clients are running programs of a format's product whose working folder is the given one. Whether
// one of them has a certain session cannot be seen: it is a reason to ask, no more.
func (r Room) Clients(format, folder string) (clients []Process) {
	if folder == "" || programs[format] == nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	pids, _ := r.processes()
	for _, pid := range pids {
		at := filepath.Join(r.proc(), strconv.Itoa(pid))
		cwd, err := os.Readlink(filepath.Join(at, "cwd"))
		if err == nil && cwd == folder && runs(arguments(at), format) {
			clients = append(clients, Process{PID: pid, Name: nameOf(at)})
		}
	}
	return clients
}

// Agent finds the living agent that has the session of a file, if its product leaves a trace: each
// Claude Code leaves sessions/PID.json in its configuration folder, with the id of its session.
// That folder is the one that the file is in, PROJECTS/FOLDER/ID.jsonl, or the user's own.
func (r Room) Agent(path string) (Process, bool) {
	folders := []string{filepath.Dir(filepath.Dir(filepath.Dir(path)))}
	if r.Home != "" {
		folders = append(folders, filepath.Join(r.Home, ".claude"))
	}
	id := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	for _, folder := range slices.Compact(folders) {
		traces, _ := jsonIn(filepath.Join(folder, "sessions")) // without them nothing is known
		for _, trace := range traces {
			text, err := os.ReadFile(trace)
			if err != nil || len(text) > 1<<20 {
				continue
			}
			var said struct {
				PID     int    `json:"pid"`
				Session string `json:"sessionId"`
			}
			if json.Unmarshal(text, &said) != nil || said.Session != id || said.PID <= 0 || said.PID == os.Getpid() {
				continue
			}
			if r.lives(said.PID, "claude-code") {
				return Process{PID: said.PID, Name: "claude"}, true
			}
		}
	}
	return Process{}, false
}

// lives reports whether a process is alive and, if that can be seen, still the product's: process
// numbers are used again.
func (r Room) lives(pid int, format string) bool {
	at := filepath.Join(r.proc(), strconv.Itoa(pid))
	if _, known := r.processes(); known {
		args := arguments(at)
		return len(args) > 0 && (args[0] == "" || runs(args, format))
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || os.IsPermission(err)
}
