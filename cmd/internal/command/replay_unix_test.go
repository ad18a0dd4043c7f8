//go:build unix

package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/winnowhq/winnow/internal/workday"
)

// BenchmarkReplay replays 150 sessions, 30,000 steps and 26 million tokens, under the eight usual
// policies: the whole process, with nothing remembered.
func BenchmarkReplay(b *testing.B) {
	home := b.TempDir()
	folder := filepath.Join(home, "sessions")
	if err := os.Mkdir(folder, 0o755); err != nil {
		b.Fatal(err)
	}
	const sessions = 150
	shelfOfDays(b, folder, sessions, workday.Steps)
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for i := range b.N {
		cmd := exec.Command(self, "replay", folder, "--prices", "reference")
		cmd.Args[0] = "winnow" // TestMain looks at the name
		cmd.Dir = home
		cmd.Env = []string{"HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, fmt.Sprint("cache", i)), "GOMAXPROCS=" + fmt.Sprint(runtime.GOMAXPROCS(0))}
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		if i == 0 {
			b.Logf("\n%s", out)
		}
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			b.ReportMetric(float64(usage.Maxrss)/1024, "MB") // kilobytes, on Linux
			b.ReportMetric(cmd.ProcessState.UserTime().Seconds()+cmd.ProcessState.SystemTime().Seconds(), "cpu-s")
		}
	}
	b.ReportMetric(sessions*workday.Steps*float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}
