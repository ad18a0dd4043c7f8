package rpc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/rpc"
)

// A conversation of one call, in each format as a host has it: said, called, given back.
var conversations = map[string][3]string{
	"plain": {`{"role":"user","text":"Read it."}`,
		`{"role":"assistant","parts":[{"type":"text","text":"I do."},{"type":"tool","callID":"c1","tool":"read","state":{"status":"pending","input":{"filePath":"/a"}}}]}`, ""},
	"anthropic": {`{"role":"user","content":"Read it."}`,
		`{"role":"assistant","content":[{"type":"text","text":"I do."},{"type":"tool_use","id":"c1","name":"read","input":{"filePath":"/a"}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"its text"}]}`},
	"openai": {`{"role":"user","content":"Read it."}`,
		`{"role":"assistant","content":"I do.","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"filePath\":\"/a\"}"}}]}`,
		`{"role":"tool","tool_call_id":"c1","content":"its text"}`},
	"responses": {`{"type":"message","role":"user","content":[{"type":"input_text","text":"Read it."}]}`,
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I do."}]},{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"filePath\":\"/a\"}"}`,
		`{"type":"function_call_output","call_id":"c1","output":"its text"}`},
	"gemini": {`{"role":"user","parts":[{"text":"Read it."}]}`,
		`{"role":"model","parts":[{"text":"I do."},{"functionCall":{"name":"read","args":{"filePath":"/a"}}}]}`,
		`{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"its text"}}}]}`},
}

// What is appended in one format is the same log, and the same view in every other, with the
// results in requests of their own, as they come.
func TestAppend_theFormatsMeanTheSame(t *testing.T) {
	var want []jsontext.Value
	for _, as := range []string{"plain", "anthropic", "openai", "responses", "gemini"} {
		t.Run(as, func(t *testing.T) {
			c := dial(t, nil).initialize("")
			id := c.create("ses_" + as)
			for n := range 2 {
				said := conversations[as]
				c.append(id, as, said[0])
				answered := strings.ReplaceAll(said[1], "c1", fmt.Sprint("c", n+1))
				c.append(id, as, strings.Split(answered, ",{\"type\":\"function_call\"")[0])
				if _, call, ok := strings.Cut(answered, ",{\"type\":\"function_call\""); ok {
					c.append(id, as, `{"type":"function_call"`+call)
				}
				var done rpc.Appended
				if as == "plain" {
					c.ask("update", rpc.Update{Of: rpc.Of{Session: id}, Results: []rpc.Result{{Call: fmt.Sprint("c", n+1), Output: "its text"}}}, &done)
				} else {
					done = c.append(id, as, strings.ReplaceAll(said[2], "c1", fmt.Sprint("c", n+1)))
				}
				if len(done.Ended) != 1 || len(done.Messages) != 0 {
					t.Errorf("a result ended %v and appended %v", done.Ended, done.Messages)
				}
			}
			var v rpc.Viewed
			c.ask("view", rpc.View{Of: rpc.Of{Session: id}, As: "anthropic"}, &v)
			for i := range v.Messages { // Gemini's calls have ids of ours
				var r struct {
					Content []struct {
						ID string `json:"id"`
					}
				}
				if json.Unmarshal(v.Messages[i], &r, json.MatchCaseInsensitiveNames(true)) == nil && as == "gemini" {
					for _, b := range r.Content {
						if b.ID != "" {
							for j := range v.Messages {
								v.Messages[j] = jsontext.Value(strings.ReplaceAll(string(v.Messages[j]), b.ID, fmt.Sprint("c", i/3+1)))
							}
						}
					}
				}
			}
			if want == nil {
				want = v.Messages
			}
			if d := cmp.Diff(texts(want), texts(v.Messages)); d != "" {
				t.Error(d)
			}
			if len(v.Messages) != 6 && len(v.Messages) != 5 {
				t.Errorf("%d messages", len(v.Messages))
			}
		})
	}
}

func texts(values []jsontext.Value) (all []string) {
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

// Usage is read in the form in which each provider reports it.
func TestObserve_readsTheProvidersUsage(t *testing.T) {
	for as, usage := range map[string]string{
		"plain":     `{"input":100,"output":5,"cache":{"read":1000}}`,
		"anthropic": `{"input_tokens":100,"output_tokens":5,"cache_read_input_tokens":1000}`,
		"openai":    `{"prompt_tokens":1100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":1000}}`,
		"responses": `{"input_tokens":1100,"output_tokens":5,"input_tokens_details":{"cached_tokens":1000}}`,
		"gemini":    `{"promptTokenCount":1100,"candidatesTokenCount":5,"cachedContentTokenCount":1000}`,
	} {
		c := dial(t, nil).initialize("")
		id := c.create("")
		c.append(id, "plain", `{"role":"user","text":"Hello."}`, `{"role":"assistant","text":"Hello."}`)
		var out rpc.Outcome
		c.ask("observe", `{"session":"`+id+`","as":"`+as+`","usage":`+usage+`}`, &out)
		if out.Verdict == nil || out.Verdict.Total != 1105 {
			t.Errorf("%s: %+v", as, out.Verdict)
		}
	}
}

// A client that keeps what it has and puts behind it what is new has the whole view, whatever
// happens to the session.
func TestView_theEndBehindWhatIsKeptIsTheWhole(t *testing.T) {
	c := dial(t, nil).initialize("")
	id := c.create("")
	has := map[string][]string{}
	state := map[string]string{}
	kept := 0
	look := func(what string) {
		for _, as := range []string{"plain", "anthropic", "openai", "responses", "gemini"} {
			var v, whole rpc.Viewed
			c.ask("view", rpc.View{Of: rpc.Of{Session: id}, As: as, Since: state[as]}, &v)
			has[as] = append(has[as][:v.Keep], texts(v.Messages)...)
			kept += v.Keep
			c.ask("view", rpc.View{Of: rpc.Of{Session: id}, As: as}, &whole)
			if d := cmp.Diff(texts(whole.Messages), has[as]); d != "" || whole.Keep != 0 {
				t.Fatalf("%s, %s: %s", as, what, d)
			}
			state[as] = whole.State
		}
	}
	c.append(id, "plain", `{"role":"user","text":"Always run the tests. Read all files."}`)
	look("said")
	for n := range 8 {
		c.step(id, n)
		look("a step")
	}
	var done rpc.Receipted
	c.ask("discard", rpc.Discard{Of: rpc.Of{Session: id}, Parts: []string{"toolu_1"}}, nil)
	look("discarded")
	c.ask("compact", rpc.Compact{Of: rpc.Of{Session: id}}, &done)
	look("compacted")
	c.step(id, 8)
	look("a step")
	c.ask("undo", rpc.Undo{Of: rpc.Of{Session: id}}, nil)
	look("undone")
	if done.Receipt == nil || kept == 0 {
		t.Errorf("nothing was compacted (%v), or nothing was ever kept (%d)", done.Receipt, kept)
	}
	var v rpc.Viewed
	c.ask("view", rpc.View{Of: rpc.Of{Session: id}, Since: "another.1"}, &v)
	if v.Keep != 0 || len(v.Messages) == 0 {
		t.Errorf("of a state that nobody has, %d messages are kept", v.Keep)
	}
}

// The same state names the same view, so that a host that asks twice is sent nothing.
func TestView_ofTheSameIsNothing(t *testing.T) {
	c := dial(t, nil).initialize("")
	id := c.create("")
	c.append(id, "plain", `{"role":"user","text":"Hello."}`)
	var first, second rpc.Viewed
	c.ask("view", rpc.View{Of: rpc.Of{Session: id}}, &first)
	c.ask("view", rpc.View{Of: rpc.Of{Session: id}, Since: first.State}, &second)
	if second.Keep != 1 || len(second.Messages) != 0 || second.State != first.State {
		t.Errorf("%+v after %+v", second, first)
	}
}

// Every method is asked once, so that the schema is held against every result.
func TestMethods_eachAnswersAsTheSchemaSays(t *testing.T) {
	c := dial(t, nil).initialize("")
	id := c.create("ses_all")
	of := rpc.Of{Session: id}
	c.ask("subscribe", rpc.Subscribe{}, nil)
	said := c.append(id, "plain", `{"role":"user","text":"Always run the tests. Read all files."}`)
	for n := range 6 {
		c.step(id, n)
	}
	c.ask("begin", rpc.Begin{Of: of}, nil)
	c.ask("update", `{"session":"ses_all","messages":[{"id":"`+said.Messages[0].ID+`","role":"user","text":"Always run the tests. Read every file."}]}`, nil)
	var pinned rpc.Pinned
	c.ask("pin", rpc.Pin{Of: of, Part: "toolu_2", Note: "why"}, &pinned)
	c.ask("unpin", rpc.Unpin{Of: of, Pin: pinned.Pin.ID}, nil)
	c.ask("preview", rpc.Preview{Of: of}, nil)
	c.ask("prune", rpc.Prune{Of: of}, nil)
	c.ask("pruneMessages", rpc.PruneMessages{Messages: []jsontext.Value{jsontext.Value(`{"role":"user","content":"Hello."}`)}}, &rpc.PrunedMessages{})
	c.ask("discard", rpc.Discard{Of: of, Parts: []string{"toolu_1", "nothing"}}, nil)
	c.ask("restore", rpc.Restore{Of: of, Parts: []string{"toolu_1"}}, nil)
	c.ask("distill", `{"session":"ses_all","distillations":[{"targets":["toolu_3"],"summary":"It has 150 lines."}]}`, nil)
	c.ask("explain", rpc.Explain{Of: of}, nil)
	var explained rpc.Explained
	c.ask("explain", rpc.Explain{Of: of, Part: "toolu_3"}, &explained)
	c.ask("inspect", rpc.Inspect{Of: of}, nil)
	c.ask("prepare", rpc.Prepare{Of: of}, nil)
	var r rpc.Receipted
	c.ask("compact", rpc.Compact{Of: of, Later: true}, nil)
	c.ask("compact", rpc.Compact{Of: of, Waiting: true}, &r)
	if r.Receipt == nil || r.Receipt.Folded == 0 {
		t.Errorf("the marker that waited was not executed: %+v", r.Receipt)
	}
	c.ask("undo", rpc.Undo{Of: of, Receipt: r.Receipt.ID}, nil)
	c.ask("redo", rpc.Redo{Of: of}, nil)
	c.ask("endTurn", rpc.EndTurn{Of: of}, nil)
	var forked rpc.Created
	c.ask("fork", rpc.Fork{Of: of}, &forked)
	var log rpc.Logged
	c.ask("log", rpc.Log{Of: rpc.Of(forked), From: -2}, &log)
	if len(log.Messages) != 2 || log.Total < 7 {
		t.Errorf("the log of the fork: %d of %d", len(log.Messages), log.Total)
	}
	var whole rpc.Whole
	c.ask("read", rpc.Read{Of: of, Part: "toolu_3"}, &whole)
	if !strings.HasPrefix(whole.Text, "line 3 of the file\n") || len(explained.Parts) != 1 || explained.Parts[0].Part != whole.Part.ID {
		t.Errorf("read gave %.40q, explain %+v", whole.Text, explained.Parts)
	}
	var list rpc.Listed
	c.ask("list", rpc.List{}, &list)
	if len(list.Sessions) != 2 {
		t.Errorf("%+v", list)
	}
	c.ask("view", rpc.View{Of: of, As: "gemini"}, nil)
	c.ask("observe", `{"session":"ses_all","usage":{"input":100}}`, nil)
	c.ask("schema", rpc.Schema{}, nil)
	c.ask("unsubscribe", rpc.Unsubscribe{}, nil)
	asked := map[string]bool{}
	for _, method := range c.asked {
		asked[method] = true
	}
	for _, m := range rpc.Methods() {
		if !asked[m.Name] && m.Name != "shutdown" {
			t.Errorf("%s was not asked", m.Name)
		}
	}
	c.ask("shutdown", rpc.Shutdown{}, nil)
	if err := <-c.ended; err != nil {
		t.Error(err)
	}
}

// An error says what, why, and what to do, with a number for the protocol and a word for programs.
func TestErrors_haveACodeAndAReason(t *testing.T) {
	c := dial(t, nil).initialize("")
	id := c.create("ses_1")
	for _, at := range []struct {
		method, params string
		code           int
		word           string
		says           string
	}{
		{"nope", `{}`, rpc.UnknownMethod, "bad-input", "no such method"},
		{"view", `{"sesion":"x"}`, rpc.InvalidParams, "bad-input", "/sesion is unknown"},
		{"view", `{"session":7}`, rpc.InvalidParams, "bad-input", "/session"},
		{"view", `[]`, rpc.InvalidParams, "bad-input", "the parameters"},
		{"view", `{"session":"ses_2"}`, rpc.Failed, "not-found", "no such session"},
		{"view", `{"session":"ses_1","as":"cohere"}`, rpc.InvalidParams, "bad-input", "unknown format"},
		{"create", `{"id":"ses_1"}`, rpc.Failed, "already", "exists already"},
		{"append", `{"session":"ses_1","messages":[{"role":"robot"}]}`, rpc.Failed, "bad-input", "robot"},
		{"append", `{"session":"ses_1","messages":[{"role":"user","parts":[{"type":7}]}]}`, rpc.InvalidParams, "bad-input", "message 0"},
		{"append", `{"session":"ses_1","as":"openai","messages":[{"role":"robot","content":""}]}`, rpc.InvalidParams, "bad-input", "without a known role"},
		{"append", `{"session":"ses_1","as":"openai","messages":[{"role":"system","content":"You are."}]}`, rpc.InvalidParams, "bad-input", "system prompt"},
		{"append", `{"session":"ses_1","as":"openai","messages":[{"role":"tool","tool_call_id":"c9","content":""}]}`, rpc.Failed, "not-found", `no call "c9"`},
		{"update", `{"session":"ses_1","results":[{"call":"c9","output":""}]}`, rpc.Failed, "not-found", `no call "c9"`},
		{"update", `{"session":"ses_1","messages":[{"id":"msg_9","role":"user"}]}`, rpc.InvalidParams, "bad-input", "msg_9"},
		{"observe", `{"session":"ses_1"}`, rpc.InvalidParams, "bad-input", "usage"},
		{"observe", `{"session":"ses_1","usage":{"input":1}}`, rpc.Failed, "bad-input", "no assistant message"},
		{"observe", `{"session":"ses_1","rejection":{"status":401}}`, rpc.InvalidParams, "bad-input", "as too long"},
		{"compact", `{"session":"ses_1"}`, rpc.Failed, "nothing-to-fold", ""},
		{"undo", `{"session":"ses_1"}`, rpc.Failed, "not-found", ""},
		{"pin", `{"session":"ses_1"}`, rpc.Failed, "bad-input", "a part, a message or a text"},
		{"initialize", `{"protocols":[9]}`, rpc.InvalidParams, "bad-input", "this is 1"},
		{"initialize", `{"protocols":[1],"summarize":"cohere"}`, rpc.InvalidParams, "bad-input", "unknown format"},
	} {
		e := c.fails(at.method, at.params)
		if e.Code != at.code || string(e.Data.Code) != at.word || !strings.Contains(e.Message, at.says) {
			t.Errorf("%s %s: %d %s %q, want %d %s %q", at.method, at.params, e.Code, e.Data.Code, e.Message, at.code, at.word, at.says)
		}
	}
	if log, _, err := c.engine.Session(context.Background(), id); err != nil || len(log.Messages) != 0 {
		t.Errorf("the log has %d messages, %v", len(log.Messages), err)
	}
}

// The assistant's messages are those of the model that reads the session, so that its reasoning
// goes back to it; where nobody named a model, they are nobody's.
func TestAppend_saysWhoWrote(t *testing.T) {
	const thought = `{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"s1"},{"type":"text","text":"Hello."}]}`
	for _, looked := range []bool{false, true} {
		c := dial(t, func(c *winnow.Config) { c.Model = "" }).initialize("")
		id := c.create("")
		var nobodys rpc.Created
		c.ask("create", rpc.Create{}, &nobodys)
		for session, thinks := range map[string]bool{id: true, nobodys.Session: false} {
			c.append(session, "anthropic", `{"role":"user","content":"Hello."}`)
			var v rpc.Viewed
			if looked {
				c.ask("view", rpc.View{Of: rpc.Of{Session: session}}, nil)
			}
			c.append(session, "anthropic", thought)
			c.ask("view", rpc.View{Of: rpc.Of{Session: session}, As: "anthropic"}, &v)
			if got := strings.Contains(string(v.Messages[1]), `"signature":"s1"`); got != thinks {
				t.Errorf("after a view %v: %s: the reasoning goes back: %v", looked, v.Model, got)
			}
			if log, _, _ := c.engine.Session(t.Context(), session); log.Messages[1].ModelID == "unknown" {
				t.Error("a message is that of the model unknown")
			}
		}
	}
}

// A request to append that has ids can be sent again by a client that does not know what became of
// it.
func TestAppend_againIsRefused(t *testing.T) {
	c := dial(t, nil).initialize("")
	id := c.create("")
	c.append(id, "plain", `{"id":"msg_1","role":"user","text":"one"}`)
	again := `{"session":"` + id + `","messages":[{"id":"msg_0","role":"user","text":"none"},{"id":"msg_1","role":"user","text":"one"}]}`
	if e := c.fails("append", again); e.Data.Code != winnow.Already {
		t.Errorf("%+v", e)
	}
	var log rpc.Logged
	if c.ask("log", rpc.Log{Of: rpc.Of{Session: id}}, &log); log.Total != 1 {
		t.Errorf("%d messages", log.Total)
	}
}

// The codes of the engine stand in the errors as they are.
func TestErrors_areTheEngines(t *testing.T) {
	c := dial(t, nil).initialize("")
	id := c.create("")
	_, want := c.engine.Compact(context.Background(), id, winnow.CompactOptions{})
	got := c.fails("compact", rpc.Compact{Of: rpc.Of{Session: id}})
	if got.Data.Code != winnow.CodeOf(want) || got.Data.Op != "compact" || got.Data.Session != id ||
		got.Data.Hint == "" || strings.Contains(got.Message, got.Data.Hint) {
		t.Errorf("%+v of %v", got, want)
	}
}
