package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/opencodeserver"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store/report"
)

// pruning is the JSON document of prune.
type pruning struct {
	Source string `json:"source"` // SRC as it was given
	// Name of the format; omitted for a session of the store.
	Format   string   `json:"format,omitzero"`
	Policy   string   `json:"policy"`   // the policy in force
	Schedule string   `json:"schedule"` // the schedule in force
	Marked   []string `json:"marked"`   // ids of the parts whose output got the mark
	// All elisions that were committed, including marks.
	Elisions     []rule.Elision `json:"elisions"`
	Refusals     []rule.Refusal `json:"refusals"`     // parts that were not left out, and why
	TokensBefore int            `json:"tokensBefore"` // tokens of the view before
	// Tokens of the view afterwards; with "server" those of the session as it was read back.
	TokensAfter int `json:"tokensAfter"`
	// Id of the receipt; omitted if nothing was done.
	Receipt string          `json:"receipt,omitzero"`
	Money   *pivot.Money    `json:"money,omitzero"`  // its savings and its cost in US dollars
	Output  string          `json:"output,omitzero"` // path of the file that was written
	Damaged []format.Damage `json:"damaged"`         // the pieces of the file that were skipped

	InPlace *inplace.Replaced       `json:"inPlace,omitzero"` // how SRC was replaced
	Server  *opencodeserver.Outcome `json:"server,omitzero"`  // the changes that a running OpenCode was told
	// Sentences: what importing "output" into the store that has the session does not do.
	Limits []string `json:"limits,omitzero"`
	// The line of a shell that prunes the session in its own file and resumes it, if a copy could
	// not be resumed and none was written.
	Resume string `json:"resume,omitzero"`
}

func pruneCommand(a *cli.App) *cobra.Command {
	var out output.Target
	var dry bool
	cmd := &cobra.Command{
		Use:   "prune SRC",
		Short: "Leave out old tool outputs, by marking them",
		Long: `prune runs the rules of the policy and commits what they found. Nothing is deleted: an
output that is left out stays in the log, and the model is shown a placeholder in its place.
What is pinned or protected stays. With compaction.prune off it is refused, unless --force is given.

A session in the store is changed there. For a file a pruned copy is written: with -o to the file
named, with --in-place to SRC itself, else to NAME.pruned.EXT in the current folder. Where a product
resumes sessions from its own files alone, as Claude Code does, the last case writes nothing: it shows
what would be done, and the command with --in-place. Of opencode:ID a running OpenCode server is told
(see --server): it leaves out the outputs of calls that ended well, and nothing else. If none answers,
a file for "opencode import" is written.`,
		Example: `  winnow prune session.jsonl -o smaller.jsonl
  winnow prune opencode:ses_0123
  winnow prune session.jsonl --policy classic --dry-run --json`,
		Args: cli.Exactly(1, "one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPrune(cmd.Context(), a, args[0], out, dry)
		},
	}
	out.Flags(cmd)
	out.ServerFlag(cmd)
	force := cmd.Flags().Lookup("force")
	force.Usage += "; prune although compaction.prune is off"
	scheduleFlag(a, cmd)
	cli.DryRun(cmd, &dry, "say what would be done and write nothing")
	return cmd
}

// scheduleFlag names the schedule in force. A pruning that somebody asks for is committed at once;
// the schedule decides what an agent's loop does.
func scheduleFlag(a *cli.App, cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.Schedule, "schedule", "",
		"eager, economic or cold: when a running agent's session is pruned; "+
			"asked for like this it is pruned at once (default: the policy's own)")
	cli.Complete(cmd, "schedule", policy.Schedules()...)
}

func runPrune(ctx context.Context, a *cli.App, src string, out output.Target, dry bool) error {
	s, preview, err := openOrPreview(ctx, a, src, &out, &dry)
	if err != nil {
		return err
	}
	defer s.Close()
	before, err := winnow.Look(ctx, s.Engine, s.ID, report.Inspect)
	if err != nil {
		return err
	}
	outcome, err := s.Engine.Prune(ctx, s.ID, out.Force)
	if err != nil {
		return err
	}
	inForce, err := s.Policy(ctx)
	if err != nil {
		return err
	}
	doc := pruning{
		Source: src, Format: s.Format(), Policy: inForce.Name, Schedule: inForce.Schedule.Name(), Marked: []string{},
		Elisions: []rule.Elision{}, Refusals: append([]rule.Refusal{}, outcome.Refusals...),
		TokensBefore: before.Window.Tokens, TokensAfter: before.Window.Tokens, Damaged: s.Damaged(),
	}
	r, nothing := outcome.Pruned, whyNothing(outcome.Refusals)
	if r != nil {
		if nothing, err = doc.take(ctx, s, r); err != nil {
			return err
		}
	}
	if nothing != nil {
		if err := a.Tell(doc, func() {}); err != nil {
			return err
		}
		return nothing
	}
	if s.FromFile() && !dry {
		if doc.Output, err = output.Write(ctx, a, s, &out, "pruned"); err != nil {
			return err
		}
		doc.InPlace, doc.Server, doc.Limits = out.Replaced, out.Told, out.Limits
	}
	if preview {
		r, again := resumed(a, s, out, "prune", "")
		doc.Resume = again + " && " + r.line()
	}
	if doc.Output == "-" {
		return s.Done() // standard output has the session
	}
	after, err := out.Seen(ctx, a, s)
	if err != nil {
		return err
	}
	if s.Live != nil {
		doc.TokensAfter = after.Window.Tokens
		r.TokensAfter, r.Saved = doc.TokensAfter, r.TokensBefore-doc.TokensAfter
	}
	return s.Tell(a, doc, func() {
		a.Paint().Pruning(after, *r, s.Title())
		a.Printf("\n")
		switch {
		case preview:
			sayPreview(a, s, out, "prune")
		case dry:
			a.Printf("Nothing was written (--dry-run).\n")
		case out.Told != nil:
			a.Printf("Undo with: %s\n", out.Again("undo", src))
		default:
			output.SayWritten(a, s, doc.Output)
		}
		out.SayTold(a)
		output.SayOriginal(a, &out)
	})
}

// take notes what was pruned, without what a running OpenCode would send all the same. nothing says
// why there is nothing left.
func (d *pruning) take(ctx context.Context, s *source.Session, r *pivot.Receipt) (nothing, err error) {
	heeded, unheeded, err := output.Heeded(ctx, s, r.Committed)
	if err != nil {
		return nil, err
	}
	d.Refusals = append(d.Refusals, unheeded...)
	if len(heeded) == 0 && len(unheeded) > 0 {
		return cli.Nothing("nothing was found that OpenCode itself would leave out: it takes marks on the outputs " +
			"of calls that ended well"), nil
	}
	if len(unheeded) > 0 {
		r.Committed, r.Money = heeded, nil
	}
	d.Elisions, d.TokensAfter, d.Receipt, d.Money = r.Committed, r.TokensAfter, r.ID, r.Money
	for _, el := range r.Committed {
		if el.Field == rule.Output {
			d.Marked = append(d.Marked, el.Part)
		}
	}
	return nil, nil
}

// whyNothing is the end of a pruning that found nothing, or was not to be.
func whyNothing(refusals []rule.Refusal) error {
	for _, r := range refusals {
		switch {
		case r.Part != "":
		case r.Code == rule.Disabled:
			return cli.Hint(cli.Nothing(r.Reason), "--force prunes all the same; "+
				"winnow config set compaction.prune true lets it happen by itself")
		default:
			return cli.Nothing(r.Reason)
		}
	}
	return cli.Nothing("no rule found anything to leave out")
}
