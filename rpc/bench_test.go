package rpc_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/rpc"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
)

var wide = model.Model{Provider: "acme", ID: "wide", Limits: model.Limits{Context: 10_000_000, Output: 4_000}}

// long is a session of 2,000 messages whose view has 580 kB.
func long() session.Session {
	r := rand.New(rand.NewPCG(1, 2))
	s := session.Session{Info: session.Info{ID: "ses_long", Title: "long"}}
	for i := range 2000 {
		m := session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("msg_%04d", i), Role: session.Assistant, ProviderID: "acme", ModelID: "wide", Finish: "tool-calls"}}
		if i%20 == 0 {
			m.Role, m.Finish = session.User, ""
			m.Parts = []session.Part{{ID: m.ID + "t", Type: session.TextPart, Text: fmt.Sprint("Look at the next ones, of ", i)}}
		} else {
			m.Parts = []session.Part{{ID: m.ID + "c", CallID: m.ID + "c", Type: session.ToolPart, Tool: "read", State: &session.ToolState{
				Status: session.Completed, Input: fmt.Appendf(nil, `{"filePath":"/repo/file%d.go"}`, i), Output: strings.Repeat(fmt.Sprintf("%x ", r.Uint32()), 10)}}}
		}
		s.Messages = append(s.Messages, m)
	}
	return s
}

func benchEngine(b *testing.B, where string) *winnow.Engine {
	b.Helper()
	var kept store.Store = memory.New()
	if where == "sqlite" {
		s, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "winnow.db")})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		kept = s
	}
	s := settings.Default()
	e, err := winnow.Open(winnow.Config{Settings: &s, Store: kept, Models: &model.Catalogue{Models: []model.Model{wide}}, Model: wide.String()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	if err := e.Import(b.Context(), long(), rule.Ledger{}, nil); err != nil {
		b.Fatal(err)
	}
	return e
}

const output = "package main\n\nfunc main() {}\n"

// BenchmarkStep is a step of a session of 2,000 messages: the answer with its call and result is
// appended and reported, and the messages of the next request are had, in Anthropic's format. Each
// step is done three times: by the library in this process, through two pipes of the operating
// system, and through them with the whole view instead of what is new. The figures are those of the
// fastest hundredth, so that they are about the program and not about what else the machine does.
func BenchmarkStep(b *testing.B) {
	for _, where := range []string{"memory", "sqlite"} {
		b.Run(where, func(b *testing.B) {
			library, stdio, whole := byLibrary(b, benchEngine(b, where)), byPipe(b, benchEngine(b, where)), byPipe(b, benchEngine(b, where))
			took := [3][]time.Duration{}
			n := 0
			for b.Loop() {
				n++
				for i, step := range []func(n int){library, func(n int) { stdio(n, true) }, func(n int) { whole(n, false) }} {
					began := time.Now()
					step(n)
					took[i] = append(took[i], time.Since(began))
				}
			}
			for i := range took {
				slices.Sort(took[i])
			}
			µs := func(i int) float64 { return float64(took[i][len(took[i])/100].Nanoseconds()) / 1000 }
			b.ReportMetric(µs(0), "library-µs")
			b.ReportMetric(µs(1), "stdio-µs")
			b.ReportMetric(µs(1)-µs(0), "more-µs")
			b.ReportMetric(µs(2), "whole-µs")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func byLibrary(b *testing.B, e *winnow.Engine) func(n int) {
	var elements wire.Elements
	return func(n int) {
		said := []session.Message{{MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: "acme", ModelID: "wide"}, Parts: []session.Part{
			{Type: session.ToolPart, Tool: "read", CallID: fmt.Sprint("call_", n), State: &session.ToolState{Status: session.Completed,
				Input: fmt.Appendf(nil, `{"filePath":"/repo/new%d.go"}`, n), Output: output}}}}}
		err := e.Append(b.Context(), "ses_long", said...)
		if err == nil {
			_, err = e.Observe(b.Context(), "ses_long", session.Usage{Input: 50_000, Output: 20})
		}
		if err == nil {
			_, err = e.Begin(b.Context(), "ses_long")
		}
		v, failed := e.View(b.Context(), "ses_long")
		if err != nil || failed != nil {
			b.Fatal(err, failed)
		}
		if _, err := elements.Encode(v.Messages, wire.Options{Provider: "acme", Model: "wide"}, anthropic.Form); err != nil {
			b.Fatal(err)
		}
	}
}

func byPipe(b *testing.B, e *winnow.Engine) func(n int, since bool) {
	ask := pipe(b, rpc.New(rpc.Config{Version: "test"}), e)
	ask(`{"protocols":[1]}`, "initialize", nil)
	state := struct{ State string }{}
	return func(n int, since bool) {
		ask(fmt.Sprintf(`{"session":"ses_long","messages":[{"role":"assistant","parts":[{"type":"tool","tool":"read","callID":"call_%d",`+
			`"state":{"status":"completed","input":{"filePath":"/repo/new%d.go"},"output":%q}}]}]}`, n, n, output), "append", nil)
		ask(`{"session":"ses_long","as":"anthropic","usage":{"input_tokens":50000,"output_tokens":20}}`, "observe", nil)
		ask(`{"session":"ses_long"}`, "begin", nil)
		if !since {
			state.State = ""
		}
		ask(`{"session":"ses_long","as":"anthropic","since":"`+state.State+`"}`, "view", &state)
	}
}

// pipe serves an engine over pipes of the operating system, and returns what asks it. The client
// reads of an answer only the last member, which is the state of a view.
func pipe(b *testing.B, server *rpc.Server, e *winnow.Engine) func(params, method string, into *struct{ State string }) {
	b.Helper()
	inRead, in, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	out, outWrite, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(context.Background(), e, inRead, outWrite) }()
	b.Cleanup(func() {
		in.Close()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	r := bufio.NewReaderSize(out, 4<<20)
	n := 0
	return func(params, method string, into *struct{ State string }) {
		n++
		if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", n, method, params); err != nil {
			b.Fatal(err)
		}
		reply, err := r.ReadSlice('\n')
		if err != nil || !bytes.HasPrefix(reply[bytes.IndexByte(reply, ','):], []byte(fmt.Sprintf(`,"id":%d,"result":`, n))) {
			b.Fatalf("%v %.200s", err, reply)
		}
		if into != nil {
			_, state, _ := bytes.Cut(reply[len(reply)-60:], []byte(`"state":"`))
			into.State = string(state[:bytes.IndexByte(state, '"')])
		}
	}
}

// BenchmarkTrip is a request that does nothing, and its answer.
func BenchmarkTrip(b *testing.B) {
	ask := pipe(b, rpc.New(rpc.Config{Version: "test"}), benchEngine(b, "memory"))
	ask(`{"protocols":[1]}`, "initialize", nil)
	for b.Loop() {
		ask(`{}`, "unsubscribe", nil)
	}
}
