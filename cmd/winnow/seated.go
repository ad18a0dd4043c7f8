package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/quantity"
)

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
