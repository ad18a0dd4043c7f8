package lab

import (
	"path/filepath"
	"strings"
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
	for _, file := range files {
		if trace := load(t, file); trace != nil && trace.Steps() >= steps {
			traces = append(traces, trace)
		}
	}
	if len(traces) == 0 {
		t.Skipf("no session of %d steps is here", steps)
	}
	return traces
}

// load reads a recorded session; nil if it is damaged, which is the readers' matter.
func load(t testing.TB, file string) *Trace {
	t.Helper()
	doc, err := all.Read(outside.Read(t, file))
	if err != nil {
		return nil
	}
	catalogue := model.Default()
	trace := NewTrace(doc.Session, catalogue.Lookup(reader(doc.Session.Messages)), token.Linear{})
	trace.Priced(catalogue.Lookup)
	trace.Name = filepath.Base(file)
	return trace
}

// bySource are recorded sessions of many sources, of at least so many steps, by their source.
func bySource(t testing.TB, steps int) map[string][]*Trace {
	t.Helper()
	if testing.Short() {
		t.Skip("it replays whole sessions")
	}
	root := outside.Path(t, "corpus", "dev")
	sources := map[string][]*Trace{}
	for _, line := range strings.Split(string(outside.Read(t, filepath.Join(root, "INDEX.tsv"))), "\n")[1:] {
		column := strings.Split(line, "\t") // file, format, source, steps, tokens
		if len(column) < 4 {
			continue
		}
		if trace := load(t, filepath.Join(root, filepath.FromSlash(column[0]))); trace != nil && trace.Steps() >= steps {
			sources[column[2]] = append(sources[column[2]], trace)
		}
	}
	return sources
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
