// Package plainfile opens, reads and replaces plain files. It refuses folders, pipes, sockets and
// devices, which may block the program that opens them, or never end.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// KindError says that something is not a plain file, and what it is.
type KindError struct {
	Path string
	Mode fs.FileMode
}

func (e *KindError) Error() string {
	return fmt.Sprintf("%s is %s, not a plain file", e.Path, Kind(e.Mode))
}

// ErrTooLarge is the error for a file with more bytes than were asked for.
var ErrTooLarge = errors.New("the file is too large")

// Kind says in words what a mode is the mode of.
func Kind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a plain file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// Open opens a plain file, or what a link to one leads to. It never waits: a file that another one
// replaces between the look at it and its opening is looked at again.
func Open(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() { // to open a device may do something
		return nil, nil, &KindError{path, info.Mode()}
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
		err = &KindError{path, info.Mode()}
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// Read reads a plain file of at most this many bytes; ErrTooLarge is the error for a larger one. 0
// is unlimited.
func Read(path string, most int64) ([]byte, fs.FileInfo, error) {
	file, info, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if most <= 0 {
		most = 1<<63 - 2
	}
	if info.Size() > most {
		return nil, info, &fs.PathError{Op: "read", Path: path, Err: ErrTooLarge}
	}
	data := make([]byte, 0, info.Size()+512)
	for {
		n, err := file.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > most:
			return nil, info, &fs.PathError{Op: "read", Path: path, Err: ErrTooLarge}
		case err == io.EOF:
			return data, info, nil
		case err != nil:
			return nil, info, err
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
		}
	}
}

// Replace puts a new file, mode 0600, in the place of the one that may be there: other programs see
// the old one or the new one, and a failure leaves nothing behind. fill writes it.
func Replace(path string, fill func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".*.unfinished")
	if err != nil {
		return err
	}
	err = errors.Join(fill(f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
