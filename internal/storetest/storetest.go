// Package storetest tests an implementation of store.Store against its contract.
package storetest

import (
	"iter"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Suite says how to open the stores of an implementation.
type Suite struct {
	// Open returns an empty store, which the suite closes. Required.
	Open func(t *testing.T) store.Store
	// Reopen closes a store and opens it again with what it holds. Optional.
	Reopen func(t *testing.T, s store.Store) store.Store
	// Sound checks the data of a store after each test. It may close the store. Optional.
	Sound func(t *testing.T, s store.Store)
}

// Run holds the stores that open returns to the contract.
func Run(t *testing.T, open func(t *testing.T) store.Store) { Suite{Open: open}.Run(t) }

// Run holds the stores of the suite to the contract.
func (u Suite) Run(t *testing.T) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, s store.Store)
	}{
		{"Create_refusesAnIdTwice", createTwice},
		{"Create_refusesNoId", createWithoutID},
		{"Apply_createsAWholeSession", createWhole},
		{"Apply_createsInPlaceOfAnother", createAside},
		{"Files_areRemembered", files},
		{"Keep_keepsWholeTexts", keeps},
		{"Kept_goesWithItsSession", keptGoes},
		{"Kept_isSharedWithASessionMadeOfIt", keptIsShared},
		{"Kept_stopsWithItsContext", keptStops},
		{"List_isLastUpdatedFirst", listOrder},
		{"Family_isASessionWithItsDescendants", family},
		{"Delete_takesAllThatBelongsToASession", deleteAll},
		{"Erase_takesASessionAndItsOwnTexts", erases},
		{"Forget_makesRequestsNobodys", forgets},
		{"everyMethod_saysThatThereIsNoSession", notFound},
		{"everyMethod_stopsWithItsContext", canceled},
		{"everyMethod_saysThatTheStoreIsClosed", closed},
		{"Apply_countsRevisions", revisions},
		{"Apply_refusesAStaleBase", conflict},
		{"Apply_refusesDecisionsWithoutBase", noBase},
		{"Apply_refusesTheInfoOfAnotherSession", foreignInfo},
		{"Apply_writesAllOrNothing", allOrNothing},
		{"Apply_losesNothingOfManyAtOnce", concurrentAppends},
		{"Apply_letsOneOfManyDecide", concurrentDecisions},
		{"Messages_areOrderedByPosition", order},
		{"Messages_stopWhereTheReaderStops", earlyStop},
		{"Messages_seeOneMoment", oneMoment},
		{"Messages_canBeReadWhileReading", nestedReads},
		{"Messages_comeBackToTheByte", exact},
		{"Messages_holdFiftyMegabytesInOnePart", fiftyMegabytes},
		{"Messages_shareNothing", shareNothing},
		{"Read_takesASessionInThePlaceOfAnother", readAnother},
		{"Update_replacesTheLatestWithItsId", update},
		{"Update_ofWhatTheSameChangeAppends", updateAppended},
		{"Ledger_commitsAndRestores", ledger},
		{"Undone_isUndoneAndRedone", undoRedo},
		{"Pins_areSetReplacedAndTaken", pins},
		{"Dismissals_areTakenBack", dismissals},
		{"Receipts_andSpends_keepTheirOrder", receipts},
		{"Prepared_isReplacedAndTaken", prepared},
		{"Vain_isPaidInVain", vain},
		{"Relayed_findsWhatAGatewayDid", relayed},
		{"Info_isReplaced", info},
		{"Source_comesBackToTheByte", source},
		{"Search_findsWordsPhrasesAndBeginnings", searchWords},
		{"Search_looksEverywhereInAPart", searchFields},
		{"Search_isNarrowedDown", searchFilters},
		{"Search_followsTheLog", searchFollows},
		{"Search_findsWhatIsKept", searchKept},
		{"Search_isALinearScan", searchScan},
		{"Search_findsWordsPhrasesAndBeginnings_withoutAnIndex", unindexed(searchWords)},
		{"Search_looksEverywhereInAPart_withoutAnIndex", unindexed(searchFields)},
		{"Search_isNarrowedDown_withoutAnIndex", unindexed(searchFilters)},
		{"Search_followsTheLog_withoutAnIndex", unindexed(searchFollows)},
		{"Search_findsWhatIsKept_withoutAnIndex", unindexed(searchKept)},
		{"Search_isALinearScan_withoutAnIndex", unindexed(searchScan)},
		{"Index_takesUpWhatIsNew", searchIndex},
		{"Index_isGivenUp", searchGivenUp},
		{"behavesLikeAModel", behavesLikeModel},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := u.Open(t)
			t.Cleanup(func() { s.Close() })
			c.test(t, s)
			if u.Sound != nil && !t.Failed() {
				u.Sound(t, s)
			}
		})
	}
	if u.Reopen != nil {
		t.Run("Reopen_findsEverything", func(t *testing.T) {
			t.Parallel()
			reopen(t, u)
		})
	}
}

// message returns a message with a text part for each text.
func message(id string, role session.Role, texts ...string) session.Message {
	m := session.Message{MessageInfo: session.MessageInfo{ID: id, SessionID: "ses", Role: role,
		Time: session.MessageTime{Created: 1}}}
	for _, text := range texts {
		m.Parts = append(m.Parts, session.Part{ID: id + "-part", SessionID: "ses", MessageID: id,
			Type: session.TextPart, Text: text})
	}
	return m
}

// result returns an assistant message with a tool call that ended with this output.
func result(id, output string) session.Message {
	m := message(id, session.Assistant)
	m.Parts = []session.Part{{
		ID: id + "-call", SessionID: "ses", MessageID: id, Type: session.ToolPart, CallID: "call-" + id, Tool: "read",
		State: &session.ToolState{
			Status: session.Completed, Input: []byte(`{"path":"a.go"}`), Title: "a.go", Output: output,
			Metadata: []byte(`{}`),
			Time:     &session.Span{Start: 1, End: 2.5},
		},
	}}
	return m
}

// born creates the session "ses".
func born(t testing.TB, s store.Store, messages ...session.Message) {
	t.Helper()
	must(t, s.Create(t.Context(), session.Info{ID: "ses", Title: "a session"}))
	if len(messages) > 0 {
		apply(t, s, store.Change{Append: messages})
	}
}

func apply(t testing.TB, s store.Store, c store.Change) int64 {
	t.Helper()
	revision, err := s.Apply(t.Context(), "ses", c)
	must(t, err)
	return revision
}

// decide applies a change on the present revision.
func decide(t testing.TB, s store.Store, c store.Change) int64 {
	t.Helper()
	c.Base = state(t, s).Revision
	return apply(t, s, c)
}

func state(t testing.TB, s store.Store) store.State {
	t.Helper()
	st, err := s.State(t.Context(), "ses")
	must(t, err)
	return st
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// collect reads a log to its end.
func collect(t testing.TB, messages iter.Seq2[session.Message, error]) []session.Message {
	t.Helper()
	var all []session.Message
	for m, err := range messages {
		must(t, err)
		all = append(all, m)
	}
	return all
}

func log(t testing.TB, s store.Store) []session.Message {
	t.Helper()
	return collect(t, s.Messages(t.Context(), "ses"))
}

func ids(messages []session.Message) (ids []string) {
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	return ids
}

// equal compares to the byte; a ledger by its elisions.
func equal(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := diffOf(want, got); diff != "" {
		if len(diff) > 4000 {
			diff = diff[:4000] + "…"
		}
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

var compare = cmp.Options{
	cmp.Transformer("elisions", func(l rule.Ledger) []rule.Elision { return append([]rule.Elision{}, l.All()...) }),
}

var sampleReceipt = pivot.Receipt{
	ID: "rcp", SessionID: "ses", Kind: pivot.Pruning, Time: 12.5, Policy: "balanced", TokensBefore: 100,
	TokensAfter: 60,
	Gone:        map[string]int{"tool output": 40}, Usage: []session.Usage{{Input: 3}}, Cost: 0.25,
	Notes: []string{"a\x00note"}, Struck: []pivot.Struck{{Kind: "path", Text: "a\xff"}},
}

// diffOf is "" for equal values. Most are, and comparing those takes a tenth of the time that
// explaining does.
func diffOf(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, compare)
}
