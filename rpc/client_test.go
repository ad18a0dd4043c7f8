package rpc_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/schema"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/rpc"
	"github.com/winnowhq/winnow/session"
)

// line is one line of the protocol.
type line struct {
	ID     jsontext.Value `json:"id,omitzero"`
	Method string         `json:"method,omitzero"`
	Params jsontext.Value `json:"params,omitzero"`
	Result jsontext.Value `json:"result,omitzero"`
	Error  *rpc.Failure   `json:"error,omitzero"`
}

// client speaks to a server in this process, line by line. Whatever comes is held against the
// schema.
type client struct {
	t       testing.TB
	in      *io.PipeWriter
	out     *io.PipeReader
	check   *schema.Checker
	ended   chan error
	stop    context.CancelFunc
	lines   chan line
	mu      sync.Mutex
	asked   map[string]string // methods, by id
	number  int
	engine  *winnow.Engine
	waiting map[string]line // answers that came before they were wanted
}

// acme has little room, so that a few tool calls fill it.
var acme = model.Model{Provider: "acme", ID: "small", Limits: model.Limits{Context: 12_000, Output: 2_000}}

func dial(t testing.TB, change func(*winnow.Config)) *client {
	t.Helper()
	c := &client{t: t, ended: make(chan error, 1), lines: make(chan line, 10_000), asked: map[string]string{},
		waiting: map[string]line{}, number: 1000}
	var err error
	if c.check, err = schema.NewChecker(rpc.SchemaText()); err != nil {
		t.Fatal(err)
	}
	s := settings.Default()
	server := rpc.New(rpc.Config{Version: "test", Policy: s.Policy, Auto: true})
	config := winnow.Config{Settings: &s, Models: &model.Catalogue{Models: []model.Model{acme}}, Model: acme.String(),
		SummarizerFor: server.SummarizerFor(nil)}
	if change != nil {
		change(&config)
	}
	if c.engine, err = winnow.Open(config); err != nil {
		t.Fatal(err)
	}
	inRead, in := io.Pipe()
	outRead, out := io.Pipe()
	c.in, c.out = in, outRead
	var ctx context.Context
	ctx, c.stop = context.WithCancel(context.Background())
	go func() {
		err := server.Serve(ctx, c.engine, inRead, out)
		out.Close()
		c.ended <- err
	}()
	go c.hear(outRead)
	t.Cleanup(func() {
		c.stop()
		in.Close()
		c.engine.Close()
	})
	return c
}

func (c *client) hear(out io.Reader) {
	defer close(c.lines)
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		text, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var l line
		if err := json.Unmarshal(text, &l, session.ReadOptions()); err != nil {
			c.t.Errorf("%v: %s", err, text)
			return
		}
		c.mu.Lock()
		method := c.asked[string(l.ID)]
		c.mu.Unlock()
		var wrong []string
		switch {
		case l.Method != "" && l.Method != "$/cancelRequest":
			wrong = c.check.Params(l.Method, l.Params)
		case l.Result != nil && method != "schema" && method != "": // a test may write lines by itself
			wrong = c.check.Result(method, l.Result)
		case l.Error != nil:
			text, _ := json.Marshal(l.Error)
			wrong = c.check.Def("Failure", text)
		}
		if len(wrong) > 0 {
			c.t.Errorf("%s: the schema does not allow\n%s", method, strings.Join(wrong, "\n"))
		}
		c.lines <- l
	}
}

func (c *client) write(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// send sends a request and returns its id.
func (c *client) send(method string, params any) string {
	c.t.Helper()
	text, ok := params.(string)
	if !ok {
		written, err := json.Marshal(params)
		if err != nil {
			c.t.Fatal(err)
		}
		text = string(written)
	}
	c.mu.Lock()
	c.number++
	id := fmt.Sprint(c.number)
	c.asked[id] = method
	c.mu.Unlock()
	c.write(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + text + `}`)
	return id
}

// next is the next line.
func (c *client) next() line {
	c.t.Helper()
	l, ok := <-c.lines
	if !ok {
		c.t.Fatal("the server said no more")
	}
	return l
}

// answer waits for the answer to a request; what comes before it, and is an answer, is kept.
func (c *client) answer(id string) line {
	c.t.Helper()
	for {
		if l, ok := c.waiting[id]; ok {
			delete(c.waiting, id)
			return l
		}
		if l := c.next(); l.Method == "" {
			c.waiting[string(l.ID)] = l
		} else if l.Method == "summarize" {
			c.t.Fatal("a summary is asked for")
		}
	}
}

// ask sends a request and wants a result.
func (c *client) ask(method string, params, into any) {
	c.t.Helper()
	l := c.answer(c.send(method, params))
	if l.Error != nil {
		c.t.Fatalf("%s: %v (%+v)", method, l.Error, l.Error.Data)
	}
	if into != nil {
		if err := json.Unmarshal(l.Result, into, session.ReadOptions()); err != nil {
			c.t.Fatal(err)
		}
	}
}

// fails sends a request and wants an error.
func (c *client) fails(method string, params any) *rpc.Failure {
	c.t.Helper()
	l := c.answer(c.send(method, params))
	if l.Error == nil {
		c.t.Fatalf("%s %v: no error, but %s", method, params, l.Result)
	}
	return l.Error
}

func (c *client) initialize(summarize string) *client {
	c.t.Helper()
	c.ask("initialize", rpc.Initialize{Protocols: []int{1}, Summarize: summarize}, nil)
	return c
}

func (c *client) create(id string) string {
	c.t.Helper()
	var made rpc.Created
	c.ask("create", rpc.Create{ID: id, Title: "A test", Model: acme.String()}, &made)
	return made.Session
}

func (c *client) append(id, as string, messages ...string) rpc.Appended {
	c.t.Helper()
	p := rpc.Append{Of: rpc.Of{Session: id}, As: as}
	for _, m := range messages {
		p.Messages = append(p.Messages, jsontext.Value(m))
	}
	var done rpc.Appended
	c.ask("append", p, &done)
	return done
}

// step appends a call with a large result, as an Anthropic host would.
func (c *client) step(id string, n int) {
	c.t.Helper()
	c.append(id, "anthropic", fmt.Sprintf(
		`{"role":"assistant","content":[{"type":"text","text":"I read file %d."},{"type":"tool_use","id":"toolu_%d","name":"read","input":{"filePath":"/repo/f%d.go"}}]}`, n, n, n))
	c.append(id, "anthropic", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}]}`,
		n, strings.Repeat(fmt.Sprintf("line %d of the file\n", n), 150)))
}
