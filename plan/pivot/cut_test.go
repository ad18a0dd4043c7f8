package pivot

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// A window in words: u1:50 a user message of 50 tokens, a1:50 an answer, t1:50 an answer that is
// one call with so long an output, k1:50 a synthetic user message, i1 a user message with an image,
// c1 and s1:50 a marker and its summary, e1 an answer that failed with nothing in it, b1:50 one
// that broke off, q1:50 a quotation of what is pinned.
func windowOf(words string) []session.Message {
	var log []session.Message
	for _, word := range strings.Fields(words) {
		id, size, _ := strings.Cut(word, ":")
		n := 0
		fmt.Sscan(size, &n)
		m := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant, Finish: "stop"}}
		part := session.Part{ID: id + ":0", Type: session.TextPart, Text: strings.Repeat("abcd", n)}
		switch id[0] {
		case 'u':
			m.Role, m.Finish = session.User, ""
		case 'k':
			m.Role, m.Finish, part.Synthetic = session.User, "", true
		case 'q':
			m.Role, m.Finish, part.Synthetic = session.User, "", true
			part.Metadata = session.Note{Kept: id, Pin: true}.Metadata()
		case 'i':
			m.Role, m.Finish = session.User, ""
			part = session.Part{ID: id + ":0", Type: session.FilePart, Mime: "image/png", Filename: "big.png",
				URL: "data:image/png;base64,AA=="}
		case 't':
			m.Finish = "tool-calls"
			part = session.Part{ID: id + ":0", CallID: id, Type: session.ToolPart, Tool: "",
				State: &session.ToolState{Status: session.Completed, Output: part.Text}}
		case 'c':
			m.Role, m.Finish = session.User, ""
			part = session.Part{ID: id + ":0", Type: session.CompactionPart}
		case 's':
			m.Summary, m.ParentID = []byte("true"), "c"+id[1:]
		case 'b':
			m.Error = []byte(`{"name":"MessageAbortedError"}`)
		case 'e':
			m.Error, part.Text = []byte(`{"name":"ContextOverflowError"}`), ""
		}
		m.Parts = []session.Part{part}
		log = append(log, m)
	}
	return log
}

func names(messages []session.Message) string {
	var list []string
	for i := range messages {
		list = append(list, messages[i].ID)
	}
	return strings.Join(list, " ")
}

func facts() *rule.Facts { return rule.NewFacts(token.Chars4{}) }

func TestFind_keepsTheNewestThatFits(t *testing.T) {
	for name, c := range map[string]struct {
		window     string
		keep       int
		fold, tail string
		split      bool
	}{
		"a quotation does not begin a tail": {"u1:10 a1:5000 q1:10 q2:10 t1:10 q3:10 a2:10", 55,
			"u1 a1 q1 q2", "t1 q3 a2", true},
		"no budget, no tail but the last exchange": {"u1:10 a1:10 u2:10 a2:10", 0, "u1 a1", "u2 a2", false},
		"whole turns from the newest back": {"u1:10 a1:10 u2:10 a2:10 u3:10 a3:10", 40, "u1 a1",
			"u2 a2 u3 a3", false},
		"exactly the budget fits": {"u1:10 a1:10 u2:10 a2:10", 20, "u1 a1", "u2 a2", false},
		"one over does not":       {"u1:10 a1:10 u2:10 a2:10 u3:10 a3:10", 39, "u1 a1 u2", "a2 u3 a3", true},
		"a large middle turn leaves the last one": {"u1:10 a1:10 u2:10 a2:500 u3:10 a3:10", 100, "u1 a1 u2 a2",
			"u3 a3", false},
		"an exchange that exceeds the budget leaves its answer": {"u1:10 a1:10 u2:10 a2:5000", 20, "u1 a1 u2", "a2", true},
		"and its newest steps that fit": {"u1:10 a1:10 u2:10 t1:1500 t2:10 t3:1500 a2:400", 20, "u1 a1 u2 t1", "t2 t3 a2",
			true},
		"a small one stays whatever the budget": {"u1:10 a1:10 u2:10 t1:1500 a2:490", 20, "u1 a1", "u2 t1 a2", false},
		"an answer that failed answers nothing": {"u1:10 a1:10 u2:10 t1:100 a2:5000 b1:3000", 20, "u1 a1 u2 t1", "a2 b1", true},
		"a turn that is too big is split at a step": {"u1:10 a1:10 u2:10 t1:9000 t2:20 a2:20", 50, "u1 a1 u2 t1",
			"t2 a2", true},
		"the split never takes the user's message alone":       {"u1:10 a1:10 u2:5000 t1:10", 50, "u1 a1 u2", "t1", true},
		"everything fits: all but the last exchange is folded": {"u1:10 a1:10 u2:10 a2:10", 100, "u1 a1", "u2 a2", false},
		"one exchange that fits is not folded":                 {"u1:10 t1:10 a1:10", 100, "", "u1 t1 a1", false},
		"media do not fit a small budget":                      {"u1:10 a1:10 i1 a2:10 u3:10 a3:10", 100, "u1 a1 i1", "a2 u3 a3", true},
		"the previous pivot is no part of it": {"c1 s1:900 u1:10 a1:10 u2:10 a2:10", 20, "u1 a1", "u2 a2",
			false},
		"a previous summary does not count for the tail": {"c1 s1:900 u2:10 a2:10 u3:10 a3:10", 40, "u2 a2", "u3 a3",
			false},
		"markers that nobody answered are left out": {"u1:10 a1:10 c1 u2:10 a2:10", 20, "u1 a1", "u2 a2", false},
		"a synthetic message starts no turn": {"u1:10 a1:10 u2:10 a2:10 k1:10 a3:10", 40, "u1 a1",
			"u2 a2 k1 a3", false},
		"what comes before the first turn can be folded": {"c1 s1:5 a1:10 u1:10 a2:10", 100, "a1", "u1 a2", false},
		"nothing since the last pivot: nothing to fold":  {"c1 s1:5", 100, "", "", false},
		"an empty window": {"", 100, "", "", false},
		"a log without a user's message keeps its newest answer": {"a1:10 a2:10", 100, "a1", "a2", true},
		"a turn folded before keeps its newest too": {"c1 s1:5 k1:5 t1:50 t2:50 t3:50 t4:10", 70, "k1 t1 t2",
			"t3 t4", true},
		"and beside the next turn": {"c1 s1:5 t1:50 t2:20 u1:10 a1:10", 50, "t1", "t2 u1 a1",
			true},
		"one turn of many steps keeps the newest of them": {"u1:10 t1:5000 t2:5000 t3:50 t4:10", 70, "u1 t1 t2", "t3 t4",
			true},
		"what no request has had stays, whatever it takes": {"u1:10 t1:50 t2:9000", 70, "u1 t1", "t2", true},
		"also without any budget":                          {"u1:10 t1:50 t2:9000", 0, "u1 t1", "t2", true},
		"with what the user said to it": {"u1:10 t1:50 t2:900 u2:900 u3:10", 20, "u1 t1", "t2 u2 u3",
			true},
		"what was answered is no such thing":              {"u1:10 t1:9000 a1:10", 0, "u1 t1", "a1", true},
		"what the user said last is":                      {"u1:10 t1:900 a1:10 u2:900", 0, "u1 t1 a1", "u2", false},
		"an answer that failed with nothing has had none": {"u1:10 t1:50 t2:9000 e1", 0, "u1 t1", "t2 e1", true},
		"one that broke off has": {"u1:10 t1:5000 t2:9000 b1:10 k1:10", 0, "u1 t1", "t2 b1 k1",
			true},
		"nor is it folded where everything would fit":      {"u0:10 a0:10 u1:10 t1:10 t2:10", 900, "u0 a0", "u1 t1 t2", false},
		"nothing but what was never sent: nothing to fold": {"u1:10", 0, "", "u1", false},
		"the same behind a pivot":                          {"c1 s1:5 t1:900 k1:5", 100, "", "t1 k1", true},
	} {
		t.Run(name, func(t *testing.T) {
			window := windowOf(c.window)
			cut := Find(window, rule.Ledger{}, facts(), Wanted{Keep: c.keep})
			if got := names(cut.Fold); got != c.fold {
				t.Errorf("folded %q, want %q", got, c.fold)
			}
			if got := names(cut.Tail); got != c.tail {
				t.Errorf("tail %q, want %q", got, c.tail)
			}
			if cut.Split != c.split {
				t.Errorf("split = %v, want %v", cut.Split, c.split)
			}
			if want := strings.HasPrefix(c.window, "c1 s1"); (cut.Previous != nil) != want {
				t.Errorf("previous summary found: %v, want %v", cut.Previous != nil, want)
			}
		})
	}
}

func TestFind_afterARejection(t *testing.T) {
	for name, c := range map[string]struct{ window, fold, tail, replay string }{
		"everything before the message is folded":    {"u1:10 a1:10 u2:10", "u1 a1", "", "u2"},
		"a failed answer is no work":                 {"u1:10 a1:10 u2:10 e1", "u1 a1", "", "u2"},
		"work done for it is folded, not done again": {"u1:10 a1:10 u2:10 t1:90 a2:90", "u1 a1 u2 t1 a2", "", "u2"},
		"but for what no request has had":            {"u1:10 a1:10 u2:10 t1:90 t2:90", "u1 a1 u2 t1", "t2", "u2"},
		"behind which a message stands where it is": {"u1:10 a1:10 u2:10 t1:90 t2:90 u3:10", "u1 a1 u2 t1",
			"t2 u3", ""},
		"as it does with others that were not sent":      {"u1:10 a1:10 u2:10 u3:10", "u1 a1", "u2 u3", ""},
		"or with what the engine said behind it":         {"u1:10 a1:10 u2:10 k1:10", "u1 a1", "u2 k1", ""},
		"an answer that broke off had been sent it":      {"u1:10 a1:10 u2:10 b1:10 k1:10", "u1 a1 u2 b1", "k1", "u2"},
		"the only message cannot be folded away":         {"u1:900", "", "u1", ""},
		"nor can what the first step gave":               {"u1:10 t1:900", "u1", "t1", "u1"},
		"the only message behind a pivot can wait":       {"c1 s1:10 u2:900", "", "", "u2"},
		"a synthetic message is not the one to repeat":   {"u1:10 a1:10 k1:10 a2:10", "u1 a1 k1 a2", "", "u1"},
		"nothing that the user wrote: nothing to repeat": {"a1:10 k1:10", "a1", "k1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cut := Find(windowOf(c.window), rule.Ledger{}, facts(), Wanted{Keep: 1000, Rejected: true})
			replay := ""
			if cut.Replay != nil {
				replay = cut.Replay.ID
			}
			if names(cut.Fold) != c.fold || replay != c.replay || names(cut.Tail) != c.tail {
				t.Errorf("folded %q, replay %q, tail %q; want %q, %q and %q", names(cut.Fold), replay, names(cut.Tail),
					c.fold, c.replay, c.tail)
			}
		})
	}
}

// The specification keeps nothing beside the summary.
func TestFind_theLetterFoldsEverything(t *testing.T) {
	for name, c := range map[string]struct {
		window   string
		rejected bool
		fold     string
		replay   string
	}{
		"also what was never sent":                 {"u1:10 t1:50 t2:900", false, "u1 t1 t2", ""},
		"also what the user said last":             {"u1:10 a1:10 u2:10", false, "u1 a1 u2", ""},
		"a rejected message is repeated":           {"u1:10 a1:10 u2:10", true, "u1 a1", "u2"},
		"with what was done for it folded":         {"u1:10 a1:10 u2:10 t1:90 t2:90", true, "u1 a1 u2 t1 t2", "u2"},
		"and folded where it is all that there is": {"u1:900", true, "u1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cut := Find(windowOf(c.window), rule.Ledger{}, facts(),
				Wanted{Keep: 1000, Rejected: c.rejected, Everything: true})
			replay := ""
			if cut.Replay != nil {
				replay = cut.Replay.ID
			}
			if names(cut.Fold) != c.fold || replay != c.replay || len(cut.Tail) != 0 {
				t.Errorf("folded %q, replay %q, tail %q; want %q, %q and no tail", names(cut.Fold), replay,
					names(cut.Tail), c.fold, c.replay)
			}
		})
	}
}

// Wherever it is cut, after a rejection too: nothing is lost, nothing doubled, what was never sent
// is not folded, the tail is within its budget but for that, and calls stay with their results.
func TestFind_losesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var words []string
		for i := range rapid.IntRange(0, 40).Draw(t, "messages") {
			kind := rapid.SampledFrom([]string{"u", "a", "t", "t", "t", "k", "i", "e", "b"}).Draw(t, "kind")
			words = append(words, fmt.Sprintf("%s%d:%d", kind, i, rapid.IntRange(0, 400).Draw(t, "size")))
		}
		window := windowOf(strings.Join(words, " "))
		keep := rapid.IntRange(0, 3000).Draw(t, "keep")
		rejected := rapid.Bool().Draw(t, "rejected")
		cut := Find(window, rule.Ledger{}, facts(), Wanted{Keep: keep, Rejected: rejected})
		stays := cut.Tail
		if cut.Replay != nil && len(stays) == 0 && len(cut.Fold) < len(window) {
			stays = window[len(cut.Fold):] // the message that is repeated, and what failed behind it
			if stays[0].ID != cut.Replay.ID {
				t.Fatalf("%s is repeated, but %s is what was not folded", cut.Replay.ID, names(stays))
			}
		}
		if got, want := strings.TrimSpace(names(cut.Fold)+" "+names(stays)), names(window); got != want {
			t.Fatalf("fold and tail are %q, the window %q", got, want)
		}
		unsent := session.Unsent(window)
		if len(cut.Fold) > unsent {
			t.Fatalf("%q is folded, and %q was never sent", names(cut.Fold), names(window[unsent:]))
		}
		last := lastWritten(window)
		if n := view.Tokens(cut.Tail, rule.Ledger{}, facts()); n > keep && len(cut.Fold) < min(last, unsent) {
			t.Fatalf("the tail has %d tokens and more than the last exchange, budget %d", n, keep)
		}
		if !rejected && unsent > 0 && last > 0 && len(cut.Fold) == 0 {
			t.Fatal("nothing is folded")
		}
		answered := func(m session.Message) bool { return m.Role == session.Assistant && !m.Failed() }
		if !rejected && slices.ContainsFunc(cut.Fold, answered) && last >= 0 && slices.ContainsFunc(window[last:], answered) &&
			!slices.ContainsFunc(cut.Tail, answered) {
			t.Fatalf("%q is folded with the last answer, %q stays", names(cut.Fold), names(cut.Tail))
		}
		if rejected {
			users := 0
			for i := range cut.Tail {
				if cut.Replay != nil && cut.Tail[i].ID == cut.Replay.ID {
					t.Fatalf("%s is repeated and in the tail", cut.Replay.ID)
				}
				if cut.Tail[i].Written() {
					users++
				}
			}
			if turns := session.Turns(window); len(turns) > 0 && cut.Replay == nil && users == 0 {
				t.Fatalf("the rejected %s is neither repeated nor in the tail", window[turns[len(turns)-1].Start].ID)
			}
		}
		if err := view.Check(cut.Tail); err != nil {
			t.Fatal(err)
		}
	})
}

// What the window does not allow is not kept.
func TestFind_theLastExchangeStaysWithinItsRoom(t *testing.T) {
	for name, c := range map[string]struct {
		window     string
		keep, room int
		tail       string
	}{
		"whole":                             {"u1:10 a1:10 u2:10 t1:100 a2:100", 0, 210, "u2 t1 a2"},
		"its newest messages":               {"u1:10 a1:10 u2:10 t1:100 a2:100", 0, 209, "t1 a2"},
		"its answer":                        {"u1:10 a1:10 u2:10 t1:100 a2:100", 0, 100, "a2"},
		"nothing of it":                     {"u1:10 a1:10 u2:10 t1:100 a2:100", 0, 99, ""},
		"but what was never sent":           {"u1:10 a1:10 u2:10 t1:100 t2:100", 0, 99, "t2"},
		"the only exchange is folded, then": {"u1:10 t1:100 a1:100", 1000, 150, "a1"},
	} {
		cut := Find(windowOf(c.window), rule.Ledger{}, facts(), Wanted{Keep: c.keep, Room: c.room})
		if got := names(cut.Tail); got != c.tail {
			t.Errorf("%s: tail %q, want %q", name, got, c.tail)
		}
	}
	for _, c := range []struct{ usable, overhead, want int }{{0, 5000, 0}, {9000, 5000, 1000}, {5000, 9000, 1}} {
		if got := Room(c.usable, c.overhead); got != c.want {
			t.Errorf("Room(%d, %d) = %d, want %d", c.usable, c.overhead, got, c.want)
		}
	}
}

func TestTail_isTwoThirdsOfAQuarterWithinBounds(t *testing.T) {
	auto := Settings{Keep: KeepAuto}
	for usable, want := range map[int]int{0: 10000, 168000: 10000, 40000: 6666, 10000: 2000, 8000: 2000, 4000: 2000,
		3000: 1500, 1000: 500} {
		if got := auto.Tail(usable); got != want {
			t.Errorf("of %d usable tokens the tail may have %d, want %d", usable, got, want)
		}
	}
	if got := (Settings{Keep: 300}).Tail(168000); got != 300 {
		t.Errorf("a tail of 300 that was asked for is %d", got)
	}
	if got := (Settings{SummaryAlone: true, Keep: 300}).Tail(168000); got != 0 {
		t.Errorf("the letter keeps %d tokens, want 0", got)
	}
}

func TestFind_endIsWhereTheFoldEndsInTheWindow(t *testing.T) {
	for name, c := range map[string]struct {
		words    string
		keep     int
		rejected bool
		end      int
	}{
		"no tail but the last exchange":            {"u1:10 a1:10 u2:10 a2:10", 0, false, 2},
		"a tail":                                   {"u1:10 a1:10 u2:10 a2:10", 25, false, 2},
		"a tail behind a pivot":                    {"c0 s0:5 u1:10 a1:10 u2:10 a2:10", 25, false, 4},
		"a marker without answer inside":           {"c0 s0:5 u1:10 c9 a1:10 u2:10 a2:10", 25, false, 5},
		"a marker without answer behind":           {"u1:10 a1:10 u2:10 c9", 0, false, 2},
		"a rejected message is not in it":          {"u1:10 a1:10 u2:10", 0, true, 2},
		"a rejected message that was worked on is": {"u1:10 a1:10 u2:10 a2:10", 0, true, 4},
	} {
		t.Run(name, func(t *testing.T) {
			window := windowOf(c.words)
			cut := Find(window, rule.Ledger{}, facts(), Wanted{Keep: c.keep, Rejected: c.rejected})
			if cut.End != c.end {
				t.Errorf("it ends at %d, want %d; folded %s", cut.End, c.end, names(cut.Fold))
			}
		})
	}
}
