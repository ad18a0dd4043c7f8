package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// A family is found whatever the ids are made of, and whatever was deleted of it.
func family(t *testing.T, s store.Store) {
	long := strings.Repeat("long ", 1000)
	names := []string{"a", "b", `"`, `\`, "a\x00b", "\xff", "ü", "\ufffd", "\u2028", "'", "%", `\u0061`, long}
	at := session.Millis(1000)
	create := func(id, parent string) {
		t.Helper()
		at--
		must(t, s.Create(t.Context(), session.Info{ID: id, ParentID: parent, Time: session.Lifetime{Created: at}}))
	}
	want := func(id string, ids ...string) {
		t.Helper()
		found, err := store.Family(t.Context(), s, id)
		must(t, err)
		var got []string
		for _, info := range found {
			got = append(got, info.ID)
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", ids) {
			t.Errorf("the family of %.20q is %.60q, want %.60q", id, got, ids)
		}
	}
	// Each has two children, of which the second, the older one, has one.
	for _, name := range names {
		create(name, "")
		create(name+"/1", name)
		create(name+"/2", name)
		create(name+"/2/1", name+"/2")
	}
	for _, name := range names {
		want(name, name, name+"/2", name+"/1", name+"/2/1")
		want(name+"/2", name+"/2", name+"/2/1")
		want(name+"/2/1", name+"/2/1")
	}
	want("")
	want("missing")

	create("child", "no such parent")
	want("no such parent", "child")
	must(t, s.Delete(t.Context(), "a"))
	want("a", "a/2", "a/1", "a/2/1")
	must(t, s.Delete(t.Context(), "b/2"))
	want("b", "b", "b/1")

	// Of two with the same time the id tells; a parent may change, and make a circle.
	must(t, s.Create(t.Context(), session.Info{ID: "y", ParentID: "z"}))
	must(t, s.Create(t.Context(), session.Info{ID: "x", ParentID: "z"}))
	want("z", "x", "y")
	_, err := s.Apply(t.Context(), "x", store.Change{Info: &session.Info{ID: "x", ParentID: "y"}})
	must(t, err)
	want("y", "y", "x")
	_, err = s.Apply(t.Context(), "y", store.Change{Info: &session.Info{ID: "y", ParentID: "x"}})
	must(t, err)
	want("y", "y", "x")
	want("z")
	_, err = s.Apply(t.Context(), "y", store.Change{Info: &session.Info{ID: "y", ParentID: "y"}})
	must(t, err)
	want("y", "y", "x")

	// An info that is not kept as JSON.
	must(t, s.Create(t.Context(), session.Info{ID: "odd", ParentID: "c", Title: "\xff"}))
	must(t, s.Create(t.Context(), session.Info{ID: "grandchild", ParentID: "odd"}))
	must(t, s.Create(t.Context(), session.Info{ID: "odder", ParentID: "grandchild", Title: "\xff"}))
	must(t, s.Create(t.Context(), session.Info{ID: "oddest", ParentID: "odder", Title: "\xff"}))
	want("c", "odd", "grandchild", "odder", "oddest")
}
