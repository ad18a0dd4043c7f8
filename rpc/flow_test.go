package rpc_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/rpc"
	"github.com/winnowhq/winnow/session"
)

// full makes a session that has something to fold.
func (c *client) full(id string) string {
	c.t.Helper()
	c.create(id)
	c.append(id, "plain", `{"role":"user","text":"Always run the tests. Read all files."}`)
	for n := range 6 {
		c.step(id, n)
	}
	return id
}

// asked waits for a request of the server's.
func (c *client) wanted() (line, rpc.Summarize) {
	c.t.Helper()
	for {
		l := c.next()
		if l.Method == "summarize" {
			var p rpc.Summarize
			if err := json.Unmarshal(l.Params, &p, session.ReadOptions()); err != nil {
				c.t.Fatal(err)
			}
			return l, p
		}
		if l.Method == "" {
			c.waiting[string(l.ID)] = l
		}
	}
}

const summary = `## Goal\nRead all files of the repository, as the user asked.\n\n## Done\nFiles 0 to 5 were read; each has 150 lines.\n\n## Next\nRead the files that are left.`

// The engine gives the client the request for a summary, and the client's answer becomes the pivot.
func TestSummarize_theHostsOwnModelWrites(t *testing.T) {
	c := dial(t, nil).initialize("anthropic")
	id := c.full("ses_1")
	compacting := c.send("compact", rpc.Compact{Of: rpc.Of{Session: id}})
	asked, p := c.wanted()
	if p.Session != id || p.Model != "acme/small" || p.As != "anthropic" || p.System == "" || p.MaxOutput == 0 || len(p.Messages) < 3 ||
		!strings.Contains(string(p.Messages[0]), "Read all files") {
		t.Errorf("asked %+v", p)
	}
	c.write(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"text":"` + summary + `","usage":{"input_tokens":900,"output_tokens":90}}}`)
	l := c.answer(compacting)
	var r rpc.Receipted
	if err := json.Unmarshal(l.Result, &r); err != nil || l.Error != nil {
		t.Fatal(err, l.Error)
	}
	if r.Receipt.Summarizer != "acme/small" || len(r.Receipt.Usage) != 1 || r.Receipt.Usage[0].Input != 900 {
		t.Errorf("%+v", r.Receipt)
	}
	var v rpc.Viewed
	c.ask("view", rpc.View{Of: rpc.Of{Session: id}}, &v)
	if !strings.Contains(string(v.Messages[1]), "Files 0 to 5 were read") {
		t.Errorf("the summary is not in the view: %s", v.Messages[1])
	}
}

// A host that fails is no reason to lose the compaction: another form is tried if the request was
// too long, and then the engine writes by itself.
func TestSummarize_aHostThatFails(t *testing.T) {
	for name, at := range map[string]struct {
		answer string
		asks   int
		notes  string
	}{
		"its model is down":  {`"error":{"code":1,"message":"no capacity","data":{"status":529}}`, 1, "no capacity"},
		"it has no idea":     {`"error":{"code":1,"message":"ouch","data":"what"}`, 1, "ouch"},
		"it was too long":    {`"error":{"code":1,"message":"prompt is too long","data":{"status":400}}`, 2, "too long"},
		"no summary":         {`"result":{"text":""}`, 2, "empty"},
		"not the schema's":   {`"result":{"txt":""}`, 1, "/txt is unknown"},
		"cut off":            {`"result":{"text":"` + summary + `","finish":"length"}`, 2, ""},
		"usage out of shape": {`"result":{"text":"` + summary + `","usage":7}`, 1, "usage"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, nil).initialize("openai")
			id := c.full("ses_1")
			compacting := c.send("compact", rpc.Compact{Of: rpc.Of{Session: id}})
			for range at.asks {
				l, _ := c.wanted()
				c.write(`{"jsonrpc":"2.0","id":` + string(l.ID) + `,` + at.answer + `}`)
			}
			asks := at.asks
			var l line
			for {
				if l = c.next(); l.Method == "" {
					break
				}
				asks++
				c.write(`{"jsonrpc":"2.0","id":` + string(l.ID) + `,` + at.answer + `}`)
			}
			var r rpc.Receipted
			if err := json.Unmarshal(l.Result, &r); err != nil || l.Error != nil || string(l.ID) != compacting {
				t.Fatal(err, l.Error)
			}
			if r.Receipt.Summarizer != "offline" || !strings.Contains(strings.Join(r.Receipt.Notes, "\n"), at.notes) {
				t.Errorf("after %d requests: %s, %q", asks, r.Receipt.Summarizer, r.Receipt.Notes)
			}
		})
	}
}

// A session that waits for its host's model holds up no other, and its own requests stay in order.
func TestRequests_ofOneSessionInOrderOfOthersBeside(t *testing.T) {
	c := dial(t, nil).initialize("plain")
	slow, quick := c.full("ses_slow"), c.create("ses_quick")
	compacting := c.send("compact", rpc.Compact{Of: rpc.Of{Session: slow}})
	asked, _ := c.wanted()
	behind := c.send("view", rpc.View{Of: rpc.Of{Session: slow}})
	var order []string
	for n := range 20 {
		order = append(order, c.send("append", fmt.Sprintf(`{"session":%q,"messages":[{"role":"user","text":"%d"}]}`, quick, n)))
	}
	for _, id := range order {
		if l := c.next(); string(l.ID) != id || l.Error != nil {
			t.Fatalf("answer %s before %s: %v", l.ID, id, l.Error)
		}
	}
	c.write(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"text":"` + summary + `"}}`)
	if l := c.next(); string(l.ID) != compacting {
		t.Errorf("%s was answered before the compaction", l.ID)
	}
	if l := c.next(); string(l.ID) != behind {
		t.Errorf("%s was answered before the view", l.ID)
	}
	var log rpc.Logged
	c.ask("log", rpc.Log{Of: rpc.Of{Session: quick}}, &log)
	for n, m := range log.Messages {
		if m.Text() != fmt.Sprint(n) {
			t.Fatalf("message %d is %q", n, m.Text())
		}
	}
}

// What is cancelled changes nothing, whether it runs or waits, and the host is told to stop.
func TestCancel_changesNothing(t *testing.T) {
	c := dial(t, nil).initialize("plain")
	id := c.full("ses_1")
	before, _, _ := c.engine.Session(t.Context(), id)
	compacting := c.send("compact", rpc.Compact{Of: rpc.Of{Session: id}})
	asked, _ := c.wanted()
	waiting := c.send("append", `{"session":"ses_1","messages":[{"role":"user","text":"late"}]}`)
	for _, id := range []string{waiting, compacting, "999"} {
		c.write(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + `}}`)
	}
	told := false
	for range 3 {
		switch l := c.next(); {
		case l.Method == "$/cancelRequest":
			told = strings.Contains(string(l.Params), string(asked.ID))
		case string(l.ID) == compacting || string(l.ID) == waiting:
			if l.Error == nil || l.Error.Code != rpc.Cancelled || l.Error.Data.Code != winnow.Cancelled {
				t.Errorf("%+v", l)
			}
		default:
			t.Errorf("%+v", l)
		}
	}
	// an answer that comes too late is nobody's
	c.write(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"text":"` + summary + `"}}`)
	c.ask("view", rpc.View{Of: rpc.Of{Session: id}}, nil)
	after, _, _ := c.engine.Session(t.Context(), id)
	if !told || len(after.Messages) != len(before.Messages) {
		t.Errorf("the host was told: %v; %d messages, before %d", told, len(after.Messages), len(before.Messages))
	}
}

// A line that is no request is answered, and the next one is taken.
func TestLines_whatIsNoRequest(t *testing.T) {
	c := dial(t, nil)
	expect := func(text string, code int, says string) {
		t.Helper()
		c.write(text)
		if l := c.next(); l.Error == nil || l.Error.Code != code || !strings.Contains(l.Error.Message, says) {
			t.Errorf("%.60q: %+v", text, l)
		}
	}
	expect(`{"jsonrpc":"2.0","id":1,"method":"list"}`, rpc.NotInitialized, "initialize")
	c.initialize("")
	for text, e := range map[string]struct {
		code int
		says string
	}{
		`hello`:      {rpc.ParseError, "not JSON"},
		`{"a":1`:     {rpc.ParseError, "not JSON"},
		`{"a":1} {}`: {rpc.ParseError, "not JSON"},
		`[{"jsonrpc":"2.0","id":1,"method":"list"}]`: {rpc.InvalidRequest, "batches"},
		`"list"`:                                      {rpc.InvalidRequest, "not a request"},
		`{"id":1,"method":"list"}`:                    {rpc.InvalidRequest, "jsonrpc"},
		`{"jsonrpc":"2.0","id":1}`:                    {0, ""},
		`{"jsonrpc":"2.0"}`:                           {rpc.InvalidRequest, "a method"},
		`{"jsonrpc":"2.0","method":"x"}`:              {rpc.InvalidRequest, "no id"},
		`{"jsonrpc":"2.0","id":null,"method":"list"}`: {rpc.InvalidRequest, "no id"},
		`{"jsonrpc":"2.0","id":{},"method":"list"}`:   {rpc.InvalidRequest, "no id"},
		`{"jsonrpc":"2.0","method":"$/other"}`:        {0, ""},
		strings.Repeat(`[`, 20_000):                   {rpc.ParseError, ""},
		"":                                            {0, ""},
		"\xff\xfe":                                    {rpc.ParseError, ""},
	} {
		if e.code == 0 {
			c.write(text) // nothing to answer
			continue
		}
		expect(text, e.code, e.says)
	}
	c.write(`{"jsonrpc":"2.0","id":"a","method":"list"}`)
	if l := c.next(); string(l.ID) != `"a"` {
		t.Errorf("%+v", l)
	}
}

// It is answered under its id, so that its client does not wait for ever; what comes behind it is
// done.
func TestLines_oneThatIsTooLongIsSkipped(t *testing.T) {
	c := dial(t, nil).initialize("")
	piece := strings.Repeat("x", 1<<20)
	io.WriteString(c.in, `{"jsonrpc":"2.0","id":1,"method":"create","params":{"title":"`)
	for range rpc.MaxLine>>20 + 1 {
		io.WriteString(c.in, piece)
	}
	c.write(`"}}`)
	if l := c.next(); l.Error == nil || l.Error.Data.Code != winnow.TooLarge || string(l.ID) != "1" {
		t.Errorf("%+v", l)
	}
	c.create("ses_1")
}

// More requests than may wait are refused, and what waits is done.
func TestRequests_tooManyAreRefused(t *testing.T) {
	c := dial(t, nil).initialize("plain")
	id := c.full("ses_1")
	c.send("compact", rpc.Compact{Of: rpc.Of{Session: id}})
	asked, _ := c.wanted() // what comes waits
	var all []string
	for range rpc.MaxWaiting + 10 {
		all = append(all, c.send("view", rpc.View{Of: rpc.Of{Session: id}, Since: "x"}))
	}
	for _, id := range all[rpc.MaxWaiting-1:] {
		if l := c.next(); string(l.ID) != id || l.Error == nil || l.Error.Code != rpc.Overloaded || l.Error.Data.Code != winnow.Busy {
			t.Fatalf("%+v", l)
		}
	}
	c.write(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"text":"` + summary + `"}}`)
	for _, id := range all[:rpc.MaxWaiting-1] {
		if l := c.answer(id); l.Error != nil {
			t.Fatal(l.Error)
		}
	}
}

// Two requests with one id would be answered so that nobody knows which is meant.
func TestRequests_anIDInUse(t *testing.T) {
	c := dial(t, nil).initialize("plain")
	id := c.full("ses_1")
	first := c.send("compact", rpc.Compact{Of: rpc.Of{Session: id}})
	asked, _ := c.wanted()
	c.write(`{"jsonrpc":"2.0","id":` + first + `,"method":"list"}`)
	if l := c.next(); l.Error == nil || l.Error.Code != rpc.InvalidRequest {
		t.Errorf("%+v", l)
	}
	c.write(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"text":"` + summary + `"}}`)
	if l := c.answer(first); l.Error != nil {
		t.Error(l.Error)
	}
}

// When the input ends, what was received is done and answered, without the client's model.
func TestServe_theEndOfTheInput(t *testing.T) {
	c := dial(t, nil).initialize("plain")
	id := c.full("ses_1")
	compacting := c.send("compact", rpc.Compact{Of: rpc.Of{Session: id}})
	c.wanted()
	last := c.send("append", `{"session":"ses_1","messages":[{"role":"user","text":"the last"}]}`)
	c.in.Close()
	var r rpc.Receipted
	if err := json.Unmarshal(c.answer(compacting).Result, &r); err != nil || r.Receipt.Summarizer != "offline" {
		t.Errorf("%v: %+v", err, r.Receipt)
	}
	if l := c.answer(last); l.Error != nil {
		t.Error(l.Error)
	}
	if err := <-c.ended; err != nil {
		t.Error(err)
	}
}

// However often the client asks to shut down, and though its input ends behind it, the server ends,
// and one of the requests is done.
func TestServe_shutdownMoreThanOnce(t *testing.T) {
	c := dial(t, nil).initialize("")
	var text strings.Builder
	for n := range 5 {
		fmt.Fprintf(&text, `{"jsonrpc":"2.0","id":%d,"method":"shutdown"}`+"\n", n)
	}
	go func() { // what is behind the end is not read
		io.WriteString(c.in, text.String())
		c.in.Close()
	}()
	done := 0
	for l := range c.lines {
		if l.Error == nil {
			done++
		} else if l.Error.Code != rpc.ShuttingDown {
			t.Errorf("%+v", l.Error)
		}
	}
	if err := <-c.ended; err != nil || done != 1 {
		t.Errorf("%v; %d were done", err, done)
	}
}

// A client that reads no more, and cannot be asked, has what it sent done all the same.
func TestServe_aClientThatIsGone(t *testing.T) {
	c := dial(t, nil).initialize("plain")
	id := c.full("ses_1")
	c.send("compact", rpc.Compact{Of: rpc.Of{Session: id}})
	c.wanted()
	c.out.Close()
	c.send("append", `{"session":"ses_1","messages":[{"role":"user","text":"the last"}]}`)
	c.send("list", rpc.List{}) // its answer cannot be written
	if err := <-c.ended; err == nil || !strings.Contains(err.Error(), "cannot be written to") {
		t.Errorf("it ended with %v", err)
	}
	log, state, _ := c.engine.Session(t.Context(), id)
	if last := log.Messages[len(log.Messages)-1].Text(); last != "the last" || len(state.Receipts) != 1 {
		t.Errorf("the log ends with %q, %d receipts", last, len(state.Receipts))
	}
}

// A request to shut down is answered last of all, and what comes behind it is refused.
func TestServe_shutdownComesLast(t *testing.T) {
	c := dial(t, nil).initialize("plain")
	id := c.full("ses_1")
	compacting := c.send("compact", rpc.Compact{Of: rpc.Of{Session: id}})
	asked, _ := c.wanted()
	shutdown := c.send("shutdown", rpc.Shutdown{})
	for { // until it is known
		if l := c.answer(c.send("list", rpc.List{})); l.Error != nil {
			if l.Error.Code != rpc.ShuttingDown {
				t.Errorf("%+v", l.Error)
			}
			break
		}
	}
	c.write(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"text":"` + summary + `"}}`)
	if l := c.next(); string(l.ID) != compacting || l.Error != nil {
		t.Errorf("%+v", l)
	}
	if l := c.next(); string(l.ID) != shutdown || l.Error != nil {
		t.Errorf("%+v", l)
	}
	if err := <-c.ended; err != nil {
		t.Error(err)
	}
}

// At the end of its context the server waits for what runs, and for no longer than it may.
func TestServe_theEndOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, nil).initialize("plain")
		id := c.full("ses_1")
		compacting := c.send("compact", rpc.Compact{Of: rpc.Of{Session: id}})
		c.wanted() // and the client says nothing
		began := time.Now()
		c.stop()
		for {
			l := c.next()
			if string(l.ID) != compacting {
				continue
			}
			if l.Error == nil || l.Error.Data.Code != winnow.Cancelled {
				t.Errorf("%+v", l)
			}
			break
		}
		if err := <-c.ended; err != nil || time.Since(began) != 4*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		c.in.Close()
	})
}

// A client that does not read holds the engine up in nothing; what it misses is counted.
func TestEvents_aSlowReaderHoldsNothingUp(t *testing.T) {
	c := dial(t, nil).initialize("")
	id := c.create("ses_1")
	c.ask("subscribe", rpc.Subscribe{Session: id}, nil)
	other := c.create("ses_other")
	c.append(other, "plain", `{"role":"user","text":"unheard"}`)
	c.send("append", `{"session":"ses_1","messages":[{"role":"user","text":"heard"}]}`) // its event may come first
	for {
		l := c.next()
		if l.Method != "event" {
			continue
		}
		var n rpc.Notified
		if err := json.Unmarshal(l.Params, &n); err != nil || n.Event.SessionID != id || n.Event.Type != winnow.MessageAppended {
			t.Errorf("%v: %s", err, l.Params)
		}
		break
	}
	// Beside the client somebody works with the engine, while nobody reads: lines holds 10,000.
	message := []session.Message{{MessageInfo: session.MessageInfo{Role: session.User}}}
	const many = 20_000
	for range many / 1000 {
		batch := make([]session.Message, 1000)
		for i := range batch {
			batch[i] = message[0]
		}
		if err := c.engine.Append(t.Context(), id, batch...); err != nil {
			t.Fatal(err)
		}
	}
	c.write(`{"jsonrpc":"2.0","id":"end","method":"append","params":{"session":"ses_1","messages":[{"role":"user","text":"end"}]}}`)
	got, dropped := 0, 0
	for answered := false; !answered || got+dropped < many+1; {
		l := c.next()
		answered = answered || string(l.ID) == `"end"`
		if l.Method == "event" {
			got++
			var n rpc.Notified
			if err := json.Unmarshal(l.Params, &n); err != nil {
				t.Fatal(err)
			}
			dropped = n.Dropped
		}
		if answered && got+dropped < many+1 { // the last events were dropped: one more tells how many
			c.append(id, "plain", `{"role":"user","text":"more"}`)
			break
		}
	}
	if dropped == 0 || got == 0 {
		t.Errorf("%d events, %d dropped", got, dropped)
	}
}

// A compaction tells its course, and who subscribes to another session does not hear of it.
func TestEvents_tellTheCourse(t *testing.T) {
	c := dial(t, nil).initialize("")
	id := c.full("ses_1")
	c.ask("subscribe", rpc.Subscribe{}, nil)
	c.send("compact", rpc.Compact{Of: rpc.Of{Session: id}})
	var types []winnow.EventType
	for len(types) == 0 || types[len(types)-1] != winnow.Compacted {
		if l := c.next(); l.Method == "event" {
			var n rpc.Notified
			if err := json.Unmarshal(l.Params, &n); err != nil {
				t.Fatal(err)
			}
			types = append(types, n.Event.Type)
		}
	}
	if types[0] != winnow.CompactionStarted {
		t.Errorf("%v", types)
	}
}

// FuzzServe: whatever a client sends, each line that could be a request has one answer, and the
// next request is done.
func FuzzServe(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"append","params":{"session":"ses_1","as":"gemini","messages":[{"role":"model","parts":[{"functionCall":{"name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"name":"f"}}]}]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"append","params":{"session":"ses_1","as":"openai","messages":[{"role":"tool","tool_call_id":"x","content":[]}]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"append","params":{"session":"ses_1","as":"responses","messages":["x",{"type":"function_call_output","output":"\ud800"}]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"update","params":{"session":"ses_1","results":[{"call":"","status":"running"}]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"observe","params":{"session":"ses_1","as":"responses","usage":{"input_tokens":-1}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"log","params":{"session":"ses_1","from":-99}}`))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":\"\\ud800\",\"method\":\"\xff\"}\n[]\n{}"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"shutdown"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := dial(t, nil).initialize("")
		c.full("ses_1")
		if _, err := c.in.Write(append(text, '\n')); err != nil {
			t.Skip() // it shut the server down
		}
		go io.WriteString(c.in, `{"jsonrpc":"2.0","id":"the last","method":"view","params":{"session":"ses_1"}}`+"\n")
		ended := strings.Contains(string(text), "shutdown")
		for l := range c.lines {
			if string(l.ID) == `"the last"` {
				return
			}
			if l.ID == nil && l.Method == "" || !jsontext.Value(l.ID).IsValid(session.ReadOptions()) {
				t.Fatalf("%+v answers nothing", l)
			}
		}
		if !ended {
			t.Error("the request behind it was not answered")
		}
	})
}
