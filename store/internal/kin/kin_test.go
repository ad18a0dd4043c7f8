package kin_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/internal/kin"
)

// Sessions whose parents the database does not know are asked for their children, each once.
func TestOf_asksForTheChildrenOfThoseAside(t *testing.T) {
	parents := map[string]string{"child": "root", "aside": "root", "below": "aside", "deeper": "below", "also": "deeper",
		"other": "elsewhere"}
	aside := []string{"aside", "also", "other"}
	var asked []string
	read := func(id string) (all []kin.Found, err error) {
		asked = append(asked, id)
		add := func(id string) {
			info := session.Info{ID: id, ParentID: parents[id]}
			all = append(all, kin.Found{Info: info, Aside: slices.Contains(aside, id)})
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
	family, err := kin.Of("root", read)
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
	if _, err := kin.Of("root", func(string) ([]kin.Found, error) { return nil, broken }); err != broken {
		t.Errorf("the error is %v", err)
	}
}
