package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Of an output that is kept whole beside the log, also what the log lacks is found, whenever it was
// kept.
func searchKept(t *testing.T, s store.Store) {
	k := keeperOf(t, s)
	born(t, s, result("early", "begin … end"), result("late", "begin … end"))
	must(t, k.Keep(t.Context(), "ses", "early-call", "begin whinchat end"))
	must(t, k.Keep(t.Context(), "ses", "nobody", "a brambling"))
	must(t, k.Keep(t.Context(), "ses", "coming-call", "begin fulmar end"))
	finds(t, s, "whinchat", "early-call")
	finds(t, s, "brambling")
	must(t, k.Keep(t.Context(), "ses", "late-call", strings.Repeat("a line\n", 1000)+"the serin"))
	apply(t, s, store.Change{Append: []session.Message{result("coming", "begin … end")}})
	finds(t, s, "serin", "late-call")
	finds(t, s, "fulmar", "coming-call")
	found := search(t, s, store.Search{Words: "serin"})
	h := found.Hits[0]
	equal(t, "field", "output", h.Field)
	equal(t, "kept", true, h.Kept)
	if !strings.Contains(h.Snippet, "the serin") {
		t.Errorf("the snippet is %q", h.Snippet)
	}
	if h := search(t, s, store.Search{Words: "begin", Limit: 1}).Hits[0]; h.Kept {
		t.Errorf("what the log has is said to be beside it: %+v", h)
	}
	must(t, k.Keep(t.Context(), "ses", "late-call", "the shrike"))
	finds(t, s, "serin")
	finds(t, s, "shrike", "late-call")
	decide(t, s, store.Change{Update: []session.Message{result("late", "shorter")}})
	finds(t, s, "shrike", "late-call")
	finds(t, s, "shorter", "late-call")
	finds(t, s, `"end begin"`) // of two texts
	must(t, s.Delete(t.Context(), "ses"))
	finds(t, s, "shrike")
}

// Whatever is done to a store, what it finds is what reading all of it finds.
func searchScan(t *testing.T, s store.Store) {
	if _, ok := s.(store.Searcher); !ok {
		t.Skip("this store cannot search")
	}
	keeper, _ := s.(store.Keeper)
	vocabulary := []string{"tide", "Tide", "tidal", "spring-tide", "néap", "NEAP", "λόγος", "ΛΟΓΟΣ", "潮汐", "潮",
		"src/tide.go", "tide_table", "Straße", "strasse"}
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		some := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 6),
			func(words []string) string { return strings.Join(words, " ") })
		type part struct{ said, answered string }
		type log struct {
			ids   []string
			parts map[string]part
			kept  map[string]string
		}
		sessions := map[string]*log{}
		n := 0
		made := func(id string, p part) session.Message {
			if p.answered == "" {
				return message(id, session.User, p.said)
			}
			return result(id, p.answered)
		}
		draw := func() part {
			if rapid.Bool().Draw(rt, "a call") {
				return part{answered: some.Draw(rt, "answer") + " ."}
			}
			return part{said: some.Draw(rt, "text")}
		}
		check := func() {
			for _, word := range []string{"tide", "neap", "λογος", "潮", "潮汐", "tid*", `"tide go"`, "strasse",
				`"tide tide"`} {
				var want []string
				for _, l := range sessions {
					for _, id := range l.ids {
						p := l.parts[id]
						in := func(text string) bool { return scanned(text, word) }
						if in(p.said) || in(p.answered) || p.answered != "" && in(l.kept[id]) {
							want = append(want, id)
						}
					}
				}
				found, err := s.(store.Searcher).Search(t.Context(), store.Search{Words: word, Limit: 10_000})
				if err != nil {
					rt.Fatal(err)
				}
				var got []string
				for _, h := range found.Hits {
					if strings.HasPrefix(h.Session.ID, fmt.Sprintf("scan%d_", round)) {
						got = append(got, h.Message)
					}
				}
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(want, got) {
					rt.Fatalf("%s is found in %v, want %v", word, got, want)
				}
			}
		}
		do := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		pick := func() string {
			var ids []string
			for id := range sessions {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			return rapid.SampledFrom(ids).Draw(rt, "session")
		}
		for range rapid.IntRange(1, 12).Draw(rt, "operations") {
			if op := rapid.SampledFrom([]string{"create", "append", "append", "update", "keep", "delete",
				"search"}).Draw(rt, "operation"); len(sessions) == 0 || op == "create" {
				n++
				id := fmt.Sprintf("scan%d_%d", round, n)
				do(s.Create(t.Context(), session.Info{ID: id}))
				sessions[id] = &log{parts: map[string]part{}, kept: map[string]string{}}
			} else if op == "search" {
				check()
			} else {
				id := pick()
				l := sessions[id]
				revision, err := s.Revision(t.Context(), id)
				do(err)
				switch {
				case op == "append":
					n++
					m, p := fmt.Sprintf("m%d_%d", round, n), draw()
					_, err = s.Apply(t.Context(), id, store.Change{Append: []session.Message{made(m, p)}})
					l.ids, l.parts[m] = append(l.ids, m), p
				case op == "update" && len(l.ids) > 0:
					m, p := rapid.SampledFrom(l.ids).Draw(rt, "message"), draw()
					_, err = s.Apply(t.Context(), id, store.Change{Base: revision,
						Update: []session.Message{made(m, p)}})
					l.parts[m] = p
				case op == "keep" && len(l.ids) > 0 && keeper != nil:
					m := rapid.SampledFrom(l.ids).Draw(rt, "message")
					l.kept[m] = some.Draw(rt, "kept")
					err = keeper.Keep(t.Context(), id, m+"-call", l.kept[m])
				case op == "delete":
					err = s.Delete(t.Context(), id)
					delete(sessions, id)
				}
				do(err)
			}
		}
		check()
		for id := range sessions {
			do(s.Delete(t.Context(), id))
		}
	})
}

// scanned tells whether a text has a query's one term, by a way of its own.
func scanned(text, query string) bool {
	fold := strings.NewReplacer("é", "e", "ό", "ο", "ς", "σ", "ß", "ss", "潮", " 潮 ", "汐", " 汐 ", "/", " ", ".", " ",
		"_", " ", "-", " ", `"`, "")
	text = " " + strings.Join(strings.Fields(fold.Replace(strings.ToLower(text))), " ") + " "
	term := strings.Join(strings.Fields(fold.Replace(strings.ToLower(query))), " ")
	if prefix, ok := strings.CutSuffix(term, "*"); ok {
		return strings.Contains(text, " "+prefix)
	}
	return strings.Contains(text, " "+term+" ")
}
