package entries

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/internal/bodytest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

func TestAncestor(t *testing.T) {
	gone := map[string]string{"b": "a", "c": "b", "e": "", "x": "y", "y": "x"}
	for id, want := range map[string]string{"a": "a", "c": "a", "d": "d", "e": "", "": ""} {
		if got := Ancestor(id, gone); got != want {
			t.Errorf("%q follows %q, want %q", id, got, want)
		}
	}
	Ancestor("x", gone) // ends
}

func TestGrow_aMarkerWithItsSummaryIsOnePivot(t *testing.T) {
	c := format.Change{Undone: map[string]bool{"k1": true}, Session: session.Session{Messages: []session.Message{
		bodytest.User("u1", "Known."), bodytest.Marker("k1", ""), bodytest.Summary("s1", "k1", "Undone."),
		bodytest.User("u2", "New."), bodytest.Marker("k2", "u2"), bodytest.User("u3", "Between."),
		bodytest.Summary("s2", "k2", "Folded."), bodytest.Marker("k3", ""),
	}}}
	log := c.Session.Messages
	had := map[string]bool{"u1": true}
	var got []string
	Grow(c, func(id string) bool { return had[id] }, func(marker, summary int) {
		had[log[summary].ID] = true
		got = append(got, log[marker].ID+" "+log[summary].ID)
	}, func(m *session.Message) { got = append(got, m.ID) })
	if diff := cmp.Diff([]string{"u2", "k2 s2", "u3", "k3"}, got); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"u2": true}, Tail(c, 4)); diff != "" {
		t.Errorf("the tail (-want +got):\n%s", diff)
	}
}

func TestShows_idsThatTheProductGaveAnew(t *testing.T) {
	one, two := 1, 2
	elided := func(part string, index *int) Elided {
		return Elided{Elision: rule.Elision{Part: part, Message: part, Field: rule.Text}, Index: index}
	}
	for name, c := range map[string]struct {
		has  Elided
		want Want
		same bool
	}{
		"the same":                {elided("p", nil), Want{Elided: elided("p", nil)}, true},
		"another part":            {elided("p", nil), Want{Elided: elided("q", nil)}, false},
		"a new id":                {elided("p", &one), Want{Elided: elided("q", &one)}, true},
		"another place":           {elided("p", &one), Want{Elided: elided("p", &two)}, false},
		"a result is in no place": {elided("p", &one), Want{Elided: elided("q", &two), Result: true}, true},
	} {
		if got := (&Mark{Elisions: []Elided{c.has}}).Shows([]Want{c.want}); got != c.same {
			t.Errorf("%s: %v", name, got)
		}
	}
}
