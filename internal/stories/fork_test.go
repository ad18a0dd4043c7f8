package stories

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/sqlite"
)

// stores on which sessions are forked.
func forkStores(t *testing.T) map[string]store.Store {
	t.Helper()
	disk, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "winnow.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { disk.Close() })
	return map[string]store.Store{"memory": memory.New(), "sqlite": disk}
}

// forked is a session of three turns, of which the first two have large outputs.
func forked(t *testing.T, e *engine) (id string, messages []session.Message) {
	t.Helper()
	id, err := e.Create(t.Context(), session.Info{Title: "Lamps", Directory: "/pier"})
	if err != nil {
		t.Fatal(err)
	}
	for turn := range 3 {
		all := []session.Message{{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("u%d", turn), Role: session.User,
			Time: session.MessageTime{Created: session.Millis(1000 * (turn + 1))}},
			Parts: []session.Part{{ID: fmt.Sprintf("u%d:0", turn), Type: session.TextPart,
				Text: fmt.Sprintf("Never touch lamp %d. Look at it.", turn)}}}}
		for step := range 2 {
			text := strings.Repeat(fmt.Sprintf("lamp %d burns, step %d. ", turn, step), 300)
			all = append(all, session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("a%d%d", turn, step),
				Role: session.Assistant, ParentID: all[0].ID, Finish: "tool-calls",
				Time:   session.MessageTime{Created: session.Millis(1000*(turn+1) + 10 + step)},
				Tokens: &session.Usage{Input: 1000, Output: 10}},
				Parts: []session.Part{{ID: fmt.Sprintf("p%d%d", turn, step), Type: session.ToolPart,
					CallID: fmt.Sprintf("c%d%d", turn, step), Tool: "bash",
					State: &session.ToolState{Status: session.Completed,
						Input: []byte(fmt.Sprintf(`{"command":"look %d"}`, step)), Output: text}}}})
		}
		if err := e.Append(t.Context(), id, all...); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, all...)
	}
	return id, messages
}

func viewText(t *testing.T, e *engine, id string) string {
	t.Helper()
	v, err := e.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range v.Messages {
		for i := range m.Parts {
			m.Parts[i].SessionID = ""
		}
		text, err := json.Marshal(m.Parts)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s %s\n", m.Role, m.ID, text)
	}
	return b.String()
}

func TestFork_hasWhatWasBeforeAndLeavesTheOldSessionAlone(t *testing.T) {
	for name, kept := range forkStores(t) {
		t.Run(name, func(t *testing.T) {
			e, err := launch(winnow.Config{Store: kept})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			id, messages := forked(t, e)
			_, state, err := e.Session(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			standing := func(part, by string, at session.Millis) rule.Elision {
				return rule.Elision{Part: part, Message: "a" + part[1:], Field: rule.Output, Rule: "test",
					Because: "of this test", By: by, Shown: "gone", Saves: 100, Time: at}
			}
			change := store.Change{Base: state.Revision,
				Commit: []rule.Elision{
					standing("p00", "", 1500),    // stays
					standing("p01", "p20", 1500), // shown again by what is not in the fork
					standing("p10", "", 3500),    // committed later
					standing("p20", "", 3500),    // of a part that is not in it
				},
				Pin: []rule.Pin{{ID: "pin_a", Part: "p01"}, {ID: "pin_b", Part: "p21"},
					{ID: "pin_c", Text: "Oil is low."}, {ID: "pin_d", Message: "u2"}},
				Dismiss: []string{"never touch lamp 0", "never touch lamp 2"},
				Receipt: &pivot.Receipt{ID: "rcp_1", SessionID: id, Kind: pivot.Pruning, Time: 1500,
					Committed:    []rule.Elision{standing("p00", "", 1500), standing("p01", "p20", 1500)},
					TokensBefore: 1000, TokensAfter: 800, Saved: 200, Money: new(pivot.Money),
					Undo: "winnow undo " + id + " rcp_1"},
				Spend: []store.Spend{{Kind: "step", Message: "a00", Cost: 1, Time: 1010},
					{Kind: "step", Message: "a20", Cost: 2, Time: 3010}, {Kind: "summary", Cost: 4, Time: 1600}},
			}
			if _, err := kept.Apply(t.Context(), id, change); err != nil {
				t.Fatal(err)
			}
			if err := kept.(store.Keeper).Keep(t.Context(), id, "p01", "the whole of it"); err != nil {
				t.Fatal(err)
			}
			old, oldState, err := e.Session(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			newID, err := e.Fork(t.Context(), id, "u2")
			if err != nil {
				t.Fatal(err)
			}
			s, got, err := e.Session(t.Context(), newID)
			if err != nil {
				t.Fatal(err)
			}
			if s.Info.ParentID != id || s.Info.Title != "Lamps" || s.Info.Directory != "/pier" || newID == id {
				t.Errorf("the new session is %+v", s.Info)
			}
			var ids []string
			for _, m := range s.Messages {
				ids = append(ids, m.ID)
				if m.SessionID != newID || m.Parts[0].SessionID != newID {
					t.Errorf("message %s is of session %s, its part of %s", m.ID, m.SessionID, m.Parts[0].SessionID)
				}
			}
			if diff := cmp.Diff([]string{"u0", "a00", "a01", "u1", "a10", "a11"}, ids); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if all := got.Ledger.All(); len(all) != 1 || all[0].Part != "p00" {
				t.Errorf("the ledger has %+v", all)
			}
			if len(got.Pins) != 2 || got.Pins[0].ID != "pin_a" || got.Pins[1].ID != "pin_c" {
				t.Errorf("the pins are %+v", got.Pins)
			}
			if diff := cmp.Diff(map[string]bool{"never touch lamp 0": true}, got.Dismissed); diff != "" {
				t.Errorf("dismissed (-want +got):\n%s", diff)
			}
			if len(got.Spent) != 2 || got.Spent[0].Cost+got.Spent[1].Cost != 5 || !got.Spent[0].Inherited ||
				!got.Spent[1].Inherited {
				t.Errorf("spent %+v", got.Spent)
			}
			if len(got.Receipts) != 1 || got.Receipts[0].SessionID != newID || len(got.Receipts[0].Committed) != 1 ||
				got.Receipts[0].Undo != "winnow undo "+newID+" rcp_1" || got.Receipts[0].Saved != 100 ||
				got.Receipts[0].TokensAfter != 900 || got.Receipts[0].Money != nil {
				t.Errorf("the receipts are %+v", got.Receipts)
			}
			if text, err := kept.(store.Keeper).Kept(t.Context(), newID, "p01"); text != "the whole of it" {
				t.Errorf("the whole text of an output is %q in the fork, error %v", text, err)
			}
			if _, err := e.Undo(t.Context(), newID, "rcp_1"); err != nil {
				t.Errorf("undo in the fork: %v", err)
			}
			again, againState, err := e.Session(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(old, again); diff != "" {
				t.Errorf("the old session changed:\n%s", diff)
			}
			if againState.Revision != oldState.Revision {
				t.Errorf("the old session is at revision %d, was at %d", againState.Revision, oldState.Revision)
			}
			_ = messages
		})
	}
}

func TestFork_ofAllOfItShowsTheModelTheSameBytes(t *testing.T) {
	settings := settings.Default()
	settings.Compaction.Summarizer = "offline"
	for name, kept := range forkStores(t) {
		t.Run(name, func(t *testing.T) {
			e, err := launch(winnow.Config{Store: kept, Settings: &settings})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			id, _ := forked(t, e)
			if _, err := e.Compact(t.Context(), id, winnow.CompactOptions{}); err != nil {
				t.Fatal(err)
			}
			newID, err := e.Fork(t.Context(), id, "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(viewText(t, e, id), viewText(t, e, newID)); diff != "" {
				t.Errorf("the views differ:\n%s", diff)
			}
			before := viewText(t, e, newID)
			if _, err := e.Undo(t.Context(), newID, ""); err != nil {
				t.Fatal(err)
			}
			if viewText(t, e, newID) == before {
				t.Error("undo of the pivot changed nothing in the fork")
			}
			// Before the pivot there is none.
			early, err := e.Fork(t.Context(), id, "u1")
			if err != nil {
				t.Fatal(err)
			}
			if got := viewText(t, e, early); strings.Contains(got, "u1") || !strings.Contains(got, "a01") {
				t.Errorf("the view of a fork before the pivot is %.300s", got)
			}
		})
	}
}

func TestFork_beforeWhatIsNotThereIsRefused(t *testing.T) {
	e, err := launch(winnow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	id, _ := forked(t, e)
	for _, c := range [][2]string{{id, "nowhere"}, {"ses_none", ""}} {
		if got, err := e.Fork(t.Context(), c[0], c[1]); winnow.CodeOf(err) != winnow.NotFound || got != "" {
			t.Errorf("Fork(%s, %q) = %q, %v, want not-found", c[0], c[1], got, err)
		}
	}
	if all, err := e.Store().List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%d sessions, error %v, want the one", len(all), err)
	}
}

func TestRename_changesTheTitleAlone(t *testing.T) {
	for name, kept := range forkStores(t) {
		t.Run(name, func(t *testing.T) {
			e, err := launch(winnow.Config{Store: kept})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			id, _ := forked(t, e)
			before, _, _ := e.Session(t.Context(), id)
			if err := e.Rename(t.Context(), id, " Doors\n and  windows "); err != nil {
				t.Fatal(err)
			}
			after, _, err := e.Session(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			before.Info.Title = "Doors and windows"
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the session (-want +got):\n%s", diff)
			}
			if err := e.Rename(t.Context(), id, " \n"); winnow.CodeOf(err) != winnow.BadInput {
				t.Errorf("an empty title: %v", err)
			}
			if err := e.Rename(t.Context(), "ses_none", "x"); winnow.CodeOf(err) != winnow.NotFound {
				t.Errorf("a session that is not there: %v", err)
			}
		})
	}
}
