//go:build unix

package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// built is the program: as it is named, or else built in a folder.
func built(path, folder string) string {
	if path != "" {
		return path
	}
	path = filepath.Join(folder, "winnow")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "github.com/winnowhq/winnow/cmd/winnowd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		log.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// serving is `winnow serve` as a process, with a home of its own.
type serving struct {
	address, profiles string
	cmd               *exec.Cmd
}

var (
	listening = regexp.MustCompile(`listening.* address=(http://\S+)`)
	profiling = regexp.MustCompile(`profiles at=(http://\S+)`)
)

// startServing starts the program in a folder, on the store of that name, SQLite in the folder if
// it has none, and waits until it listens. settings are other members of the gateway's.
func startServing(program, folder, store, upstream string, settings ...string) *serving {
	config := filepath.Join(folder, "config", "winnow", "winnow.jsonc")
	must(os.MkdirAll(filepath.Dir(config), 0o700))
	members := append([]string{fmt.Sprintf(`"upstreams": {"up": %q}`, upstream), `"profile": "127.0.0.1:0"`}, settings...)
	must(os.WriteFile(config, []byte(`{"gateway": {`+strings.Join(members, ", ")+`}}`), 0o600))
	s := &serving{cmd: exec.Command(program, "serve", "--listen", "127.0.0.1:0")}
	s.cmd.Dir = folder
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "XDG_CONFIG_HOME=" +
		filepath.Join(folder, "config"),
		"XDG_DATA_HOME=" + filepath.Join(folder, "data"), "XDG_CACHE_HOME=" + filepath.Join(folder, "cache")}
	if store != "" {
		s.cmd.Env = append(s.cmd.Env, "WINNOW_STORE="+store)
	}
	out, err := s.cmd.StderrPipe()
	must(err)
	must(s.cmd.Start())
	var said strings.Builder
	for in := bufio.NewScanner(out); s.address == "" && in.Scan(); {
		fmt.Fprintln(&said, in.Text())
		if m := profiling.FindStringSubmatch(in.Text()); m != nil {
			s.profiles = m[1]
		}
		if m := listening.FindStringSubmatch(in.Text()); m != nil {
			s.address = m[1] + "/up"
		}
	}
	if s.address == "" {
		log.Fatalf("winnow serve does not listen:\n%s", said.String())
	}
	go io.Copy(io.Discard, out)
	return s
}

func (s *serving) stop() {
	must(s.cmd.Process.Signal(os.Interrupt))
	_ = s.cmd.Wait() // it is over in any case
}

// ticks are how many of the kernel's units a second of processor time has: USER_HZ is 100 on all
// systems of Linux that Go runs on.
const ticks = 100

// used is the processor time that processes took so far, with that of their children that have
// ended.
func used(pids ...int) time.Duration {
	total := 0
	for _, pid := range pids {
		fields := stat(pid)
		for _, at := range []int{11, 12, 13, 14} { // utime, stime, cutime, cstime
			if at < len(fields) {
				n, _ := strconv.Atoi(fields[at])
				total += n
			}
		}
	}
	return time.Duration(total) * time.Second / ticks
}

// stat are the fields of /proc/PID/stat behind the name of the program, none if there is no such
// process.
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

// family are a process and its children.
func family(pid int) []int {
	all := []int{pid}
	entries, err := os.ReadDir("/proc")
	must(err)
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if fields := stat(child); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			all = append(all, child)
		}
	}
	return all
}

// resident is what is resident of a process now, and the most that was, in MB.
func resident(pid int) (now, most float64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(err)
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		n, _ := strconv.ParseFloat(fields[0], 64)
		switch name {
		case "VmRSS":
			now = n / 1024
		case "VmHWM":
			most = n / 1024
		}
	}
	return now, cmp.Or(most, now)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
