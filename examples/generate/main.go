// Command generate writes examples/long-session.json: the session of a coding agent that works on
// larder, a small invented inventory service, over seven turns. Files are kept in a simulated tree,
// so that what a read shows agrees with the edits before it, and test logs grow with the tests. It
// is deterministic.
//
//	go run ./examples/generate -o examples/long-session.json
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

func main() {
	out := flag.String("o", "examples/long-session.json", "the file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	r := newRecorder(newTree(project()))
	tell(r)
	s, err := r.finish()
	if err != nil {
		return err
	}
	text, err := json.Marshal(s, jsontext.WithIndent(" "), jsontext.SpaceAfterColon(true))
	if err != nil {
		return err
	}
	var back session.Session
	if err := json.Unmarshal(text, &back, session.ReadOptions()); err != nil {
		return fmt.Errorf("the session does not read back: %w", err)
	}
	if problems := session.Check(back.Messages); len(problems) > 0 {
		return fmt.Errorf("the session is not sound: %v", problems)
	}
	fmt.Fprintf(os.Stderr, "%d messages, %d tool calls, about %d tokens of tool output, last prompt %d tokens, %d bytes\n",
		len(s.Messages), r.calls, r.output/4, r.lastPrompt, len(text))
	return os.WriteFile(out, append(text, '\n'), 0o644)
}
