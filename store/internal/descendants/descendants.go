// Package descendants finds a session's descendants, including those whose parent is not indexed.
package descendants

import (
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Found is a session that a database found.
type Found struct {
	Info session.Info
	// Aside: its parent is not indexed. A search for any id finds it, but finds its children only
	// if it asks for its own id.
	Aside bool
}

// Of returns a session and its descendants. read returns a session with its indexed descendants,
// and all sessions whose parent is not indexed.
func Of(id string, read func(id string) ([]Found, error)) (family []session.Info, err error) {
	known, asked := map[string]bool{}, map[string]bool{id: true}
	var all []session.Info
	for ids := []string{id}; len(ids) > 0; ids = ids[1:] {
		found, err := read(ids[0])
		if err != nil {
			return nil, err
		}
		aside := map[string]bool{}
		for _, f := range found {
			if !known[f.Info.ID] {
				known[f.Info.ID] = true
				all = append(all, f.Info)
			}
			aside[f.Info.ID] = f.Aside
		}
		for _, info := range store.FamilyOf(all, id) {
			if aside[info.ID] && !asked[info.ID] {
				asked[info.ID] = true
				ids = append(ids, info.ID)
			}
		}
	}
	return store.FamilyOf(all, id), nil
}
