package descendants_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/descendants"
)

// Sessions whose parents the database does not know are asked for their children, each once.
func TestOf_asksForTheChildrenOfThoseAside(t *testing.T) {
	parents := map[string]string{"child": "root", "aside": "root", "below": "aside", "deeper": "below", "also": "deeper",
		"other": "elsewhere"}
	aside := []string{"aside", "also", "other"}
	var asked []string
	read := func(id string) (all []descendants.Found, err error) {
		asked = append(asked, id)
		add := func(id string) {
			info := session.Info{ID: id, ParentID: parents[id]}
			all = append(all, descendants.Found{Info: info, Aside: slices.Contains(aside, id)})
		}
		ids := []string{id}
		for i := 0; i < len(ids); i++ {
			add(ids[i])
			for child, parent := range parents {
				if parent == ids[i] && !slices.Contains(aside, child) {
					ids = append(ids, child)
				}
			}
		}
		for _, id := range aside {
			add(id)
		}
		return all, nil
	}
	family, err := descendants.Of("root", read)
	var got []string
	for _, info := range family {
		got = append(got, info.ID)
	}
	if want := []string{"root", "aside", "child", "below", "deeper", "also"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the family is %q, %v, want %q", got, err, want)
	}
	if want := []string{"root", "aside", "also"}; !slices.Equal(asked, want) {
		t.Errorf("asked for are %q, want %q", asked, want)
	}
	broken := errors.New("the database has gone")
	if _, err := descendants.Of("root", func(string) ([]descendants.Found, error) { return nil, broken }); err != broken {
		t.Errorf("the error is %v", err)
	}
}

// Whatever the tree and whichever sessions are aside, the family is that among all sessions.
func FuzzOf(f *testing.F) {
	f.Add([]byte{0, 0, 1, 2, 3}, uint64(0b1010))
	f.Add([]byte{1, 2, 0}, uint64(0b111))
	f.Fuzz(func(t *testing.T, parents []byte, aside uint64) {
		parents = parents[:min(len(parents), 40)]
		var all []session.Info
		for i, parent := range parents {
			all = append(all, session.Info{ID: fmt.Sprint(i), ParentID: fmt.Sprint(parent % 41)})
		}
		isAside := func(id string) bool {
			for i := range parents {
				if id == fmt.Sprint(i) {
					return aside>>i&1 == 1
				}
			}
			return false
		}
		read := func(id string) (found []descendants.Found, err error) {
			var known []session.Info // of those that are aside only the asked one is known by its id
			for _, info := range all {
				if isAside(info.ID) {
					found = append(found, descendants.Found{Info: info, Aside: true})
					info.ParentID = "unknown"
				}
				known = append(known, info)
			}
			for _, info := range store.FamilyOf(known, id) {
				if !isAside(info.ID) {
					found = append(found, descendants.Found{Info: info})
				}
			}
			return found, nil
		}
		for i := range 42 {
			id := fmt.Sprint(i)
			got, err := descendants.Of(id, read)
			if want := store.FamilyOf(all, id); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("the family of %s is %v, %v, want %v", id, got, err, want)
			}
		}
	})
}
