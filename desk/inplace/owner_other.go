//go:build !unix

package inplace

import (
	"io/fs"
	"os"
)

// belongs reports that a new file can have the owner of another.
func belongs(fs.FileInfo) bool { return true }

// owned reports that a new file has the owner that it should have: here folders give it.
func owned(*os.File, fs.FileInfo) bool { return true }

// shared reports that a file is this user's alone.
func shared(fs.FileInfo) string { return "" }
