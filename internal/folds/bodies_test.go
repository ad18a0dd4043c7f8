package folds

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/internal/quality"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/summarize/offline"
)

// lasting are wishes in the shapes of everyday, some without any word that only rules have.
var lasting = []string{
	"Before you drop or truncate a table, show me the statement and wait for my okay.",
	"If a step would delete customer rows, stop and ask.",
	"End every reply with the list of files that you changed.",
	"Only Node 22 here.",
	"The user prefers plain functions to classes.",
	"This is an important constraint: the import stays idempotent.",
	"I'd rather you didn't reformat the legacy module.",
	"The billing schema is off limits until Friday.",
	"You may read the fixtures in testdata/eu, but do not write to it.",
	"When in doubt about a price, take the one in pricing/base.csv.",
	"Let me know before you install anything.",
	"Commits go on the branch import-v2, main is for releases.",
	"Nobody but the deploy bot pushes tags.",
	"I like short answers without headings.",
	"Our customers see these messages, so no jargon in them.",
	"Treat the partner API as slow: one call at a time.",
	"Feel free to rename internals, but the exported names are frozen.",
	"Wait for the tests to finish before you report anything.",
	"The team agreed on snake_case for the columns.",
	"Please run the whole suite with the race detector on, each time.",
	"Leave the comments of the original authors in place.",
	"Rückfragen bitte immer einzeln, nicht als Liste.",
	"Demande-moi avant de toucher au calendrier.",
	"Los mensajes de error van en español.",
}

// protocols are the bodies that sessions are folded in.
var protocols = map[string]format.Format{
	"messages": body.AnthropicBody{}, "chat": body.OpenAIBody{}, "responses": body.OpenAIBody{Responses: true},
	"gemini": body.GeminiBody{},
}

// relay folds a session in a body, without a store: what one fold wrote, with what came since, is
// all that the next one reads.
type relay struct {
	format     format.Format
	to         int
	summarizer pivot.Summarizer
	pins       []rule.Pin // of the first fold
	body       []byte
}

// fold adds messages to the body and folds it.
func (r *relay) fold(t testing.TB, added ...session.Message) {
	t.Helper()
	var doc *format.Document
	s := session.Session{}
	if r.body != nil {
		doc = r.read(t)
		s = doc.Session
	}
	n := len(s.Messages)
	for i := range added {
		m := &added[i]
		m.ID = fmt.Sprintf("n%d", n+i)
		for j := range m.Parts {
			m.Parts[j].ID, m.Parts[j].MessageID = fmt.Sprintf("%s:%d", m.ID, j), m.ID
		}
	}
	s.Messages = append(s.Messages[:n:n], added...)
	r.write(t, doc, format.Change{Session: s})
	doc = r.read(t)

	set := settings.Default()
	set.Compaction.Prune = false
	e, err := winnow.Open(winnow.Config{Settings: &set, Summarizer: r.summarizer})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Import(t.Context(), doc.Session, doc.Ledger, nil); err != nil {
		t.Fatal(err)
	}
	id := doc.Session.Info.ID
	for _, pin := range r.pins {
		if _, err := e.Pin(t.Context(), id, pin); err != nil {
			t.Fatal(err)
		}
	}
	r.pins = nil
	if _, err := e.Compact(t.Context(), id, winnow.CompactOptions{To: r.to}); err != nil {
		t.Fatal(err)
	}
	folded, state, err := e.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	r.write(t, doc, format.Change{Session: folded, Ledger: state.Ledger})
}

func (r *relay) read(t testing.TB) *format.Document {
	t.Helper()
	doc, err := r.format.Read(r.body)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func (r *relay) write(t testing.TB, doc *format.Document, c format.Change) {
	t.Helper()
	var b bytes.Buffer
	if err := r.format.Write(&b, doc, c); err != nil {
		t.Fatal(err)
	}
	r.body = b.Bytes()
}

// shown is what a model sees of the body.
func (r *relay) shown(t testing.TB) string { return pivot.Transcript(r.read(t).Session.Messages) }

// wishing is a fifth of a session in which wishes are said, each in a message with a task.
func wishing(m *maker, at int, wishes []string) []session.Message {
	log := m.fifth(at)
	for i, wish := range wishes {
		text := fmt.Sprintf("Now go on with case %d of the importer: the lines that the parser refuses are counted, but the report shows the "+
			"number of the batch and not that of the line, and a batch that is empty after that makes the report say that nothing was read, "+
			"which is not what the operators of the depot want to see in the morning. %s", i, wish)
		log = append(log, m.user(text), m.work(at, i), m.says(fmt.Sprintf("Case %d is done.", i)))
	}
	return log
}

// All wishes stand word for word after one fold to 8,000 tokens, and after five of which only the
// folded body is handed on.
func TestFolds_lastingWishesStayInBodies(t *testing.T) {
	for name, f := range protocols {
		for _, s := range []pivot.Summarizer{offline.New(), quality.Scripted{}} {
			t.Run(name+"/"+s.Name(), func(t *testing.T) {
				t.Parallel()
				m := newMaker(3, known)
				r := relay{format: f, to: 8_000, summarizer: s}
				for at := range times {
					var wishes []string
					if at == 0 {
						wishes = lasting
					}
					r.fold(t, wishing(m, at, wishes)...)
					var lost []string
					text := r.shown(t)
					for _, wish := range lasting {
						if !strings.Contains(text, wish) {
							lost = append(lost, wish)
						}
					}
					if len(lost) > 0 {
						t.Errorf("fold %d: of %d wishes %d are lost:\n%s", at+1, len(lasting), len(lost), strings.Join(lost, "\n"))
					}
				}
			})
		}
	}
}

// What else a carry-over says is read back as the wishes are: pins, open todos, what was done to
// files, unresolved errors, instructions that were loaded, commands, and what an assistant decided.
func TestFolds_theRestOfACarryOverStaysInBodies(t *testing.T) {
	for name, f := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMaker(4, known)
			r := relay{format: f, to: 8_000, summarizer: quality.Scripted{}, pins: []rule.Pin{{Text: "The pin says\n\n  exactly this."}}}
			failed := m.call("bash", `{"command":"make audit"}`, "")
			failed.Parts[0].State = &session.ToolState{Status: session.Failed, Input: []byte(`{"command":"make audit"}`), Error: "Exit code 2\naudit: ledger 7 does not balance\nmake: *** [Makefile:3: audit] Error 2"}
			first := append([]session.Message{
				m.user("Please move the ledgers. Ann owns ledger/eu, Ben owns ledger/us."),
				m.call("todowrite", `{"todos":[{"content":"close the year 2031","status":"in_progress"},{"content":"open it","status":"completed"}]}`, "ok"),
				m.call("edit", `{"filePath":"ledger/eu.go","oldString":"a","newString":"b"}`, "ok"),
				m.call("skill", `{"name":"book-keeping"}`, "be exact"), failed,
				m.says("We leave it so."),
			}, m.fifth(0)...)
			for at := range times {
				if at == 0 {
					r.fold(t, first...)
				} else {
					r.fold(t, m.fifth(at)...)
				}
				text := r.shown(t)
				for _, want := range []string{
					"The pin says", "exactly this.", "Ann owns ledger/eu, Ben owns ledger/us.", "- close the year 2031 (in_progress)", "- ledger/eu.go: edited",
					"- book-keeping: load it again", "- bash make audit: ",
				} {
					if n := strings.Count(text, want); n == 0 || n > 2 {
						t.Errorf("fold %d: %q stands there %d times", at+1, want, n)
					}
				}
			}
			r.fold(t, append([]session.Message{m.user("Go on with the year."),
				m.call("todowrite", `{"todos":[{"content":"close the year 2031","status":"completed"},{"content":"close 2032","status":"pending"}]}`, "ok"),
				m.call("bash", `{"command":"make audit"}`, "all ledgers balance"),
				m.call("edit", `{"filePath":"ledger/eu.go","oldString":"b","newString":"c"}`, "ok")}, m.fifth(4)...)...)
			text := r.shown(t)
			if strings.Contains(text, "close the year 2031 (") || strings.Contains(text, "- bash make audit: ") ||
				!strings.Contains(text, "close 2032 (pending)") || !strings.Contains(text, "- ledger/eu.go: edited 2 times") {
				t.Errorf("what was settled since is not:\n%s", text[:strings.Index(text, "## Calls")])
			}
		})
	}
}

// A rule stands once, however often it is said and folded; what takes it back stands with it, and a
// rule that is given again counts again.
func TestFolds_aRuleInBodiesStandsOnceAndCanBeTakenBack(t *testing.T) {
	for _, s := range []pivot.Summarizer{offline.New(), quality.Scripted{}} {
		t.Run(s.Name(), func(t *testing.T) {
			t.Parallel()
			takenBack(t, s)
		})
	}
}

func takenBack(t *testing.T, s pivot.Summarizer) {
	m := newMaker(5, known)
	r := relay{format: body.AnthropicBody{}, to: 8_000, summarizer: s}
	const rule, back = "Never push to main without my okay.", "You can push to main now, no more okay needed."
	listed := regexp.MustCompile(`(?m)^- "?` + rule + `"?( \[since then: "` + back + `"\])?$`)
	r.fold(t, append([]session.Message{m.user("Build the exporter. " + rule), m.says("Yes.")}, m.fifth(0)...)...)
	r.fold(t, append([]session.Message{m.user("Next part. " + rule), m.says("Yes.")}, m.fifth(1)...)...)
	for at := range 3 {
		if at == 1 {
			r.fold(t, append([]session.Message{m.user("Fine. " + back), m.says("Good.")}, m.fifth(2)...)...)
		} else {
			r.fold(t, m.fifth(2+at)...)
		}
		text := r.shown(t)
		found := listed.FindAllStringSubmatch(text, -1)
		if len(found) != 1 || (found[0][1] != "") != (at > 0) {
			t.Errorf("round %d: the rule is listed as %q", at, found)
		}
	}
	sizes := []int{}
	for range 6 {
		var again []session.Message
		for turn := range 8 {
			again = append(again, m.user("Go on. No jargon in the messages, and ask me before you drop a table."), m.work(0, turn), m.says("Done."))
		}
		r.fold(t, again...)
		size := 0
		for _, section := range strings.Split(r.shown(t), "\n## ") {
			if title, _, _ := strings.Cut(section, "\n"); strings.Contains(strings.ToLower(title), "constraints") {
				size += len(section)
			}
		}
		sizes = append(sizes, size)
	}
	if sizes[5] > sizes[1] {
		t.Errorf("with the same messages again and again the rules take %d bytes", sizes)
	}
	r.fold(t, append([]session.Message{m.user("I have changed my mind. " + rule), m.says("Good.")}, m.fifth(4)...)...)
	if found := listed.FindAllStringSubmatch(r.shown(t), -1); len(found) != 1 || found[0][1] != "" {
		t.Errorf("the rule that was given again is listed as %q", found)
	}
}

// Wishes in the words of two authors who knew nothing of winnow, each in a message of its own among
// as many that ask for something once, stay through five folds of which only the body is handed on:
// whoever does not see that a short message is an instruction keeps it all the same.
func TestFolds_strangersWishesStayInBodies(t *testing.T) {
	for _, author := range []string{"b", "c"} {
		wishes, requests := lines(t, "wishes-"+author+".txt"), lines(t, "requests-"+author+".txt")
		for name, f := range protocols {
			t.Run(author+"/"+name, func(t *testing.T) {
				t.Parallel()
				m := newMaker(11, known)
				r := relay{format: f, to: 20_000, summarizer: quality.Scripted{}}
				each := len(wishes) / times
				for at := range times {
					log := m.fifth(at)
					for i := range each {
						for _, text := range []string{wishes[at*each+i], requests[at*each+i]} {
							log = append(log, m.user(text), m.work(at, i), m.says("Done."))
						}
					}
					r.fold(t, log...)
				}
				text, lost := r.shown(t), 0
				for _, wish := range wishes {
					if !strings.Contains(text, wish) {
						lost++
						t.Logf("lost: %s", wish)
					}
				}
				if lost > 0 {
					t.Errorf("%d of %d are lost", lost, len(wishes))
				}
			})
		}
	}
}

// Where the same wishes end long messages about something else, some are lost: as many as
// docs/summaries.md says.
func TestFolds_strangersWishesInLongMessages(t *testing.T) {
	for author, most := range map[string]map[int]int{"b": {8_000: 15, 20_000: 3}, "c": {8_000: 13, 20_000: 2}} {
		wishes := lines(t, "wishes-"+author+".txt")
		for to, most := range most {
			m := newMaker(11, known)
			r := relay{format: body.AnthropicBody{}, to: to, summarizer: quality.Scripted{}}
			each := len(wishes) / times
			for at := range times {
				r.fold(t, wishing(m, at, wishes[at*each:(at+1)*each])...)
			}
			text, lost := r.shown(t), 0
			for _, wish := range wishes {
				if !strings.Contains(text, wish) {
					lost++
				}
			}
			if t.Logf("author %s, to %d tokens: %d of %d are lost", author, to, lost, len(wishes)); lost > most {
				t.Errorf("want at most %d", most)
			}
		}
	}
}

// lines are those of a file of messages, the sentence that is wished alone.
func lines(t *testing.T, name string) (all []string) {
	text, err := os.ReadFile(filepath.Join("..", "..", "plan", "recall", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if _, rest, marked := strings.Cut(line, "[["); marked {
			line, _, _ = strings.Cut(rest, "]]")
		}
		all = append(all, line)
	}
	return all
}

// Short messages of the user stay word for word, however long the others are: what no detector of
// rules finds is there.
func TestFolds_shortMessagesStay(t *testing.T) {
	m := newMaker(7, known)
	e := engine(t, 200_000)
	id, err := e.Create(t.Context(), session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	var short []string
	for i := range 30 {
		text := fmt.Sprintf("The colour of the %s page is teal, like on the posters.", strings.Repeat(string(rune('a'+i%26)), 3+i/26))
		short = append(short, text)
		long := fmt.Sprintf("Here is what the depot wrote about week %d. ", i) + strings.Repeat("The lorries were late and the gates were shut when they came in. ", 90)
		if err := e.Append(t.Context(), id, m.user(text), m.says("Noted."), m.user(long), m.work(0, i), m.says("Read.")); err != nil {
			t.Fatal(err)
		}
	}
	fold(t, e, id)
	v, err := e.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	shown := pivot.Transcript(v.Messages)
	for _, text := range short {
		if !strings.Contains(shown, text) {
			t.Errorf("%q is lost", text)
		}
	}
}
