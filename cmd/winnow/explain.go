package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/policy"
	"github.com/winnowhq/winnow/report"
)

// explained is the JSON document of explain without PART.
type explained struct {
	Source string               `json:"source"`
	Policy string               `json:"policy"`
	Parts  []report.Explanation `json:"parts"` // in the order of the log
	Zones  []report.ZoneTotal   `json:"zones"`
	Rules  []report.RuleTotal   `json:"rules"`
	Left   int                  `json:"left"` // parts that fit the filter and are not listed
}

// partFilter says which parts are listed.
type partFilter struct {
	rule, zone string
	all        bool
}

func (a *app) explainCommand() *cobra.Command {
	var f partFilter
	cmd := &cobra.Command{
		Use:   "explain SRC [PART]",
		Short: "Say why a part is shown, elided, protected or about to go",
		Long: `explain says of one part why the model sees it as it does: by which rule, because of which other parts, what it saves, since when, which key of
the configuration governs it, and how to change that; and shows its texts as the log has them and as the model is shown them. PART is a handle, the
id of a part, or the id of a call.

Without PART it lists the parts that a rule or a protection has something to say of, in the order of the log, and sums them up.`,
		Example: `  winnow explain session.jsonl
  winnow explain session.jsonl --zone pruned
  winnow explain session.jsonl --rule files --json
  winnow explain session.jsonl k3f9a2
  winnow explain ses_0123 toolu_0456 --json`,
		Args: between(1, 2, "SRC and at most one PART"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if part := second(args); part != "" {
				if f != (partFilter{}) {
					return usage("--all, --rule and --zone choose among parts, and one is named")
				}
				return a.runExplain(cmd.Context(), args[0], part)
			}
			return a.runExplainAll(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.rule, "rule", "", "only parts that this rule elided, would elide, or let stay")
	cmd.Flags().StringVar(&f.zone, "zone", "", "only parts in this zone: "+strings.Join(zoneNames(), ", "))
	cmd.Flags().BoolVar(&f.all, "all", false, "every part, also those that no rule looked at")
	complete(cmd, "zone", zoneNames()...)
	return cmd
}

func zoneNames() []string {
	var names []string
	for _, z := range report.Zones() {
		names = append(names, string(z))
	}
	return names
}

func (a *app) runExplain(ctx context.Context, src, part string) error {
	s, err := a.open(ctx, src)
	if err != nil {
		return err
	}
	defer s.Close()
	x, err := winnow.Look(ctx, s.engine, s.id, report.Explain(part))
	if err != nil {
		return err
	}
	s.rename(&x, src)
	if a.json {
		if err := a.print(x); err != nil {
			return err
		}
		return s.done()
	}
	a.paint().Explanation(x)
	return s.done()
}

// rename makes the commands that take something back name a file as it is named on the command line.
func (s *source) rename(x *report.Explanation, src string) {
	if !s.fromFile() {
		return
	}
	named := func(command string) string { return strings.Replace(command, " "+s.id+" ", " "+src+" ", 1) }
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

func (a *app) runExplainAll(ctx context.Context, src string, f partFilter) error {
	if f.zone != "" && !slices.Contains(zoneNames(), f.zone) {
		return usage("there is no zone %q; the zones are %s", f.zone, strings.Join(zoneNames(), ", "))
	}
	s, err := a.open(ctx, src)
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := winnow.Look(ctx, s.engine, s.id, report.Parts)
	if err != nil {
		return err
	}
	inForce, err := policyOf(ctx, s)
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
		s.rename(&x.Explanation, src)
		listed = append(listed, x)
		doc.Parts = append(doc.Parts, x.Explanation)
	}
	if a.json {
		if err := a.print(doc); err != nil {
			return err
		}
		return s.done()
	}
	if folder := strings.TrimSuffix(s.folder(ctx), "/"); len(folder) > 1 {
		for i := range listed {
			listed[i].Target = strings.ReplaceAll(listed[i].Target, folder+"/", "")
		}
	}
	p := a.paint()
	if p.Width == 0 {
		p.Width = unseen
	}
	p.Parts(listed, doc.Zones, doc.Rules, doc.Left)
	return s.done()
}

// folder is where the agent works, "" when the session does not say.
func (s *source) folder(ctx context.Context) string {
	log, _, err := s.engine.Session(ctx, s.id)
	if err != nil {
		return ""
	}
	return log.Info.Directory
}

// unseen is how wide the table is where no terminal has a width: for grep and for files a reason is of more use whole.
const unseen = 160

// policyOf is the policy in force.
func policyOf(ctx context.Context, s *source) (policy.Policy, error) {
	return winnow.Look(ctx, s.engine, s.id, func(s *report.Session) (policy.Policy, error) { return s.Policy, nil })
}

// check refuses the name of a rule that is neither in force nor in the session.
func (f partFilter) check(p policy.Policy, all []report.Part) error {
	if f.rule == "" {
		return nil
	}
	var names []string
	for _, r := range p.Rules {
		names = append(names, r.Name())
	}
	if slices.Contains(names, f.rule) || slices.ContainsFunc(all, func(x report.Part) bool { return f.concerns(&x.Explanation) }) {
		return nil
	}
	slices.Sort(names)
	return usage("there is no rule %q under the policy %s; its rules are %s", f.rule, p.Name, strings.Join(names, ", "))
}

// fits reports whether a part is among those asked for. Markers of steps and the like are none.
func (f partFilter) fits(x *report.Explanation) bool {
	return (x.Tokens > 0 || len(x.Elisions) > 0) && (f.zone == "" || string(x.Zone) == f.zone) && (f.rule == "" || f.concerns(x))
}

// concerns reports whether the rule has anything to say of a part.
func (f partFilter) concerns(x *report.Explanation) bool {
	of := func(r report.Reason) bool { return r.Rule == f.rule }
	if slices.ContainsFunc(x.Elisions, of) || slices.ContainsFunc(x.Candidates, of) {
		return true
	}
	for _, r := range x.Refusals {
		if r.Rule == f.rule {
			return true
		}
	}
	return false
}

// worth reports whether a part gets a line of its own: something was decided about it, or protects it. Who asks for a zone or a rule gets all of it.
func (f partFilter) worth(x *report.Explanation) bool {
	if f != (partFilter{}) {
		return true
	}
	decided := len(x.Elisions)+len(x.Candidates)+len(x.Refusals)+len(x.StandsFor)+len(x.WouldStandFor) > 0 || x.Pinned
	return decided || x.Kept != nil && (x.Kept.By == report.ByTool || x.Kept.By == report.ByPath)
}
