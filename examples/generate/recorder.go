package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

const (
	provider = "anthropic"
	modelID  = "claude-sonnet-4-5"
	// basePrompt is the size of system prompt and tool descriptions, in tokens.
	basePrompt = 15200
	// pixel is a PNG of one grey pixel.
	pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
)

// recorder writes down what an agent does, one assistant message a step.
type recorder struct {
	*tree
	s     session.Session
	ids   session.IDs
	now   time.Time
	user  string           // id of the user message that is being answered
	step  *session.Message // the step that is being written
	chars int              // of everything in the conversation so far
	sent  int              // tokens of the previous prompt
	dirty map[string]bool  // files changed since the last commit
	diffs []string         // every edit's, in order

	calls, output, lastPrompt int
	err                       error
}

func newRecorder(t *tree) *recorder {
	r := &recorder{tree: t, now: time.Date(2026, 3, 2, 8, 4, 11, 0, time.UTC), dirty: map[string]bool{}}
	r.ids.Random = rand.NewChaCha8([32]byte{'l', 'a', 'r', 'd', 'e', 'r'})
	r.s.Info = session.Info{
		ID: r.ids.New(session.SessionID, r.now), Slug: "ripe-pear",
		ProjectID: "b1946ac92492d2347c6235b4d2611184a5c1e9f0",
		Directory: root, Title: "Expiry tracking for larder", Agent: "build", Version: "1.18.33",
		Model: &session.ModelRef{ID: modelID, ProviderID: provider},
		Time:  session.Lifetime{Created: millis(r.now)},
	}
	return r
}

func millis(t time.Time) session.Millis { return session.Millis(t.UnixMilli()) }

func (r *recorder) tick(d time.Duration) session.Millis {
	r.now = r.now.Add(d)
	return millis(r.now)
}

func (r *recorder) part(m *session.Message, p session.Part) *session.Part {
	p.ID, p.SessionID, p.MessageID = r.ids.New(session.PartID, r.now), r.s.Info.ID, m.ID
	m.Parts = append(m.Parts, p)
	return &m.Parts[len(m.Parts)-1]
}

// ask begins a turn.
func (r *recorder) ask(text string, images ...string) {
	r.close("stop")
	r.tick(4 * time.Minute)
	r.s.Messages = append(r.s.Messages, session.Message{MessageInfo: session.MessageInfo{
		ID: r.ids.New(session.MessageID, r.now), SessionID: r.s.Info.ID, Role: session.User,
		Time: session.MessageTime{Created: millis(r.now)}, Agent: "build",
		Model: &session.ModelRef{ProviderID: provider, ModelID: modelID},
	}})
	m := &r.s.Messages[len(r.s.Messages)-1]
	r.part(m, session.Part{Type: session.TextPart, Text: text})
	r.chars += len(text)
	for _, name := range images {
		r.part(m, session.Part{Type: session.FilePart, Mime: "image/png", Filename: name, URL: pixel})
		r.chars += 1600 * 4
	}
	r.user = m.ID
}

// say begins a step: what the agent writes before it calls tools, "" for nothing.
func (r *recorder) say(text string) {
	r.close("tool-calls")
	began := r.tick(1500 * time.Millisecond)
	r.s.Messages = append(r.s.Messages, session.Message{MessageInfo: session.MessageInfo{
		ID: r.ids.New(session.MessageID, r.now), SessionID: r.s.Info.ID, Role: session.Assistant,
		Time: session.MessageTime{Created: began}, Agent: "build", Mode: "build", ParentID: r.user,
		ModelID: modelID, ProviderID: provider, Path: &session.Path{Cwd: root, Root: root},
	}})
	r.step = &r.s.Messages[len(r.s.Messages)-1]
	r.part(r.step, session.Part{Type: session.StepStartPart, Snapshot: r.snapshot()})
	r.lastPrompt = basePrompt + r.chars/4
	if text != "" {
		r.part(r.step, session.Part{Type: session.TextPart, Text: text,
			Time: &session.Span{Start: began, End: r.tick(2 * time.Second)}})
		r.chars += len(text)
	}
}

// snapshot is a made-up tree hash that changes with the files.
func (r *recorder) snapshot() string {
	h := uint64(14695981039346656037)
	for _, name := range r.names("") {
		for _, b := range []byte(name + r.files[name]) {
			h = (h ^ uint64(b)) * 1099511628211
		}
	}
	return fmt.Sprintf("%016x%016x%08x", h, h*0x9E3779B97F4A7C15, uint32(h>>7))
}

// close ends the step that is being written, with the usage that its provider would have reported.
func (r *recorder) close(finish string) {
	if r.step == nil {
		return
	}
	answer := 0
	for i := range r.step.Parts {
		switch p := &r.step.Parts[i]; p.Type {
		case session.TextPart:
			answer += len(p.Text) / 4
		case session.ToolPart:
			answer += 35 + len(p.State.Input)/4
		}
	}
	prompt := r.lastPrompt
	u := session.Usage{Input: 4 + len(r.s.Messages)%5, Output: answer}
	u.Cache.Read = r.sent
	if gap := prompt - r.sent - u.Input; gap > 0 {
		u.Cache.Write = gap
	}
	r.sent = u.Cache.Read + u.Cache.Write
	u.Total = u.Prompt() + u.Output
	cost := (float64(u.Input)*3 + float64(u.Output)*15 + float64(u.Cache.Read)*0.3 + float64(u.Cache.Write)*3.75) / 1e6
	r.part(r.step, session.Part{Type: session.StepFinishPart, Reason: finish, Snapshot: r.snapshot(), Cost: &cost,
		Tokens: &u})
	r.step.Cost, r.step.Tokens, r.step.Finish = &cost, &u, finish
	r.step.Time.Completed = r.tick(300 * time.Millisecond)
	r.step = nil
}

// call records one tool call of the open step; a step is opened when none is.
func (r *recorder) call(tool, title string, input map[string]any, output string, failed bool, metadata any) {
	if r.step == nil {
		r.say("")
	}
	args, err := json.Marshal(input, json.Deterministic(true))
	if err == nil && metadata == nil {
		metadata = map[string]any{"truncated": false}
	}
	meta, err2 := json.Marshal(metadata, json.Deterministic(true))
	if err != nil || err2 != nil {
		r.fail(fmt.Errorf("%v %v", err, err2))
		return
	}
	began := r.tick(200 * time.Millisecond)
	state := &session.ToolState{Status: session.Completed, Input: jsontext.Value(args), Title: title, Output: output,
		Metadata: meta, Time: &session.Span{Start: began,
			End: r.tick(time.Duration(40+len(output)/20) * time.Millisecond)}}
	if failed {
		state.Status, state.Error, state.Output, state.Title = session.Failed, output, "", ""
	}
	r.calls++
	r.part(r.step, session.Part{Type: session.ToolPart, CallID: fmt.Sprintf("toolu_%020d", 7919*r.calls), Tool: tool,
		State: state})
	r.chars += len(args) + len(output)
	r.output += len(output)
}

func (r *recorder) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *recorder) finish() (*session.Session, error) {
	r.close("tool-calls")
	r.s.Info.Time.Updated = millis(r.now)
	return &r.s, r.err
}

// The tools.

func (r *recorder) readFile(name string) { r.readRange(name, 0, 0) }

func (r *recorder) readRange(name string, offset, limit int) {
	input := map[string]any{"filePath": root + "/" + name}
	if limit > 0 {
		input["offset"], input["limit"] = offset, limit
	}
	text, ok := r.tree.read(name, offset, limit)
	if !ok {
		r.call("read", "", input, "File not found: "+root+"/"+name, true, nil)
		return
	}
	r.call("read", name, input, text, false, nil)
}

func (r *recorder) change(name, before, after string) {
	diff, err := r.tree.edit(name, before, after)
	if err != nil {
		r.fail(err)
		return
	}
	r.dirty[name] = true
	r.diffs = append(r.diffs, diff)
	r.call("edit", name, map[string]any{"filePath": root + "/" + name, "oldString": before, "newString": after},
		"Edit applied successfully.", false, map[string]any{"diff": diff, "diagnostics": map[string]any{}})
}

// diff is what "git diff" prints: the edits in folders, "" for all.
func (r *recorder) diff(folders ...string) string {
	var b strings.Builder
	for _, d := range r.diffs {
		for _, folder := range folders {
			if strings.HasPrefix(d, "--- "+root+"/"+folder) {
				b.WriteString(strings.ReplaceAll(d, root+"/", ""))
				break
			}
		}
	}
	return b.String()
}

// missEdit records an edit whose text is not in the file.
func (r *recorder) missEdit(name, before, after string) {
	if strings.Contains(r.files[name], before) {
		r.fail(fmt.Errorf("%s has the text that it should not have", name))
	}
	r.call("edit", "", map[string]any{"filePath": root + "/" + name, "oldString": before, "newString": after},
		"Could not find oldString in the file. It must match exactly, including whitespace and indentation.", true, nil)
}

func (r *recorder) writeFile(name, content string) {
	_, exists := r.files[name]
	r.files[name] = content
	r.dirty[name] = true
	r.call("write", name, map[string]any{"filePath": root + "/" + name, "content": content}, "Wrote file successfully.",
		false,
		map[string]any{"exists": exists, "filepath": root + "/" + name})
}

func (r *recorder) bash(command, description, output string, exit int) {
	if output == "" {
		output = "(no output)"
	}
	r.call("bash", command, map[string]any{"command": command, "description": description}, output, false,
		map[string]any{"exit": exit, "truncated": false, "description": description})
}

// test runs the tests below a folder; failing maps the names of failing tests to what they print.
func (r *recorder) test(command, under string, failing map[string]string) {
	exit := 0
	if len(failing) > 0 {
		exit = 1
	}
	r.bash(command, "Run the tests", r.testLog(under, strings.Contains(command, " -v"), failing), exit)
}

func (r *recorder) search(pattern, under string) {
	input := map[string]any{"pattern": pattern}
	if under != "" {
		input["path"] = root + "/" + under
	}
	r.call("grep", pattern, input, r.grep(pattern, under), false, nil)
}

func (r *recorder) glob(pattern, suffix string) {
	var found []string
	for _, name := range r.names("") {
		if strings.HasSuffix(name, suffix) {
			found = append(found, root+"/"+name)
		}
	}
	r.call("glob", pattern, map[string]any{"pattern": pattern}, strings.Join(found, "\n"), false,
		map[string]any{"count": len(found), "truncated": false})
}

func (r *recorder) tour() {
	r.call("list", ".", map[string]any{"path": root}, r.list(), false, nil)
}

// todo writes the list: "x done", "> in progress", "- open".
func (r *recorder) todo(lines ...string) {
	var todos []map[string]any
	open := 0
	for i, line := range lines {
		status := map[byte]string{'x': "completed", '>': "in_progress", '-': "pending"}[line[0]]
		if status != "completed" {
			open++
		}
		priority := "medium"
		if i == 0 {
			priority = "high"
		}
		todos = append(todos, map[string]any{"content": line[2:], "status": status, "priority": priority})
	}
	text, err := json.Marshal(todos, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		r.fail(err)
		return
	}
	r.call("todowrite", fmt.Sprintf("%d todos", open), map[string]any{"todos": todos}, string(text), false,
		map[string]any{"todos": todos})
}
