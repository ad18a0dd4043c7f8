package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/snapshot"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/soon"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// onDisk writes a file in the working folder; the text is what the call says.
var onDisk = serial{tool{"write", pathSchema, func(_ context.Context, c agent.Call) (agent.Result, error) {
	name, text := path(c)
	return agent.Result{Output: "written"}, os.WriteFile(filepath.Join(c.Directory, name), []byte(text), 0o644)
}}}

func look(n int) agent.Tool { return (&disk{}).read(n) }

// kept gives a loop real snapshots.
func kept(t *testing.T, c *agent.Config) *snapshot.Repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here; snapshots need it")
	}
	r, err := snapshot.Open(t.Context(), snapshot.Config{Dir: filepath.Join(t.TempDir(), "snapshots"),
		WorkTree: c.Directory})
	if err != nil {
		t.Fatal(err)
	}
	c.Snapshots = r
	return r
}

func (b *bench) log(id string) session.Session {
	b.t.Helper()
	s, _, err := b.engine.Session(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func TestSnapshots_stepsHaveThemAndTurnsHaveDiffs(t *testing.T) {
	var r *snapshot.Repository
	b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: llmtest.Sequence(
		llmtest.Reply{Text: "I look.", Calls: []llmtest.Call{call("read", `{"path":"a"}`)}},
		llmtest.Reply{Calls: []llmtest.Call{call("write", `{"path":"a.txt","text":"one\ntwo\n"}`),
			call("write", `{"path":"b.txt","text":"b\n"}`)}},
		llmtest.Reply{Text: "Both are written. Nothing is left."},
		llmtest.Reply{Calls: []llmtest.Call{call("write", `{"path":"a.txt","text":"one\n2\n"}`)}},
		llmtest.Reply{Text: "Changed."},
	)}, func(c *agent.Config) { r = kept(t, c) }, onDisk, look(10))
	got, err := b.Run(t.Context(), "", "Write two files. Be quick.")
	if err == nil {
		got, err = b.Run(t.Context(), got.SessionID, "Now change one of them.")
	}
	if err != nil {
		t.Fatal(err)
	}
	s := b.log(got.SessionID)
	var marks []string // of the answers: what stands first, what stands last, and whether files differ between
	for _, m := range s.Messages {
		if m.Role != session.Assistant {
			continue
		}
		first, last := m.Parts[0], m.Parts[len(m.Parts)-1]
		marks = append(marks, fmt.Sprintf("%s %s %s %v", first.Type, last.Type, last.Reason,
			first.Snapshot != last.Snapshot))
		if first.Snapshot == "" || last.Snapshot == "" || last.Tokens == nil ||
			last.Tokens.Prompt() != m.Tokens.Prompt() || last.Cost == nil {
			t.Errorf("the markers are %+v and %+v", first, last)
		}
	}
	want := []string{
		"step-start step-finish tool-calls false", "step-start step-finish tool-calls true",
		"step-start step-finish stop false",
		"step-start step-finish tool-calls true", "step-start step-finish stop false",
	}
	if diff := cmp.Diff(want, marks); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	turns := session.Turns(s.Messages)
	var outlines []session.Outline
	for _, turn := range turns {
		o, ok := s.Messages[turn.Start].Outline()
		if !ok {
			t.Fatalf("the message %+v has no outline", s.Messages[turn.Start])
		}
		outlines = append(outlines, o)
	}
	wanted := []session.Outline{
		{Title: "Write two files.", Body: "Both are written. Nothing is left.", Diffs: []session.FileDiff{
			{File: "a.txt", After: "one\ntwo\n", Additions: 2, Status: "added"},
			{File: "b.txt", After: "b\n", Additions: 1, Status: "added"},
		}},
		{Title: "Now change one of them.", Body: "Changed.", Diffs: []session.FileDiff{
			{File: "a.txt", Before: "one\ntwo\n", After: "one\n2\n", Additions: 1, Deletions: 1, Status: "modified"},
		}},
	}
	if diff := cmp.Diff(wanted, outlines, cmpopts.IgnoreFields(session.FileDiff{}, "Patch")); diff != "" {
		t.Errorf("outlines (-want +got):\n%s", diff)
	}
	if s.Info.Title != "Write two files." {
		t.Errorf("the title is %q", s.Info.Title)
	}
	// Going back to the second turn's first snapshot.
	from, _ := session.Snapshots(s.Messages[turns[1].Start:])
	if _, err := r.Restore(t.Context(), from); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(b.config.Directory, "a.txt")); string(text) != "one\ntwo\n" {
		t.Errorf("the file is %q after going back, error %v", text, err)
	}
}

// The same conversation with and without snapshots: a provider is sent the same bytes, and each
// request begins with the one before it.
func TestSnapshots_noProviderIsSentAnythingOfThem(t *testing.T) {
	for i, protocol := range llmtest.Protocols() {
		if i > 0 && testing.Short() {
			break
		}
		for _, policy := range []string{"balanced", "classic", "aggressive"} {
			t.Run(string(protocol)+", "+policy, func(t *testing.T) {
				var bodies [2][][]byte
				for i := range bodies {
					script := llmtest.Script{Answer: llmtest.Sequence(
						llmtest.Reply{Text: "I look.",
							Calls: []llmtest.Call{{ID: "c1", Name: "read", Arguments: `{"path":"a"}`}}},
						llmtest.Reply{Calls: []llmtest.Call{{ID: "c2", Name: "write",
							Arguments: `{"path":"a.txt","text":"one\n"}`}}},
						llmtest.Reply{Text: "Written."}, llmtest.Reply{Text: "Still there."},
					)}
					b := setUp(t, protocol, script, func(c *agent.Config) {
						if i == 1 {
							kept(t, c)
						}
					}, onDisk, look(10))
					settings := settings.Default()
					settings.Policy = policy
					b.settings = &settings
					b.open(b.store)
					got, err := b.Run(t.Context(), "", "Write a file.")
					if err == nil {
						b.open(b.store) // as another process reads it
						_, err = b.Run(t.Context(), got.SessionID, "Is it there?")
					}
					if err != nil {
						t.Fatal(err)
					}
					for _, request := range b.upstream.Records() {
						bodies[i] = append(bodies[i], request.Body)
					}
				}
				if len(bodies[0]) != 4 || len(bodies[1]) != 4 {
					t.Fatalf("%d and %d requests", len(bodies[0]), len(bodies[1]))
				}
				for i := range bodies[0] {
					if !bytes.Equal(bodies[0][i], bodies[1][i]) {
						t.Errorf("request %d differs:\n%s\n%s", i+1, bodies[0][i], bodies[1][i])
					}
				}
			})
		}
	}
}

// trouble is a taker of snapshots that does not work.
type trouble struct {
	take func(ctx context.Context) (string, error)
}

func (t trouble) Take(ctx context.Context) (string, error) { return t.take(ctx) }
func (t trouble) Diff(context.Context, string, string) ([]session.FileDiff, error) {
	return nil, errors.New("no diff either")
}

func TestSnapshots_oneThatDoesNotWorkStopsNothing(t *testing.T) {
	for name, take := range map[string]func(ctx context.Context) (string, error){
		"fails":          func(context.Context) (string, error) { return "", errors.New("the disk is full") },
		"takes too long": func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() },
		"panics":         func(context.Context) (string, error) { panic("oh") },
	} {
		t.Run(name, func(t *testing.T) {
			var notices []string
			taken := 0
			b := setUp(t, llmtest.Chat, llmtest.Script{Answer: llmtest.Sequence(
				llmtest.Reply{Calls: []llmtest.Call{call("write", `{"path":"a.txt","text":"one\n"}`)}},
				llmtest.Reply{Text: "Written."},
			)}, func(c *agent.Config) {
				c.Snapshots = trouble{func(ctx context.Context) (string, error) { taken++; return take(ctx) }}
				c.SnapshotTime = 50 * time.Millisecond
				c.OnEvent = func(e agent.Event) {
					if e.Type == agent.Noticed {
						notices = append(notices, e.Text)
					}
				}
			}, onDisk)
			got, err := b.Run(t.Context(), "", "Write a file.")
			if err != nil || got.Text != "Written." {
				t.Fatalf("got %+v, error %v", got, err)
			}
			want := 1
			if name == "takes too long" {
				want = 3
			}
			if len(notices) != want || !strings.Contains(notices[want-1], "No snapshot") || taken != want {
				t.Errorf("%d snapshots were tried, want %d, notices: %q", taken, want, notices)
			}
			b.sound(got.SessionID)
		})
	}
}

func TestSnapshots_oneThatHangsDoesNotKeepARunFromEnding(t *testing.T) {
	b := setUp(t, llmtest.Chat, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Text: "Never mind."})},
		func(c *agent.Config) {
			// it heeds nothing
			c.Snapshots = trouble{func(ctx context.Context) (string, error) { time.Sleep(time.Second); return "", nil }}
		})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := soon.Start()
	got, err := b.Run(ctx, "", "Stop soon.")
	if took := began.Took(); took > 600*time.Millisecond {
		t.Errorf("it took %v to end, error %v", took, err)
	}
	b.sound(got.SessionID)
}

func TestSnapshots_aCrashInTheMiddleOfAStepIsMended(t *testing.T) {
	var reached *bench
	stop := errors.New("the power is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cut := serial{tool{"write", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
		name, text := path(c)
		err := os.WriteFile(filepath.Join(c.Directory, name), []byte(text), 0o644)
		cancel(stop)
		return agent.Result{Output: "written"}, err
	}}}
	reached = setUp(t, llmtest.Anthropic, llmtest.Script{Answer: llmtest.Sequence(
		llmtest.Reply{Calls: []llmtest.Call{call("write", `{"path":"a.txt","text":"one\n"}`)}},
		llmtest.Reply{Text: "Written."},
	)}, func(c *agent.Config) { kept(t, c) }, cut)
	got, err := reached.Run(ctx, "", "Write a file.")
	if err == nil {
		t.Fatal("it was not interrupted")
	}
	reached.open(reached.store)
	if _, err := reached.Resume(t.Context(), got.SessionID); err != nil {
		t.Fatal(err)
	}
	reached.sound(got.SessionID)
	s := reached.log(got.SessionID)
	o, ok := s.Messages[0].Outline()
	if !ok || len(o.Diffs) != 1 || o.Diffs[0].File != "a.txt" || o.Diffs[0].After != "one\n" {
		t.Errorf("the outline of the turn that was interrupted is %+v", o)
	}
}

func TestHeadlines_aModelSaysThemAndIsPaid(t *testing.T) {
	small := model.Model{Provider: reader.Provider, ID: "small", Limits: model.Limits{Context: 8000, Output: 1000},
		Price: model.Price{Input: 1, Output: 2}}
	var asked []llm.Request
	client := asks(func(r llm.Request) (llm.Answer, error) {
		asked = append(asked, r)
		return llm.Answer{Parts: []session.Part{{Type: session.TextPart,
			Text: "Lamps for the pier\n\nThe lamps burn. The door is open."}},
			Usage: session.Usage{Input: 100, Output: 10}, Cost: 0.5}, nil
	})
	b := setUp(t, llmtest.Chat, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Text: "They burn."},
		llmtest.Reply{Text: "Yes."})}, func(c *agent.Config) {
		c.Headlines = agent.HeadlinesBy(client, small)
	})
	got, err := b.Run(t.Context(), "", "Please see to the lamps. All of them.")
	if err != nil {
		t.Fatal(err)
	}
	s := b.log(got.SessionID)
	if o, _ := s.Messages[0].Outline(); o.Title != "Lamps for the pier" ||
		o.Body != "The lamps burn. The door is open." {
		t.Errorf("the outline is %+v", o)
	}
	if s.Info.Title != "Lamps for the pier" {
		t.Errorf("the title of the session is %q", s.Info.Title)
	}
	_, state, _ := b.engine.Session(t.Context(), got.SessionID)
	if at := slices.IndexFunc(state.Spent, func(s store.Spend) bool { return s.Kind == "headline" }); at < 0 ||
		state.Spent[at].Cost != 0.5 {
		t.Errorf("spent %+v", state.Spent)
	}
	if got.Spent.Steps != 1 {
		t.Errorf("%d steps were counted, want 1", got.Spent.Steps)
	}
	if len(asked) != 1 || !strings.Contains(asked[0].Messages[0].Parts[0].Text, "see to the lamps") {
		t.Errorf("asked %+v", asked)
	}
	// A title that somebody gave stays.
	if err := b.engine.Amend(t.Context(), got.SessionID, winnow.Amendment{Title: "My lamps"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Run(t.Context(), got.SessionID, "And the door?"); err != nil {
		t.Fatal(err)
	}
	if title := b.log(got.SessionID).Info.Title; title != "My lamps" {
		t.Errorf("the title is %q", title)
	}
}

// A title that somebody gives a session while its first turn is summed up stays.
func TestHeadlines_aTitleThatIsGivenMeanwhileStays(t *testing.T) {
	var b *bench
	b = setUp(t, llmtest.Chat, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Text: "They burn."})}, func(c *agent.Config) {
		c.Headlines = func(ctx context.Context, _ agent.Told) (agent.Headline, error) {
			list, err := b.engine.Store().List(ctx)
			if err != nil {
				return agent.Headline{}, err
			}
			return agent.Headline{Title: "Lamps"}, b.engine.Amend(ctx, list[0].Info.ID, winnow.Amendment{Title: "My lamps"})
		}
	})
	got, err := b.Run(t.Context(), "", "Please see to the lamps.")
	if err != nil {
		t.Fatal(err)
	}
	if title := b.log(got.SessionID).Info.Title; title != "My lamps" {
		t.Errorf("the title is %q", title)
	}
}

func TestHeadlines_aModelThatFailsLeavesTheFirstSentences(t *testing.T) {
	b := setUp(t, llmtest.Chat, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Text: "They burn. All is " +
		"well."})}, func(c *agent.Config) {
		c.Headlines = agent.HeadlinesBy(asks(func(llm.Request) (llm.Answer, error) {
			return llm.Answer{},
				errors.New("no")
		}), reader)
	})
	got, err := b.Run(t.Context(), "", "See to the lamps. All of them.")
	if err != nil {
		t.Fatal(err)
	}
	want := session.Outline{Title: "See to the lamps.", Body: "They burn. All is well.", Diffs: []session.FileDiff{}}
	o, _ := b.log(got.SessionID).Messages[0].Outline()
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("the outline (-want +got):\n%s", diff)
	}
}

// asks is a client that is a function.
type asks func(r llm.Request) (llm.Answer, error)

func (a asks) Ask(_ context.Context, r llm.Request) (llm.Answer, error) { return a(r) }

// What is written down for people changes no byte of the view, and nothing that is known of the
// provider's cache.
func TestOutline_changesNothingForTheModel(t *testing.T) {
	b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: llmtest.Sequence(
		llmtest.Reply{Calls: []llmtest.Call{call("read", `{"path":"a"}`)}}, llmtest.Reply{Text: "Read."},
	)}, nil, look(2000))
	got, err := b.Run(t.Context(), "", "Read it.")
	if err != nil {
		t.Fatal(err)
	}
	seen := func() string {
		v, err := b.engine.View(t.Context(), got.SessionID)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(v.Messages)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := seen()
	m := b.log(got.SessionID).Messages[0]
	m.Summary = session.Outline{Title: strings.Repeat("another ", 10)}.Value()
	if err := b.engine.Update(t.Context(), got.SessionID, m); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, seen()); diff != "" {
		t.Errorf("the view changed:\n%s", diff)
	}
	b.open(b.store)
	if diff := cmp.Diff(before, seen()); diff != "" {
		t.Errorf("the view of another process changed:\n%s", diff)
	}
	if strings.Contains(before, "summary") {
		t.Error("the view has the outline")
	}
}

// harmless is a serial tool that changes no files.
type harmless struct{ serial }

func (harmless) Harmless() {}

// counting counts the snapshots that are taken.
type counting struct {
	agent.Snapshots
	n atomic.Int32
}

func (c *counting) Take(ctx context.Context) (string, error) {
	c.n.Add(1)
	return c.Snapshots.Take(ctx)
}

func TestSnapshots_noneIsTakenAfterWhatChangesNothing(t *testing.T) {
	note := harmless{serial{tool{"note", pathSchema,
		func(context.Context, agent.Call) (agent.Result, error) { return agent.Result{Output: "noted"}, nil }}}}
	shots := &counting{}
	b := setUp(t, llmtest.Chat, llmtest.Script{Answer: llmtest.Sequence(
		llmtest.Reply{Calls: []llmtest.Call{call("note", `{"path":"a"}`)}},
		llmtest.Reply{Calls: []llmtest.Call{call("write", `{"path":"a.txt","text":"one"}`)}},
		llmtest.Reply{Text: "Done."},
	)}, func(c *agent.Config) { shots.Snapshots = kept(t, c); c.Snapshots = shots }, onDisk, note)
	if _, err := b.Run(t.Context(), "", "Go."); err != nil {
		t.Fatal(err)
	}
	if n := shots.n.Load(); n != 4 {
		t.Errorf("%d snapshots, want 4: before each of three steps, and after the one that writes", n)
	}
}
