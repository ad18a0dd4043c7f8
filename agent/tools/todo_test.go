package tools

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/session"
)

func todos(n int) []args {
	var list []args
	for i := range n {
		list = append(list, args{"content": fmt.Sprintf("thing %d", i), "status": "pending"})
	}
	return list
}

func TestTodos_areReadAsTheyWereWritten(t *testing.T) {
	b, lists := newBench(t), &Lists{}
	if got := b.run(TodoRead{lists}, args{}).Output; got != "[]" {
		t.Errorf("before anything is written: got %q", got)
	}
	r := b.run(TodoWrite{lists}, args{"todos": []args{
		{"content": "find the fault", "status": "completed", "priority": "high"},
		{"content": "mend it,\n in two lines", "status": "in_progress"},
		{"content": "test", "status": "pending", "priority": "low"}, {"content": "dance", "status": "cancelled"}}})
	if want := "Done: 4 todos, 2 of them open."; r.Output != want {
		t.Errorf("got %q, want %q", r.Output, want)
	}
	if got, want := b.run(TodoRead{lists}, args{}).Output,
		"[x] find the fault (high)\n[>] mend it, in two lines\n[ ] test (low)\n[-] dance"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	b.run(TodoWrite{lists}, args{"todos": []args{}})
	if got := b.run(TodoRead{lists}, args{}).Output; got != "[]" {
		t.Errorf("after an empty list: got %q", got)
	}
}

func TestTodos_whatIsNoListIsRefused(t *testing.T) {
	b, lists := newBench(t), &Lists{}
	b.run(TodoWrite{lists}, args{"todos": todos(1)})
	b.fails(TodoWrite{lists}, args{}, "a list")
	b.fails(TodoWrite{lists}, args{"todos": []args{{"content": " ", "status": "pending"}}}, "todo 1 has no content")
	b.fails(TodoWrite{lists}, args{"todos": []args{{"content": "x", "status": "done"}}}, `"done"`)
	b.fails(TodoWrite{lists}, args{"todos": []args{{"content": "x", "status": "pending", "priority": "urgent"}}},
		`"urgent"`)
	b.fails(TodoWrite{lists}, args{"todos": todos(201)}, "200")
	b.fails(TodoWrite{lists}, args{"todos": []string{placeholder}}, "a list")
	b.fails(TodoWrite{lists}, args{"todos": []args{{"content": placeholder, "status": "pending"}}},
		"nothing was written")
	if got := b.run(TodoRead{lists}, args{}).Output; got != "[ ] thing 0" {
		t.Errorf("got %q", got)
	}
}

func TestTodosIn_takesTheLastListThatWasWritten(t *testing.T) {
	wrote := func(tool string, status session.Status, in string) session.Message {
		return session.Message{Parts: []session.Part{{Type: session.ToolPart, Tool: tool,
			State: &session.ToolState{Status: status, Input: jsontext.Value(in)}}}}
	}
	log := []session.Message{
		wrote("todowrite", session.Completed, `{"todos":[{"content":"old","status":"pending"}]}`),
		wrote("todowrite", session.Completed, `{"todos":"[{\"content\":\"new\",\"status\":\"in_progress\"}]"}`),
		wrote("todowrite", session.Failed, `{"todos":[{"content":"failed","status":"pending"}]}`),
		wrote("todowrite", session.Completed, `{"todos":7}`),
		wrote("bash", session.Completed, `{"todos":[{"content":"bash","status":"pending"}]}`),
		{},
	}
	want := []Todo{{Content: "new", Status: "in_progress"}}
	if diff := cmp.Diff(want, TodosIn(log)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	asked := 0
	lists := &Lists{Log: func(context.Context, string) ([]session.Message, error) { asked++; return log, nil }}
	for range 2 {
		if got, err := lists.Of(t.Context(), "ses_1"); err != nil || !cmp.Equal(got, want) {
			t.Errorf("got %v, %v", got, err)
		}
	}
	if asked != 1 {
		t.Errorf("the log was asked for %d times, want once", asked)
	}
	lists.Forget("ses_1")
	log = nil
	if got, err := lists.Of(t.Context(), "ses_1"); err != nil || len(got) != 0 {
		t.Errorf("of another log: got %v, %v", got, err)
	}
	lists = &Lists{Log: func(context.Context, string) ([]session.Message, error) { return nil, errors.New("no store") }}
	if _, err := lists.Of(t.Context(), "ses_1"); err == nil {
		t.Error("a log that cannot be read: no error")
	}
}

func TestTodos_sessionsHaveTheirOwn(t *testing.T) {
	lists := &Lists{}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			id := fmt.Sprint("ses_", i)
			for n := 1; n < 20; n++ {
				if _, err := (TodoWrite{lists}).Run(t.Context(),
					agent.Call{SessionID: id, Input: input(t, args{"todos": todos(n)})}); err != nil {
					t.Error(err)
				}
				if got, err := lists.Of(t.Context(), id); err != nil || len(got) != n {
					t.Errorf("%s: got %d todos, %v, want %d", id, len(got), err, n)
				}
			}
		})
	}
	wait.Wait()
}
