package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/replay"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/token"
)

// replayReader finds sessions and makes them ready to be replayed.
type replayReader struct {
	app     *app
	models  *model.Catalogue
	counter token.Counter
	counts  string // name of the counter

	failed []error // of what was named
	all    []replay.Source
	mu     sync.Mutex
	errs   map[string]error // of what could not be read, by its path
}

func (a *app) replayReader(settings config.Settings) (*replayReader, error) {
	models, err := a.models()
	if err != nil {
		return nil, err
	}
	counter, err := a.tokenCounter(settings)
	if err != nil {
		return nil, err
	}
	if counter == nil {
		counter = token.Linear{}
	}
	return &replayReader{app: a, models: models, counter: counter, counts: settings.Counter, errs: map[string]error{}}, nil
}

// version is what a result hangs on beside the session, the policy and the options: the program, how it counts, and what it knows of models.
func (r *replayReader) version() string {
	program := versionOf()
	if path, err := os.Executable(); err == nil {
		if info, err := os.Stat(path); err == nil { // a build of one's own has no version that tells it from the next
			program += fmt.Sprintf(" %d %d", info.Size(), info.ModTime().UnixNano())
		}
	}
	return strings.Join([]string{program, r.counts, r.models.Source, r.models.Date, r.app.model}, "\n")
}

// sources are the sessions that arguments name. What cannot be found is kept for the end, unless it is all there is.
func (r *replayReader) sources(ctx context.Context, args []string, everywhere bool) ([]replay.Source, error) {
	a := r.app
	var all []replay.Source
	seen := map[string]bool{}
	add := func(c candidate) {
		if !seen[c.path] {
			seen[c.path] = true
			all = append(all, r.source(c))
		}
	}
	if everywhere {
		done := a.progress("looking for sessions")
		found, problems, err := a.search().Find(ctx)
		done()
		if err != nil {
			return nil, err
		}
		for _, p := range problems {
			r.failed = append(r.failed, p)
		}
		for _, f := range found {
			add(candidate{path: f.Source})
		}
	}
	for _, arg := range args {
		files, failed := a.candidates(ctx, []string{arg})
		for _, c := range files {
			add(c)
		}
		for _, err := range failed {
			if errors.Is(err, fs.ErrNotExist) && !looksLikePath(arg) {
				var s replay.Source
				if s, err = r.stored(ctx, arg); err == nil && !seen[s.Key] {
					seen[s.Key] = true
					all = append(all, s)
				}
			}
			if err != nil {
				r.failed = append(r.failed, err)
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(all) == 0 && len(r.failed) > 0 {
		return nil, errors.Join(r.failed...)
	}
	r.all = all
	return all, nil
}

// describer says what the parts of sessions are: "read src/a.go". Sessions are read again for it, one at a time, as they are asked for.
func (r *replayReader) describer(ctx context.Context, report replay.Report) func(id, part string) string {
	paths := map[string]string{}
	for _, s := range report.Sessions {
		paths[s.ID] = s.Path
	}
	var now string // the session that parts are of
	var parts map[string]string
	return func(id, part string) string {
		if id != now || parts == nil {
			now, parts = id, map[string]string{}
			at := slices.IndexFunc(r.all, func(s replay.Source) bool { return s.Path == paths[id] })
			if at < 0 || r.all[at].Path == "-" {
				return "" // standard input is read once
			}
			if t, err := r.all[at].Load(ctx); err == nil {
				parts = described(t.Session())
			}
		}
		return parts[part]
	}
}

// described are the calls of a session by the ids of their parts.
func described(s session.Session) map[string]string {
	parts := map[string]string{}
	for i := range s.Messages {
		for j := range s.Messages[i].Parts {
			p := &s.Messages[i].Parts[j]
			switch {
			case p.Type == session.ToolPart:
				parts[p.ID] = strings.TrimSpace(p.Tool + " " + rule.Target(p))
			case s.Messages[i].Role == session.User:
				parts[p.ID] = "what the user said"
			default:
				parts[p.ID] = "what the assistant said"
			}
		}
	}
	return parts
}

// source is a session in a file, a folder of OpenHands' or a database of OpenCode's.
func (r *replayReader) source(c candidate) replay.Source {
	a := r.app
	s := replay.Source{Path: c.path}
	var changed time.Time
	if folder, ok := a.conversation(c.path); ok {
		s.Size, changed = folder.Size(), folder.Modified()
	} else if info, err := os.Stat(a.path(c.path)); c.path != "-" && err == nil {
		s.Size, changed = info.Size(), info.ModTime()
	} else if c.trace != nil && c.trace.Written > 0 {
		s.Size, changed = c.trace.Bytes, time.UnixMilli(int64(c.trace.Written))
	}
	if c.path != "-" && !strings.Contains(c.path, "#") {
		s.Path = a.path(c.path)
	}
	if !changed.IsZero() && a.env.Now().Sub(changed) > time.Duration(tick) {
		s.Key = fmt.Sprintf("%s\n%d\n%d", s.Path, s.Size, changed.UnixNano())
	}
	if filepath.Ext(c.path) == ".gz" {
		s.Size *= 8 // about what it is when it is unpacked
	}
	s.Load = func(ctx context.Context) (*replay.Trace, error) {
		l := a.lookAt(ctx, c, nil)
		switch {
		case l.none:
			return nil, replay.ErrNoSession
		case l.err != nil:
			return nil, r.note(s.Path, l.err)
		}
		t := r.trace(l.doc.Session, l.doc.Beside)
		t.Path, t.Product, t.Damaged = s.Path, l.doc.Format, len(l.doc.Damaged)
		if t.ID == "" {
			t.ID = filepath.Base(c.path)
		}
		if t.Name == "" && c.path != "-" {
			t.Name = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(c.path), ".gz"), ".jsonl")
		}
		return t, nil
	}
	return s
}

// stored is a session in winnow's own store.
func (r *replayReader) stored(ctx context.Context, id string) (replay.Source, error) {
	a := r.app
	settings, err := a.settings()
	if err != nil {
		return replay.Source{}, err
	}
	opened, err := a.openStored(ctx, id, reading, settings)
	if err != nil {
		return replay.Source{}, err
	}
	defer opened.Close()
	var state store.State
	if state, err = opened.store.State(ctx, opened.id); err != nil {
		return replay.Source{}, err
	}
	full := opened.id
	s := replay.Source{Path: full, Key: fmt.Sprintf("%s\n%s\n%s\n%d", a.env.storePath(), a.storeFile, full, state.Revision)}
	s.Load = func(ctx context.Context) (*replay.Trace, error) {
		opened, err := a.openStored(ctx, full, reading, settings)
		if err != nil {
			return nil, r.note(full, err)
		}
		defer opened.Close()
		log, _, err := opened.engine.Session(ctx, full)
		if err != nil {
			return nil, r.note(full, err)
		}
		paid, err := winnow.Look(ctx, opened.engine, full, report.Measure)
		if err != nil {
			return nil, r.note(full, err)
		}
		t := r.trace(log, nil)
		t.Paid.Sums = paid.Sums()
		t.Path, t.Product = full, "winnow"
		return t, nil
	}
	return s, nil
}

func (r *replayReader) trace(s session.Session, beside []bill.Request) *replay.Trace {
	name := cmp.Or(r.app.model, answering(s.Messages))
	t := replay.NewTrace(s, r.models.Lookup(name), r.counter)
	t.Paid = replay.PaidFor(s.Messages, beside, bill.NewPrices(func(step string) model.Model { return r.models.Lookup(cmp.Or(step, name)) }))
	t.Name = rule.Shorten(strings.Join(strings.Fields(t.Name), " "), 60)
	return t
}

// answering is the model that answered most steps of a log, the newest of those that answered as many: it is billed in a replay.
func answering(log []session.Message) string {
	steps := map[string]int{}
	most := ""
	for i := range log {
		if m := &log[i]; m.Role == session.Assistant && !m.IsSummary() && m.Repeats == "" {
			if name := m.Answers().String(); name != "" {
				if steps[name]++; steps[name] >= steps[most] {
					most = name
				}
			}
		}
	}
	return most
}

// note remembers why something could not be read: its kind decides how the command ends.
func (r *replayReader) note(path string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs[path] = err
	return err
}

// problems are the damage and the failures of a replay.
func (r *replayReader) problems(report replay.Report) partly {
	p := partly{failed: r.failed}
	for _, s := range report.Skipped {
		err := r.errs[s.Path]
		if err == nil {
			err = fmt.Errorf("%s: %s", s.Path, s.Why)
		}
		p.failed = append(p.failed, err)
	}
	for i := range report.Sessions {
		if report.Sessions[i].Damaged > 0 {
			p.across++
			p.counted += report.Sessions[i].Damaged
		}
	}
	return p
}
