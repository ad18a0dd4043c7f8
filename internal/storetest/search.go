package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// search returns what is found, or skips the test where the store cannot search.
func search(t *testing.T, s store.Store, q store.Search) store.Found {
	t.Helper()
	searcher, ok := s.(store.Searcher)
	if !ok {
		t.Skip("this store cannot search")
	}
	found, err := searcher.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("search for %q: %v", q.Words, err)
	}
	return found
}

// parts are the ids of the parts that were found, in any order.
func parts(f store.Found) []string {
	found := []string{}
	for _, h := range f.Hits {
		found = append(found, h.Part)
	}
	slices.Sort(found)
	return found
}

func finds(t *testing.T, s store.Store, words string, want ...string) {
	t.Helper()
	found := search(t, s, store.Search{Words: words})
	slices.Sort(want)
	equal(t, "found for "+words, append([]string{}, want...), parts(found))
	equal(t, "total for "+words, len(want), found.Total)
}

func searchWords(t *testing.T, s store.Store) {
	born(t, s, message("path", session.User, "look at internal/store/main.go:42, then at lib_util.py"),
		message("word", session.User, "Die Übung war SCHÖN: naïve café"),
		message("name", session.Assistant, "the function parseQuery of HTTPServer"),
		message("greek", session.User, "ο λόγος, Straße, file"), message("cjk", session.User, "请检查日本語のテスト"),
		message("bytes", session.User, "a\x00nul and \xff\xfe bytes\x00end"),
		message("ops", session.User, "AND OR NOT NEAR(a b) col:x ^y *"), message("none", session.User, "!!! ??? …", ""))
	for query, want := range map[string][]string{
		"main.go": {"path"}, "store/main.go": {"path"}, "main": {"path"}, "MAIN.GO:42": {"path"},
		"lib_util.py": {"path"}, "util": {"path"}, "42": {"path"},
		"go.main": nil, "store main": {"path"}, `"store main"`: {"path"}, `"main store"`: nil, "main store": {"path"},
		"ubung": {"word"}, "übung": {"word"}, "U\u0308BUNG": {"word"}, "schon": {"word"}, "cafe\u0301": {"word"},
		"parsequery": {"name"}, "parse": nil, "parse*": {"name"}, "HTTP*": {"name"}, `"function parse"*`: {"name"},
		`"function parse*`: nil,
		"ΛΟΓΟΣ":            {"greek"}, "λόγος": {"greek"}, "strasse": {"greek"}, "STRAẞE": {"greek"}, "ﬁle": {"greek"},
		"日本語": {"cjk"}, "日本": {"cjk"}, "本日": nil, "テスト": {"cjk"}, "nul": {"bytes"}, "end": {"bytes"},
		"bytes\xff": {"bytes"}, "a\x00nul": {"bytes"},
		"AND": {"bytes", "ops"}, "NOT": {"ops"}, "OR AND": {"ops"}, "near(": {"ops"}, "NEAR(a b)": {"ops"},
		"col:x": {"ops"}, "^y": {"ops"}, `"`: nil, `unbalanced "quote`: nil,
		`"look at" internal`: {"path"}, "x) OR (y": {"ops"}, "said:internal": nil, "-main": {"path"}, "nothing": nil,
	} {
		if strings.Trim(query, `"`) == "" {
			continue
		}
		for i := range want {
			want[i] += "-part"
		}
		finds(t, s, query, want...)
	}
	searcher, ok := s.(store.Searcher)
	if !ok {
		t.Skip("this store cannot search")
	}
	for _, query := range []string{"", "  ", `"`, `""`, "*", "!!!", "\x00", "\xff", "()", "… *"} {
		_, err := searcher.Search(t.Context(), store.Search{Words: query})
		wantError(t, "search for "+query, err, store.ErrNoWord)
	}
}

func searchFields(t *testing.T, s store.Store) {
	call := result("call", "the output has an oriole\nin it "+strings.Repeat("filler line\n", 1000)+"and a wren")
	call.Parts[0].State.Input = []byte(`{"command":"grep -r bunting \"a b\"","nested":[{"deep":"siskin"}],"n":417}`)
	call.Parts[0].State.Title = "a title with a dunnock"
	failed := result("failed", "")
	failed.Parts[0].Tool = "bash"
	failed.Parts[0].State.Status, failed.Parts[0].State.Error, failed.Parts[0].State.Input = session.Failed,
		"exit 1: no plover", []byte("{cut off linnet")
	long := message("long", session.User, strings.Repeat("filler ", 2000)+"a twite")
	file := message("file", session.User)
	file.Parts = []session.Part{{ID: "file-part", Type: session.FilePart, Filename: "fieldfare.png",
		URL: "data:image/png;base64,redwing"}}
	born(t, s, call, failed, long, file)
	for word, field := range map[string]string{"oriole": "output", "wren": "output", "bunting": "input",
		"siskin": "input", "417": "input", "dunnock": "input",
		"plover": "error", "linnet": "input", "twite": "text", "fieldfare": "text"} {
		found := search(t, s, store.Search{Words: word})
		if len(found.Hits) != 1 {
			t.Errorf("%s: %d hits", word, len(found.Hits))
			continue
		}
		h := found.Hits[0]
		equal(t, "field of "+word, field, h.Field)
		if len(h.Marks) != 1 || h.Snippet[h.Marks[0][0]:h.Marks[0][1]] != word {
			t.Errorf("the snippet of %s is %q with marks %v", word, h.Snippet, h.Marks)
		}
		if len(h.Snippet) > 400 || strings.ContainsAny(h.Snippet, "\n\r\t\x00") {
			t.Errorf("the snippet of %s is %q", word, h.Snippet)
		}
	}
	finds(t, s, "redwing")
	finds(t, s, "oriole bunting", "call-call")
	finds(t, s, "oriole plover") // not in one part

	hit := search(t, s, store.Search{Words: "plover"}).Hits[0]
	hit.Snippet, hit.Marks, hit.Score = "", nil, 0
	equal(t, "hit", store.Hit{Session: session.Info{ID: "ses", Title: "a session"}, Message: "failed",
		Role: session.Assistant, Part: "failed-call", Type: session.ToolPart,
		Tool: "bash", Time: 1, Field: "error"}, hit)
}

func searchFilters(t *testing.T, s store.Store) {
	at := func(m session.Message, time session.Millis) session.Message { m.Time.Created = time; return m }
	born(t, s, at(message("u", session.User, "heron"), 100), at(message("a", session.Assistant, "heron"), 200),
		at(result("r", "heron"), 300))
	must(t, s.Create(t.Context(), session.Info{ID: "other"}))
	_, err := s.Apply(t.Context(), "other", store.Change{Append: []session.Message{at(message("o", session.User,
		"heron"), 400)}})
	must(t, err)
	must(t, s.SetSource(t.Context(), "other", store.Source{Format: "pi"}))
	for _, c := range []struct {
		q    store.Search
		want []string
	}{
		{store.Search{}, []string{"a-part", "o-part", "r-call", "u-part"}},
		{store.Search{Session: "ses"}, []string{"a-part", "r-call", "u-part"}},
		{store.Search{Session: "missing"}, []string{}},
		{store.Search{Product: "pi"}, []string{"o-part"}},
		{store.Search{Tool: "read"}, []string{"r-call"}},
		{store.Search{Role: session.User}, []string{"o-part", "u-part"}},
		{store.Search{Since: 300}, []string{"o-part", "r-call"}},
		{store.Search{Since: 200, Role: session.Assistant, Session: "ses"}, []string{"a-part", "r-call"}},
	} {
		c.q.Words = "heron"
		found := search(t, s, c.q)
		equal(t, "found", c.want, parts(found))
		equal(t, "total", len(c.want), found.Total)
	}
	found := search(t, s, store.Search{Words: "heron", Limit: 2, Role: session.User})
	equal(t, "of those that fit alike the newest first", []string{"o", "u"},
		[]string{found.Hits[0].Message, found.Hits[1].Message})
	found = search(t, s, store.Search{Words: "heron", Limit: 1})
	equal(t, "hits within the limit", 1, len(found.Hits))
	equal(t, "total beyond the limit", 4, found.Total)
}

// The index follows what is appended, updated and deleted, and nothing that is decided takes a word
// out of it.
func searchFollows(t *testing.T, s store.Store) {
	large := strings.Repeat("a line of a large output\n", 1000)
	born(t, s, result("r", large+"curlew"), message("m", session.User, "godwit"))
	finds(t, s, "curlew", "r-call")
	apply(t, s, store.Change{Append: []session.Message{message("n", session.User, "knot")}})
	finds(t, s, "knot", "n-part")
	decide(t, s, store.Change{Update: []session.Message{result("r", large+"sanderling"),
		message("n", session.User, "ruff", "dunlin")}})
	finds(t, s, "curlew")
	finds(t, s, "knot")
	finds(t, s, "sanderling", "r-call")
	finds(t, s, "dunlin", "n-part")
	decide(t, s, store.Change{Commit: []rule.Elision{{Part: "r-call", Field: rule.Output}}, Undo: []string{"m"}})
	finds(t, s, "sanderling", "r-call")
	finds(t, s, "godwit", "m-part")
	// Updated before it was ever indexed, and twice.
	apply(t, s, store.Change{Append: []session.Message{message("late", session.User, "avocet")}})
	decide(t, s, store.Change{Update: []session.Message{message("late", session.User, "stint"),
		message("m", session.User, "stilt")}})
	decide(t, s, store.Change{Update: []session.Message{message("m", session.User, "whimbrel")}})
	finds(t, s, "avocet")
	finds(t, s, "stint", "late-part")
	finds(t, s, "stilt")
	finds(t, s, "whimbrel", "m-part")

	must(t, s.Delete(t.Context(), "ses"))
	for _, word := range []string{"sanderling", "whimbrel", "dunlin"} {
		finds(t, s, word)
	}
	born(t, s, message("m", session.User, "snipe"))
	finds(t, s, "snipe", "m-part")
	finds(t, s, "whimbrel")
}

func searchIndex(t *testing.T, s store.Store) {
	searcher, ok := s.(store.Searcher)
	if !ok {
		t.Skip("this store cannot search")
	}
	born(t, s)
	for range 30 {
		apply(t, s, store.Change{Append: []session.Message{result("r", "a redstart"),
			message("m", session.User, "a redstart")}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, "Index with a context that ended", searcher.Index(ctx, nil), context.Canceled)
	_, err := searcher.Search(ctx, store.Search{Words: "redstart"})
	wantError(t, "Search with a context that ended", err, context.Canceled)
	last := 0
	must(t, searcher.Index(t.Context(), func(done, all int) {
		if done < last || all < done {
			t.Errorf("%d of %d are done after %d", done, all, last)
		}
		last = done
	}))
	revision := state(t, s).Revision
	must(t, searcher.Index(t.Context(), nil))
	found := search(t, s, store.Search{Words: "redstart", Limit: 100})
	equal(t, "hits", 60, len(found.Hits))
	equal(t, "behind", 0, found.Behind)
	equal(t, "revision", revision, state(t, s).Revision)
	must(t, s.Close())
	wantError(t, "Index of a closed store", searcher.Index(t.Context(), nil), store.ErrClosed)
	_, err = searcher.Search(t.Context(), store.Search{Words: "redstart"})
	wantError(t, "Search of a closed store", err, store.ErrClosed)
}

// giveUp has a store do without its index, or skips the test where it cannot.
func giveUp(t *testing.T, s store.Store) store.Unindexer {
	t.Helper()
	u, ok := s.(store.Unindexer)
	if !ok {
		t.Skip("this store cannot do without its index")
	}
	must(t, u.KeepIndex(t.Context(), false))
	return u
}

// unindexed is a test of a store that does without its index.
func unindexed(test func(t *testing.T, s store.Store)) func(t *testing.T, s store.Store) {
	return func(t *testing.T, s store.Store) {
		giveUp(t, s)
		test(t, s)
		if found := search(t, s, store.Search{Words: "anything"}); found.Scan == nil || found.Behind != 0 {
			t.Errorf("it has an index: %+v", found)
		}
	}
}

// An index that is given up is dropped and stays so; once it is wanted it is made of everything.
func searchGivenUp(t *testing.T, s store.Store) {
	born(t, s, message("m", session.User, "redstart"), result("r", "a whinchat"))
	finds(t, s, "redstart", "m-part")
	u := giveUp(t, s)
	said := func() store.Found { return search(t, s, store.Search{Words: "redstart"}) }
	equal(t, "read", &store.Scan{Messages: 2, All: true}, said().Scan)
	decide(t, s, store.Change{Update: []session.Message{result("r", "a stonechat")},
		Append: []session.Message{message("n", session.User, "a redstart")}})
	must(t, s.(store.Searcher).Index(t.Context(), nil))
	must(t, u.KeepIndex(t.Context(), false))
	finds(t, s, "redstart", "m-part", "n-part")
	finds(t, s, "stonechat", "r-call")
	equal(t, "read", &store.Scan{Messages: 3, All: true}, said().Scan)

	must(t, u.KeepIndex(t.Context(), true))
	must(t, s.(store.Searcher).Index(t.Context(), nil))
	finds(t, s, "redstart", "m-part", "n-part")
	finds(t, s, "stonechat", "r-call")
	finds(t, s, "whinchat")
	if found := said(); found.Scan != nil || found.Behind != 0 {
		t.Errorf("with an index again: %+v", found)
	}
}
