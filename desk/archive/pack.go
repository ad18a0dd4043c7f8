package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/winnowhq/winnow/text/plainfile"
)

// window is how far back a match may lie, in bytes. Sessions repeat files that they read long
// before. Decoders of today allow 8 MiB without being asked.
const window = 8 << 20

// store writes the compressed file and the receipt of a session: of a claimed file or of the parts
// that are taken out of it. Both are on the disk when it returns, and the compressed file was read
// back.
func (a Archive) store(ctx context.Context, s *Session, from io.Reader) error {
	temporary, err := os.CreateTemp(a.Folder(), ".*.unfinished")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // it is renamed if all goes well
	hash, size, ending := &s.Hash, s.Size, Ending
	if s.Parts != nil {
		hash, size, ending = &s.Parts.Packed, s.Parts.PackedSize, parts+Ending
	}
	*hash, err = pack(temporary, interruptible{ctx, from}, size)
	if err == nil {
		err = a.step("sync", temporary.Sync)
	}
	if err == nil {
		err = verify(ctx, temporary, s.Receipt)
	}
	if err = errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	path := sha256.Sum256([]byte(s.Source))
	s.Path = filepath.Join(a.Folder(), s.Hash[:32]+"-"+hex.EncodeToString(path[:4])+ending)
	s.receipt = s.Path + receipts
	// The receipt first: a compressed file without one would never be found.
	if err := a.step("receipt", s.save); err != nil {
		return err
	}
	if err := a.step("rename", func() error { return os.Rename(temporary.Name(), s.Path) }); err != nil {
		return err
	}
	if err := syncFolder(a.Folder()); err != nil {
		return err
	}
	info, err := os.Lstat(s.Path)
	if err == nil {
		s.Bytes = info.Size()
	}
	return err
}

// pack compresses size bytes, and returns their hash.
func pack(to io.Writer, from io.Reader, size int64) (hash string, err error) {
	encoder, err := zstd.NewWriter(to, zstd.WithWindowSize(window))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(encoder, sum), from, make([]byte, 1<<20))
	if err = errors.Join(err, encoder.Close()); err == nil && n != size {
		err = fmt.Errorf("%d bytes of %d were read", n, size)
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// verify reads a compressed file from its beginning, and compares its content with the receipt.
func verify(ctx context.Context, f *os.File, r Receipt) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return unpack(io.Discard, interruptible{ctx, f}, r)
}

// content is the hash and the size of what a receipt's compressed file holds.
func (r Receipt) content() (hash string, size int64) {
	if r.Parts != nil {
		return r.Parts.Packed, r.Parts.PackedSize
	}
	return r.Hash, r.Size
}

// unpack decompresses a file, and fails if its content is not that of the receipt.
func unpack(to io.Writer, from io.Reader, r Receipt) error {
	hash, size := r.content()
	decoder, err := zstd.NewReader(from, zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return err
	}
	defer decoder.Close()
	sum := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(to, sum), onlyReader{io.LimitReader(decoder, size+1)},
		make([]byte, 1<<20))
	switch {
	case err != nil:
		return err
	case n != size || hex.EncodeToString(sum.Sum(nil)) != hash:
		return fmt.Errorf("%w: %s", ErrDamaged, r.Source)
	}
	return nil
}

// ErrDamaged is the error of a compressed file that has another content than its receipt says.
var ErrDamaged = errors.New("the archived copy is damaged")

// Verify reads an archived session, and fails if it is not the file that was archived.
func (s Session) Verify(ctx context.Context) error {
	f, _, err := plainfile.Open(s.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	return verify(ctx, f, s.Receipt)
}

func hashOf(from io.Reader) (string, error) {
	sum := sha256.New()
	_, err := io.CopyBuffer(sum, from, make([]byte, 1<<20))
	return hex.EncodeToString(sum.Sum(nil)), err
}

// onlyReader hides the other methods of a reader, so that a copy uses its own buffer.
type onlyReader struct{ io.Reader }

// interruptible is a reader that fails when its context ends.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// syncFolder makes renames in a folder survive a power cut. Systems that cannot sync a folder do it
// by themselves.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = f.Sync() // Windows refuses it
	return f.Close()
}
