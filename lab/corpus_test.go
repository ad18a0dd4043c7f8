package lab

import (
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// corpus are the recorded sessions of at least so many steps that lie beside the project, in the
// order of their names.
func corpus(t testing.TB, steps int) []*Trace {
	t.Helper()
	if testing.Short() {
		t.Skip("it replays whole sessions")
	}
	files, err := filepath.Glob(filepath.Join(outside.Path(t, "corpus"), "*", "*.gz"))
	if err != nil {
		t.Fatal(err)
	}
	var traces []*Trace
	catalogue := model.Default()
	for _, file := range files {
		doc, err := all.Read(outside.Read(t, file))
		if err != nil {
			continue // what is damaged is the readers' matter
		}
		trace := NewTrace(doc.Session, catalogue.Lookup(reader(doc.Session.Messages)), token.Linear{})
		trace.Name = filepath.Base(file)
		if trace.Steps() >= steps {
			traces = append(traces, trace)
		}
	}
	if len(traces) == 0 {
		t.Skipf("no session of %d steps is here", steps)
	}
	return traces
}

// reader is the model that wrote the newest answer.
func reader(log []session.Message) string {
	for i := len(log) - 1; i >= 0; i-- {
		if ref := log[i].Answers(); ref != nil && !log[i].IsSummary() {
			return ref.String()
		}
	}
	return ""
}
