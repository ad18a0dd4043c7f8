package chat

import (
	"context"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/chat/internal/drawtest"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/wire"
)

// reader is the model of these tests.
var reader = model.Model{
	Provider: "acme", ID: "reader", Limits: model.Limits{Context: 64_000, Output: 4_000},
	Price: model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75},
	Cache: model.Cache{Lifetime: 5 * time.Minute, MinPrefix: 1024, Explicit: true},
}

// tool is a tool that is a function.
type tool struct {
	name string
	run  func(ctx context.Context, c agent.Call) (agent.Result, error)
}

func (t tool) Name() string           { return t.name }
func (t tool) Description() string    { return "The tool " + t.name + " of this test." }
func (t tool) Schema() jsontext.Value { return jsontext.Value(`{"type":"object"}`) }
func (t tool) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	return t.run(ctx, c)
}

// bench is a chat without a terminal: messages go in, the screen comes out.
type bench struct {
	*chat
	t        testing.TB
	store    store.Store
	upstream *llmtest.Server
	messages chan tea.Msg
	clock    time.Time // the program's; the engine's stands still, so that ids and sizes are the same each time
	clock0   time.Time
	events   *winnow.Subscription
	quit     bool
}

// setUp opens a chat with a scripted upstream, without colours, at 80 columns and 24 lines.
func setUp(t testing.TB, script llmtest.Script, change func(*Config, *agent.Config), all ...agent.Tool) *bench {
	t.Helper()
	b := &bench{t: t, store: memory.New(), upstream: llmtest.Start(t, script), messages: make(chan tea.Msg, 1<<12),
		clock: time.Unix(1_800_000_000, 0), clock0: time.Unix(1_800_000_000, 0)}
	b.start(script, change, all...)
	return b
}

func (b *bench) start(script llmtest.Script, change func(*Config, *agent.Config), all ...agent.Tool) {
	t := b.t
	t.Helper()
	set, err := providers.New(func(string) string { return "key" }, map[string]providers.Provider{
		reader.Provider: {Protocol: llmtest.Chat, BaseURL: b.upstream.BaseURL(llmtest.Chat),
			KeyEnv: "KEY", Idle: 60},
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := set.Client(reader.Provider)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := winnow.Open(winnow.Config{Store: b.store, Models: &model.Catalogue{Models: []model.Model{reader}},
		Model: reader.String(),
		Now:   func() time.Time { return b.clock0 }, Random: rand.NewChaCha8([32]byte{6})})
	if err != nil {
		t.Fatal(err)
	}
	setting := agent.Config{Engine: engine, Client: client, Model: reader, Protocol: wire.Chat,
		System: "You are the agent of this test.", Tools: all,
		Directory: "/srv/parser", Retry: llm.RetryOptions{Sleep: func(ctx context.Context,
			_ time.Duration) error {
			return ctx.Err()
		}}}
	c := Config{Engine: engine, NoColor: true, Environ: []string{}, Directory: setting.Directory,
		Models: []string{reader.String()}}
	if change != nil {
		change(&c, &setting)
	}
	if c.Open == nil {
		c.Open = func(_ context.Context, o Opening) (*agent.Loop, model.Model, error) {
			opened := setting
			opened.Ask, opened.OnEvent = o.Ask, o.OnEvent
			loop, err := agent.New(opened)
			return loop, reader, err
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.chat = newChat(ctx, c)
	b.chat.now = func() time.Time { return b.clock }
	if err := b.open(c.Model); err != nil {
		t.Fatal(err)
	}
	b.events = engine.Subscribe(1 << 14)
	b.group.Go(func() {
		for e := range b.events.C {
			b.feed.push(e)
		}
	})
	t.Cleanup(func() {
		cancel()
		engine.Close()
		b.group.Wait()
	})
	b.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	b.run(b.Init())
}

// send gives a message, and begins what the program wants done about it.
func (b *bench) send(msgs ...tea.Msg) {
	for _, msg := range msgs {
		_, cmd := b.Update(msg)
		b.run(cmd)
	}
}

// run carries out a command beside the test, as the program would.
func (b *bench) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		msg := cmd()
		if v := reflect.ValueOf(msg); msg != nil && v.Kind() == reflect.Slice &&
			v.Type().Elem() == reflect.TypeFor[tea.Cmd]() {
			for i := range v.Len() {
				b.run(v.Index(i).Interface().(tea.Cmd))
			}
			return
		}
		if msg != nil {
			b.messages <- msg
		}
	}()
}

// until works off what happens until something is so.
func (b *bench) until(what string, so func() bool) {
	b.t.Helper()
	deadline := time.After(20 * time.Second)
	for !so() {
		select {
		case msg := <-b.messages:
			if _, quit := msg.(tea.QuitMsg); quit {
				b.quit = true
				continue
			}
			b.send(msg)
		case <-deadline:
			b.t.Fatalf("%s did not come to be; the screen:\n%s", what, b.look())
		}
	}
}

// shows waits until the screen has a text.
func (b *bench) shows(text string) {
	b.t.Helper()
	b.until("“"+text+"” on the screen", func() bool { return strings.Contains(b.look(), text) })
}

// rests waits until nothing goes on.
func (b *bench) rests() {
	b.t.Helper()
	b.until("rest", func() bool {
		return b.work == nil && !b.session.syncing && b.status.doing == "" && len(b.messages) == 0
	})
}

// look is the screen as text, without colours.
func (b *bench) look() string {
	b.t.Helper()
	lines, _ := b.screen()
	if len(lines) != b.height {
		b.t.Fatalf("the screen has %d lines of %d", len(lines), b.height)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > b.width {
			b.t.Fatalf("line %d is %d columns wide, of %d: %q", i, w, b.width, l)
		}
		if bad := drawtest.Obeyed(l); bad != "" {
			b.t.Fatalf("line %d has %s: %q", i, bad, l)
		}
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "\n")
}

// types presses keys for each character of a text.
func (b *bench) types(text string) {
	for _, r := range text {
		b.clock = b.clock.Add(time.Second)
		b.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

// press presses keys by their names.
func (b *bench) press(names ...string) {
	b.t.Helper()
	for _, name := range names {
		k, known := drawtest.Keys[name]
		if !known {
			b.t.Fatalf("no key %q", name)
		}
		b.clock = b.clock.Add(time.Second)
		b.send(k)
	}
}

// says types a text and sends it.
func (b *bench) says(text string) {
	b.types(text)
	b.press("enter")
}
