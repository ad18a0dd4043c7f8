package opencodeserver

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/internal/opencodetest"
	"github.com/winnowhq/winnow/plan/rule"
)

const export = `{"info":{"id":"ses_1","title":"Look below","directory":"/a b"},"messages":[
{"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1}},"parts":[
 {"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"Is there a wreck?"}]},
{"info":{"id":"msg_2","sessionID":"ses_1","parentID":"msg_1","role":"assistant","time":{"created":2}},"parts":[
 {"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c1","tool":"bash","state":
  {"status":"completed","input":{"command":"ls"},"output":"a long list","title":"ls","metadata":{},"time":{"start":3,"end":4}}},
 {"id":"prt_3","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c2","tool":"bash","state":
  {"status":"completed","input":{"command":"ls"},"output":"the same","title":"ls","metadata":{"exit":0},"time":{"start":5,"end":6}}}]}]}`

// change is the session of a document with the outputs of both calls left out.
func change(doc *format.Document) format.Change {
	left := func(part string, n int) rule.Elision {
		return rule.Elision{Part: part, Message: "msg_2", Field: rule.Output, Rule: "idle", Shown: "[left out]", Saves: n, Time: 9}
	}
	return format.Change{Session: doc.Session, Ledger: doc.Ledger.With(left("prt_2", 3), left("prt_3", 2))}
}

// reach is the session on a fake server, and the change to it.
func reach(t *testing.T, fake *opencodetest.Server) (*Server, opencode.Delta) {
	t.Helper()
	s, err := Dial(t.Context(), fake.URL, Login{"opencode", fake.Password})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := s.Read(t.Context(), "ses_1")
	if err != nil {
		t.Fatal(err)
	}
	d, err := opencode.Compare(doc, change(doc))
	if err != nil {
		t.Fatal(err)
	}
	return s, d
}

func TestApply_changesMarksAlone(t *testing.T) {
	fake := opencodetest.Start(t, []byte(export))
	fake.Password = "rope"
	s, d := reach(t, fake)
	want := Outcome{URL: fake.URL, Version: "1.18.33", Applied: []string{"prt_2", "prt_3"}, Removed: []string{}, Left: []Left{}}
	for range 2 {
		if diff := cmp.Diff(want, s.Apply(t.Context(), d)); diff != "" {
			t.Errorf("outcome (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"prt_2", "prt_3"}, fake.Changed()); diff != "" {
		t.Errorf("changed, and the second time nothing (-want +got):\n%s", diff)
	}
	for _, r := range fake.Seen() {
		if r.Method == http.MethodPatch && r.URL.Query().Get("directory") != "/a b" {
			t.Errorf("%s does not name the session's folder", r.URL)
		}
	}
	doc, err := s.Read(t.Context(), "ses_1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(change(doc).Ledger.All(), doc.Ledger.All()); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	back, err := opencode.Compare(doc, format.Change{Session: doc.Session})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s.Apply(t.Context(), back)); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
	if !opencode.SameJSON(fake.Export(t), []byte(export)) {
		t.Errorf("taken back, the session is another:\n%s", fake.Export(t))
	}
}

func TestApply_leavesAPartThatIsAnotherByNow(t *testing.T) {
	fake := opencodetest.Start(t, []byte(export))
	s, d := reach(t, fake)
	fake.Edit(func(part map[string]any) {
		switch part["id"] {
		case "prt_2":
			part["state"].(map[string]any)["output"] = "a longer list"
		case "prt_3": // what the product does itself changes nothing about the part
			part["state"].(map[string]any)["time"].(map[string]any)["compacted"] = 5.0
		}
	})
	got := s.Apply(t.Context(), d)
	if diff := cmp.Diff([]Left{{Part: "prt_2", Reason: errChanged.Error()}}, got.Left); diff != "" || len(got.Applied) != 1 {
		t.Errorf("applied %v, left (-want +got):\n%s", got.Applied, diff)
	}
}

func TestApply_stopsAtAnErrorThatIsNotAboutAPart(t *testing.T) {
	for _, c := range []struct {
		status int
		forget bool
		left   []string
	}{
		{http.StatusInternalServerError, false, []string{"500", "not tried"}},
		{http.StatusBadRequest, false, []string{"400", "400"}},
		{0, true, []string{"did not keep it", "did not keep it"}},
	} {
		fake := opencodetest.Start(t, []byte(export))
		s, d := reach(t, fake)
		fake.Forget, fake.Refuse = c.forget, func(string) int { return c.status }
		got := s.Apply(t.Context(), d)
		if len(got.Applied) != 0 || len(got.Left) != 2 {
			t.Fatalf("%d: %+v, want two left", c.status, got)
		}
		for i, want := range c.left {
			if !strings.Contains(got.Left[i].Reason, want) {
				t.Errorf("%d: %s was left because %q, want %q", c.status, got.Left[i].Part, got.Left[i].Reason, want)
			}
		}
	}
}

func TestDial_refuses(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) }))
	defer page.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	moved := httptest.NewServer(http.RedirectHandler(page.URL, http.StatusFound))
	defer moved.Close()
	fake := opencodetest.Start(t, []byte(export))
	fake.Password = "rope"
	for _, c := range []struct {
		address string
		login   Login
		want    error
	}{
		{"127.0.0.1:4096", Login{}, ErrAddress},
		{"ftp://127.0.0.1", Login{}, ErrAddress},
		{"http://", Login{}, ErrAddress},
		{"http://a:b@127.0.0.1", Login{}, ErrAddress},
		{"http://127.0.0.1/?x=1", Login{}, ErrAddress},
		{"http://127.0.0.1:1", Login{}, ErrNoServer},
		{page.URL, Login{}, ErrNoServer},
		{other.URL, Login{}, ErrNoServer},
		{moved.URL, Login{}, ErrNoServer},
		{fake.URL, Login{}, ErrLogin},
		{fake.URL, Login{"opencode", "tide"}, ErrLogin},
		{fake.URL, Login{"opencode", "rope"}, nil},
		{fake.URL + "/", Login{"opencode", "rope"}, nil},
	} {
		if _, err := Dial(t.Context(), c.address, c.login); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.address, err, c.want)
		}
	}
}

func TestRead_refusesAnotherSession(t *testing.T) {
	fake := opencodetest.Start(t, []byte(export))
	s, _ := reach(t, fake)
	if _, err := s.Read(t.Context(), "ses_2"); !errors.Is(err, ErrNoSession) {
		t.Errorf("%v, want %v", err, ErrNoSession)
	}
}

// FuzzRead lets a server answer anything.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"id":"ses_1"}`), []byte(`[]`), []byte(`{"parts":[{"id":"prt_2"}]}`))
	f.Add([]byte(`{"id":"ses_1","revert":{"messageID":"msg_1"}}`), []byte(`[{"info":{"id":"msg_1","role":"user"},"parts":[{}]}]`), []byte(`null`))
	f.Add([]byte(`[]`), []byte(`{"id":"ses_1"}`), []byte(`{"parts":{"id":1}}`))
	f.Add([]byte(`{"id":"ses_1","id":"ses_1"}`), []byte(`[1,null,{"type":"user"}]`), []byte("\xff"))
	f.Add([]byte(`"`), []byte(export), []byte(export))
	f.Fuzz(func(t *testing.T, info, messages, message []byte) {
		fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch strings.Count(r.URL.Path, "/") {
			case 2:
				w.Write(info)
			case 3:
				w.Write(messages)
			default:
				w.Write(message)
			}
		}))
		defer fake.Close()
		s := &Server{URL: fake.URL, http: fake.Client()}
		if doc, err := s.Read(t.Context(), "ses_1"); err == nil {
			if _, err := opencode.Compare(doc, change(doc)); err != nil && doc.Format != opencode.Name {
				t.Errorf("%v", err)
			}
		}
		d := opencode.Delta{Session: "ses_1", Markings: []opencode.Marking{{Part: "a", InMessage: "msg_2", ID: "prt_2"}}}
		if o := s.Apply(t.Context(), d); len(o.Applied)+len(o.Left) != 1 {
			t.Errorf("%+v: want one", o)
		}
	})
}
