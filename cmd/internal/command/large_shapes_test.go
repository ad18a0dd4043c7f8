package command

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// lines writes the lines of a product: each function returns one, without the newline, or several.
// Texts are JSON already.
type lines interface {
	head() string
	user(content string) string
	step(n int, output string) string // a call and its result
	image(data string) string         // by the user
}

// shape says what is in a file, a piece a call, until the file has its size; "" ends it.
type shape func(l lines, n int) string

// turns are short turns of a few steps each, with outputs of half a kilobyte to eight.
func turns(l lines, n int) string {
	if n%6 == 0 {
		return l.user(fmt.Sprintf("Look at gauge %d and correct the drift.", n))
	}
	return l.step(n, rows(n, 12<<(n%5)))
}

// oneTurn is a request and nothing but steps after it.
func oneTurn(l lines, n int) string {
	if n == 0 {
		return l.user("Correct all of it.")
	}
	return l.step(n, rows(n, 12<<(n%5)))
}

// images are screenshots of 700 KB, each with a step after it.
func images(l lines, n int) string {
	if n%2 == 0 {
		return l.image(strings.Repeat("iVBORw0KGgo+/", 54_000) + fmt.Sprintf("%04d", n))
	}
	return l.step(n, "ok")
}

// tiny is a million lines of a word each.
func tiny(l lines, n int) string {
	if n >= 500_000 {
		return ""
	}
	return l.step(n, "ok")
}

// oneLine is one message of the user's.
func oneLine(l lines, n int) string { return l.user(rows(n, oneLineRows)) }

// oneLineRows is set to what fills the file.
var oneLineRows int

func rows(n, count int) string {
	var b strings.Builder
	for r := range count {
		fmt.Fprintf(&b, "%d\\t%04d\\t%d.%03d m\\tok\\n", r+1, n, r*7%5, (r*131+n)%1000)
	}
	return b.String()
}

func writeShape(t *testing.T, path string, size int64, l lines, s shape) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(file, 1<<20)
	oneLineRows = int(size / 30)
	written := 0
	for n := -1; int64(written) < size; n++ {
		text := l.head()
		if n >= 0 {
			if text = s(l, n); text == "" {
				break
			}
		}
		if written > 0 && text != "" {
			text = "\n" + text // so that the last line has no newline
		}
		k, err := w.WriteString(text)
		if err != nil {
			t.Fatal(err)
		}
		if written += k; n == 0 && len(text) > 1<<20 {
			break
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

type ofClaude struct {
	n      int
	parent string
}

func (*ofClaude) head() string { return "" }

func (c *ofClaude) line(kind, message string) string {
	c.n++
	parent := c.parent
	if parent == "" {
		parent = "null"
	}
	c.parent = fmt.Sprintf(`"00000000-0000-4000-8000-%012d"`, c.n)
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"cwd":"/home/mira/tides","sessionId":"7d0c1c52-7d5c-4c0e-9f55-3f6b6f1f8a10","type":%q,"uuid":%s,"timestamp":"2026-03-01T08:%02d:%02d.000Z","message":%s}`,
		parent, kind, c.parent, c.n/60%60, c.n%60, message)
}

func (c *ofClaude) user(content string) string {
	return c.line("user", `{"role":"user","content":"`+content+`"}`)
}

func (c *ofClaude) image(data string) string {
	return c.line("user", `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+data+`"}}]}`)
}

func (c *ofClaude) step(n int, output string) string {
	return c.line("assistant", fmt.Sprintf(`{"id":"msg_%07d","role":"assistant","model":"claude-sonnet-4-5","usage":{"input_tokens":9,"output_tokens":80},"content":[{"type":"tool_use","id":"toolu_%07d","name":"Read","input":{"file_path":"/r/%d.csv"}}]}`, n, n, n)) +
		"\n" + c.line("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%07d","content":"%s"}]}`, n, output))
}

type ofCodex struct{}

func (ofCodex) head() string {
	return `{"timestamp":"2026-03-01T10:00:00.000Z","type":"session_meta","payload":{"id":"11111111-2222-3333-4444-555555555555","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/home/me/garden","originator":"codex_exec","cli_version":"0.169.0"}}`
}

func (ofCodex) user(content string) string {
	return `{"timestamp":"2026-03-01T10:00:06.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"` + content + `"}]}}`
}

func (ofCodex) image(data string) string {
	return `{"timestamp":"2026-03-01T10:00:06.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,` + data + `"}]}}`
}

func (ofCodex) step(n int, output string) string {
	return fmt.Sprintf(`{"timestamp":"2026-03-01T10:00:09.000Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"cat %d.csv\"}","call_id":"call_%07d"}}`, n, n) +
		"\n" + fmt.Sprintf(`{"timestamp":"2026-03-01T10:00:10.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"call_%07d","output":"%s"}}`, n, output)
}

type ofPi struct{ n int }

func (*ofPi) head() string {
	return `{"type":"session","version":3,"id":"7d1c2b3a-1111-4222-8333-444455556666","timestamp":"2025-11-02T10:00:00.000Z","cwd":"/home/ada/loom"}`
}

func (p *ofPi) line(message string) string {
	parent := "null"
	if p.n > 0 {
		parent = fmt.Sprintf(`"%08x"`, p.n)
	}
	p.n++
	return fmt.Sprintf(`{"type":"message","id":"%08x","parentId":%s,"timestamp":"2025-11-02T10:00:01.000Z","message":%s}`, p.n, parent, message)
}

func (p *ofPi) user(content string) string {
	return p.line(`{"role":"user","content":[{"type":"text","text":"` + content + `"}],"timestamp":1762077601000}`)
}

func (p *ofPi) image(data string) string {
	return p.line(`{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"` + data + `"}],"timestamp":1762077601000}`)
}

func (p *ofPi) step(n int, output string) string {
	return p.line(fmt.Sprintf(`{"role":"assistant","content":[{"type":"toolCall","id":"toolu_%07d","name":"bash","arguments":{"command":"cat %d.csv"}}],"provider":"anthropic","model":"claude-opus-4","usage":{"input":3,"output":12},"stopReason":"toolUse","timestamp":1762077603000}`, n, n)) +
		"\n" + p.line(fmt.Sprintf(`{"role":"toolResult","toolCallId":"toolu_%07d","toolName":"bash","content":[{"type":"text","text":"%s"}],"isError":false,"timestamp":1762077604000}`, n, output))
}
