package command

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store/report"
)

// explained is the JSON document of explain without PART.
type explained struct {
	Source string `json:"source"` // SRC as it was given
	Policy string `json:"policy"` // the policy in force
	// The parts that a rule or a protection concerns, or that "--rule", "--zone" or "--all"
	// selects, in the order of the log. Their "text" and "pieces" are empty.
	Parts []report.Explanation `json:"parts"`
	// Sums of all parts that fit the filter, listed or not.
	Zones []report.ZoneTotal `json:"zones"`
	// The parts that each rule left out, could leave out, and let stay; the one that saved and would save
	// most first.
	Rules []report.RuleTotal `json:"rules"`
	Left  int                `json:"left"` // how many parts fit the filter and are not listed
}

// partFilter says which parts are listed.
type partFilter struct {
	rule, zone string
	all        bool
}

func explainCommand(a *cli.App) *cobra.Command {
	var f partFilter
	var handles bool
	cmd := &cobra.Command{
		Use:   "explain SRC [PART]",
		Short: "Say why a part is shown, left out, protected or about to go",
		Long: `explain says why the model sees a part as it does: by which rule, because of which
other parts, what it saves, since when, which key of the configuration governs it, and how to change
that. It also shows the part's texts as the log has them and as the model is shown them. PART is a
handle, the id of a part, or the id of a call.

Without PART it lists the parts about which a rule or a protection has something to say, in the order
of the log, and sums them up. Those below 1 % of the session share one line, unless --all, --rule or
--zone chooses them.

--handles lists the larger parts of the older steps with their handles: the short names that discard,
distill, restore, protect and explain accept. A handle stays the same, also in a copy of the session.
Protected parts are not listed.`,
		Example: `  winnow explain session.jsonl
  winnow explain session.jsonl --zone pruned
  winnow explain session.jsonl --rule files --json
  winnow explain session.jsonl --handles
  winnow explain session.jsonl k3f9a2
  winnow explain ses_0123 toolu_0456 --json`,
		Args: cli.Between(1, 2, "SRC and at most one PART"),
		RunE: func(cmd *cobra.Command, args []string) error {
			part := cli.Second(args)
			if handles && (part != "" || f != (partFilter{})) {
				return cli.Usage("--handles lists parts; leave PART, --all, --rule and --zone out")
			}
			if handles {
				return runHandles(cmd.Context(), a, args[0])
			}
			if part != "" {
				if f != (partFilter{}) {
					return cli.Usage("--all, --rule and --zone choose among parts, and one is named")
				}
				return runExplain(cmd.Context(), a, args[0], part)
			}
			return runExplainAll(cmd.Context(), a, args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.rule, "rule", "", "only parts that this rule left out, would leave out, or kept")
	cmd.Flags().StringVar(&f.zone, "zone", "", "only parts in this zone: "+strings.Join(zoneNames(), ", "))
	cmd.Flags().BoolVar(&f.all, "all", false, "every part, also those that no rule looked at")
	cmd.Flags().BoolVar(&handles, "handles", false, "list the parts worth pruning by hand, with their handles")
	cli.Complete(cmd, "zone", zoneNames()...)
	return cmd
}

func zoneNames() []string {
	var names []string
	for _, z := range report.Zones() {
		names = append(names, string(z))
	}
	return names
}

func runExplain(ctx context.Context, a *cli.App, src, part string) error {
	s, err := source.Open(ctx, a, src)
	if err != nil {
		return err
	}
	defer s.Close()
	x, err := winnow.Look(ctx, s.Engine, s.ID, report.Explain(part))
	if err != nil {
		return err
	}
	rename(s, &x, src)
	return s.Tell(a, x, func() { a.Paint().Explanation(x) })
}

// rename makes the commands that take something back name a file as it is named on the command
// line.
func rename(s *source.Session, x *report.Explanation, src string) {
	if !s.FromFile() {
		return
	}
	named := func(command string) string { return strings.Replace(command, " "+s.ID+" ", " "+src+" ", 1) }
	x.Undo = named(x.Undo)
	if q := x.Quoted; q != nil {
		undo := named(q.Undo)
		x.Because = strings.Replace(x.Because, q.Undo, undo, 1)
		x.Quoted = &report.Quoted{Message: q.Message, By: q.By, Pin: q.Pin, Time: q.Time, Undo: undo}
	}
	for i := range x.Elisions {
		x.Elisions[i].Undo = named(x.Elisions[i].Undo)
	}
}

func runExplainAll(ctx context.Context, a *cli.App, src string, f partFilter) error {
	if f.zone != "" && !slices.Contains(zoneNames(), f.zone) {
		return cli.Usage("unknown zone %q; use %s", f.zone, strings.Join(zoneNames(), ", "))
	}
	s, err := source.Open(ctx, a, src)
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := winnow.Look(ctx, s.Engine, s.ID, report.Parts)
	if err != nil {
		return err
	}
	inForce, err := s.Policy(ctx)
	if err != nil {
		return err
	}
	if err := f.check(inForce, all); err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(x report.Part) bool { return !f.fits(&x.Explanation) })
	doc := explained{Source: src, Policy: inForce.Name, Parts: []report.Explanation{}}
	doc.Zones, doc.Rules = report.Totals(all)
	listed := all[:0]
	for _, x := range all {
		if !f.worth(&x.Explanation) {
			doc.Left++
			continue
		}
		rename(s, &x.Explanation, src)
		listed = append(listed, x)
		doc.Parts = append(doc.Parts, x.Explanation)
	}
	return s.Tell(a, doc, func() { showParts(ctx, a, s, listed, doc, f == (partFilter{})) })
}

func showParts(ctx context.Context, a *cli.App, s *source.Session, listed []report.Part, doc explained,
	brief bool) {
	if folder := strings.TrimSuffix(folder(ctx, s), "/"); len(folder) > 1 {
		for i := range listed {
			listed[i].Target = strings.ReplaceAll(listed[i].Target, folder+"/", "")
		}
	}
	p := a.Paint()
	p.Width = cmp.Or(p.Width, unseen)
	p.Parts(listed, doc.Zones, doc.Rules, doc.Left, brief)
}

// folder is where the agent works, "" when the session does not say.
func folder(ctx context.Context, s *source.Session) string {
	log, _, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return ""
	}
	return log.Info.Directory
}

// unseen is how wide the table is where no terminal has a width: for grep and for files a reason is
// of more use whole.
const unseen = 160

// check refuses the name of a rule that is neither in force nor in the session.
func (f partFilter) check(p policy.Policy, all []report.Part) error {
	if f.rule == "" {
		return nil
	}
	var names []string
	for _, r := range p.Rules {
		names = append(names, r.Name())
	}
	concerned := func(x report.Part) bool { return f.concerns(&x.Explanation) }
	if slices.Contains(names, f.rule) || slices.ContainsFunc(all, concerned) {
		return nil
	}
	slices.Sort(names)
	return cli.Usage("unknown rule %q under the policy %s; use %s", f.rule, p.Name, strings.Join(names, ", "))
}

// fits reports whether a part is among those asked for. Markers of steps and the like are not.
func (f partFilter) fits(x *report.Explanation) bool {
	inZone := f.zone == "" || string(x.Zone) == f.zone
	return (x.Tokens > 0 || len(x.Elisions) > 0) && inZone && (f.rule == "" || f.concerns(x))
}

// concerns reports whether the rule has anything to say of a part.
func (f partFilter) concerns(x *report.Explanation) bool {
	of := func(r report.Reason) bool { return r.Rule == f.rule }
	return slices.ContainsFunc(x.Elisions, of) || slices.ContainsFunc(x.Candidates, of) ||
		slices.ContainsFunc(x.Refusals, func(r rule.Refusal) bool { return r.Rule == f.rule })
}

// worth reports whether a part gets a line of its own: something was decided about it, or protects
// it. If a zone or a rule was asked for, all of it is listed.
func (f partFilter) worth(x *report.Explanation) bool {
	if f != (partFilter{}) {
		return true
	}
	decided := len(x.Elisions)+len(x.Candidates)+len(x.Refusals)+len(x.StandsFor)+len(x.WouldStandFor) > 0 || x.Pinned
	return decided || x.Kept != nil && (x.Kept.By == report.ByTool || x.Kept.By == report.ByPath)
}
