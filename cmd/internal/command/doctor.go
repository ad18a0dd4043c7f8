package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// diagnosis is the JSON document of doctor.
type diagnosis struct {
	Source    string `json:"source,omitzero"` // the real path of the file; omitted without SRC
	Format    string `json:"format,omitzero"` // format of the file
	Originals int    `json:"originals"`       // how many originals were checked
	// Whether there are no findings; the exit code is then 0, otherwise 4.
	Healthy  bool      `json:"healthy"`
	Findings []finding `json:"findings"` // faults
	// On Linux: the other processes that have the file open now; and a running Claude Code that has
	// the session.
	Open []inplace.Process `json:"open"`

	Notes  []finding    `json:"notes"`          // remarks about things that are not wrong
	Agents []installed  `json:"agents"`         // without SRC: the agents in "PATH"
	Keys   []keyed      `json:"keys"`           // without SRC: variables that may hold a key of a provider
	Store  *storeHealth `json:"store,omitzero"` // without SRC: the store, if there is one
}

// finding is one thing that is wrong.
type finding struct {
	Code string `json:"code"`          // the fault as a word, see below
	What string `json:"what"`          // the meaning, a sentence
	Do   string `json:"do"`            // what to do, a sentence
	Path string `json:"path,omitzero"` // the file
	Line int    `json:"line,omitzero"` // the line
	// For "bypassed": how the compaction is bypassed.
	Bypass *format.Bypass `json:"bypass,omitzero"`
}

// Codes of findings.
const (
	bypassedFold    = "bypassed"         // a compaction does not count
	tornLine        = "torn"             // the last line is incomplete
	damagedLines    = "damaged"          // other pieces cannot be read
	grownOriginal   = "original-grown"   // an original has lines that its file has not
	lostOriginal    = "original-missing" // an original was removed
	changedOriginal = "original-changed" // an original is not what was kept
	strandedOne     = "original-beside"  // an original still is beside its file
)

func doctorCommand(a *cli.App) *cobra.Command {
	var fix bool
	var out output.Target
	cmd := &cobra.Command{
		Use:   "doctor [SRC]",
		Short: "Find what is wrong with a session or around winnow, and fix it",
		Long: `doctor examines a session file after something went wrong, and changes nothing: whether
its newest compaction has an effect (an agent that was idle in the session when it was compacted
continues from before the compaction, and its product then ignores it), whether its product would
resume it incorrectly (--fix mends that), whether its newest turn was refused (winnow rescue cures
that), whether its last line is incomplete,
whether lines were written to an original that are not in the file, and who has it open now.

Without SRC it examines what is around: agents that are installed, and whether their versions were
tried; addresses, proxies, hooks and plugins that stand between an agent and its provider; which keys
are set, never their values; the settings; the store, who can read it, and the room on its disk; and all
originals that --in-place has kept.

--fix repairs SRC and changes nothing else in it. Of Claude Code these are known: a compaction by a
plugin that is undone when the session is resumed, and sends the whole past again, or in a large file
loses most of what was kept; parallel calls that a plugin split, so that their results are not found; a
conversation that begins with an answer; an entry whose parent is missing. End the agent first: it
writes an open session from memory.

It ends with 0 if nothing is wrong, and with 4 if something is.`,
		Example: `  winnow doctor
  winnow doctor ~/.claude/projects/FOLDER/ID.jsonl
  winnow doctor ~/.claude/projects/FOLDER/ID.jsonl --fix --in-place
  winnow doctor originals`,
		Args: cli.Between(0, 1, "at most one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case fix && len(args) == 0:
				return cli.Usage("--fix repairs a session file; name one")
			case fix:
				return runRepair(cmd.Context(), a, args[0], out)
			case out.To != "" || out.InPlace || out.Format != "":
				return cli.Usage("doctor writes a file only with --fix")
			}
			doc := diagnosis{Findings: []finding{}, Open: []inplace.Process{}, Notes: []finding{},
				Agents: []installed{}, Keys: []keyed{}}
			if len(args) == 0 {
				if err := examineAll(cmd.Context(), a, &doc); err != nil {
					return err
				}
				return tellDiagnosis(a, doc)
			}
			room, err := output.Room(a)
			if err != nil {
				return err
			}
			if err := examine(cmd.Context(), a, room, args[0], &doc); err != nil {
				return err
			}
			return tellDiagnosis(a, doc)
		},
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "repair the session file")
	out.Flags(cmd)
	cmd.AddCommand(originalsCommand(a))
	return cmd
}

func tellDiagnosis(a *cli.App, doc diagnosis) error {
	doc.Healthy = len(doc.Findings) == 0
	if err := a.Tell(doc, func() {
		if doc.Source == "" {
			doc.showComputer(a)
		}
		paint := unwrapped(a)
		for _, f := range doc.Findings {
			paint.Trouble(tui.Trouble{What: f.What, Code: f.Code})
			a.Printf("  %s\n", visible.Text(f.Do))
		}
		for _, f := range doc.Notes {
			paint.Trouble(tui.Trouble{What: f.What, Code: f.Code, Note: true})
			a.Printf("  %s\n", visible.Text(f.Do))
		}
		for _, p := range doc.Open {
			a.Printf("%s\n", visible.Text(fmt.Sprintf("%v has the session open now", p)))
		}
		if doc.Healthy {
			a.Printf("Nothing is wrong; %s checked\n", quantity.Plural(doc.Originals, "original was", "originals were"))
		}
	}); err != nil {
		return err
	}
	if !doc.Healthy {
		return cli.Incomplete(quantity.Plural(len(doc.Findings), "finding", "findings"))
	}
	return nil
}

// examine looks at one file.
func examine(ctx context.Context, a *cli.App, room inplace.Room, src string, doc *diagnosis) error {
	src, err := source.Resolve(ctx, a, src)
	if err != nil {
		return err
	}
	info, err := os.Stat(a.Path(src))
	missing := errors.Is(err, fs.ErrNotExist) && !source.LooksLikePath(src)
	if src == "-" || missing || err == nil && !info.Mode().IsRegular() {
		return cli.Usage("%s is not a session file; doctor examines files", src)
	}
	data, info, err := source.ReadFile(a, src)
	if err != nil {
		return err
	}
	if doc.Source, err = inplace.Real(a.Path(src)); err != nil {
		return err
	}
	open, _ := room.Openers(info)
	doc.Open = append(doc.Open, open...)
	if agent, lives := room.Agent(doc.Source); lives {
		doc.Open = append(doc.Open, agent)
	}
	read, err := all.Read(data)
	if err != nil {
		return fmt.Errorf("%s: %w", src, err)
	}
	doc.Format = read.Format
	name := cli.ShellWord(a.Short(doc.Source))
	if b, bypassed := output.Bypass(read); bypassed {
		doc.Findings = append(doc.Findings, finding{Code: bypassedFold, What: output.SayBypass(b), Line: b.Line,
			Path: doc.Source, Bypass: &b,
			Do: "end the agent, then compact the session as it is now: winnow compact " + name + " --in-place"})
	}
	for _, f := range output.Faults(read) {
		if n := len(doc.Findings); n > 0 && doc.Findings[n-1].Code == f.Code {
			continue // repair lists them all
		}
		doc.Findings = append(doc.Findings, finding{Code: f.Code, What: f.What, Path: doc.Source, Line: f.Line,
			Do: "end the agent, then: winnow doctor --fix " + name + " --in-place"})
	}
	doc.Findings = append(doc.Findings, refused(read, doc.Source, name)...)
	doc.Findings = append(doc.Findings, damageOf(read, doc.Source, name)...)
	list, failed := room.Originals()
	if failed != nil {
		return failed
	}
	for _, o := range list {
		if o.Source == doc.Source {
			doc.Originals++
			found, err := missingLines(o, data)
			if err != nil {
				return err
			}
			doc.Findings = append(doc.Findings, found...)
		}
	}
	return nil
}

// refused tells why an agent cannot go on with a session, by the error of its newest turn.
func refused(read *format.Document, path, name string) (found []finding) {
	for _, x := range ailmentsOf(read) {
		if x.Sentence != "" {
			found = append(found, finding{Code: x.Code, What: x.What, Path: path,
				Do: "end the agent, then: winnow rescue " + name})
		}
	}
	return found
}

// damageOf tells of what could not be read in a file. What follows its last line break is a
// line that was not written to its end.
func damageOf(read *format.Document, path, name string) (found []finding) {
	damaged := read.Damaged
	torn := func(d format.Damage) bool {
		atEnd := d.Offset+int64(d.Bytes) == int64(len(read.Source))
		return d.Line > 0 && atEnd && !bytes.HasSuffix(read.Source, []byte{'\n'})
	}
	if n := len(damaged); n > 0 && torn(damaged[n-1]) {
		d := damaged[n-1]
		damaged = damaged[:n-1]
		found = append(found, finding{Code: tornLine, Path: path, Line: d.Line,
			What: fmt.Sprintf("the last line, %d, is incomplete: %s without a line break", d.Line,
				quantity.Plural(d.Bytes, "byte", "bytes")),
			Do: "if an agent is writing it, look again; otherwise its writer was killed, and what it appends " +
				"next is lost with the line: winnow rescue " + name})
	}
	if n := len(damaged); n > 0 {
		found = append(found, finding{Code: damagedLines, Path: path, Line: damaged[0].Line,
			What: fmt.Sprintf("%s cannot be read, the first in line %d: %s", quantity.Plural(n, "piece", "pieces"),
				damaged[0].Line, damaged[0].Reason),
			Do: "they are kept as they are; winnow inspect " + name + " lists them"})
	}
	return found
}

// missingLines tells of lines that came to an original and are in no line of its file. data is the
// file, nil when it is gone.
func missingLines(o inplace.Original, data []byte) ([]finding, error) {
	if o.Grown == 0 {
		return nil, nil
	}
	lines, torn, err := o.Missed(data)
	if err != nil {
		return nil, err
	}
	if lines == 0 && torn == 0 {
		return nil, nil
	}
	has := quantity.Plural(lines, "line", "lines")
	switch incomplete := quantity.Plural(int(torn), "byte", "bytes") + " of an incomplete line"; {
	case lines == 0:
		has = incomplete
	case torn > 0:
		has += " and " + incomplete
	}
	what := fmt.Sprintf("the original from %s has %s that %s does not have", dated(o), has, o.Source)
	return []finding{{Code: grownOriginal, Path: o.Path, What: what,
		Do: fmt.Sprintf("end the agent; they are: tail -c +%d %s", o.Size+o.Carried+1, cli.ShellWord(o.Path))}}, nil
}

// examineOriginals looks at everything that --in-place has kept.
func examineOriginals(a *cli.App, room inplace.Room, doc *diagnosis) error {
	list, failed := room.Originals()
	if failed != nil {
		return failed
	}
	doc.Originals = len(list)
	for _, o := range list {
		found, err := examineOriginal(o)
		if err != nil {
			return err
		}
		doc.Findings = append(doc.Findings, found...)
	}
	return nil
}

func examineOriginal(o inplace.Original) (found []finding, err error) {
	const remove = "winnow doctor originals prune removes what is no longer needed"
	note := func(code, what, do string) {
		found = append(found, finding{Code: code, Path: o.Path, What: what, Do: do})
	}
	if o.Missing {
		note(lostOriginal, fmt.Sprintf("the original of %s from %s is missing: %s", o.Source, dated(o), o.Path), remove)
		return found, nil
	}
	same, err := o.Verify()
	switch {
	case err != nil:
		return nil, err
	case !same && !o.Linked:
		note(changedOriginal, fmt.Sprintf("the original of %s is not what was kept: %s", o.Source, o.Path),
			"somebody wrote into it; "+remove)
		return found, nil
	case o.Beside != "" && !o.Linked:
		note(strandedOne, fmt.Sprintf("an original of %s is still beside it: %s", o.Source, o.Path), remove)
	}
	data, err := os.ReadFile(o.Source)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	missing, err := missingLines(o, data)
	return append(found, missing...), err
}

// dated is when an original was kept.
func dated(o inplace.Original) string { return o.When().Local().Format("2006-01-02 15:04") }
