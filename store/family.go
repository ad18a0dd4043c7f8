package store

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// FamilyLister is a store that finds the descendants of a session without reading the other
// sessions. Not every store is one.
type FamilyLister interface {
	// Family returns the infos of the session with an id and of those that descend from it by
	// Info.ParentID: the session, its children, their children, and so on, of one parent the oldest
	// first. An unknown id is not an error. The children of a session that was deleted are found by
	// its id, but not by that of its parent.
	Family(ctx context.Context, id string) ([]session.Info, error)
}

// Family does what FamilyLister does, in any store.
func Family(ctx context.Context, s Store, id string) ([]session.Info, error) {
	if g, ok := s.(FamilyLister); ok {
		return g.Family(ctx, id)
	}
	list, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]session.Info, len(list))
	for i, l := range list {
		all[i] = l.Info
	}
	return FamilyOf(all, id), nil
}

// FamilyOf is the family of an id (see FamilyLister) among these sessions. The empty id has none.
func FamilyOf(all []session.Info, id string) (family []session.Info) {
	if id == "" {
		return nil
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b session.Info) int {
		return cmp.Or(cmp.Compare(a.Time.Created, b.Time.Created), strings.Compare(a.ID, b.ID))
	})
	children := map[string][]session.Info{}
	for _, info := range all {
		if info.ID == id {
			family = append(family, info)
		} else {
			children[info.ParentID] = append(children[info.ParentID], info)
		}
	}
	parents := []string{id}
	for i := 0; i < len(parents); i++ {
		for _, child := range children[parents[i]] {
			family, parents = append(family, child), append(parents, child.ID)
		}
		delete(children, parents[i]) // those of a circle are found once
	}
	return family
}
