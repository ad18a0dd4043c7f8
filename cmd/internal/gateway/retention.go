package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// expire deletes the conversations that came through a gateway and that nobody has gone on with for
// longer than an age, each with all that left it at some point, or not at all: what is there of it
// belongs together. One that has pins stays, those of agents counting only if keepPinned says so,
// and so does one in which anything is of another origin.
func expire(ctx context.Context, kept store.Store, age time.Duration, now time.Time, keepPinned bool) (
	deleted int, err error) {
	list, err := kept.List(ctx)
	if err != nil {
		return 0, err
	}
	parents := map[string]string{}
	for _, l := range list {
		parents[l.Info.ID] = l.Info.ParentID
	}
	families := map[string][]store.Listing{}
	for _, l := range list {
		root := l.Info.ID
		for range list { // no longer, should parents go in a circle
			if parents[root] == "" {
				break
			}
			root = parents[root]
		}
		if strings.HasPrefix(root, "live_") {
			families[root] = append(families[root], l)
		}
	}
	for _, family := range families {
		goes := true
		for _, l := range family {
			idle := now.Sub(time.UnixMilli(int64(l.Info.Time.Updated)))
			if goes = goes && idle > age && l.Origin == ""; !goes {
				break
			}
			if goes, err = expendable(ctx, kept, l.Info.ID, keepPinned); err != nil {
				return deleted, err
			}
		}
		for _, l := range family {
			if !goes {
				break
			}
			if err := kept.Delete(ctx, l.Info.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
				return deleted, err
			}
			deleted++
		}
	}
	return deleted, nil
}

// expendable reports whether a session has no pins that keep it, and all that was said in it came
// through a gateway.
func expendable(ctx context.Context, kept store.Store, id string, keepPinned bool) (bool, error) {
	state, err := kept.State(ctx, id)
	keeps := func(p rule.Pin) bool { return keepPinned || p.By != rule.ByAgent }
	if err != nil || slices.ContainsFunc(state.Pins, keeps) {
		return false, err
	}
	for m, err := range kept.Messages(ctx, id) {
		if err != nil {
			return false, err
		}
		if !relayed(&m) {
			return false, nil
		}
	}
	return true, nil
}

// relayed reports whether a message came through a gateway, or is the engine's own.
func relayed(m *session.Message) bool {
	_, quoted := m.Kept()
	return strings.Trim(m.ID, "0123456789") == "m" || m.Marker() != nil || m.IsSummary() || quoted
}
