package recall

import (
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/session"
)

// Todo is one item of the newest todo list.
type Todo struct {
	Text string
	// Status is "pending", "in_progress", "completed" or "cancelled".
	Status            string
	MessageID, PartID string
}

// Open reports whether the item is still to be done.
func (t *Todo) Open() bool {
	return t.Status != "completed" && t.Status != "cancelled" && t.Status != "deleted"
}

// Todos returns the newest todo list of a log in its final state, including done items; nil if
// there is none.
func Todos(messages []session.Message) []Todo {
	var todos []Todo
	byID := map[string]int{} // of lists that are kept item by item
	for i := range messages {
		m := &messages[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type != session.ToolPart || p.State == nil || p.State.Status == session.Failed {
				continue
			}
			tool := strings.ToLower(p.Tool)
			switch tool {
			case "todowrite", "todo_write", "update_plan", "todos", "manage_todo_list", "todo":
				a := call.Parse(p.State.Input)
				items := a.List("todos", "plan", "items", "todoList", "tasks")
				if items == nil && !a.Has("todos") && !a.Has("plan") {
					continue
				}
				todos, byID = todos[:0:0], map[string]int{}
				for _, item := range items {
					if text := item.Text("content", "step", "text", "title", "description", "task"); text != "" {
						todos = append(todos, Todo{Text: text, Status: status(item.Text("status", "state")),
							MessageID: m.ID, PartID: p.ID})
					}
				}
			case "taskcreate":
				a := call.Parse(p.State.Input)
				if text := a.Text("subject", "title", "description"); text != "" {
					byID[strconv.Itoa(len(byID)+1)] = len(todos)
					todos = append(todos, Todo{Text: text, Status: "pending", MessageID: m.ID, PartID: p.ID})
				}
			case "taskupdate":
				a := call.Parse(p.State.Input)
				if at, ok := byID[a.Text("taskId", "task_id", "id")]; ok {
					if s := a.Text("status"); s != "" {
						todos[at].Status, todos[at].MessageID, todos[at].PartID = status(s), m.ID, p.ID
					}
				}
			}
		}
	}
	return todos
}

// status maps the products' words to the four of Todo.
func status(word string) string {
	switch word := strings.ToLower(strings.ReplaceAll(word, "-", "_")); word {
	case "completed", "done", "complete", "finished":
		return "completed"
	case "in_progress", "active", "inprogress", "doing":
		return "in_progress"
	case "cancelled", "canceled", "deleted", "skipped":
		return "cancelled"
	}
	return "pending"
}
