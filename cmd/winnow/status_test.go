package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
)

// gatewayed is a winnow serve that runs beside a scripted provider.
type gatewayed struct {
	*desk
	at     string
	cmd    *exec.Cmd
	lines  *bufio.Reader
	server *llmtest.Server
	log    []session.Message
}

const chorePlace = "X-Chore-Place"

// relaying starts winnow serve in a mode, before a provider that says what is in a made-up session.
func relaying(t *testing.T, d *desk, mode string, steps int) *gatewayed {
	t.Helper()
	g := &gatewayed{desk: d, log: workday.Make(7, steps).Messages}
	g.server = llmtest.Start(t, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		at, err := strconv.Atoi(r.Header.Get(chorePlace))
		if err != nil {
			return llmtest.Reply{Text: "A title"}
		}
		var reply llmtest.Reply
		for _, p := range g.log[at].Parts {
			switch p.Type {
			case session.TextPart:
				reply.Text += p.Text
			case session.ToolPart:
				reply.Calls = append(reply.Calls, llmtest.Call{ID: p.CallID, Name: p.Tool, Arguments: string(p.State.Input)})
			}
		}
		return reply
	}})
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "mode": "` + mode + `", "upstreams": {"anthropic": "` + g.server.URL + `"}}}`)
	g.cmd = d.command("serve")
	out, err := g.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.cmd.Process.Kill(); g.cmd.Wait() })
	g.lines = bufio.NewReader(out)
	line, _ := g.lines.ReadString('\n')
	found := regexp.MustCompile(`address=(http://\S+)`).FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("it says %q", line)
	}
	g.at = found[1]
	go io.Copy(io.Discard, g.lines)
	return g
}

// chore plays the session as a client whose own id of it is this one.
func (g *gatewayed) chore(id string) {
	g.t.Helper()
	tools := jsontext.Value(`[{"name":"read","input_schema":{"type":"object"}}]`)
	g.ask(id, g.log[:1], -1, nil) // a title
	for at := range g.log {
		if g.log[at].Role == session.Assistant {
			g.ask(id, g.log[:at], at, tools)
		}
	}
}

func (g *gatewayed) ask(id string, messages []session.Message, at int, tools jsontext.Value) {
	g.t.Helper()
	body, err := anthropic.Encode(messages, wire.Options{Model: "claude-sonnet-4-5", System: "You write code.", MaxTokens: 1000,
		Tools: tools})
	if err != nil {
		g.t.Fatal(err)
	}
	body.Elements = anthropic.Cached(body.Elements)
	text, err := body.JSON()
	if err != nil {
		g.t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("{"), []byte(`{"stream":true,`), 1)
	r, err := http.NewRequest(http.MethodPost, g.at+"/anthropic/v1/messages", bytes.NewReader(text))
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {wrapKey}, "Anthropic-Version": {"2023-06-01"},
		"User-Agent": {"chore/1.2 (x)"}, "X-Claude-Code-Session-Id": {id}}
	if at >= 0 {
		r.Header.Set(chorePlace, strconv.Itoa(at))
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	defer answer.Body.Close()
	if said, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != 200 {
		g.t.Fatalf("%d, %v: %s", answer.StatusCode, err, said)
	}
}

// billed is what the provider billed so far.
func (g *gatewayed) billed() (sum float64) {
	m := model.Default().Lookup("anthropic/claude-sonnet-4-5")
	for _, r := range g.server.Records() {
		cost, _ := m.Cost(bill.Usage(r.Usage))
		sum += cost
	}
	return sum
}

func (g *gatewayed) ends() {
	g.t.Helper()
	g.cmd.Process.Signal(syscall.SIGTERM)
	wantExit(g.t, g.cmd, cli.ExitDone)
}

func TestStatus_showsWhatWentThrough(t *testing.T) {
	d := newDesk(t)
	d.run("status").wants(t, cli.ExitNothing, "no request went through winnow today", "winnow wrap claude")
	g := relaying(t, d, "full", 60)
	g.chore("5e551011-aaaa")
	for _, args := range []string{"status", "status --by day", "status --by rule", "status --days 3 --json", "status --line"} {
		o := d.run(strings.Fields(args)...)
		t.Logf("%s\n%s%s", args, o.stdout, o.stderr)
	}
	t.Log(g.billed())
	g.ends()
}
