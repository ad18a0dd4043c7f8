package packed

import (
	"bytes"
	"testing"
)

// What is unpacked is as long as the row says, or an error; and what was packed comes back.
func FuzzDecompress(f *testing.F) {
	var c Compressor
	for _, text := range []string{"", "x", string(bytes.Repeat([]byte("abc"), 1000)),
		string(bytes.Repeat([]byte{0}, 1<<16))} {
		how, short, err := c.Compress([]byte(text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(how), short, len(text))
		f.Add(uint8(how), short, len(text)+1)
	}
	f.Add(uint8(Gzipped), []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"), 1<<29)
	f.Add(uint8(Zstd), []byte("\x28\xb5\x2f\xfd\xa4\xff\xff\xff\x7f"), 1<<30)
	f.Fuzz(func(t *testing.T, how uint8, data []byte, size int) {
		if len(data) < 1<<12 { // larger ones may take what they say
			text, err := c.Decompress(Codec(how%4), data, size)
			if err == nil && len(text) != size {
				t.Fatalf("%d bytes, not %d", len(text), size)
			}
		}
		k, short, err := c.Compress(data)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := c.Decompress(k, short, len(data)); err != nil || !bytes.Equal(back, data) {
			t.Fatalf("packed as %d it came back otherwise: %v", k, err)
		}
		if _, err := c.Decompress(k, short, len(data)+1); err == nil {
			t.Error("it is as long as it is not")
		}
	})
}
