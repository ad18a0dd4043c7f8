package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/session"
)

func TestRun_writesTheExampleThatIsHere(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.json")
	if err := run(out); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.FromSlash("../long-session.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("examples/long-session.json is not what the program writes (%d and %d bytes); run it again", len(want), len(got))
	}
}

func TestRun_lastStepAloneOverflows(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../long-session.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s session.Session
	if err := json.Unmarshal(text, &s, session.ReadOptions()); err != nil {
		t.Fatal(err)
	}
	if problems := session.Check(s.Messages); len(problems) > 0 {
		t.Errorf("the example is not sound: %v", problems)
	}
	const usable = 200_000 - 32_000
	last := len(s.Messages) - 1
	for i := range s.Messages {
		u := s.Messages[i].Tokens
		if u == nil {
			continue
		}
		if over := u.Input+u.Cache.Read+u.Output > usable; over != (i == last) {
			t.Errorf("message %d of %d: overflow is %v", i, last, over)
		}
	}
}
