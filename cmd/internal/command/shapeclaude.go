package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/fold"
	"github.com/winnowhq/winnow/text/quantity"
)

// claude is Claude Code, which hands over no messages: winnow reads the session's file.
const claude = "claude"

// claudeAsks is what the plugin of Claude Code says.
type claudeAsks struct {
	// Event is "compact" when the product wants to compact, "result" before results are sent for
	// the first time, or "status" for a line about the session.
	Event        string       `json:"event"`
	Session      string       `json:"session"`
	Trigger      string       `json:"trigger"`
	Instructions string       `json:"instructions"`
	Handles      []string     `json:"handles"` // of the messages, oldest first
	Results      []toolResult `json:"results"`
}

// toolResult is what a tool gave, or what is sent of it.
type toolResult struct {
	Call string `json:"tool_use_id"`
	Text string `json:"text"`
}

// shortResults answers "result": those of which something else is sent.
type shortResults struct {
	Results []toolResult `json:"results"`
}

// claudeStatus answers "status".
type claudeStatus struct {
	Line string `json:"line"`
}

// handedBack answers "compact": what stands in the place of the product's own compaction.
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

// claudeAnswer answers the plugin of Claude Code, whose sessions are read from its own files.
func claudeAnswer(ctx context.Context, a *cli.App, text []byte) (any, error) {
	var asked claudeAsks
	if err := json.Unmarshal(text, &asked, session.ReadOptions()); err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	path, err := transcriptOf(a, asked.Session)
	if err != nil {
		return nil, err
	}
	switch asked.Event {
	case "compact":
		out, err := claudeCompact(ctx, a, path, &asked)
		if cli.IsNothing(err) {
			return handedBack{Skip: err.Error()}, nil
		}
		if err == nil {
			if failed := startWatch(a, path); failed != nil {
				a.Warn("it is anchored when the turn ends: %v", failed)
			}
		}
		return out, err
	case "result":
		return claudeResults(ctx, a, path, asked.Results)
	case "status":
		return claudeLine(ctx, a, path)
	}
	return nil, fmt.Errorf("standard input: event must be compact, result or status, not %q", asked.Event)
}

// claudeCompact compacts a session that is open in the product: in the store, from the file as it
// is.
func claudeCompact(ctx context.Context, a *cli.App, path string, asked *claudeAsks) (out handedBack, err error) {
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
	settings.Settings = settings.ForAgent(claude, false)
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
	if errors.Is(err, fold.ErrNothingNew) || code == winnow.NothingToFold || code == winnow.NoProgress {
		return nil, cli.Nothing(err.Error())
	}
	return receipt, err
}

// saysOf is the line that the user is told of a compaction, behind the name of the plugin.
func saysOf(r *pivot.Receipt) string {
	did := "pruned"
	if r.Kind == pivot.Compaction {
		did = "folded " + quantity.Plural(r.Folded, "message", "messages")
	}
	line := fmt.Sprintf("%s: %s → %s tokens", did, quantity.Number(r.TokensBefore), quantity.Number(r.TokensAfter))
	return line + "; to see why: /winnow:why, to take it back: /winnow:undo"
}

// followFile makes the compactions that count in the store those that are in the file, which is
// what the product has open: one that was taken back in the file alone is taken back, and one that
// was taken back in the store alone counts.
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
