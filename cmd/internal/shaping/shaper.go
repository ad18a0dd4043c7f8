package shaping

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/session"
)

// Shaper answers agents by an engine.
type Shaper struct {
	Engine *winnow.Engine
	// Scratch makes an engine of the same settings that keeps sessions in memory.
	Scratch func() (*winnow.Engine, error)
	Now     func() time.Time
}

// Products are the names of the agents whose sessions Shape understands.
func Products() []string { return slices.Sorted(maps.Keys(products)) }

// Shape answers an agent. Whatever it says is in the store by then.
func (s *Shaper) Shape(ctx context.Context, product string, h *Handed) (*Answer, error) {
	read, ok := products[product]
	if !ok {
		return nil, fmt.Errorf("unknown product %q; use %s", product, strings.Join(Products(), ", "))
	}
	doc, err := read(h)
	if err != nil {
		return nil, err
	}
	if len(doc.Damaged) > 0 {
		return nil, fmt.Errorf("what %s handed over is damaged: %s", product, doc.Damaged[0].Reason)
	}
	id := doc.Session.Info.ID
	if id == "" {
		return nil, fmt.Errorf("what %s handed over has no id of the session", product)
	}
	if h.Event == "compact" {
		doc.Session.Messages = withoutWaiting(doc.Session.Messages)
	}
	ended, err := s.keep(ctx, doc)
	if err != nil {
		return nil, err
	}
	switch h.Event {
	case "compact":
		return s.compacts(ctx, id, h, doc.Session.Messages)
	case "request":
		began, err := s.begins(ctx, id)
		if err != nil {
			return nil, err
		}
		a, err := s.shown(ctx, id, doc.Session.Messages)
		if err == nil {
			a.Notice = notice(id, ended.Pruned, began.Pruned)
		}
		return a, err
	}
	return nil, fmt.Errorf("unknown event %q; use request or compact", h.Event)
}

// withoutWaiting is a log without the marker at its end that no summary answers: the agent has
// written it down already, and the compaction that it asks for gets one in the store.
func withoutWaiting(log []session.Message) []session.Message {
	for n := len(log); n > 0 && log[n-1].Marker() != nil; n-- {
		log = log[:n-1]
	}
	return log
}
