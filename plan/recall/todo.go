package recall

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
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
	l := todoList{at: map[string]int{}}
	for i := range messages {
		m := &messages[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type != session.ToolPart || p.State == nil || p.State.Status == session.Failed {
				continue
			}
			if did, ok := call.TodosOf(p); ok {
				l.apply(did, m.ID, p.ID)
			}
		}
	}
	return l.todos
}

// todoList is a todo list while it is read off a log.
type todoList struct {
	todos []Todo
	at    map[string]int // the position of an item by its id, or by its number if it has no id
}

// apply does to the list what a call did.
func (l *todoList) apply(did call.Todos, messageID, partID string) {
	if did.Form == call.Whole {
		l.todos, l.at = l.todos[:0:0], map[string]int{}
	}
	for _, item := range did.Items {
		at, known := l.at[item.ID]
		if !known || item.ID == "" {
			at = slices.IndexFunc(l.todos, func(t Todo) bool { return t.Text == item.Text })
			known = at >= 0
		}
		if known = known && did.Form == call.Modifies; !known {
			if item.Text == "" {
				continue
			}
			at = len(l.todos)
			l.at[cmp.Or(item.ID, strconv.Itoa(at+1))] = at
			l.todos = append(l.todos, Todo{Text: item.Text, Status: status(item.Status)})
		}
		todo := &l.todos[at]
		todo.Text, todo.MessageID, todo.PartID = cmp.Or(item.Text, todo.Text), messageID, partID
		if item.Status != "" {
			todo.Status = status(item.Status)
		}
	}
}

// status maps the products' words to the four of Todo.
func status(word string) string {
	switch word := strings.ToLower(strings.ReplaceAll(word, "-", "_")); word {
	case "completed", "done", "complete", "finished", "closed":
		return "completed"
	case "in_progress", "active", "inprogress", "doing":
		return "in_progress"
	case "cancelled", "canceled", "deleted", "skipped":
		return "cancelled"
	}
	return "pending"
}
