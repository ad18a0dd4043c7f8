package tools

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// endStrays ends the processes that a command left behind outside of its group, as setsid does:
// their environment has the command's mark. What cleared its environment, or runs as another user,
// is not found.
func endStrays(mark string) {
	for range 4 { // one of them may just be starting another
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return
		}
		found := false
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || !marked(pid, mark) {
				continue
			}
			p, err := os.FindProcess(pid)
			if err != nil {
				continue
			}
			// Found before it is looked at again, it is the same process still.
			if marked(pid, mark) && p.Kill() == nil {
				found = true
			}
			p.Release()
		}
		if !found {
			return
		}
	}
}

func marked(pid int, mark string) bool {
	environment, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	return err == nil && bytes.Contains(environment, []byte(mark))
}
