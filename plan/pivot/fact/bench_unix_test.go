//go:build unix

package fact_test

import (
	"context"
	"syscall"
	"testing"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/pivot/fact"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/summarize/offline"
)

// BenchmarkCheck reads a session of about nine megabytes into a source and checks a summary of it,
// as one compaction does.
func BenchmarkCheck(b *testing.B) {
	sessions := corpus(b)
	var log []session.Message
	size := 0
	for _, r := range sessions {
		if size > 9_000_000 {
			break
		}
		log = append(log, r.log...)
		for _, text := range r.texts {
			size += len(text)
		}
	}
	answer, err := new(offline.Summarizer).Summarize(context.Background(), pivot.Request{Log: log, Budget: 8000})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	began := cpu(b)
	for b.Loop() {
		s := fact.NewSource()
		for i := range log {
			s.AddMessage(&log[i])
		}
		fact.Check(answer.Text, s)
	}
	b.ReportMetric((cpu(b)-began)*1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(size)/1e6, "MB")
	b.ReportMetric(float64(len(fact.Claims(answer.Text))), "claims")
}

// cpu is the time in seconds that this process has computed: on a machine that does other work too,
// it says more than the clock does.
func cpu(b *testing.B) float64 {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(use.Utime) + seconds(use.Stime)
}
