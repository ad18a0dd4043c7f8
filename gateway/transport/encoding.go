package transport

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// coding is one of the ways to pack a body that Content-Encoding names.
type coding struct {
	reader func(packed io.Reader) (io.Reader, error)
	writer func(packed io.Writer) (io.WriteCloser, error)
}

// mostWindow bounds what a zstd frame may refer back to, which its head names and a reader keeps:
// 8 MiB is what RFC 9659 allows, and other senders use more.
const mostWindow = 32 << 20

var codings = map[string]coding{
	"gzip": {
		func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	},
	"zstd": {
		func(r io.Reader) (io.Reader, error) {
			return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow),
				zstd.WithDecodeBuffersBelow(0))
		},
		func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) },
	},
	"br": {
		func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
		func(w io.Writer) (io.WriteCloser, error) { return brotli.NewWriterLevel(w, 4), nil },
	},
	"deflate": {
		inflated,
		func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil },
	},
}

// inflated reads deflate as it is specified, with a head of zlib's, and as some send it, without.
func inflated(r io.Reader) (io.Reader, error) {
	packed := bufio.NewReader(r)
	head, err := packed.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8+int(head[1]))%31 == 0 {
		return zlib.NewReader(packed)
	}
	return flate.NewReader(packed), nil
}

// encoding is the Content-Encoding of a head in lower case, "" for none.
func encoding(head http.Header) string {
	name := strings.ToLower(strings.TrimSpace(strings.Join(head.Values("Content-Encoding"), ",")))
	switch name {
	case "identity":
		return ""
	case "x-gzip":
		return "gzip"
	}
	return name
}

var (
	errUnknownCoding = errors.New("unknown Content-Encoding")
	errTooLarge      = errors.New("unpacked it is too large")
)

// unpacked is a body without its Content-Encoding. With an error it is what came before that. One
// that has more bytes than most is not unpacked any further, and nothing of it is returned.
func unpacked(name string, packed []byte, most int) (plain []byte, err error) {
	if name == "" {
		return packed, nil
	}
	c, ok := codings[name]
	if !ok {
		return nil, errUnknownCoding
	}
	defer func() { // the reader of a coding met what it was not made for
		if p := recover(); p != nil {
			plain, err = nil, fmt.Errorf("unpack %s: %v", name, p)
		}
	}()
	r, err := c.reader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	if d, ok := r.(*zstd.Decoder); ok {
		defer d.Close()
	}
	plain, err = io.ReadAll(io.LimitReader(r, int64(most)+1))
	if len(plain) > most {
		return nil, errTooLarge
	}
	return plain, err
}

// repacked is a body with a Content-Encoding.
func repacked(name string, plain []byte) ([]byte, error) {
	if name == "" {
		return plain, nil
	}
	var packed bytes.Buffer
	w, err := codings[name].writer(&packed)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(plain)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}

// again is a request whose body can be had as often as it is wanted: its GetBody gives it as it
// came.
func again(r *http.Request, came []byte) *http.Request {
	r = r.WithContext(r.Context())
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(came)), nil }
	return r
}

// with is the request of again with a body. One that was edited is packed as the one that came;
// any other leaves as it came, without its length if it came without.
func with(r *http.Request, plain []byte, edited bool) *http.Request {
	r = r.Clone(r.Context())
	if edited {
		if body, err := repacked(encoding(r.Header), plain); err == nil {
			r.ContentLength = int64(len(body))
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		}
	}
	r.Body, _ = r.GetBody()
	// With GetBody the base may send a request again that the provider has not begun with, as
	// HTTP/2 tells. Those with such a header net/http sends again whatever became of them.
	if r.Header.Get("Idempotency-Key") != "" || r.Header.Get("X-Idempotency-Key") != "" {
		r.GetBody = nil
	}
	return r
}
