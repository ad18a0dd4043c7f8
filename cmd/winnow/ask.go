package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/winnowhq/winnow/agent"
)

// absent answers for the person who is not there.
type absent struct {
	yes bool // what would be asked about is allowed

	mu     sync.Mutex
	denied []denial
}

// denial is something that was not done because nobody could be asked.
type denial struct {
	Tool   string `json:"tool"`
	Action string `json:"action"` // read, write, run, fetch
	Target string `json:"target"`
}

func (n *absent) ask(_ context.Context, want agent.Permission) error {
	if n.yes {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	d := denial{want.Tool, want.Action, want.Target}
	told := false
	for _, before := range n.denied {
		told = told || before == d
	}
	if !told {
		n.denied = append(n.denied, d)
	}
	return fmt.Errorf("nothing was done: to %s %s needs permission, and nobody is there to be asked. Do without it, or say in your answer what you would have needed it for",
		want.Action, want.Target)
}

// all are the denials so far: a call that was left behind may still add one.
func (n *absent) all() []denial {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]denial{}, n.denied...)
}

// told is for people: what was not allowed, and how it can be.
func (n *absent) told() []string {
	var lines []string
	for _, d := range n.all() {
		how := fmt.Sprintf(`permissions: {"action": %q, "target": %q, "verdict": "allow"}`, d.Action, d.Target)
		if d.Action == "run" {
			how = fmt.Sprintf("--allow %q", d.Target)
		}
		lines = append(lines, fmt.Sprintf("not permitted: %s %s; allow it with %s", d.Action, d.Target, how))
	}
	return lines
}
