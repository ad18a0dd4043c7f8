package packed

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"

	formats "github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/outside"
)

// BenchmarkLevels compresses the large texts of recorded sessions and their files, once each, at
// every level.
func BenchmarkLevels(b *testing.B) {
	var texts [][]byte
	size := 0
	seen := map[[32]byte]bool{}
	add := func(c Content) {
		if !seen[c.Hash] {
			seen[c.Hash] = true
			texts = append(texts, []byte(c.Text))
			size += len(c.Text)
		}
	}
	filepath.WalkDir(outside.Path(b, "corpus"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".gz" {
			return nil
		}
		doc, err := formats.Read(outside.Read(b, path))
		if err != nil {
			return nil
		}
		for _, m := range doc.Session.Messages {
			for _, p := range m.Parts {
				_, apart := Split(p)
				for _, a := range apart {
					add(a.Content)
				}
			}
		}
		for from := 0; from < len(doc.Source); from += PieceSize {
			add(New(string(doc.Source[from:min(from+PieceSize, len(doc.Source))])))
		}
		return nil
	})
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault, zstd.SpeedBetterCompression,
		zstd.SpeedBestCompression} {
		b.Run(level.String(), func(b *testing.B) {
			encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(window),
				zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)),
				zstd.WithLowerEncoderMem(true))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(size))
			packed := 0
			for b.Loop() {
				packed = 0
				for _, t := range texts {
					packed += len(encoder.EncodeAll(t, nil))
				}
			}
			b.ReportMetric(float64(size)/float64(packed), "ratio")
		})
	}
}
