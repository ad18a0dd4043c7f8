package simulation

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
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/token"
)

// Reader finds sessions and makes them ready to be replayed.
type Reader struct {
	app     *cli.App
	models  *model.Catalogue
	counter token.Counter
	counts  string // name of the counter

	failed []error // of what was named
	all    []lab.Source
	// origins are the sources of files, nil where no file of --sources says them.
	origins map[string]string
	mu      sync.Mutex
	errs    map[string]error // of what could not be read, by its path
	// seen is told of each file that is loaded, one at a time, and says whether to replay it. Nil:
	// all are.
	seen    func(path string, doc *format.Document, t *lab.Trace) bool
	parents map[string]string // the sessions that those of sub-agents work for, by path
}

func NewReader(a *cli.App, settings config.Settings) (*Reader, error) {
	counter, err := source.TokenCounter(settings)
	if err != nil {
		return nil, err
	}
	if counter == nil {
		counter = token.Linear{}
	}
	return &Reader{app: a, models: settings.Catalogue(model.Default()), counter: counter,
		counts: settings.Counter, errs: map[string]error{}}, nil
}

// Version is what a result hangs on beside the session, the policy and the options: the program,
// how it counts, and what it knows of models.
func (r *Reader) Version() string {
	program := r.app.Version
	if path, err := os.Executable(); err == nil {
		if info, err := os.Stat(path); err == nil { // a build of one's own has no version that tells it from the next
			program += fmt.Sprintf(" %d %d", info.Size(), info.ModTime().UnixNano())
		}
	}
	return strings.Join([]string{program, r.counts, r.models.Fingerprint(), r.app.Model}, "\n")
}

// Sources are the sessions that arguments name. What cannot be found is kept for the end, unless it
// is all there is.
func (r *Reader) Sources(ctx context.Context, args []string, everywhere bool) ([]lab.Source, error) {
	a := r.app
	var all []lab.Source
	seen := map[string]bool{}
	add := func(c source.Candidate) {
		if !seen[c.Path] {
			seen[c.Path] = true
			all = append(all, r.source(c))
		}
	}
	if everywhere {
		done := a.Progress("looking for sessions")
		found, problems, err := source.Search(a).Find(ctx)
		done()
		if err != nil {
			return nil, err
		}
		for _, p := range problems {
			r.failed = append(r.failed, p)
		}
		for _, f := range found {
			add(source.Candidate{Path: f.Source})
		}
	}
	for _, arg := range args {
		files, failed := source.Candidates(ctx, a, []string{arg})
		for _, c := range files {
			add(c)
		}
		for _, err := range failed {
			if errors.Is(err, fs.ErrNotExist) && !source.LooksLikePath(arg) {
				var s lab.Source
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

// describer says what the parts of sessions are: "read src/a.go". Sessions are read again for it,
// one at a time, as they are asked for.
func (r *Reader) describer(ctx context.Context, report lab.Report) func(id, part string) string {
	paths := map[string]string{}
	for _, s := range report.Sessions {
		paths[s.ID] = s.Path
	}
	var now string // the session that parts are of
	var parts map[string]string
	return func(id, part string) string {
		if id != now || parts == nil {
			now, parts = id, map[string]string{}
			at := slices.IndexFunc(r.all, func(s lab.Source) bool { return s.Path == paths[id] })
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
func (r *Reader) source(c source.Candidate) lab.Source {
	a := r.app
	s := lab.Source{Path: c.Path}
	var changed time.Time
	if folder, ok := source.Conversation(a, c.Path); ok {
		s.Size, changed = folder.Size(), folder.Modified()
	} else if info, err := os.Stat(a.Path(c.Path)); c.Path != "-" && err == nil {
		s.Size, changed = info.Size(), info.ModTime()
	} else if c.Trace != nil && c.Trace.Written > 0 {
		s.Size, changed = c.Trace.Bytes, time.UnixMilli(int64(c.Trace.Written))
	}
	if c.Path != "-" && !strings.Contains(c.Path, "#") {
		s.Path = a.Path(c.Path)
	}
	if !changed.IsZero() && a.Env.Now().Sub(changed) > time.Duration(source.Tick) {
		s.Key = fmt.Sprintf("%s\n%d\n%d", s.Path, s.Size, changed.UnixNano())
	}
	if filepath.Ext(c.Path) == ".gz" {
		s.Size *= 8 // about what it is when it is unpacked
	}
	s.Load = func(ctx context.Context) (*lab.Trace, error) {
		l := source.LookAt(ctx, a, c, nil)
		switch {
		case l.None:
			return nil, lab.ErrNoSession
		case l.Err != nil:
			return nil, r.note(s.Path, l.Err)
		}
		t := r.trace(l.Doc.Session, l.Doc.Beside)
		t.Path, t.Product, t.Damaged = s.Path, l.Doc.Format, len(l.Doc.Damaged)
		if t.ID == "" {
			t.ID = filepath.Base(c.Path)
		}
		if t.Name == "" && c.Path != "-" {
			t.Name = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(c.Path), ".gz"), ".jsonl")
		}
		if r.seen != nil && !r.seen(s.Path, l.Doc, t) {
			return nil, lab.ErrNoSession
		}
		return t, nil
	}
	return s
}

// stored is a session in winnow's own store.
func (r *Reader) stored(ctx context.Context, id string) (lab.Source, error) {
	a := r.app
	settings, err := a.Settings()
	if err != nil {
		return lab.Source{}, err
	}
	opened, err := source.OpenStored(ctx, a, id, source.Reading, settings)
	if err != nil {
		return lab.Source{}, err
	}
	defer opened.Close()
	var state store.State
	if state, err = opened.Store.State(ctx, opened.ID); err != nil {
		return lab.Source{}, err
	}
	full := opened.ID
	s := lab.Source{Path: full, Key: fmt.Sprintf("%s\n%s\n%d", source.StoreAt(a), full, state.Revision)}
	s.Load = func(ctx context.Context) (*lab.Trace, error) {
		opened, err := source.OpenStored(ctx, a, full, source.Reading, settings)
		if err != nil {
			return nil, r.note(full, err)
		}
		defer opened.Close()
		log, _, err := opened.Engine.Session(ctx, full)
		if err != nil {
			return nil, r.note(full, err)
		}
		paid, err := winnow.Look(ctx, opened.Engine, full, report.Measure)
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

func (r *Reader) trace(s session.Session, beside []bill.Request) *lab.Trace {
	name := cmp.Or(r.app.Model, answering(s.Messages))
	reader := r.models.Lookup(name)
	r.app.Doubt(reader)
	t := lab.NewTrace(s, reader, r.counter)
	if r.app.Model == "" {
		t.Priced(r.models.Lookup)
	}
	prices := bill.NewPrices(func(step string) model.Model { return r.models.Lookup(cmp.Or(step, name)) })
	t.Paid = lab.PaidFor(s.Messages, beside, prices)
	t.Name = rule.Shorten(strings.Join(strings.Fields(t.Name), " "), 60)
	return t
}

// answering is the model that answered most steps of a log, the newest of those that answered as
// many: it is billed in a replay.
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
func (r *Reader) note(path string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs[path] = err
	return err
}

// Problems are the damage and the failures of a replay.
func (r *Reader) Problems(report lab.Report) cli.Partly {
	p := cli.Partly{Failed: r.failed}
	for _, s := range report.Skipped {
		err := r.errs[s.Path]
		if err == nil {
			err = fmt.Errorf("%s: %s", s.Path, s.Why)
		}
		p.Failed = append(p.Failed, err)
	}
	for i := range report.Sessions {
		if report.Sessions[i].Damaged > 0 {
			p.Across++
			p.Counted += report.Sessions[i].Damaged
		}
	}
	return p
}
