package pgtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// children are the ids of the processes that a process has started, as /proc tells.
func children(pid int) (found []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is sound
	for _, path := range all {
		if state := fields(path); len(state) > 1 && state[1] == strconv.Itoa(pid) && state[0] != "Z" {
			if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

// status is the state of a process, a letter, "" if there is none.
func status(pid int) string {
	if state := fields("/proc/" + strconv.Itoa(pid) + "/stat"); len(state) > 0 {
		return state[0]
	}
	return ""
}

// fields are what a file of /proc says of a process behind its name, which may hold anything.
func fields(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil // it has ended
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

// KillProcess kills a process of a server: the server ends all others, and recovers.
func KillProcess(pid int) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return process.Kill()
}
