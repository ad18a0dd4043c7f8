package policy_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// coder is a session of so many messages as a coding agent has it, the same each time, with about 3 KB of text a message. Of ten messages one is the user's.
// Of the others four in ten read a file of 500 (60 to 140 numbered lines, a third of them a piece of it), one in ten edits and one in twenty writes one; the rest run
// commands, of which there are 40 that come again, fetch one of 30 pages, list todos, or fail.
func coder(messages int) []session.Message { return coderOf(messages, 100) }

// coderOf is such a session with so many per cent of the lines.
func coderOf(messages, share int) []session.Message {
	r := rand.New(rand.NewPCG(4, 4))
	words := strings.Fields("package func return error if nil err := range string int the of and store handler request 42 0x1f { } ( ) == != // TODO \"text\" /usr/lib a.go:17")
	line := func(b *strings.Builder) {
		for range 4 + r.IntN(5) {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
	text := func(lines int) string {
		var b strings.Builder
		for range max(1, lines*share/100) {
			line(&b)
		}
		return b.String()
	}
	reading := func(from, lines int, more bool) string {
		var b strings.Builder
		lines = max(1, lines*share/100)
		b.WriteString("<file>\n")
		for i := range lines {
			fmt.Fprintf(&b, "%05d| ", from+i)
			line(&b)
		}
		if more {
			fmt.Fprintf(&b, "\n(File has more lines. Use 'offset' parameter to read beyond line %d)\n</file>", from+lines-1)
		} else {
			fmt.Fprintf(&b, "\n(End of file - total %d lines)\n</file>", from+lines-1)
		}
		return b.String()
	}
	quoted := func(text string) string { return strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(text) }
	log := make([]session.Message, messages)
	for i := range log {
		id := fmt.Sprintf("msg_%05d", i)
		m := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant, ProviderID: "p", ModelID: "m", Finish: "tool-calls", Path: &session.Path{Cwd: "/repo"}}}
		tool, input, status := "read", "", session.Completed
		output := ""
		file := fmt.Sprintf("/repo/pkg%d/file%d.go", r.IntN(20), r.IntN(25))
		switch n := r.IntN(20); {
		case i%10 == 0:
			m.Role, m.Finish, m.Path = session.User, "", nil
			m.Parts = []session.Part{{ID: id + "t", Type: session.TextPart, Text: text(5)}}
			log[i] = m
			continue
		case n < 5:
			input, output = fmt.Sprintf(`{"filePath":%q}`, file), reading(1, 60+r.IntN(80), false)
		case n < 8:
			from := 1 + r.IntN(100)
			input, output = fmt.Sprintf(`{"filePath":%q,"offset":%d,"limit":80}`, file, from-1), reading(from, 80, true)
		case n < 10:
			tool, input, output = "edit", fmt.Sprintf(`{"filePath":%q,"oldString":"%s","newString":"%s"}`, file, quoted(text(12)), quoted(text(15))), "Edit applied successfully."
		case n < 11:
			tool, input, output = "write", fmt.Sprintf(`{"filePath":%q,"content":"%s"}`, file, quoted(text(100))), "Wrote file successfully."
		case n < 16:
			tool, input, output = "bash", fmt.Sprintf(`{"command":"go test ./pkg%d -run Test%d","description":"Test it"}`, r.IntN(8), r.IntN(5)), text(70+r.IntN(50))
		case n < 17:
			tool, input, output = "bash", fmt.Sprintf(`{"command":"ls -la pkg%d","description":"List"}`, r.IntN(20)), text(30)
		case n < 18:
			tool, input, output = "webfetch", fmt.Sprintf(`{"url":"https://docs.example/page%d","format":"markdown"}`, r.IntN(30)), text(160)
		case n < 19:
			tool, input, output = "todowrite", `{"todos":[{"content":"one","status":"completed"}]}`, text(12)
		default:
			tool, input, status = "bash", fmt.Sprintf(`{"command":"make part%d"}`, r.IntN(40)), session.Failed
			output = "make: *** [part] Error 1\n" + text(60)
		}
		state := &session.ToolState{Status: status, Input: []byte(input), Output: output}
		if status == session.Failed {
			state.Output, state.Error = "", output
		}
		m.Parts = []session.Part{
			{ID: id + "s", Type: session.StepStartPart},
			{ID: id + "t", Type: session.TextPart, Text: text(3)},
			{ID: id + "c", CallID: "call_" + id, Type: session.ToolPart, Tool: tool, State: state},
		}
		log[i] = m
	}
	return log
}

func bytesOf(log []session.Message) (sum int) {
	for i := range log {
		for j := range log[i].Parts {
			p := &log[i].Parts[j]
			if sum += len(p.Text); p.State != nil {
				sum += len(p.State.Input) + len(p.State.Result())
			}
		}
	}
	return sum
}

func preset(name string) policy.Policy {
	p, _ := policy.New(name, policy.Defaults())
	return p
}

const tenThousand = 10_000

// Cold: 10,000 messages that nobody has looked at. Counted, understood, and every rule asked.
func BenchmarkFind_cold(b *testing.B) { cold(b, coder(tenThousand)) }

// The same with as much text a message as in recorded sessions, 1.6 KB.
func BenchmarkFind_coldAsRecorded(b *testing.B) { cold(b, coderOf(tenThousand, 60)) }

func cold(b *testing.B, log []session.Message) {
	withoutIdle := policy.DefaultStrategies(policy.Balanced)
	withoutIdle.Idle = false
	options := policy.Defaults()
	options.Strategies = &withoutIdle
	without, _ := policy.New(policy.Balanced, options)
	for _, c := range []struct {
		name string
		p    policy.Policy
	}{{policy.Balanced, preset(policy.Balanced)}, {"balanced without idle", without}, {policy.Aggressive, preset(policy.Aggressive)}, {policy.Classic, preset(policy.Classic)}} {
		b.Run(c.name, func(b *testing.B) {
			p := c.p
			b.ReportAllocs()
			b.SetBytes(int64(bytesOf(log)))
			n := 0
			for b.Loop() {
				facts := rule.NewFacts(token.Linear{})
				facts.Learn(log)
				n = len(p.Find(policy.State{Log: log, Window: log, Facts: facts}).Elisions)
			}
			b.ReportMetric(float64(n), "elisions")
			b.ReportMetric(float64(bytesOf(log))/1e6, "MB")
		})
	}
}

// The same, once the parts are counted: understanding and finding.
func BenchmarkFind_counted(b *testing.B) {
	log := coder(tenThousand)
	for _, name := range []string{policy.Balanced, policy.Aggressive} {
		b.Run(name, func(b *testing.B) {
			p := preset(name)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				facts := rule.NewFacts(token.Linear{})
				facts.Learn(log)
				b.StartTimer()
				p.Find(policy.State{Log: log, Window: log, Facts: facts})
			}
		})
	}
}

// Each further step of a session of 2,000 messages, as most long ones have, and of 10,000: one message more, the rules, the commit. What was looked at per step is told beside the time: parts
// counted or understood, and decisions.
func BenchmarkFind_step(b *testing.B) {
	for _, from := range []int{2000, tenThousand} {
		all := coder(from * 6 / 5)
		for _, name := range []string{policy.Balanced, policy.Aggressive, policy.Classic} {
			b.Run(fmt.Sprintf("%s of %d", name, from), func(b *testing.B) { steps(b, all, from, name) })
		}
	}
}

func steps(b *testing.B, all []session.Message, from int, name string) {
	p := preset(name)
	facts, handles := rule.NewFacts(token.Linear{}), &rule.Handles{}
	var ledger rule.Ledger
	n := from
	step := func() {
		log := all[:n]
		handles.Name(log)
		if found := p.Find(policy.State{Log: log, Window: log, Ledger: ledger, Facts: facts, Handles: handles}).Elisions; len(found) > 0 {
			ledger = ledger.With(found...)
		}
	}
	facts.Learn(all[:n])
	step()
	counted, decided := facts.Counted(), facts.Decided()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if n++; n > len(all) {
			b.StopTimer() // the session is at its end: begin again
			facts, handles, ledger, n = rule.NewFacts(token.Linear{}), &rule.Handles{}, rule.Ledger{}, from
			facts.Learn(all[:n])
			counted, decided = counted-facts.Counted(), decided-facts.Decided()
			step()
			b.StartTimer()
			n++
		}
		step()
	}
	b.ReportMetric(float64(facts.Counted()-counted)/float64(b.N), "counted/op")
	b.ReportMetric(float64(facts.Decided()-decided)/float64(b.N), "decided/op")
}

// What the index holds in memory of 10,000 messages, beside the log itself, as a share of the log's text.
func BenchmarkFind_memory(b *testing.B) {
	log := coder(tenThousand)
	for _, name := range []string{policy.Balanced, policy.Aggressive} {
		b.Run(name, func(b *testing.B) {
			p := preset(name)
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				facts := rule.NewFacts(token.Linear{})
				facts.Learn(log)
				found := p.Find(policy.State{Log: log, Window: log, Facts: facts}).Elisions
				ledger := rule.NewLedger(found...)
				runtime.GC()
				runtime.ReadMemStats(&after)
				runtime.KeepAlive(facts)
				runtime.KeepAlive(ledger)
			}
			runtime.KeepAlive(log)
			held := float64(after.HeapAlloc) - float64(before.HeapAlloc)
			b.ReportMetric(held/(1<<20), "MiB")
			b.ReportMetric(held/float64(bytesOf(log)), "of-text")
		})
	}
}
