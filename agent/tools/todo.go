package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// Todo is one thing to be done.
type Todo struct {
	Content  string `json:"content"`
	Status   string `json:"status"`             // "pending", "in_progress", "completed", "cancelled"
	Priority string `json:"priority,omitempty"` // "high", "medium", "low", or none

	Unknown jsontext.Value `json:",embed"`
}

var (
	statuses   = []string{"pending", "in_progress", "completed", "cancelled"}
	priorities = []string{"", "high", "medium", "low"}
)

// mostTodos is how many things one list may hold: a list that nobody reads is not a plan.
const mostTodos = 200

// Lists are the todo lists of sessions, in memory. Safe for concurrent use.
type Lists struct {
	// Log gives the log of a session whose list is not in memory, as after a restart; see TodosIn.
	// It may be nil.
	Log func(ctx context.Context, sessionID string) ([]session.Message, error)

	mu    sync.Mutex
	known map[string][]Todo
}

// Of is the list of a session: the one that was written last.
func (l *Lists) Of(ctx context.Context, sessionID string) ([]Todo, error) {
	if l == nil {
		return nil, nil
	}
	l.mu.Lock()
	todos, ok := l.known[sessionID]
	l.mu.Unlock()
	if ok || l.Log == nil {
		return slices.Clone(todos), nil
	}
	messages, err := l.Log(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	todos = TodosIn(messages)
	l.mu.Lock()
	defer l.mu.Unlock()
	if newer, ok := l.known[sessionID]; ok { // written while the log was read
		return slices.Clone(newer), nil
	}
	l.keep(sessionID, todos)
	return slices.Clone(todos), nil
}

// Forget takes the list of a session out of memory: the log is asked again, as it must be when the
// session was put back to an earlier message.
func (l *Lists) Forget(sessionID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, sessionID)
}

func (l *Lists) write(sessionID string, todos []Todo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(sessionID, slices.Clone(todos))
}

func (l *Lists) keep(sessionID string, todos []Todo) {
	if l.known == nil {
		l.known = map[string][]Todo{}
	}
	l.known[sessionID] = todos
}

// TodosIn is the list that the last todowrite of a log wrote, nil without one. A call that failed,
// or whose arguments are not a list, is passed over.
func TodosIn(messages []session.Message) []Todo {
	for i := len(messages) - 1; i >= 0; i-- {
		for j := len(messages[i].Parts) - 1; j >= 0; j-- {
			p := &messages[i].Parts[j]
			if p.Type != session.ToolPart || p.State == nil || p.State.Status != session.Completed ||
				call.Name(p.Tool) != "todowrite" {
				continue
			}
			if todos, err := todosOf(p.State.Input); err == nil {
				return todos
			}
		}
	}
	return nil
}

// todosOf reads the list among the arguments of a call.
func todosOf(input jsontext.Value) ([]Todo, error) {
	a := argumentsOf("todowrite", input)
	if a.err != nil {
		return nil, a.err
	}
	list := a.get("todos")
	if list.Kind() == '"' { // a list that was written as a string
		list = jsontext.Value(a.text("todos"))
	}
	var todos []Todo
	if list == nil || list.Kind() != '[' || json.Unmarshal(list, &todos, session.ReadOptions()) != nil {
		return nil, errors.New(`todowrite needs the argument "todos", a list of objects with "content" and "status"`)
	}
	if len(todos) > mostTodos {
		return nil, fmt.Errorf("a list of %d todos: %d are the most", len(todos), mostTodos)
	}
	for i := range todos {
		t := &todos[i]
		if t.Status == "" {
			t.Status = "pending"
		}
		switch {
		case strings.TrimSpace(t.Content) == "":
			return nil, fmt.Errorf("todo %d has no content", i+1)
		case !slices.Contains(statuses, t.Status):
			return nil, fmt.Errorf("todo %d has the status %q; there are %s", i+1, t.Status,
				strings.Join(statuses, ", "))
		case !slices.Contains(priorities, t.Priority):
			return nil, fmt.Errorf("todo %d has the priority %q; there are high, medium, low", i+1, t.Priority)
		}
	}
	return todos, nil
}

// listed is a list as it is shown.
func listed(todos []Todo) string {
	if len(todos) == 0 {
		return "[]"
	}
	marks := map[string]string{"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}
	var b strings.Builder
	for _, t := range todos {
		b.WriteString(marks[t.Status] + " " + strings.Join(strings.Fields(t.Content), " "))
		if t.Priority != "" {
			b.WriteString(" (" + t.Priority + ")")
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func open(todos []Todo) (n int) {
	for _, t := range todos {
		if t.Status == "pending" || t.Status == "in_progress" {
			n++
		}
	}
	return n
}

// TodoWrite puts another list in the place of a session's.
type TodoWrite struct{ Lists *Lists }

func (TodoWrite) Name() string           { return "todowrite" }
func (TodoWrite) Description() string    { return told("todowrite").Description }
func (TodoWrite) Schema() jsontext.Value { return told("todowrite").Schema }
func (TodoWrite) Serial()                {} // two lists of one step are written in their order
func (TodoWrite) Harmless()              {} // no file is changed

func (t TodoWrite) Run(_ context.Context, c agent.Call) (agent.Result, error) {
	if t.Lists == nil {
		return agent.Result{}, errors.New("no list is kept here")
	}
	todos, err := todosOf(c.Input)
	if err != nil {
		return agent.Result{}, err
	}
	for i := range todos {
		if rule.ContainsPlaceholder(todos[i].Content) {
			return agent.Result{}, errPlaceholder
		}
	}
	t.Lists.write(c.SessionID, todos)
	left := open(todos)
	return agent.Result{
		Title:    quantity.Count(left, "open todo"),
		Output:   fmt.Sprintf("Done: %s, %d of them open.", quantity.Count(len(todos), "todo"), left),
		Metadata: map[string]any{"todos": todos},
	}, nil
}

// TodoRead shows the list of a session.
type TodoRead struct{ Lists *Lists }

func (TodoRead) Name() string           { return "todoread" }
func (TodoRead) Description() string    { return told("todoread").Description }
func (TodoRead) Schema() jsontext.Value { return told("todoread").Schema }

func (t TodoRead) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	todos, err := t.Lists.Of(ctx, c.SessionID)
	if err != nil {
		return agent.Result{}, err
	}
	return agent.Result{Title: quantity.Count(open(todos), "open todo"), Output: listed(todos),
		Metadata: map[string]any{"todos": todos}}, nil
}
