package torture

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// disk stands between SQLite and the operating system, in this process. It counts what SQLite wants
// to change on disk, and at one of these moments the process dies or the disk fails. There is one,
// because SQLite has one for the process.
var disk fault

// fault is what happens to the disk, and when.
type fault struct {
	once    sync.Once
	open    uintptr // SQLite's own functions
	delete  uintptr
	mu      sync.Mutex
	methods map[uintptr]fileMethods // by the address of the table, SQLite's own and ours

	seen atomic.Int64 // operations since it was armed
	at   atomic.Int64 // the operation that it happens at, counted from 1; 0 is never
	how  atomic.Int32
}

// trouble is what happens at an operation of the disk.
type trouble int32

const (
	killBefore  trouble = iota
	killHalfway         // of a write: one half of the bytes is on disk
	killAfter
	failFull   // the disk is full from here on
	failOnce   // one operation fails, the next ones do not
	failBroken // every operation fails from here on
	troubles
)

func (t trouble) String() string {
	return [...]string{"killed before", "killed halfway through", "killed after", "disk full from", "I/O error at", "I/O errors from"}[t]
}

// arm lets trouble happen at an operation from now on; 0 only counts.
func (f *fault) arm(at int64, how trouble) error {
	f.how.Store(int32(how))
	f.at.Store(at)
	f.seen.Store(0)
	return f.install()
}

// disarm makes the disk well again, and returns how many operations there were.
func (f *fault) disarm() int64 {
	f.at.Store(0)
	return f.seen.Load()
}

// fileMethods are two tables of the functions of an open file.
type fileMethods struct {
	original *sqlite3.Tsqlite3_io_methods
	changed  uintptr // in SQLite's memory, where it looks for it
}

// at makes an address a pointer.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// function makes the address that C would have of a function.
func function(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

// call makes an address a function.
func call[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{address})) }

func (f *fault) install() (err error) {
	f.once.Do(func() {
		tls := libc.NewTLS()
		defer tls.Close()
		address := sqlite3.Xsqlite3_vfs_find(tls, 0)
		if address == 0 {
			err = errors.New("SQLite has no disk")
			return
		}
		f.methods = map[uintptr]fileMethods{}
		vfs := at[sqlite3.Tsqlite3_vfs](address)
		f.open, f.delete = vfs.FxOpen, vfs.FxDelete
		vfs.FxOpen, vfs.FxDelete = function(diskOpen), function(diskDelete)
	})
	return err
}

// happens counts an operation, and returns the code that it ends with, SQLITE_OK when it may go on.
// half does one half of it.
func (f *fault) happens(half, whole func() int32) int32 {
	n, when := f.seen.Add(1), f.at.Load()
	how := trouble(f.how.Load())
	switch {
	case when == 0 || n < when:
	case n == when && how == killBefore:
		die()
	case n == when && how == killHalfway:
		half()
		die()
	case n == when && how == killAfter:
		whole()
		die()
	case how == failFull:
		half()
		return sqlite3.SQLITE_FULL
	case n == when && how == failOnce, how == failBroken:
		half()
		return sqlite3.SQLITE_IOERR_WRITE
	}
	return whole()
}

// die ends this process as nothing else can: no deferred call runs and no buffer is written.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		p.Kill()
	}
	select {}
}

func nothing() int32 { return sqlite3.SQLITE_OK }

type (
	openFunc   = func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32
	deleteFunc = func(*libc.TLS, uintptr, uintptr, int32) int32
	writeFunc  = func(*libc.TLS, uintptr, uintptr, int32, int64) int32
	numberFunc = func(*libc.TLS, uintptr, int64) int32
	flagsFunc  = func(*libc.TLS, uintptr, int32) int32
)

func diskOpen(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	if code := call[openFunc](disk.open)(tls, vfs, name, file, flags, out); code != sqlite3.SQLITE_OK {
		return code
	}
	opened := at[sqlite3.Tsqlite3_file](file)
	disk.mu.Lock()
	defer disk.mu.Unlock()
	m, known := disk.methods[opened.FpMethods]
	if !known {
		m = fileMethods{at[sqlite3.Tsqlite3_io_methods](opened.FpMethods), libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))}
		if m.changed == 0 {
			return sqlite3.SQLITE_NOMEM
		}
		changed := at[sqlite3.Tsqlite3_io_methods](m.changed)
		*changed = *m.original
		changed.FxWrite, changed.FxTruncate, changed.FxSync = function(diskWrite), function(diskTruncate), function(diskSync)
		disk.methods[opened.FpMethods], disk.methods[m.changed] = m, m
	}
	opened.FpMethods = m.changed
	return sqlite3.SQLITE_OK
}

// original are SQLite's own functions of an open file.
func original(file uintptr) *sqlite3.Tsqlite3_io_methods {
	disk.mu.Lock()
	defer disk.mu.Unlock()
	return disk.methods[at[sqlite3.Tsqlite3_file](file).FpMethods].original
}

func diskDelete(tls *libc.TLS, vfs, name uintptr, sync int32) int32 {
	return disk.happens(nothing, func() int32 { return call[deleteFunc](disk.delete)(tls, vfs, name, sync) })
}

func diskWrite(tls *libc.TLS, file, data uintptr, size int32, offset int64) int32 {
	write := call[writeFunc](original(file).FxWrite)
	return disk.happens(
		func() int32 { return write(tls, file, data, size/2, offset) },
		func() int32 { return write(tls, file, data, size, offset) })
}

func diskTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	return disk.happens(nothing, func() int32 { return call[numberFunc](original(file).FxTruncate)(tls, file, size) })
}

func diskSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	return disk.happens(nothing, func() int32 { return call[flagsFunc](original(file).FxSync)(tls, file, flags) })
}
