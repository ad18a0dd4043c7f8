package ruletest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/session"
)

// Event is one thing that happens to a log: a message is appended, or one takes a later form.
type Event struct {
	Message session.Message
	Updates bool // the message with this id is replaced
}

// On is the log after the event. The one before it is left alone.
func (e Event) On(log []session.Message) []session.Message {
	if !e.Updates {
		return append(slices.Clip(log), e.Message)
	}
	log = slices.Clone(log)
	log[session.Index(log, e.Message.ID)] = e.Message
	return log
}

// Script is a session as it happens.
type Script []Event

// GoString is short: what matters of a session in the report of a failure is said by the test.
func (s Script) GoString() string { return fmt.Sprintf("a session of %d events", len(s)) }

// Sessions draws sessions as agents have them, of at most this many events: files read whole and in
// pieces, written and edited in the vocabularies of several products, commands, fetches and
// searches that are repeated, failures and retries, todo lists, snapshots and screenshots,
// attachments, blocks of code, calls in parallel, calls that end later or never, several steps in
// one message, protected files, pivots with and without tails.
func Sessions(most int) *rapid.Generator[Script] {
	return rapid.Custom(func(t *rapid.T) Script {
		w := &writer{T: t, open: -1}
		w.user("Please make the parser faster.")
		n := rapid.IntRange(1, most).Draw(t, "events")
		for len(w.events) < n {
			w.next()
		}
		return w.events
	})
}

// writer writes a session.
type writer struct {
	*rapid.T
	events   Script
	messages []session.Message
	disk     Disk
	parts    int
	open     int // position of a message with a call that has not ended, -1 for none
	again    []Use
}

func (w *writer) pick(n int) int { return rapid.IntRange(0, n-1).Draw(w.T, "n") }

func one[V any](w *writer, of ...V) V { return of[w.pick(len(of))] }

func (w *writer) next() {
	if w.open >= 0 && w.pick(3) == 0 {
		w.end()
		return
	}
	switch w.pick(20) {
	case 0:
		w.user(one(w, "Go on.", "Never touch the lexer.",
			"This fails:\n```go\n"+w.words(300)+"\n```\nand\n```\n"+w.words(40)+"\n```"))
	case 1:
		w.user("Look at this.", session.Part{Type: session.FilePart,
			Mime: one(w, "image/png", "application/pdf", "text/plain"), Filename: "shot.png",
			URL: "data:image/png;base64," + strings.Repeat("QUJD", one(w, 4, 400))})
	case 2:
		w.assistant("stop", session.Part{Type: session.TextPart, Text: "It is done: " + w.words(60)})
	case 3:
		w.pivot()
	case 4:
		p := w.call(w.use())
		p.State = &session.ToolState{Status: one(w, session.Running, session.Pending), Input: p.State.Input}
		w.open = len(w.messages)
		w.assistant("", session.Part{Type: session.StepStartPart}, p)
	case 5:
		m := w.assistant("tool-calls", session.Part{Type: session.StepStartPart}, w.call(w.use()),
			session.Part{Type: session.StepFinishPart})
		for range 1 + w.pick(3) {
			m.Parts = append(slices.Clip(m.Parts), w.name(m.ID, session.Part{Type: session.StepStartPart},
				w.call(w.use()))...)
			w.update(m)
		}
	default:
		parts := []session.Part{{Type: session.StepStartPart}}
		if w.pick(4) == 0 {
			parts = append(parts, session.Part{Type: session.ReasoningPart, Text: "I look at it: " + w.words(30),
				Metadata: []byte(`{"anthropic":{"signature":"c2ln"}}`)})
		}
		if w.pick(4) == 0 {
			parts = append(parts, session.Part{Type: session.TextPart, Text: w.words(20)})
		}
		for range one(w, 1, 1, 1, 2, 3) {
			parts = append(parts, w.call(w.use()))
		}
		w.assistant("tool-calls", parts...)
	}
}

// use draws what a call does.
func (w *writer) use() Use {
	if len(w.again) > 0 && w.pick(5) == 0 {
		u := w.again[w.pick(len(w.again))] // the same call again, with the same outcome or another one
		switch w.pick(4) {
		case 0:
			u.Failed, u.Output, u.Exit = true, "Error: "+w.words(20)+"\n  at /repo/a.go:12\n"+w.words(200), 0
		case 1:
			u.Failed, u.Output, u.Exit = false, w.words(one(w, 5, 100, 300)), 0
		}
		return u
	}
	u := w.fresh()
	w.again = append(w.again, u)
	return u
}

func (w *writer) fresh() Use {
	name := one(w, "a.go", "b.go", "c.md", ".env", "AGENTS.md")
	spelled := fmt.Sprintf(one(w, Spellings...), name)
	if w.disk.Lines(name) == nil {
		w.disk.Change(name, w.lines(1+w.pick(30)))
	}
	n := len(w.disk.Lines(name))
	switch w.pick(12) {
	case 0, 1, 2:
		from, limit := 1, 0
		if w.pick(2) == 0 {
			from, limit = 1+w.pick(n), one(w, 0, 3, 20)
		}
		return w.disk.Read(one(w, Readers...), name, spelled, from, limit)
	case 3:
		return w.disk.Write(one(w, Writers...), name, spelled, w.lines(1+w.pick(30)))
	case 4:
		old := "nowhere"
		if n > 0 {
			old = w.disk.Lines(name)[w.pick(n)]
		}
		return w.disk.Edit(one(w, Writers...), name, spelled, old, w.lines(w.pick(6)))
	case 5:
		command := one(w, "ls", "ls src", "git status", "git log --oneline -5", "ls -la && cat c.md",
			"git branch -D x", "find . -name '*.go'", "npm test", "pwd")
		return Use{Tool: one(w, "bash", "Bash"), Args: Args{"command": command,
			"description": one(w, "Look", "Look again")}, Output: w.words(one(w, 3, 60, 200)), Exit: one(w, 0, 0, 0, 1)}
	case 6:
		return Use{Tool: one(w, "webfetch", "WebFetch"), Args: Args{"url": one(w, "https://a.example/x",
			"https://A.example:443/x/#top", "https://b.example"), "format": one(w, "text", "html")},
			Output: w.words(one(w, 20, 300, 400))}
	case 7:
		return Use{Tool: "websearch", Args: Args{"query": one(w, "go parser", "Go  parser", "lexer")},
			Output: w.words(one(w, 60, 200))}
	case 8:
		return Use{Tool: one(w, "todowrite", "TodoWrite"), Args: Args{"todos": []Args{{"content": w.words(10),
			"status": one(w, "pending", "completed")}, {"content": w.words(30), "status": "pending"}}},
			Output: one(w, "Todos have been modified successfully", w.words(80))}
	case 9:
		return Use{Tool: one(w, "browser_snapshot", "mcp__play__browser_take_screenshot", "snapshot"),
			Args: Args{"page": one(w, "1", "2")}, Output: w.words(one(w, 30, 300))}
	case 10:
		return Use{Tool: one(w, "grep", "glob", "mcp__a__list", "mcp__b__list", "skill", "task"),
			Args: Args{"pattern": one(w, "x", "y")}, Output: w.words(one(w, 3, 100, 300))}
	}
	return Use{Tool: one(w, "bash", "webfetch", "read"), Args: Args{"command": one(w, "make", "make test"),
		"description": w.words(3)}, Failed: true,
		Output: one(w, "no", "Error: it failed\n"+w.words(200)+"\n  at /repo/a.go:12:3\ncaused by: "+w.words(100))}
}

func (w *writer) words(n int) string {
	all := strings.Fields("pebble brook heron reed willow stone marsh otter 12 heath ash-tree fern /repo/a.go:7 moss $& lake \"quoted\" größe")
	seed := w.pick(40)
	var b strings.Builder
	for i := range n {
		b.WriteString(all[(i*7+i/5+seed)%len(all)])
		if i%11 == 10 {
			b.WriteByte('\n')
		} else if i < n-1 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func (w *writer) lines(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = one(w, "", "}", fmt.Sprintf("func f%d() { return the value of %d }", w.pick(50), i))
	}
	return lines
}

func (w *writer) call(u Use) session.Part {
	input, err := json.Marshal(u.Args, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	s := &session.ToolState{Status: session.Completed, Input: input, Output: u.Output}
	if u.Failed {
		s.Status, s.Output, s.Error = session.Failed, "", u.Output
	} else if u.Tool == "bash" {
		s.Metadata = fmt.Appendf(nil, `{"exit":%d}`, u.Exit)
	}
	if !u.Failed && w.pick(12) == 0 {
		s.Attachments = []session.Part{{Type: session.FilePart, Mime: "image/png", Filename: "seen.png",
			URL: "data:image/png;base64,QUJD"}}
	}
	return session.Part{Type: session.ToolPart, Tool: u.Tool, State: s}
}

func (w *writer) name(message string, parts ...session.Part) []session.Part {
	for j := range parts {
		w.parts++
		parts[j].ID, parts[j].MessageID = fmt.Sprintf("p%d", w.parts), message
		if parts[j].Type == session.ToolPart {
			parts[j].CallID = fmt.Sprintf("call_%d", w.parts)
		}
	}
	return parts
}

func (w *writer) message(role session.Role, parts ...session.Part) session.Message {
	m := session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("m%d", len(w.messages)+1), Role: role}}
	m.Parts = w.name(m.ID, parts...)
	return m
}

func (w *writer) append(m session.Message) session.Message {
	w.messages = append(w.messages, m)
	w.events = append(w.events, Event{Message: m})
	return m
}

func (w *writer) update(m session.Message) {
	w.messages[session.Index(w.messages, m.ID)] = m
	w.events = append(w.events, Event{Message: m, Updates: true})
}

func (w *writer) user(text string, more ...session.Part) {
	w.append(w.message(session.User, append([]session.Part{{Type: session.TextPart, Text: text}}, more...)...))
}

func (w *writer) assistant(finish string, parts ...session.Part) session.Message {
	m := w.message(session.Assistant, parts...)
	m.Finish, m.Path, m.ProviderID, m.ModelID = finish, &session.Path{Cwd: Folder, Root: Folder}, "p", "m"
	return w.append(m)
}

// end ends the call that has not ended, wherever the session has come since.
func (w *writer) end() {
	m := w.messages[w.open]
	m.Parts, m.Finish = slices.Clone(m.Parts), "tool-calls"
	p := &m.Parts[len(m.Parts)-1]
	done := *p.State
	done.Status, done.Output = session.Completed, w.words(one(w, 3, 100, 300))
	p.State = &done
	w.open = -1
	w.update(m)
}

// pivot folds what was said so far.
func (w *writer) pivot() {
	marker := session.Part{Type: session.CompactionPart}
	if w.pick(2) == 0 {
		marker.TailStartID = w.messages[len(w.messages)-1-w.pick(min(6, len(w.messages)))].ID
	}
	m := w.append(w.message(session.User, marker))
	s := w.message(session.Assistant, session.Part{Type: session.TextPart, Text: "## Goal\n\nA faster parser."})
	s.Summary, s.ParentID, s.Finish = []byte("true"), m.ID, "stop"
	w.append(s)
	w.user("Continue if you have next steps")
}
