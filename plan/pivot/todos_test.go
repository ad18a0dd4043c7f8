package pivot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/session"
)

// todoCalls are the tools by which the agents in use keep their todo lists: calls whose arguments
// and results are as those of the products, after which "run the tests" and "write the notes" are
// open and "read the code" is done.
var todoCalls = []struct {
	client, tool string
	calls        [][2]string // arguments and result
}{
	{"Claude Code", "TodoWrite", [][2]string{{`{"todos":[{"content":"read the code","status":"completed","activeForm":"Reading"},
		{"content":"run the tests","status":"in_progress","activeForm":"Running"},{"content":"write the notes","status":"pending"}]}`, "Todos have been modified"}}},
	{"OpenCode, Kilo", "todowrite", [][2]string{{`{"todos":[{"content":"read the code","status":"completed","priority":"high"},
		{"content":"run the tests","status":"in_progress","priority":"low"},{"content":"write the notes","status":"pending","priority":"low"}]}`, "[]"}}},
	{"Codex", "update_plan", [][2]string{{`{"explanation":"x","plan":[{"step":"read the code","status":"completed"},
		{"step":"run the tests","status":"in_progress"},{"step":"write the notes","status":"pending"}]}`, "Plan updated"}}},
	{"Gemini CLI, deepagents", "write_todos", [][2]string{{`{"todos":[{"description":"read the code","status":"completed"},
		{"description":"run the tests","status":"in_progress"},{"description":"write the notes","status":"pending"},{"description":"ask","status":"cancelled"}]}`, "Successfully updated"}}},
	{"Qwen Code", "todo_write", [][2]string{{`{"todos":[{"id":"1","content":"read the code","status":"completed"},
		{"id":"2","content":"run the tests","status":"in_progress"},{"id":"3","content":"write the notes","status":"pending"}]}`, "ok"}}},
	{"Qwen Code, deferred", "tool_call", [][2]string{{`{"name":"todo_write","arguments":{"todos":[{"id":"1","content":"read the code","status":"completed"},
		{"id":"2","content":"run the tests","status":"in_progress"},{"id":"3","content":"write the notes","status":"pending"}]}}`, "ok"}}},
	{"Roo Code", "update_todo_list", [][2]string{{`{"todos":"[x] read the code\n[-] run the tests\n[ ] write the notes"}`, "ok"}}},
	{"Copilot CLI", "update_todo", [][2]string{{`{"todos":"- [x] read the code\n- [ ] run the tests\n- [ ] write the notes\n"}`, "ok"}}},
	{"Copilot in VS Code", "manage_todo_list", [][2]string{
		{`{"operation":"write","todoList":[{"id":1,"title":"read the code","status":"completed"},{"id":2,"title":"run the tests","status":"in-progress"},
		{"id":3,"title":"write the notes","status":"not-started"}]}`, "ok"}, {`{"operation":"read"}`, "…"}}},
	{"Cursor", "todo_write", [][2]string{
		{`{"merge":false,"todos":[{"id":"a","content":"read the code","status":"in_progress"},{"id":"b","content":"run the tests","status":"pending"},
		{"id":"c","content":"write the notes","status":"pending"}]}`, "ok"},
		{`{"merge":true,"todos":[{"id":"a","content":"read the code","status":"completed"},{"id":"b","status":"in_progress"}]}`, "ok"}}},
	{"Crush", "todos", [][2]string{{`{"todos":[{"content":"read the code","status":"completed","active_form":"x"},
		{"content":"run the tests","status":"in_progress","active_form":"x"},{"content":"write the notes","status":"pending","active_form":"x"}]}`, "ok"}}},
	{"Amp", "todo_write", [][2]string{{`{"todos":[{"id":"1","content":"read the code","status":"completed","priority":"low"},
		{"id":"2","content":"run the tests","status":"in-progress","priority":"low"},{"id":"3","content":"write the notes","status":"todo","priority":"low"}]}`, "ok"}}},
	{"Windsurf", "todo_list", [][2]string{{`{"todos":[{"id":"1","content":"read the code","status":"completed","priority":"low"},
		{"id":"2","content":"run the tests","status":"in_progress","priority":"low"},{"id":"3","content":"write the notes","status":"pending","priority":"low"}]}`, "ok"}}},
	{"Goose", "todo__todo_write", [][2]string{{`{"content":"# Plan\n- [x] read the code\n- [ ] run the tests\n  - [ ] write the notes"}`, "Updated"}}},
	{"Goose, older", "todo__write", [][2]string{{`{"content":"- [x] read the code\n- [ ] run the tests\n- [ ] write the notes"}`, "Updated"}}},
	{"Kimi CLI", "SetTodoList", [][2]string{{`{"todos":[{"title":"read the code","status":"done"},{"title":"run the tests","status":"in_progress"},
		{"title":"write the notes","status":"pending"}]}`, "ok"}}},
	{"OpenHands", "task_tracker", [][2]string{{`{"command":"plan","task_list":[{"id":"1","title":"read the code","status":"done"},
		{"id":"2","title":"run the tests","status":"in_progress"},{"id":"3","title":"write the notes","status":"todo"}]}`, "ok"}, {`{"command":"view"}`, "…"}}},
	{"Droid", "TodoWrite", [][2]string{{`{"todos":"1. [completed] read the code\n2. [in_progress] run the tests\n3. [pending] write the notes"}`, "ok"}}},
	{"Claude Code, item by item", "TaskCreate", [][2]string{{`{"subject":"run the tests","description":"all of them"}`, "Task #7 created successfully: run the tests"},
		{`{"subject":"write the notes"}`, "Task #8 created successfully: write the notes"}}},
	{"Gemini CLI, item by item", "tracker_create_task", [][2]string{{`{"title":"run the tests","type":"task"}`, "Created task 3fa2b1: run the tests"},
		{`{"title":"write the notes"}`, "Created task 77c0de: write the notes"}}},
	{"an MCP server", "mcp__x__TodoWrite", [][2]string{{`{"todos":[{"content":"run the tests","status":"in_progress"},{"content":"write the notes","status":"pending"}]}`, "ok"}}},
	{"an MCP server behind a dot", "server.todo_write", [][2]string{{`{"todos":[{"content":"run the tests","status":"in_progress"},{"content":"write the notes","status":"pending"}]}`, "ok"}}},
	{"an MCP server in OpenCode", "tasks_write_todos", [][2]string{{`{"todos":[{"content":"run the tests","status":"in_progress"},{"content":"write the notes","status":"pending"}]}`, "ok"}}},
	{"an MCP server in Gemini CLI", "mcp_tasks_update_todo_list", [][2]string{{`{"todos":"[ ] run the tests\n[ ] write the notes"}`, "ok"}}},
}

func TestCarry_keepsTheOpenTodosOfEachClient(t *testing.T) {
	for _, c := range todoCalls {
		t.Run(c.client, func(t *testing.T) {
			log := []session.Message{said("m1", session.User, "Port the shop to slog.")}
			for i, one := range c.calls {
				log = append(log, ran(fmt.Sprintf("c%d", i), c.tool, one[0], one[1], session.Completed))
			}
			log = append(log, said("m9", session.Assistant, "I go on."))
			text, told := Carry(Carrying{Log: log, Cut: Cut{Fold: log}, Facts: facts(), Settings: Settings{UserMessages: 1000}})
			if told.Todos != 2 || !strings.Contains(text, "- run the tests (") || !strings.Contains(text, "- write the notes (") {
				t.Errorf("%d open todos:\n%s", told.Todos, text)
			}
		})
	}
}

// What is done later is known by the number or the name that the result gave.
func TestCarry_knowsItemsByWhatTheResultCalledThem(t *testing.T) {
	for _, c := range [][3]string{{"TaskCreate", "TaskUpdate", `{"taskId":"8","status":"completed"}`},
		{"tracker_create_task", "tracker_update_task", `{"id":"77c0de","status":"closed"}`}} {
		log := []session.Message{said("m1", session.User, "Port the shop to slog.")}
		for _, of := range todoCalls {
			for i, one := range of.calls {
				if of.tool == c[0] {
					log = append(log, ran(fmt.Sprintf("c%d", i), of.tool, one[0], one[1], session.Completed))
				}
			}
		}
		log = append(log, ran("c9", c[1], c[2], "ok", session.Completed), said("m9", session.Assistant, "I go on."))
		text, told := Carry(Carrying{Log: log, Cut: Cut{Fold: log}, Facts: facts(), Settings: Settings{UserMessages: 1000}})
		if told.Todos != 1 || !strings.Contains(text, "- run the tests (pending)") {
			t.Errorf("%s: %d open todos:\n%s", c[1], told.Todos, text)
		}
	}
}
