// Package kin finds the descendants of a session where a database knows the parents of most
// sessions, and those of the others must be read.
package kin

import (
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Found is a session that a database found.
type Found struct {
	Info session.Info
	// Aside: the database does not know its parent, so that it was found for whatever id was asked,
	// and its own children are found only if they are asked for.
	Aside bool
}

// Of is the family of an id. read returns what the database knows to be the family of one, with
// all sessions that are aside.
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
