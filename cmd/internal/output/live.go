package output

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/format/opencodeserver"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Live is a change to a session of OpenCode's as its running server is told of it, or as `opencode
// import` would.
type Live struct {
	Server string // --server
	serves bool   // whether the command has the flag
	asked  bool   // somebody wants the server to be told, and nothing else

	Told   *opencodeserver.Outcome // what became of the change
	Kept   string                  // file for `opencode import` with the messages that were removed
	Limits []string                // what importing the file that was written does not do, and what does
	absent string                  // why no server was told, although one was looked for
}

// ServerFlag adds the flag that names a running OpenCode.
func (l *Live) ServerFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.Server, "server", "", "of opencode:ID: the address of a running OpenCode "+
		"server, which is told of the change (default: "+opencodeserver.Default+", if one answers there)")
	l.serves = true
}

// openLive opens a session of OpenCode's on its running server: the one that is named, or else, if
// the session is named by its product and no file is asked for, the one that listens where it does
// by default. The session is nil if there is none and none was asked for.
func (o *Target) openLive(ctx context.Context, a *cli.App, src string, dry bool) (*source.Session, error) {
	byProduct := strings.HasPrefix(src, opencode.Name+":") && o.To == "" && o.Format == ""
	if !o.serves || o.Server == "" && !byProduct { // PATH#ID may be in a copy of the store
		return nil, nil
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Server != "" && (o.To != "" || o.Format != "") {
		return nil, cli.Usage("--server changes the session in OpenCode itself; leave out -o and --format")
	}
	_, id, ok, err := source.StoredID(ctx, a, src)
	if whole, named := strings.CutPrefix(src, opencode.Name+":"); err != nil && named && o.Server != "" {
		id, ok, err = whole, true, nil // in the store of another computer
	}
	switch {
	case err != nil:
		return nil, err
	case !ok && o.Server != "":
		return nil, cli.Usage("--server is for sessions of OpenCode, named opencode:ID, and %s is something else", src)
	case !ok:
		return nil, nil
	}
	o.asked = o.Server != "" || o.InPlace
	s, err := o.reach(ctx, a, id, dry)
	if err == nil || ctx.Err() != nil || errors.Is(err, opencodeserver.ErrAddress) {
		return s, err
	}
	if !o.asked {
		o.absent = err.Error()
		return nil, nil
	}
	return nil, cli.Hint(err, advice(err))
}

// reach opens a session on the server.
func (o *Target) reach(ctx context.Context, a *cli.App, id string, dry bool) (*source.Session, error) {
	address := cmp.Or(o.Server, a.Env.OpenCode, opencodeserver.Default)
	server, err := opencodeserver.Dial(ctx, address, opencodeserver.Login{
		Username: cmp.Or(a.Env.Getenv("OPENCODE_SERVER_USERNAME"), "opencode"),
		Password: a.Env.Getenv("OPENCODE_SERVER_PASSWORD"),
	})
	if errors.Is(err, opencodeserver.ErrAddress) {
		return nil, cli.Misuse(fmt.Errorf("--server: %w", err))
	}
	if err != nil {
		return nil, err
	}
	return source.OpenLive(ctx, a, server, id, dry)
}

// advice is what to do about a server that cannot be told.
func advice(err error) string {
	switch {
	case errors.Is(err, opencodeserver.ErrLogin):
		return "set OPENCODE_SERVER_PASSWORD to the one that the server was started with"
	case errors.Is(err, opencodeserver.ErrNoSession):
		return "name the server of the store that has the session with --server URL"
	}
	return "run `opencode serve` beside OpenCode, which listens only when it is given --port; " +
		"or name a server with --server URL"
}

// Heeded keeps of the elisions of a pruning those that OpenCode heeds, if its server is to be told
// of them, and takes the others back.
func Heeded(ctx context.Context, s *source.Session, found []rule.Elision) (kept []rule.Elision,
	refused []rule.Refusal, err error) {
	if s.Live == nil {
		return found, nil, nil
	}
	var back []rule.Key
	for _, el := range found {
		if _, p := session.FindPart(s.Doc.Session.Messages, el.Part); opencode.Heeds(el, p) {
			kept = append(kept, el)
			continue
		}
		back = append(back, el.Key())
		refused = append(refused, rule.Refusal{Code: rule.Unheeded, Rule: el.Rule, Part: el.Part, Tokens: el.Saves,
			Reason: "OpenCode leaves out the output of calls that ended well, and nothing else"})
	}
	if len(back) > 0 {
		_, err = s.Engine.Edit(ctx, s.ID, edit.Request{Fields: back})
	}
	return kept, refused, err
}

// tell tells the server of a change. told is false if the change is for a file: it was not read
// from a server, or is more than marks.
func (o *Target) tell(ctx context.Context, a *cli.App, s *source.Session, change format.Change) (told bool, err error) {
	d, err := opencode.Compare(s.Doc, change)
	if err != nil { // of the second generation, or of another product
		return false, nil
	}
	why := ""
	for marker := range change.Undone {
		if s.Doc.Theirs[marker] {
			why = "OpenCode made this compaction itself, and what its server removes is gone"
		}
	}
	if d.Added > 0 {
		why = "the change adds messages, which OpenCode's server does not take"
	}
	switch {
	case s.Live == nil || !o.asked && why != "":
		o.limits(a, s, d)
		return false, nil
	case why != "":
		return true, cli.Hint(errors.New(why),
			"leave out --server and --in-place, and a file for `opencode import` is written")
	}
	if err := o.keepGone(ctx, a, d); err != nil {
		return true, err
	}
	a.Orderly.Store(true) // what was told before an interruption is said
	defer a.Orderly.Store(false)
	wipe := a.Progress("telling OpenCode at " + s.Live.URL)
	done := s.Live.Apply(ctx, d)
	wipe()
	changed := len(done.Applied)+len(done.Removed) > 0
	o.Told, s.Written = &done, changed
	s.Unsettled = leftovers(done.Left)
	switch {
	case !changed && len(done.Left) > 0:
		return true, errors.Join(ctx.Err(), fmt.Errorf("%s: nothing was changed: %s", done.URL, done.Left[0].Reason))
	case ctx.Err() != nil: // nothing more will be said
		return true, cli.Resumable(errors.Join(ctx.Err(), s.Done()), o.Again(o.Command, s.Path))
	}
	return true, nil
}

// leftovers says what was left as it was and why, in few lines.
func leftovers(left []opencodeserver.Left) (lines []string) {
	var untried []string
	for _, l := range left {
		if l.Reason == opencodeserver.Untried {
			untried = append(untried, l.What())
		} else {
			lines = append(lines, l.What()+": "+l.Reason)
		}
	}
	if len(untried) > 0 {
		lines = append(lines, opencodeserver.Untried+": "+strings.Join(untried, " "))
	}
	return lines
}

// keepGone writes a file for `opencode import` with the messages that the server is told to remove.
func (o *Target) keepGone(ctx context.Context, a *cli.App, d opencode.Delta) error {
	if len(d.Removed) == 0 {
		return nil
	}
	path := a.Env.Kept("removed", FileName(d.Removed[0])+".json")
	if path == "" {
		return cli.Usage("there is no home folder to keep what is removed; set HOME or XDG_DATA_HOME")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	o.Kept = path
	return a.Files.Write(ctx, path, func(w io.Writer) error {
		_, err := w.Write(d.Gone)
		return err
	})
}

// limits notes what importing the file into the store that has the session does not do.
func (o *Target) limits(a *cli.App, s *source.Session, d opencode.Delta) {
	say := func(format string, args ...any) { o.Limits = append(o.Limits, fmt.Sprintf(format, args...)) }
	lost := []string{}
	if n := len(d.Markings); n > 0 {
		lost = append(lost, quantity.Plural(n, "mark on a part", "marks on parts"))
	}
	if n := len(d.Removed); n > 0 {
		lost = append(lost, "the removal of "+quantity.Plural(n, "message", "messages"))
	}
	if len(lost) == 0 {
		return
	}
	say("`opencode import` changes nothing in messages that a store has already: where this session is, "+
		"%s in the file will not arrive; in a store without the session all of it will.", strings.Join(lost, " and "))
	if d.Added > 0 {
		say("%s that the file adds will arrive there too.", quantity.Plural(d.Added, "message", "messages"))
	}
	if o.Command == "compact" && len(d.Markings) > 0 {
		say("After the import, `opencode serve` and winnow prune opencode:%s apply marks.", d.Session)
	}
	if o.serves && d.Added == 0 && s.Live == nil {
		if o.absent != "" {
			say("No running OpenCode was told: %s.", o.absent)
		}
		say("To change the session where it is, run `opencode serve` beside OpenCode, then: winnow %s opencode:%s",
			o.Command, d.Session)
	}
}

// SayTold says what a running OpenCode was told, or what importing the file does not do.
func (o *Target) SayTold(a *cli.App) {
	if o.Told != nil {
		var did []string
		if n := len(o.Told.Applied); n > 0 || len(o.Told.Removed) == 0 {
			did = append(did, "changed "+quantity.Plural(n, "mark", "marks"))
		}
		if n := len(o.Told.Removed); n > 0 {
			did = append(did, "removed "+quantity.Plural(n, "message", "messages"))
		}
		a.Printf("OpenCode %s at %s %s; its next request follows that.\n", o.Told.Version, o.Told.URL,
			strings.Join(did, " and "))
	}
	if o.Kept != "" {
		a.Printf("To bring what was removed back: opencode import %s\n", cli.ShellWord(a.Short(o.Kept)))
	}
	for _, limit := range o.Limits {
		a.Printf("%s\n", limit)
	}
}

// Seen reports on a session as it is now: as the running OpenCode has it, if it was told of a
// change.
func (o *Target) Seen(ctx context.Context, a *cli.App, s *source.Session) (report.Report, error) {
	if o.Told == nil {
		return winnow.Look(ctx, s.Engine, s.ID, report.Inspect)
	}
	now, err := source.OpenLive(ctx, a, s.Live, s.Live.Session, true)
	if err != nil {
		return report.Report{}, fmt.Errorf("the change was made, and reading the session back failed: %w", err)
	}
	defer now.Close()
	return winnow.Look(ctx, now.Engine, now.ID, report.Inspect)
}

// Again is a command on the session that a running OpenCode was told of a change to.
func (l *Live) Again(command, src string) string {
	command = "winnow " + command + " " + cli.ShellWord(src)
	if l.Server != "" {
		command += " --server " + cli.ShellWord(l.Server)
	}
	return command
}
