package packed

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/winnowhq/winnow/store"
)

// Codec tells how a content was compressed. The numbers are in the database.
type Codec int

const (
	Plain   Codec = 0 // compression gained nothing
	Gzipped Codec = 1 // written by version 1 of the database; only read
	Zstd    Codec = 2
)

const (
	// window is how far back a match may lie, in bytes. Pieces of files are as long. A larger one
	// would gain under one percent on longer texts, and every encoder and decoder holds one in
	// memory.
	window = 1 << 20
	// widest is the window that a decoder allows: more than ours, for a later version.
	widest = 8 << 20
	// trusted is the size in bytes up to which the memory for a content is allocated at once. For a
	// larger one it grows while decompressing, so that a damaged row cannot ask for more than it
	// holds.
	trusted = 32 << 20
	// MostFold is how many bytes zstd makes of one byte at most: a block of 128 KiB of one repeated
	// byte takes four.
	MostFold = 32 << 10
	// largest is the largest size of a content, in bytes: SQLite has no rows beyond a gigabyte.
	largest = 1 << 30
)

// Compressor compresses with zstd at its default level, and also reads what gzip compressed.
// Concurrent calls share its coders, because each is larger than most of what it compresses. The
// zero value is ready.
type Compressor struct {
	once    sync.Once
	decoder *zstd.Decoder
	err     error

	// An encoder takes megabytes: those of a store that nobody writes to go with the garbage.
	encoders sync.Pool // *zstd.Encoder
	streams  sync.Pool // *zstd.Decoder, for texts larger than trusted
	gzips    sync.Pool // *gzip.Reader
}

func (c *Compressor) ready() error {
	c.once.Do(func() {
		c.decoder, c.err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)),
			zstd.WithDecoderMaxMemory(trusted), zstd.WithDecoderMaxWindow(widest), zstd.WithDecodeAllCapLimit(true))
	})
	return c.err
}

// Compress returns data compressed, or as it is if that is not smaller.
func (c *Compressor) Compress(data []byte) (Codec, []byte, error) {
	if len(data) > largest {
		return 0, nil, fmt.Errorf("a text of %d bytes is too long for a store, which takes %d at most", len(data),
			largest)
	}
	encoder, _ := c.encoders.Get().(*zstd.Encoder)
	if encoder == nil {
		var err error
		// The default level: recorded sessions and their files become 4.8 times smaller. At the
		// fastest they become 4.6 times smaller in 0.6 of the time, at the next better 5.0 times in
		// 1.65 of the time (BenchmarkLevels).
		if encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(window),
			zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true)); err != nil {
			return 0, nil, err
		}
	}
	short := encoder.EncodeAll(data, make([]byte, 0, len(data)/2))
	c.encoders.Put(encoder)
	if len(short) >= len(data) {
		return Plain, data, nil
	}
	return Zstd, short, nil
}

var errSize = errors.New("the compressed text has another size")

// Decompress returns size bytes that the caller owns, or an error. Whatever size says, it takes no
// more memory than data can decompress to.
func (c *Compressor) Decompress(how Codec, data []byte, size int) ([]byte, error) {
	switch {
	case size < 0 || size > largest:
		return nil, errSize
	case how == Plain:
		if len(data) != size {
			return nil, errSize
		}
		return bytes.Clone(data), nil
	case how == Gzipped:
		return c.gunzip(data, size)
	case how != Zstd:
		return nil, fmt.Errorf("%w: unknown compression %d", store.ErrNewer, how)
	case size/MostFold > len(data):
		return nil, errSize
	}
	if err := c.ready(); err != nil {
		return nil, err
	}
	if size > trusted {
		return c.unfold(data, size)
	}
	var h zstd.Header
	if err := h.Decode(data); err != nil {
		return nil, err
	}
	if h.HasFCS && h.FrameContentSize != uint64(size) {
		return nil, errSize
	}
	text, err := c.decoder.DecodeAll(data, make([]byte, 0, size))
	if err != nil {
		return nil, err
	}
	if len(text) != size {
		return nil, errSize
	}
	return text, nil
}

// unfold decompresses a text whose size is too large to be trusted.
func (c *Compressor) unfold(data []byte, size int) ([]byte, error) {
	r, _ := c.streams.Get().(*zstd.Decoder)
	if r == nil {
		var err error
		// Concurrency 1 works in this goroutine and leaves none behind.
		if r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(largest),
			zstd.WithDecoderMaxWindow(widest), zstd.WithDecoderLowmem(true)); err != nil {
			return nil, err
		}
	}
	if err := r.Reset(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	n, err := io.Copy(&text, io.LimitReader(r, int64(size)+1))
	if err != nil {
		return nil, err
	}
	if n != int64(size) {
		return nil, errSize
	}
	if err := r.Reset(nil); err == nil {
		c.streams.Put(r)
	}
	return text.Bytes(), nil
}

// gunzip reads what version 1 of the database compressed.
func (c *Compressor) gunzip(data []byte, size int) ([]byte, error) {
	r, _ := c.gzips.Get().(*gzip.Reader)
	if r == nil {
		r = new(gzip.Reader)
	}
	defer c.gzips.Put(r)
	if err := r.Reset(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	// Deflate never does better than 1032 to one, so a damaged size takes no memory. One byte more
	// than expected, because the reader checks its checksum only at the end.
	text := make([]byte, min(size, len(data)*1032)+1)
	n, err := io.ReadFull(r, text)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if n != size || err == nil {
		return nil, errSize
	}
	return text[:n], nil
}
