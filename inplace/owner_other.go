//go:build !unix

package inplace

import (
	"io/fs"
	"os"
)

// owned reports that a new file has the owner that it should have: here folders give it.
func owned(*os.File, fs.FileInfo) bool { return true }
