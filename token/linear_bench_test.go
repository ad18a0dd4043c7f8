package token_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/token"
)

// benchText is a megabyte: Go source of the distribution, which is what tools show an agent most.
func benchText(b *testing.B) string {
	b.Helper()
	var text strings.Builder
	files, err := filepath.Glob(filepath.Join(goroot(b), "src", "net", "http", "*.go"))
	if err != nil || len(files) == 0 {
		b.Skip("no source of the Go distribution to count")
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		text.Write(data)
	}
	return text.String()[:1<<20]
}

func benchmarkCounter(b *testing.B, counter token.Counter, text string) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n = counter.Count(text)
	}
	b.ReportMetric(float64(len(text))/float64(max(1, n)), "bytes/token")
}

func BenchmarkLinear(b *testing.B) { benchmarkCounter(b, token.Linear{}, benchText(b)) }
func BenchmarkChars4(b *testing.B) { benchmarkCounter(b, token.Chars4{}, benchText(b)) }
func BenchmarkMemo(b *testing.B)   { benchmarkCounter(b, token.NewMemo(token.Linear{}, 0), benchText(b)) }

func BenchmarkLinear_japanese(b *testing.B) {
	benchmarkCounter(b, token.Linear{}, strings.Repeat("設定ファイルを読み込めませんでした。ログを確認してください。\n", 10_000))
}

func BenchmarkChars4_japanese(b *testing.B) {
	benchmarkCounter(b, token.Chars4{}, strings.Repeat("設定ファイルを読み込めませんでした。ログを確認してください。\n", 10_000))
}

// goroot is the folder of the Go distribution that runs the test.
func goroot(b *testing.B) string {
	b.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skipf("go env GOROOT: %v", err)
	}
	return strings.TrimSpace(string(out))
}
