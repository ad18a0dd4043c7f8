//go:build unix

package plainfile_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/winnowhq/winnow/text/plainfile"
)

func TestRead_refusesWhatIsNoFileWithoutWaitingForIt(t *testing.T) {
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip(err)
	}
	defer listener.Close()
	for path, want := range map[string]string{pipe: "a named pipe", socket: "a socket", dir: "a folder", "/dev/zero": "a device"} {
		link := filepath.Join(dir, "link-to-"+filepath.Base(path))
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{path, link} {
			_, _, err := plainfile.Read(name, 0)
			var kind *plainfile.KindError
			if !errors.As(err, &kind) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v, want that it is %s", name, err, want)
			}
		}
	}
	if _, _, err := plainfile.Read(filepath.Join(dir, "missing"), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestRead_readsFilesUpToALimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	for _, size := range []int{0, 1, 511, 512, 513, 5000} {
		if err := os.WriteFile(file, []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, most := range []int64{0, int64(size), int64(size) + 1} {
			data, info, err := plainfile.Read(file, most)
			if err != nil || len(data) != size || info.Size() != int64(size) {
				t.Errorf("%d bytes of %d, at most %d: %v", len(data), size, most, err)
			}
		}
		if size > 1 {
			if _, _, err := plainfile.Read(file, int64(size)-1); !errors.Is(err, plainfile.ErrTooLarge) {
				t.Errorf("%d bytes where one less is the most: %v", size, err)
			}
		}
	}
}

// A file that says that it has no bytes, and never ends, is not read for ever.
func TestRead_doesNotBelieveTheSize(t *testing.T) {
	if _, _, err := plainfile.Read("/proc/self/status", 10); !errors.Is(err, plainfile.ErrTooLarge) && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestReplace_isAllOrNothing(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "kept")
	write := func(text string, err error) error {
		return plainfile.Replace(path, func(f *os.File) error {
			_, failed := f.WriteString(text)
			return errors.Join(failed, err)
		})
	}
	if err := write("first", nil); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	if err := write("second", full); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "first" {
		t.Errorf("the file has %q (%v), want what was there before", text, err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("%d files in the folder, want the one: %v", len(left), err)
	}
}
