package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// queued is the JSON document of compact --queue.
type queued struct {
	Source string `json:"source"` // SRC as it was given
	// Name of the format; omitted for a session of the store.
	Format  string `json:"format,omitzero"`
	Marker  string `json:"marker"`  // id of the marker that waits
	Already bool   `json:"already"` // whether it waited before; then nothing was changed
	// Whether a message to continue follows its summary ("--continue").
	Auto  bool   `json:"auto"`
	Agent string `json:"agent"` // the agent of the marker; empty if nobody named one
	// The model of the marker, which is asked for the summary, unless "compaction.model" names
	// another; empty if nobody named one.
	Model   string          `json:"model"`
	Output  string          `json:"output,omitzero"` // path of the file that was written
	Damaged []format.Damage `json:"damaged"`         // the pieces of the file that were skipped

	InPlace *inplace.Replaced `json:"inPlace,omitzero"` // how SRC was replaced
}

// keepMarkers are the formats that have a place for a marker without a summary: OpenCode has
// markers, and Codex and pi pass over the lines of others.
var keepMarkers = []string{"codex", "opencode", "pi"}

// compacting are the flags of compact that mean nothing where it only queues.
var compacting = []string{"summarizer", "focus", "to", "summary", "html", "pin", "dismiss", "dry-run", "secrets", "edit"}

// queueOnly refuses flags that say how to fold, where nothing is folded yet.
func queueOnly(cmd *cobra.Command, f compactFlags) error {
	if !f.queue {
		if f.agent != "" {
			return cli.Usage("--agent is that of a marker; it needs --queue")
		}
		return nil
	}
	for _, name := range compacting {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			return cli.Usage("--queue and --%s cannot be combined: nothing is folded yet", name)
		}
	}
	return nil
}

// runQueue appends a marker to a session, unless one waits.
func runQueue(ctx context.Context, a *cli.App, src string, f compactFlags) error {
	s, err := output.Open(ctx, a, src, &f.out, false)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.FromFile() && !slices.Contains(keepMarkers, cmp.Or(f.out.Format, s.Format())) {
		return cli.Hint(cli.Usage("%s has no place for a compaction that waits", cmp.Or(f.out.Format, s.Format())),
			"`winnow import` takes the session into the store, where one can wait; without --queue it is compacted now")
	}
	before, err := pendingOf(ctx, s)
	if err != nil {
		return err
	}
	o := winnow.CompactOptions{Later: true, Auto: f.auto, Agent: f.agent}
	if provider, id, ok := strings.Cut(a.Model, "/"); ok {
		o.Model = &session.ModelRef{ProviderID: provider, ModelID: id}
	}
	if _, err := s.Engine.Compact(ctx, s.ID, o); err != nil {
		return err
	}
	m, err := pendingOf(ctx, s)
	if err != nil {
		return err
	}
	doc := queued{Source: src, Format: s.Format(), Marker: m.ID, Already: before != nil, Auto: m.Marker().Auto,
		Agent: m.Agent, Damaged: s.Damaged()}
	if ref := m.Answers(); ref != nil {
		doc.Model = ref.String()
	}
	if s.FromFile() {
		if doc.Output, err = output.Write(ctx, a, s, &f.out, "queued"); err != nil {
			return err
		}
		if doc.InPlace = f.out.Replaced; doc.Output == "-" {
			return s.Done()
		}
	}
	return s.Tell(a, doc, func() { showQueued(a, s, doc, &f) })
}

// pendingOf is the marker that waits in a session, nil without one.
func pendingOf(ctx context.Context, s *source.Session) (*session.Message, error) {
	log, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	if at := view.Pending(log.Messages, state.Undone); at >= 0 {
		return &log.Messages[at], nil
	}
	return nil, nil
}

func showQueued(a *cli.App, s *source.Session, doc queued, f *compactFlags) {
	name, how := s.ID, "A compaction is queued"
	if doc.Already {
		how = "A compaction waits already"
	}
	if doc.Output != "" {
		name = cli.ShellWord(a.Short(doc.Output))
	}
	a.Printf("%s: %s\n", how, doc.Marker)
	made := "winnow compact " + name
	if doc.Output == "" {
		made += fmt.Sprintf(", or the next winnow run --session %s", name)
	}
	a.Printf("Made by: %s\n", made)
	if doc.Output != "" {
		a.Printf("Written to %s\n", a.Short(doc.Output))
	} else {
		a.Printf("Undo with: winnow undo %s %s\n", name, doc.Marker)
	}
	output.SayOriginal(a, &f.out)
}
