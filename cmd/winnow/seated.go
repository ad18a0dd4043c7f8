package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/output"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/visible"
)

// compactAsked is what the plugin says when the product wants to compact.
type compactAsked struct {
	Session      string   `json:"session"`
	Trigger      string   `json:"trigger"`
	Instructions string   `json:"instructions"`
	Handles      []string `json:"handles"` // of the messages, oldest first
}

// handedBack is what the plugin answers in the place of the product's own compaction.
type handedBack struct {
	Messages     []handedRow `json:"messages"`
	TokensBefore int         `json:"tokensBefore"`
	TokensAfter  int         `json:"tokensAfter"`
	Receipt      string      `json:"receipt"`
	Says         string      `json:"says"` // a line for the user
	Skip         string      `json:"skip"` // why the product should compact by itself
}

// handedRow is a handle, or a message.
type handedRow struct {
	Handle string           `json:"handle,omitzero"`
	Turn   *claudecode.Turn `json:"turn,omitzero"`
}

func seatedCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "seated", Short: "What the plugin of Claude Code asks", Hidden: true, Example: "  winnow seated compact < asked.json",
		Long: "seated answers the plugin that `winnow install claude` puts into its place: JSON in, JSON out.",
		Args: cli.Exactly(0, "a question"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var watch bool
	compact := &cobra.Command{
		Use: "compact", Short: "Compact a session that is open", Args: cli.Exactly(0, "no arguments"),
		Example: "  winnow seated compact < asked.json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSeatedCompact(cmd.Context(), a, watch) },
	}
	compact.Flags().BoolVar(&watch, "watch", false, "anchor it in a process of its own, as soon as it is in the file")
	var from int64
	follow := &cobra.Command{
		Use: "watch FILE", Short: "Anchor a compaction as soon as it is in the file", Args: cli.Exactly(1, "one FILE"),
		Example: "  winnow seated watch 9005bf11-59a8-41bd-9ebd-4108e50dfecd.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSeatedWatch(cmd.Context(), a, a.Path(args[0]), from)
		},
	}
	follow.Flags().Int64Var(&from, "from", 0, "how many bytes the file had when it was compacted")
	cmd.AddCommand(compact, follow, &cobra.Command{
		Use: "result", Short: "Shorten results before they are sent for the first time", Args: cli.Exactly(0, "no arguments"),
		Example: "  winnow seated result < asked.json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSeatedResult(cmd.Context(), a) },
	}, &cobra.Command{
		Use: "undo SESSION", Short: "Take the last compaction back when the session ends",
		Example: "  winnow seated undo 9005bf11-59a8-41bd-9ebd-4108e50dfecd", Args: cli.Exactly(1, "one SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error { return runSeatedUndo(cmd.Context(), a, args[0]) },
	}, &cobra.Command{
		Use: "status SESSION", Short: "A line about a session that is open",
		Example: "  winnow seated status 9005bf11-59a8-41bd-9ebd-4108e50dfecd", Args: cli.Exactly(1, "one SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error { return runSeatedStatus(cmd.Context(), a, args[0]) },
	})
	return cmd
}

func runSeatedCompact(ctx context.Context, a *cli.App, watch bool) error {
	var asked compactAsked
	text, err := io.ReadAll(a.Env.Stdin)
	if err == nil {
		err = json.Unmarshal(text, &asked, session.ReadOptions())
	}
	if err != nil {
		return cli.Usage("standard input is not what the plugin sends: %w", err)
	}
	out, err := seatedCompact(ctx, a, asked)
	if cli.IsNothing(err) {
		out, err = handedBack{Skip: err.Error()}, nil
	}
	if err != nil {
		return err
	}
	answer, err := json.Marshal(out, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	if watch && len(out.Messages) > 0 {
		if path, err := transcriptOf(a, asked.Session); err != nil {
			return err
		} else if err := startWatch(a, path); err != nil {
			a.Warn("it is anchored when the turn ends: %v", err)
		}
	}
	_, err = a.Data().Write(append(answer, '\n'))
	return err
}

// seatedCompact compacts a session that is open in the product: in the store, from the file as it is.
func seatedCompact(ctx context.Context, a *cli.App, asked compactAsked) (out handedBack, err error) {
	path, err := transcriptOf(a, asked.Session)
	if err != nil {
		return out, err
	}
	if _, err := os.Stat(awaitedAt(a, path)); err == nil {
		if _, err := anchor(ctx, a, path); err != nil { // of the compaction before
			return out, err
		}
	}
	if err := importFile(ctx, a, path); err != nil {
		return out, err
	}
	settings, err := a.Settings()
	if err != nil {
		return out, err
	}
	// A call that is handed back stays as it is.
	settings.Strategies.BalancedPruning.Inputs, settings.Strategies.BalancedPruning.IdleInputSteps = false, 0
	settings.Strategies.AggressivePruning.Inputs = false
	data, _, err := source.ReadFile(a, path)
	if err != nil {
		return out, err
	}
	was, err := claudecode.Format{}.Read(data)
	if err != nil {
		return out, fmt.Errorf("%s: %w", path, err)
	}
	s, err := source.OpenStored(ctx, a, cmp.Or(was.Session.Info.ID, idOfFile(path)), source.Changing, settings)
	if err != nil {
		return out, err
	}
	defer s.Close()
	if err := followFile(ctx, s, was); err != nil {
		return out, err
	}
	receipt, err := compactFor(ctx, s, asked.Instructions)
	if err != nil {
		return out, err
	}
	log, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return out, err
	}
	var made bytes.Buffer
	err = claudecode.Format{}.Write(&made, was,
		format.Change{Session: log, Ledger: unsent(log, state.Ledger), Undone: state.Undone})
	if err != nil {
		return out, err
	}
	now, err := claudecode.Format{}.Read(made.Bytes())
	if err != nil {
		return out, err
	}
	handing, differs := claudecode.Handed(was, now, asked.Handles)
	if !differs {
		return out, cli.Nothing("nothing of the session can be left out")
	}
	if err := (awaited{path, handing}).save(a); err != nil {
		return out, err
	}
	_ = os.Remove(undoAt(a, path)) // it was about the compaction before
	for _, row := range handing.Rows {
		if row.Turn != nil {
			out.Messages = append(out.Messages, handedRow{Turn: row.Turn})
		} else {
			out.Messages = append(out.Messages, handedRow{Handle: row.Of})
		}
	}
	out.TokensBefore, out.TokensAfter, out.Receipt = receipt.TokensBefore, receipt.TokensAfter, receipt.ID
	out.Says = saysOf(receipt)
	return out, nil
}

// compactFor compacts a session of the store for the product that has it open. There is nothing to
// do where neither pruning nor folding makes it smaller.
func compactFor(ctx context.Context, s *source.Session, focus string) (*pivot.Receipt, error) {
	receipt, err := s.Engine.Compact(ctx, s.ID, winnow.CompactOptions{Focus: focus})
	code := winnow.CodeOf(err)
	if errors.Is(err, winnow.ErrNothingNew) || code == winnow.NothingToFold || code == winnow.NoProgress {
		return nil, cli.Nothing(err.Error())
	}
	return receipt, err
}

// saysOf is the line that the user is told of a compaction.
func saysOf(r *pivot.Receipt) string {
	did := "pruned"
	if r.Kind == pivot.Compaction {
		did = "folded " + quantity.Plural(r.Folded, "message", "messages")
	}
	line := fmt.Sprintf("winnow %s: %s → %s tokens", did, quantity.Number(r.TokensBefore), quantity.Number(r.TokensAfter))
	return line + "; to see why: /winnow:why, to take it back: /winnow:undo"
}

// followFile makes the compactions that count in the store those that are in the file, which is what
// the product has open: one that was taken back in the file alone is taken back, and one that was
// taken back in the store alone counts.
func followFile(ctx context.Context, s *source.Session, was *format.Document) error {
	log, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return err
	}
	for i := range log.Messages {
		m := &log.Messages[i]
		if m.Marker() == nil {
			continue
		}
		there, undone := session.Index(was.Session.Messages, m.ID) >= 0, state.Undone[m.ID]
		switch {
		case there && undone:
			_, err = s.Engine.Redo(ctx, s.ID, m.ID)
		case !there && !undone:
			_, err = s.Engine.Undo(ctx, s.ID, m.ID)
		}
		if err != nil && winnow.CodeOf(err) != winnow.Already {
			return err
		}
	}
	return nil
}

// undoAt is where it is noted that the last compaction is to be taken back.
func undoAt(a *cli.App, path string) string {
	return a.Env.Kept("handed", filepath.Base(path)+".undo")
}

// openTranscript opens the session in the file that Claude Code writes of it. Close it.
func openTranscript(ctx context.Context, a *cli.App, id string) (path string, s *source.Session, err error) {
	if path, err = transcriptOf(a, id); err == nil {
		s, err = source.Open(ctx, a, path)
	}
	return path, s, err
}

func runSeatedUndo(ctx context.Context, a *cli.App, id string) error {
	path, s, err := openTranscript(ctx, a, id)
	if err != nil {
		return err
	}
	defer s.Close()
	marker := newestMarker(s.Doc)
	if _, err := readAwaited(a, path); err != nil && marker == "" {
		return cli.Nothing("winnow compacted nothing of this session")
	}
	if err := os.MkdirAll(filepath.Dir(undoAt(a, path)), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(undoAt(a, path), []byte("newest"), 0o600); err != nil {
		return err
	}
	a.Printf("The last compaction is taken back when this session ends. Then: claude --resume %s\n", visible.Text(id))
	return nil
}

// newestMarker is the id of the newest compaction by winnow that is in a file, "" without one.
func newestMarker(doc *format.Document) (id string) {
	for i := range doc.Session.Messages {
		if m := &doc.Session.Messages[i]; m.Marker() != nil && !doc.Theirs[m.ID] {
			id = m.ID
		}
	}
	return id
}

// undoNoted takes back the newest compaction of a session that has ended, if somebody asked for it:
// in the store and in the file.
func undoNoted(ctx context.Context, a *cli.App, path string, doc *anchored) error {
	if _, err := os.Stat(undoAt(a, path)); err != nil {
		return nil
	}
	if err := importFile(ctx, a, path); err != nil {
		return err
	}
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	room, err := output.Room(a)
	if err != nil {
		return err
	}
	claim, err := room.Take(ctx, path, inplace.Taking{Command: "undo", Force: true})
	if err != nil {
		return err
	}
	defer claim.Close()
	data, _, err := source.ReadFile(a, path)
	if err == nil {
		data, err = claim.Read(data)
	}
	if err != nil {
		return err
	}
	was, err := claudecode.Format{}.Read(data)
	if err != nil {
		return err
	}
	marker := newestMarker(was)
	if marker == "" {
		return os.Remove(undoAt(a, path))
	}
	s, err := source.OpenStored(ctx, a, cmp.Or(was.Session.Info.ID, idOfFile(path)), source.Changing, settings)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := followFile(ctx, s, was); err != nil {
		return err
	}
	if _, err := s.Engine.Undo(ctx, s.ID, marker); err != nil {
		return err
	}
	log, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return err
	}
	var made bytes.Buffer
	err = claudecode.Format{}.Write(&made, was,
		format.Change{Session: log, Ledger: unsent(log, state.Ledger), Undone: state.Undone})
	if err != nil {
		return err
	}
	if err := replaceBy(ctx, a, claim, made.Bytes()); err != nil {
		return err
	}
	doc.Done = "undone"
	return os.Remove(undoAt(a, path))
}

// runSeatedStatus prints a line about a session: how full the window is, what it cost, until when
// the provider's cache is warm, what a fold would save.
func runSeatedStatus(ctx context.Context, a *cli.App, id string) error {
	_, s, err := openTranscript(ctx, a, id)
	if err != nil {
		return err
	}
	defer s.Close()
	g, err := winnow.Look(ctx, s.Engine, s.ID, report.Measure)
	if err != nil {
		return err
	}
	var facts []string // the product writes "winnow:" before them
	if g.Usable > 0 {
		facts = append(facts, quantity.Percent(g.Total, g.Usable)+" full")
	} else {
		facts = append(facts, quantity.Short(g.Total)+" tokens")
	}
	if cost := g.All().Cost; cost > 0 {
		facts = append(facts, quantity.Dollars(cost))
	}
	if until := warmUntil(s.Doc.Session.Messages); !until.IsZero() {
		if until.After(a.Env.Now()) {
			facts = append(facts, "cache warm until "+until.Local().Format("15:04"))
		} else {
			facts = append(facts, "cache cold")
		}
	}
	if p, err := s.Engine.Preview(ctx, s.ID, winnow.CompactOptions{}); err == nil && p.Saved > 0 {
		facts = append(facts, "a fold would save "+quantity.Short(p.Saved))
	}
	a.Printf("%s\n", visible.Line(strings.Join(facts, " · ")))
	return nil
}

// warmUntil is when what the newest answer left in the provider's cache expires: an hour after it if
// it wrote entries that live so long, else five minutes. It is zero if nothing is known.
func warmUntil(messages []session.Message) time.Time {
	hour := false
	for i := range messages {
		if u := messages[i].Tokens; u != nil && u.Cache.Write > 0 {
			hour = u.Cache.Write1h > 0
		}
	}
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if m.Role != session.Assistant || m.Tokens == nil || m.Tokens.Cache.Read+m.Tokens.Cache.Write == 0 {
			continue
		}
		lasts := 5 * time.Minute
		if hour {
			lasts = time.Hour
		}
		return time.UnixMilli(int64(max(m.Time.Completed, m.Time.Created))).Add(lasts)
	}
	return time.Time{}
}

// results are what tools gave, and what is sent of it.
type results struct {
	Session string       `json:"session,omitzero"`
	Results []toolResult `json:"results"`
}

type toolResult struct {
	Call string `json:"tool_use_id"`
	Text string `json:"text"`
}

// runSeatedResult answers what is sent of results in the place of all of them: see rule.FirstSend.
func runSeatedResult(ctx context.Context, a *cli.App) error {
	var asked results
	text, err := io.ReadAll(a.Env.Stdin)
	if err == nil {
		err = json.Unmarshal(text, &asked, session.ReadOptions())
	}
	if err != nil {
		return cli.Usage("standard input is not what the plugin sends: %w", err)
	}
	path, err := transcriptOf(a, asked.Session)
	if err != nil {
		return err
	}
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	settings.Compaction.Auto = false // the product says when
	s, err := source.Read(ctx, a, path)
	if err != nil {
		return err
	}
	parts := map[string]string{} // id of a part → its call
	for _, r := range asked.Results {
		if _, p := session.FindPart(s.Doc.Session.Messages, r.Call); p != nil && p.State != nil && !p.State.Final() {
			p.State.Status, p.State.Output = session.Completed, r.Text
			parts[p.ID] = r.Call
		}
	}
	if err := s.Start(ctx, a, settings); err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.Engine.Begin(ctx, s.ID, winnow.BeginOptions{Held: true}); err != nil {
		return err
	}
	_, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return err
	}
	out := results{Results: []toolResult{}}
	var found []firstSent
	for _, e := range state.Ledger.All() {
		if call, ours := parts[e.Part]; ours && slices.Contains(rule.FirstSends(), e.Rule) {
			e.Shown = strings.ToValidUTF8(e.Shown, "\uFFFD")
			out.Results = append(out.Results, toolResult{call, e.Shown})
			at := slices.IndexFunc(asked.Results, func(r toolResult) bool { return r.Call == call })
			found = append(found, firstSent{e, asked.Results[at].Text})
		}
	}
	if len(found) > 0 {
		if err := keepFirstSent(ctx, a, path, s.ID, found, state.Receipts); err != nil {
			return err
		}
	}
	answer, err := json.Marshal(out)
	if err != nil {
		return err
	}
	_, err = a.Data().Write(append(answer, '\n'))
	return err
}
