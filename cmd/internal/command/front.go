package command

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/cmd/internal/survey"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// fronted is the JSON document of winnow without a command.
type fronted struct {
	Folder string `json:"folder"` // the current folder
	// The newest session of the folder, or else of its project; null if there is none.
	Session  *newestSession `json:"session"`
	Commands []suggestion   `json:"commands"` // commands to run next
	// The newest three sessions on this computer, if the folder has none.
	Newest []elsewhere `json:"newest,omitempty"`
}

// elsewhere is a session of another folder.
type elsewhere struct {
	Source string `json:"source"` // its name on the command line
	// Its title, or else the beginning of the user's first message.
	Title     string         `json:"title"`
	Directory string         `json:"directory"` // the folder in which the agent works
	Updated   session.Millis `json:"updated"`   // when it was last written to
}

// newestElsewhere is how many sessions of other folders are shown.
const newestElsewhere = 3

// newestSession is the newest session of a folder.
type newestSession struct {
	// As in "ls"; "winnow" for a session that began in winnow's own store.
	Product string `json:"product"`
	Source  string `json:"source"` // its name on the command line
	ID      string `json:"id"`     // id of the session, as in the file
	// Its title, or else the beginning of the user's first message.
	Title     string         `json:"title"`
	Directory string         `json:"directory"` // the folder in which the agent works
	Updated   session.Millis `json:"updated"`   // when it was last written to
	Bytes     int64          `json:"bytes"`     // its size
	// Whether it was read. A file of 64 MiB or more is not, and has nothing but zeros in the
	// members that follow.
	Read   bool     `json:"read"`
	Model  string   `json:"model"`  // the model, as in "inspect"
	Turns  int      `json:"turns"`  // turns, as in "inspect"
	Steps  int      `json:"steps"`  // steps, as in "inspect"
	Window fullness `json:"window"` // how full its window is
	Cost   *float64 `json:"cost"`   // US dollars, as in "ls"
	// Requests that the cost does not include, as in "ls".
	Uncosted int               `json:"uncosted"`
	Prune    saving            `json:"prune"`   // the gain of "winnow prune"
	Compact  saving            `json:"compact"` // the gain of "winnow compact"
	Open     []inplace.Process `json:"open"`    // agents that may have the session open now
	// The reason why its agent cannot go on with it, a sentence; empty if there is none.
	Ailment string `json:"ailment,omitzero"`
	// The cost of its next prompt if the provider's cache has forgotten it and going on costs at
	// least $0.25 more than compacting; omitted otherwise, and if a price is unknown.
	Cold *pivot.Cold `json:"cold,omitzero"`

	report report.Report
}

// fullness is how full the window is, in tokens.
type fullness struct {
	Tokens   int  `json:"tokens"`   // tokens of messages
	Overhead int  `json:"overhead"` // tokens of system prompt and tools; 0 if unknown
	Usable   int  `json:"usable"`   // the limit in tokens; 0 if there is none, or it is unknown
	Overflow bool `json:"overflow"` // whether it is full
}

// saving is what a command would bring.
type saving struct {
	// Tokens of the window before, without system prompt and tools.
	TokensBefore int `json:"tokensBefore"`
	// Tokens of the window afterwards, without system prompt and tools.
	TokensAfter int `json:"tokensAfter"`
	// The savings and the cost of that; null if there is nothing to do.
	Money   *pivot.Money `json:"money"`
	Nothing string       `json:"nothing"` // why there is nothing to do; empty if there is

	overhead int // of system prompt and tools
}

// suggestion is a command to run next.
type suggestion struct {
	// "inspect", "rescue", "compact", "resume", "wrap", "page" or "list".
	Name    string `json:"name"`
	Command string `json:"command"` // the line of a shell, to be run in "folder"
	key     string
	what    string
}

func runFront(ctx context.Context, a *cli.App) error {
	if _, err := a.Settings(); err != nil {
		return err
	}
	found, err := source.Newest(ctx, a, "")
	if err != nil {
		return err
	}
	doc := fronted{Folder: a.Env.Dir, Commands: firstCommands()}
	if found == nil {
		newest, words, err := source.NewestAnywhere(ctx, a, newestElsewhere)
		if err != nil {
			return err
		}
		for i, f := range newest {
			doc.Newest = append(doc.Newest, elsewhere{words[i], f.Title, f.Project, session.Millis(f.Updated.UnixMilli())})
		}
		return a.Tell(doc, func() { doc.showNone(a) })
	}
	a.Named.Store(source.Latest, found.Source)
	if doc.Session, err = lookAtNewest(ctx, a, *found); err != nil {
		return err
	}
	r := doc.Session.resumption()
	doc.Commands = commandsFor(a, doc.Session, r)
	if err := a.Tell(doc, func() { doc.show(a) }); err != nil || !a.Asks() || !a.Env.StdoutTerminal {
		return err
	}
	return doc.ask(ctx, a, r)
}

// lookAtNewest reads a session, unless it is too large to be read while somebody waits.
func lookAtNewest(ctx context.Context, a *cli.App, f discover.Found) (*newestSession, error) {
	n := &newestSession{Product: f.Product, Source: f.Source, ID: f.ID, Title: f.Title, Directory: f.Project,
		Updated: session.Millis(f.Updated.UnixMilli()), Bytes: f.Bytes, Open: []inplace.Process{}}
	info, err := os.Stat(a.Path(f.Source))
	if err == nil && info.Mode().IsRegular() {
		n.Bytes = info.Size()
		if n.Bytes >= cmp.Or(a.Env.TooLarge, tooLarge) {
			return n, nil
		}
		n.Open = append(n.Open, livesIn(a, f, info)...)
	}
	s, err := source.OpenFor(ctx, a, f.Source, true)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	n.Read, n.ID, n.Title = true, s.ID, f.Title
	if s.FromFile() {
		for _, x := range ailmentsOf(s.Doc) {
			n.Ailment = x.What
		}
	}
	if n.report, err = winnow.Look(ctx, s.Engine, s.ID, report.Inspect); err != nil {
		return nil, err
	}
	r := n.report
	n.Title = cmp.Or(n.Title, r.Title, s.Title())
	n.Model, n.Turns, n.Steps, n.Cost = r.Model, r.Turns, r.Steps, r.Cost
	n.Window = fullness{r.Window.Tokens, r.Window.Overhead, r.Window.Usable, r.Window.Overflow}
	n.Uncosted = r.Bill.Total().Unknown()
	if n.Compact, err = compactSaves(ctx, s, r); err != nil {
		return nil, err
	}
	if n.Cold, err = source.Cold(ctx, a, s); err != nil {
		return nil, err
	}
	n.Prune, err = pruneSaves(ctx, s, r)
	return n, err
}

// livesIn are the agents that have a session, as far as that can be seen.
func livesIn(a *cli.App, f discover.Found, info os.FileInfo) []inplace.Process {
	room, err := output.Room(a)
	if err != nil {
		return nil
	}
	open, _ := room.Openers(info)
	if agent, lives := room.Agent(f.Source); lives {
		open = append(open, agent)
	}
	return open
}

// compactSaves is what a compaction would bring. Nobody is asked for a summary.
func compactSaves(ctx context.Context, s *source.Session, r report.Report) (saving, error) {
	out := saving{TokensBefore: r.Window.Tokens, TokensAfter: r.Window.Tokens, overhead: r.Window.Overhead}
	p, money, err := source.Preview(ctx, s)
	if err != nil {
		out.Nothing = reasonOf(notFolded(err, r, 0))
		return out, ctx.Err()
	}
	out.TokensBefore, out.TokensAfter, out.Money = p.TokensBefore, p.TokensAfter, money
	return out, nil
}

// pruneSaves is what a pruning would bring. It is done to a session that is not kept.
func pruneSaves(ctx context.Context, s *source.Session, r report.Report) (saving, error) {
	out := saving{TokensBefore: r.Window.Tokens, TokensAfter: r.Window.Tokens, overhead: r.Window.Overhead}
	outcome, err := s.Engine.Prune(ctx, s.ID, false)
	if err != nil {
		return out, err
	}
	if done := outcome.Pruned; done != nil {
		out.TokensBefore, out.TokensAfter, out.Money = done.TokensBefore, done.TokensAfter, done.Money
		return out, nil
	}
	out.Nothing = reasonOf(whyNothing(outcome.Refusals))
	return out, nil
}

// reasonOf is the first line of an error.
func reasonOf(err error) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "winnow: "), "\n")
	return first
}

// resumption is how to go on with the session where it is.
func (n *newestSession) resumption() resumption {
	return resumptionOf(n.Product, n.ID, n.Directory, n.Source, false)
}

// show tells of the session.
func (doc fronted) show(a *cli.App) {
	n := doc.Session
	about := []string{n.Product, ago(a.Env.Now().Sub(timeOf(n.Updated)))}
	g := tui.Glance{Title: cmp.Or(n.Title, n.ID)}
	add := func(name, text string) { g.Facts = append(g.Facts, display.Fact{Name: name, Text: text}) }
	if n.Read {
		about = append(about, n.Model, quantity.Count(n.Turns, "turn"), quantity.Count(n.Steps, "step"))
		g.Report = &n.report
		add("cost", cmp.Or(strings.Join(n.report.Bill.Words(quantity.Dollars), " · "), "no request is in its log"))
		narrow := a.Env.Width > 0 && a.Env.Width < narrowest
		add("compact", n.Compact.words(narrow))
		add("prune", n.Prune.words(narrow))
	} else {
		add("size", quantity.Bytes(int(n.Bytes))+
			", too large to be read while you wait; inspect reads it piece by piece")
	}
	if n.Directory != "" && n.Directory != a.Env.Dir {
		add("folder", visible.Line(n.Directory))
	}
	if n.Ailment != "" {
		add("rescue", n.Ailment+": winnow rescue "+source.Latest)
	}
	asks := a.Asks() && a.Env.StdoutTerminal
	if n.Cold != nil {
		add("cold", n.Cold.Words(quantity.Dollars)+keyToCompact(asks, doc.Commands))
	}
	for _, p := range n.Open {
		add("open", fmt.Sprintf("%v has it now; end it before the session is compacted", p))
	}
	g.About = about
	if asks && a.Env.Height > 0 { // below it an empty line, the keys, and the line of the cursor
		g.Rows = max(1, a.Env.Height-len(doc.Commands)-3)
	}
	a.Paint().Glance(g)
	a.Printf("\n")
	if asks {
		doc.showKeys(a)
		return
	}
	rows := [][]string{}
	for _, c := range doc.Commands {
		rows = append(rows, []string{c.Name, c.Command})
	}
	a.Table([]int{-8}, rows)
}

// narrowest is the width in columns below which a saving is said in short.
const narrowest = 60

// words say what is saved, or why nothing is. In short it is the
// share of tokens, and the money.
func (s saving) words(short bool) string {
	switch {
	case s.Nothing != "":
		return "nothing to save: " + s.Nothing
	case s.Money == nil:
		return display.Shrunk(s.TokensBefore, s.TokensAfter, s.overhead)
	}
	less := display.Shrunk(s.TokensBefore, s.TokensAfter, s.overhead)
	m := s.Money
	if m.Step == nil {
		return less + "; no price is known for " + m.Model
	}
	once := *m.Rewriting
	if m.Summary != nil {
		once += *m.Summary
	}
	text := fmt.Sprintf("saves %s a step", quantity.Dollars(*m.Step))
	if !short {
		text += fmt.Sprintf(" for %s once", quantity.Dollars(once))
	}
	switch {
	case *m.Step <= 0:
		text = "saves no money"
	case m.Summary == nil && short:
	case m.Summary == nil:
		text += " and a summary of unknown cost"
	case m.Steps != nil && *m.Steps > 0:
		text += ", " + display.PaysBack(m)
	}
	if short {
		return quantity.Change(s.TokensBefore+s.overhead, s.TokensAfter+s.overhead) + ", " + text
	}
	return text + ": " + less
}

// showNone says what to try.
func (doc fronted) showNone(a *cli.App) {
	a.Printf("No agent has kept a session of this folder, %s. ", doc.Folder)
	if len(doc.Newest) > 0 {
		a.Printf("The newest elsewhere:\n\n")
		for _, s := range doc.Newest {
			word := visible.Line(s.Source)
			a.Printf("  %s  %s\n", word, sessionLine(a, len(word)+4, s.Title, survey.FolderName(s.Directory),
				quantity.Age(a.Env.Now().Sub(timeOf(s.Updated)))))
		}
		a.Printf("\n")
	}
	a.Printf("To begin with:\n\n")
	for _, c := range doc.Commands {
		a.Printf("  %-26s %s\n", c.Command, c.what)
	}
	a.Printf("\n%s --help shows all commands.\n", programName(a))
}
