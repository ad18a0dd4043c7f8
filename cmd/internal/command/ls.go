package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/survey"
	"github.com/winnowhq/winnow/desk/config"
)

// ownStore is the value of --store without one.
const ownStore = "\x00"

func lsCommand(a *cli.App) *cobra.Command {
	f := survey.Flags{On: true, Most: 30}
	var since, of string
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the sessions of agents on this computer, and their cost",
		Long: `ls lists the sessions that Claude Code, Codex, OpenCode, Kilo, pi, Gemini CLI, Qwen Code,
Copilot CLI, Cline and OpenHands keep on this computer, the newest first. Every command accepts a
session by the word in the first column.

With --since it lists the sessions of the last calendar days, with their tokens and cost of these days
alone. The sums are those of "winnow cost".

With --store it lists the sessions in winnow's own store.

It reads a new session whole once, for its tokens and its cost, and remembers them in
$XDG_CACHE_HOME/winnow/sessions.json until the session changes. --quick reads only the beginning.`,
		Example: `  winnow ls
  winnow ls --since 7d --sort cost
  winnow ls --project .
  winnow ls --store`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if of == ownStore && len(args) == 1 { // --store FILE
				of, args = args[0], nil
			}
			if err := cli.Exactly(0, "no arguments")(cmd, args); err != nil {
				return err
			}
			if cmd.Flags().Changed("store") {
				for _, name := range []string{"since", "project", "sort", "all", "limit"} {
					if cmd.Flags().Changed(name) {
						return cli.Usage("--%s is for the sessions of agents; leave it or --store out", name)
					}
				}
				a.StoreFile = strings.TrimPrefix(of, ownStore)
				return runList(cmd.Context(), a, f.Quick)
			}
			if !slices.Contains(survey.Sortings(), f.Sort) {
				return cli.Usage("unknown order %q; use %s", f.Sort, strings.Join(survey.Sortings(), ", "))
			}
			if f.Quick && (f.Sort == "cost" || f.Sort == "tokens") {
				return cli.Usage("--quick does not read the %s of sessions; leave it out, or sort by updated or size",
					f.Sort)
			}
			var err error
			if f.Since, err = calendarDays(since); err != nil {
				return err
			}
			if f.Project != "" {
				f.Project = a.Path(f.Project)
			}
			return survey.Everywhere(cmd.Context(), a, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&since, "since", "", "only the last calendar days, today included: 7d, 4w")
	flags.StringVar(&f.Project, "project", "", "only sessions that worked in this folder or below it")
	flags.StringVar(&f.Sort, "sort", "updated", "order: "+strings.Join(survey.Sortings(), ", "))
	flags.BoolVar(&f.All, "all", false, "list the sessions of sub-agents too")
	flags.IntVar(&f.Most, "limit", f.Most, "how many sessions to list; 0 lists all")
	flags.BoolVar(&f.Quick, "quick", false, "no tokens and no costs: read no session whole")
	flags.StringVar(&of, "store", "", "list the sessions in winnow's own store, or in this one")
	flags.Lookup("store").NoOptDefVal = ownStore
	cli.Complete(cmd, "sort", survey.Sortings()...)
	return cmd
}

// calendarDays is how many days an age is, "" for none.
func calendarDays(age string) (int, error) {
	if age == "" {
		return 0, nil
	}
	for word, days := range map[string]int{"today": 1, "day": 1, "week": 7, "month": 30} {
		if age == word {
			return days, nil
		}
	}
	length, err := config.Age(age)
	const day = 24
	switch days := int((length.Hours() + day - 1) / day); {
	case err != nil:
		return 0, cli.Usage("%q is not a number of days; write 7d, 4w, today, week or month", age)
	case days > 366:
		return 0, cli.Usage("at most 366 days, not %s", age)
	default:
		return days, nil
	}
}
