package chat

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/agent/chat/internal/drawtest"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// poison is what no terminal may be sent; what is left of it to be seen has the word owned.
const poison = "\x1b]52;c;cm0gLXJm\x07\x1b]0;owned\x1b\\\x1b[2J\x1bPq\x1b\\\x1b_x\x1b\\\u009b2J\u009d0;t\u009c\x9b2J\b\x7f\rover\x00\u202egnorw\u2066iso\u200frtl\u200b\ufeff\U000e0041\u2028\xff end"

// tried are the commands, with what they are given.
var tried = []struct{ name, argument string }{
	{"nothing" + poison, ""}, {"title", poison}, {"title", ""}, {"context", ""}, {"cost", ""}, {"sessions", ""},
	{"model", ""}, {"model", poison}, {"pin", poison}, {"later", ""},
	{"revert", ""}, {"help", ""}, {"export", "a" + poison}, {"prune", ""}, {"compact", poison}, {"receipt", poison},
	{"undo", poison}, {"redo", ""}, {"copy", poison}, {"copy", "code"}, {"copy", ""}, {"mouse", ""}, {"diff", ""}, {"clear", ""}, {"new", ""}, {"quit", ""},
}

// settles works off what happens until nothing has come for a moment: a command that is still at it
// is looked at with the next.
func (b *bench) settles() string {
	b.t.Helper()
	for {
		select {
		case msg := <-b.messages:
			b.send(msg)
		case <-time.After(40 * time.Millisecond):
			return b.look()
		}
	}
}

// Every command, every panel, answers, calls, questions, errors and notices of a session that is
// hostile from one end to the other: look fails where anything of it would be obeyed.
func TestScreen_nothingOfAHostileSessionIsObeyed(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: after(
		llmtest.Reply{Calls: []llmtest.Call{{Name: "bash",
			Arguments: `{"command":"ls \u001b]0;owned\u0007\u202e\u009b2J\u0000"}`},
			{Name: "read", Arguments: `{"filePath":"a\u001b[2J\r\b\u2066"}`}}},
		llmtest.Reply{Text: "Done " + poison + "\n\n```\n" + poison + "\n```\n- " + poison + "\n> " + poison}),
	}, func(c *Config, _ *agent.Config) {
		c.NoColor, c.Directory, c.Notice, c.Models = false, "/srv/"+poison, "a notice "+poison,
			[]string{reader.String(), "acme/" + poison}
		c.Changes = func(context.Context, string) ([]session.FileDiff, error) {
			return []session.FileDiff{{File: "a" + poison, Status: poison, Patch: "@@ -1 +1 @@\n+" + poison}}, nil
		}
		c.Export = func(_ context.Context, _, file string) (string, error) {
			return "/tmp/" + file, errors.New("no room " + poison)
		}
		c.Revert = func(context.Context, string, string) (string, string, error) {
			return "", poison,
				errors.New(poison)
		}
		c.Advice = func(error) string { return "advice " + poison }
	}, tool{"bash", func(ctx context.Context, c agent.Call) (agent.Result, error) {
		if err := c.Ask(ctx, agent.Permission{Tool: "bash" + poison, Action: "run" + poison, Target: "ls " + poison,
			Folder: "/srv/" + poison}); err != nil {
			return agent.Result{}, err
		}
		return agent.Result{Title: "ls " + poison, Output: strings.Repeat("a file "+poison+"\n", 40),
			Metadata: map[string]any{"exit": 1}}, nil
	}}, tool{"read", func(context.Context, agent.Call) (agent.Result, error) {
		return agent.Result{}, errors.New("no such file " + poison)
	}})
	b.says("look")
	b.shows("y allow once")
	b.shows("owned")
	for range 40 {
		b.press2(" ")
		b.look()
	}
	b.press2("y")
	b.shows("Done")
	b.rests()
	b.press("ctrl+o")
	b.look()
	b.press("pgup", "pgup")
	b.look()
	given, saw := map[string]bool{}, 0
	for _, c := range tried {
		given[c.name] = true
		b.run(b.typedCommand("/" + c.name + " " + c.argument))
		if strings.Contains(b.settles(), "owned") {
			saw++
		}
		for _, key := range []string{"down", "enter", "down", "up", "pgdown"} {
			if b.panel != nil && c.name != "model" && c.name != "revert" && c.name != "sessions" &&
				c.name != "compact" || key != "enter" && b.panel != nil {
				b.press(key)
				b.look()
			}
		}
		for _, size := range [][2]int{{30, 8}, {200, 50}, {80, 24}} {
			b.width, b.height = size[0], size[1]
			b.look()
		}
		v := b.draw()
		if bad := drawtest.Obeyed(v.WindowTitle); bad != "" {
			t.Errorf("after /%s the title of the window has %s: %q", c.name, bad, v.WindowTitle)
		}
		for line := range strings.SplitSeq(v.Content, "\n") {
			if bad := drawtest.Obeyed(line); bad != "" {
				t.Errorf("after /%s a line has %s: %q", c.name, bad, line)
			}
		}
		for range 4 {
			if b.panel != nil {
				b.press("esc")
			}
		}
	}
	if saw < 12 {
		t.Errorf("only after %d commands the screen had anything of what is hostile: it is no test", saw)
	}
	for _, c := range commands() {
		if !given[c.Name] {
			t.Errorf("/%s is not tried in a hostile session: put it into the table", c.Name)
		}
	}
}

// Errors of the provider, and of the engine, say what strangers say.
func TestScreen_nothingOfAHostileErrorIsObeyed(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("never")}, func(c *Config, _ *agent.Config) {
		c.Advice = func(error) string { return "advice " + poison }
	})
	b.transcript.Say(draw.Wrong("the provider said " + poison))
	b.fail("nothing was done", errors.New(poison))
	b.shows("owned")
}
