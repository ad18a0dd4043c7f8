package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// words returns text of about a size that compresses as program output does, the same for the same
// seed.
func words(seed uint64, size int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "%s/%s.go:%d: %s\n", vocabulary[r.IntN(len(vocabulary))], vocabulary[r.IntN(len(vocabulary))],
			r.IntN(900),
			vocabulary[r.IntN(len(vocabulary))])
	}
	return b.String()[:size]
}

var vocabulary = strings.Fields("session message part ledger window pivot marker summary elision view policy receipt undefined: " +
	"expected declared and not used cannot convert type missing return at end of function internal storage engine parser reader")

// steps returns messages as a coding agent makes them: each one call with its result between step
// marks, five parts.
func steps(count, output int, seed uint64) []session.Message {
	messages := make([]session.Message, count)
	for i := range messages {
		id := fmt.Sprintf("msg_%d_%d", seed, i)
		info := session.MessageInfo{ID: id, SessionID: "ses", Role: session.Assistant, ParentID: "msg_user",
			ModelID: "a-model", ProviderID: "a-provider",
			Time: session.MessageTime{Created: 1.7e12, Completed: 1.7e12}, Mode: "build",
			Path: &session.Path{Cwd: "/home/me/project", Root: "/"},
			Cost: new(float64), Tokens: &session.Usage{Input: 1200, Output: 300,
				Cache: session.CacheUsage{Read: 54000}}, Finish: "tool-calls"}
		part := func(n int, p session.Part) session.Part {
			p.ID, p.SessionID, p.MessageID = fmt.Sprintf("prt_%s_%d", id, n), "ses", id
			return p
		}
		messages[i] = session.Message{MessageInfo: info, Parts: []session.Part{
			part(0, session.Part{Type: session.StepStartPart, Snapshot: "0123456789abcdef0123456789abcdef01234567"}),
			part(1, session.Part{Type: session.ReasoningPart, Text: words(seed+uint64(i)*7, 600),
				Time: &session.Span{Start: 1, End: 2}}),
			part(2, session.Part{Type: session.TextPart, Text: words(seed+uint64(i)*11, 200),
				Time: &session.Span{Start: 1, End: 2}}),
			part(3, session.Part{Type: session.ToolPart, CallID: "call_" + id, Tool: "bash", State: &session.ToolState{
				Status: session.Completed, Input: []byte(`{"command":"go test ./...","description":"runs the tests"}`),
				Title:  "runs the tests",
				Output: words(seed*1000+uint64(i), output), Metadata: []byte(`{"exit":0}`),
				Time: &session.Span{Start: 1, End: 2},
			}}),
			part(4, session.Part{Type: session.StepFinishPart, Reason: "tool-calls", Cost: new(float64),
				Tokens: &session.Usage{Input: 1200, Output: 300}}),
		}}
	}
	return messages
}

func benchStore(b *testing.B) *sqlite.Store {
	s := open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "winnow.db")})
	if err := s.Create(b.Context(), session.Info{ID: "ses"}); err != nil {
		b.Fatal(err)
	}
	return s
}

func change(b *testing.B, s *sqlite.Store, c store.Change) {
	if _, err := s.Apply(b.Context(), "ses", c); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAppend_batches appends 20 messages of 100 parts in all in one change, as an import does.
func BenchmarkAppend_batches(b *testing.B) {
	for _, output := range []int{500, 2000, 8000, 30000} {
		b.Run(fmt.Sprintf("output=%d", output), func(b *testing.B) {
			s := benchStore(b)
			const made = 50
			var batches [made][]session.Message
			for i := range batches {
				batches[i] = steps(20, output, uint64(i))
			}
			n := 0
			for b.Loop() {
				batch := batches[n%made]
				if n >= made { // other outputs, so that none is there already
					for i := range batch {
						state := batch[i].Parts[3].State
						state.Output = fmt.Sprintf("%8d%s", n, state.Output[8:])
					}
				}
				n++
				change(b, s, store.Change{Append: batch})
			}
			b.ReportMetric(float64(b.N*100)/b.Elapsed().Seconds(), "parts/s")
		})
	}
}

// BenchmarkAppend_one appends one message with one part of text, as a user who typed something
// does.
func BenchmarkAppend_one(b *testing.B) {
	s := benchStore(b)
	m := session.Message{MessageInfo: session.MessageInfo{ID: "m", Role: session.User},
		Parts: []session.Part{{ID: "p", Type: session.TextPart, Text: words(1, 300)}}}
	for b.Loop() {
		change(b, s, store.Change{Append: []session.Message{m}})
	}
}

// BenchmarkUpdate_one replaces the newest message of five parts, as a call that ended does.
func BenchmarkUpdate_one(b *testing.B) {
	s := benchStore(b)
	change(b, s, store.Change{Append: steps(500, 2000, 1)})
	m := steps(500, 2000, 1)[499:]
	base := int64(2)
	for b.Loop() {
		change(b, s, store.Change{Base: base, Update: m})
		base++
	}
}

// BenchmarkMessages reads a log of 2,000 messages with 10,000 parts, newest first, to its end or to
// the first hundred.
func BenchmarkMessages(b *testing.B) {
	for _, output := range []int{2000, 8000} {
		s := benchStore(b)
		for i := range 20 {
			change(b, s, store.Change{Append: steps(100, output, uint64(i))})
		}
		for _, stop := range []int{100, 2000} {
			b.Run(fmt.Sprintf("output=%d/read=%d", output, stop), func(b *testing.B) {
				for b.Loop() {
					read := 0
					for _, err := range s.Messages(b.Context(), "ses") {
						if err != nil {
							b.Fatal(err)
						}
						if read++; read == stop {
							break
						}
					}
				}
				b.ReportMetric(float64(b.N*stop)/b.Elapsed().Seconds(), "messages/s")
			})
		}
	}
}

// BenchmarkState reads what is known about a session of 2,000 messages with 1,000 elisions and 500
// spends.
func BenchmarkState(b *testing.B) {
	s := benchStore(b)
	for i := range 20 {
		change(b, s, store.Change{Append: steps(100, 500, uint64(i))})
	}
	c := store.Change{Base: 21}
	for i := range 1000 {
		c.Commit = append(c.Commit, rule.Elision{Part: fmt.Sprint("part", i), Message: "m", Field: rule.Output,
			Rule:    "coverage",
			Because: "a later read covers it", Shown: "[read again below]", Saves: 1200, Time: 1.7e12})
	}
	for range 500 {
		c.Spend = append(c.Spend, store.Spend{Time: 1.7e12, Kind: "step", Message: "msg_1", Model: "p/m",
			Usage: session.Usage{Input: 3}, Cost: 0.01})
	}
	change(b, s, c)
	for b.Loop() {
		if _, err := s.State(b.Context(), "ses"); err != nil {
			b.Fatal(err)
		}
	}
}
