//go:build unix

package inplace

import (
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// belongs reports whether a new file of this process can have the owner and group of another.
func belongs(as fs.FileInfo) bool {
	want, ok := as.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() == 0 {
		return true
	}
	groups, _ := os.Getgroups() // without them only the own one is known
	return int(want.Uid) == os.Geteuid() && slices.Contains(append(groups, os.Getegid()), int(want.Gid))
}

// owned gives a new file the owner and group of another, and reports whether it has them.
func owned(f *os.File, as fs.FileInfo) bool {
	want, ok := as.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	if have, ok := info.Sys().(*syscall.Stat_t); ok && have.Uid == want.Uid && have.Gid == want.Gid {
		return true
	}
	if f.Chown(int(want.Uid), int(want.Gid)) == nil {
		return true
	}
	_ = f.Chown(-1, int(want.Gid)) // the group at least
	return false
}

// shared says why a file is not this user's alone, "" if it is: another owner could not get it back
// as it was, and a file with a second name takes the same room without the first.
func shared(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return ""
	case int(stat.Uid) != os.Geteuid():
		return "it belongs to another user"
	case stat.Nlink > 1:
		return "it has a second name (a hard link), so that removing it would free nothing"
	}
	return ""
}
