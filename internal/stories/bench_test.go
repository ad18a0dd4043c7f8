package stories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// large is a session of 2,000 messages with 1,771 tool calls and 9 MB of text, the same each time.
func large() session.Session {
	const messages, calls, size = 2000, 1771, 9 << 20
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("package func return error if nil err := range string int the of and store handler " +
		"request 42 0x1f { } ( ) == != // TODO \"text\" /usr/lib a.go:17")
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(words[r.IntN(len(words))])
			if r.IntN(9) == 0 {
				b.WriteByte('\n')
			} else {
				b.WriteByte(' ')
			}
		}
		return b.String()
	}
	s := session.Session{Info: session.Info{ID: "ses_large", Title: "large"}}
	called := 0
	for i := range messages {
		id := fmt.Sprintf("msg_%04d", i)
		m := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant, ProviderID: "anthropic",
			ModelID: "claude-sonnet-4-5", Finish: "tool-calls"}}
		switch {
		case i%20 == 0:
			m.Role, m.Finish = session.User, ""
			m.Parts = []session.Part{{ID: id + "t", Type: session.TextPart, Text: text(200)}}
		case called < calls:
			called++
			m.Parts = []session.Part{
				{ID: id + "t", Type: session.TextPart, Text: text(60)},
				{ID: id + "c", CallID: id + "c", Type: session.ToolPart, Tool: "read", State: &session.ToolState{
					Status: session.Completed,
					Input:  []byte(fmt.Sprintf(`{"filePath":"/repo/file%d.go"}`, r.IntN(200))),
					Output: text((size - messages*100) / calls)}},
			}
		default:
			m.Parts = []session.Part{{ID: id + "t", Type: session.TextPart, Text: text(300)}}
		}
		s.Messages = append(s.Messages, m)
	}
	return s
}

// Cold: a session that the engine has never seen is inspected and pruned.
func BenchmarkInspectAndPrune_cold(b *testing.B) {
	s := large()
	ctx := context.Background()
	for _, policy := range []string{"classic", "balanced", "aggressive"} {
		b.Run(policy, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e := open(b, winnow.Config{Settings: withPolicy(policy)})
				b.StopTimer()
				if err := e.Import(ctx, s, rule.Ledger{}, nil); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := e.Inspect(ctx, s.Info.ID); err != nil {
					b.Fatal(err)
				}
				if out, err := e.Prune(ctx, s.Info.ID, false); err != nil || out.Pruned == nil {
					b.Fatal(out, err)
				}
			}
		})
	}
}

// Step: one more step of a large session: append, report, plan, end the turn, view.
func BenchmarkStep(b *testing.B) {
	s := large()
	ctx := context.Background()
	for _, policy := range []string{"classic", "balanced"} {
		b.Run(policy, func(b *testing.B) {
			settings := withPolicy(policy)
			settings.Compaction.Auto = false
			e := open(b, winnow.Config{Settings: settings})
			if err := e.Import(ctx, s, rule.Ledger{}, nil); err != nil {
				b.Fatal(err)
			}
			if _, err := e.Prune(ctx, s.Info.ID, false); err != nil {
				b.Fatal(err)
			}
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				m := s.Messages[1+n%100]
				m.ID, m.Parts = "",
					[]session.Part{{Type: session.ToolPart, Tool: "read", CallID: fmt.Sprint("new", n),
						State: m.Parts[len(m.Parts)-1].State}}
				if m.Role == session.User || m.Parts[0].State == nil {
					continue
				}
				if err := e.Append(ctx, s.Info.ID, m); err != nil {
					b.Fatal(err)
				}
				if _, err := e.Observe(ctx, s.Info.ID, session.Usage{Input: 10, Output: 10}); err != nil {
					b.Fatal(err)
				}
				if _, err := e.EndTurn(ctx, s.Info.ID); err != nil {
					b.Fatal(err)
				}
				if _, err := e.View(ctx, s.Info.ID); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRender(b *testing.B) {
	s := large()
	for b.Loop() {
		view.Render(view.Window(s.Messages, nil), rule.Ledger{})
	}
}
