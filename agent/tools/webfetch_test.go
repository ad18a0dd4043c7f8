package tools

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/soon"
)

// site is a server whose pages are these.
func site(t *testing.T, pages map[string]http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.Error(w, "nothing is here", http.StatusNotFound)
			return
		}
		page(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func says(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		} else {
			w.Header()["Content-Type"] = nil
		}
		fmt.Fprint(w, body)
	}
}

const harbour = `<html><head><title>The harbour</title><style>p{color:red}</style><script>var x = "hidden";</script></head>
<body><h1>Ships &amp; boats</h1><p>See   the <a href="/list">list</a>.</p><ul><li>one</li><li>two</li></ul>
<table><tr><th>name</th><th>length</th></tr><tr><td>Vera</td><td>12</td></tr></table><pre>a
  b</pre></body></html>`

func TestWebFetch_givesThePageAsItIsAskedFor(t *testing.T) {
	s := site(t, map[string]http.HandlerFunc{"/": says("text/html; charset=utf-8", harbour),
		"/plain": says("text/plain", "as it is\n<b>\n"), "/data": says("application/json", `{"a": 1}`)})
	for _, c := range []struct {
		path, format string
		has, hasNot  []string
	}{
		{"/", "", []string{"# Ships & boats", "[list](" + s.URL + "/list)", "- one", "| Vera | 12"},
			[]string{"hidden", "color", "<"}},
		{"/", "markdown", []string{"# Ships & boats"}, nil},
		{"/", "text", []string{"The harbour\n", "Ships & boats\n", "See the list.\n", "one\ntwo\n", "Vera 12",
			"a\n  b"}, []string{"hidden", "color", "<", "#"}},
		{"/", "html", []string{harbour}, nil},
		{"/plain", "markdown", []string{"as it is\n<b>\n"}, nil},
		{"/data", "text", []string{`{"a": 1}`}, nil},
	} {
		b := newBench(t)
		in := args{"url": s.URL + c.path}
		if c.format != "" {
			in["format"] = c.format
		}
		r := b.run(WebFetch{}, in)
		for _, want := range c.has {
			if !strings.Contains(r.Output, want) {
				t.Errorf("%s as %q lacks %q:\n%s", c.path, c.format, want, r.Output)
			}
		}
		for _, not := range c.hasNot {
			if strings.Contains(r.Output, not) {
				t.Errorf("%s as %q has %q:\n%s", c.path, c.format, not, r.Output)
			}
		}
		if r.Failed || r.Metadata["status"] != 200 {
			t.Errorf("%s: failed %v, %v", c.path, r.Failed, r.Metadata)
		}
		want := agent.Permission{Tool: "webfetch", Action: "fetch", Target: s.URL + c.path + " (this computer)"}
		if len(b.asked) != 1 || b.asked[0] != want {
			t.Errorf("%s: asked for %+v, want %+v", c.path, b.asked, want)
		}
	}
}

func TestWebFetch_readsTheCharset(t *testing.T) {
	long := strings.Repeat("all of this is ASCII\n", 100)
	s := site(t, map[string]http.HandlerFunc{
		"/latin1":   says("text/html; charset=iso-8859-1", "<p>caf\xe9</p>"),
		"/meta":     says("text/html", `<meta charset="shift_jis"><p>`+"\x93\xfa\x96{</p>"),
		"/late":     says("text/plain", long+"日本"),
		"/json":     says("application/json", `"`+long+`é"`),
		"/undeclar": says("text/plain", "caf\xe9"),
		"/bom":      says("text/plain", "\xef\xbb\xbfx"),
		"/utf16":    says("text/plain; charset=utf-16le", "h\x00i\x00"),
		"/none":     says("", "<!doctype html><p>caf\u00e9</p>"),
	})
	for path, want := range map[string]string{"/latin1": "café", "/meta": "日本", "/late": "日本", "/json": "é",
		"/undeclar": "café", "/bom": "x", "/utf16": "hi", "/none": "café"} {
		r := newBench(t).run(WebFetch{}, args{"url": s.URL + path})
		if !strings.HasSuffix(strings.Trim(r.Output, `"`), want) || strings.HasPrefix(r.Output, bom) ||
			!utf8.ValidString(r.Output) {
			t.Errorf("%s: got …%q, want …%q", path, r.Output[max(0, len(r.Output)-40):], want)
		}
	}
}

func TestWebFetch_refusesWhatIsNoText(t *testing.T) {
	s := site(t, map[string]http.HandlerFunc{
		"/image":  says("image/png", "\x89PNG\r\n\x1a\n…"),
		"/zip":    says("application/zip", "PK"),
		"/sniff":  says("", "\x89PNG\r\n\x1a\n…"),
		"/stream": says("application/octet-stream", "\x7fELF\x00\x01\x02"),
		"/lies":   says("text/html", "<p>\x00\x01\x02</p>"),
	})
	for path, want := range map[string]string{"/image": "image/png of 11 bytes, not text", "/zip": "application/zip",
		"/sniff": "image/png", "/stream": "application/octet-stream", "/lies": "binary"} {
		newBench(t).fails(WebFetch{}, args{"url": s.URL + path}, want)
	}
	if r := newBench(t).run(WebFetch{}, args{"url": site(t,
		map[string]http.HandlerFunc{"/a.go": says("application/octet-stream", "package a\n")}).URL +
		"/a.go"}); r.Output != "package a\n" {
		t.Errorf("a text that is declared to be bytes: %q", r.Output)
	}
}

func TestWebFetch_refusesWhatIsTooLong(t *testing.T) {
	if testing.Short() {
		t.Skip("it does one thing after the other: -short is for the race detector")
	}
	flood := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}
	s := site(t, map[string]http.HandlerFunc{
		"/declared": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "6000000") },
		"/endless":  flood,
		"/bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 200 {
				if _, err := z.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
			z.Close()
		},
	})
	for path, want := range map[string]string{"/declared": "6,000,000 bytes", "/endless": "more than 5,242,880 bytes",
		"/bomb": "more than 5,242,880 bytes"} {
		newBench(t).fails(WebFetch{}, args{"url": s.URL + path}, want)
	}
}

func TestWebFetch_anErrorOfTheServerIsAFailedCallWithItsText(t *testing.T) {
	s := site(t, nil)
	r := newBench(t).run(WebFetch{}, args{"url": s.URL + "/missing"})
	if !r.Failed || r.Output != "[HTTP 404 Not Found]\nnothing is here\n" || r.Metadata["status"] != 404 {
		t.Errorf("got %q, failed %v, %v", r.Output, r.Failed, r.Metadata)
	}
}

func TestWebFetch_asksAgainWhenTheHostChanges(t *testing.T) {
	away := site(t, map[string]http.HandlerFunc{"/there": says("text/plain", "arrived")})
	var here *httptest.Server
	to := func(target func() string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target(), http.StatusFound) }
	}
	here = site(t, map[string]http.HandlerFunc{
		"/one":   to(func() string { return "/two" }),
		"/two":   to(func() string { return "three?x=1#y" }),
		"/away":  to(func() string { return away.URL + "/there" }),
		"/loop":  to(func() string { return "/loop" }),
		"/file":  to(func() string { return "file:///etc/passwd" }),
		"/three": says("text/plain", "still here"),
	})
	b := newBench(t)
	if r := b.run(WebFetch{}, args{"url": here.URL + "/one"}); r.Output != "still here" || len(b.asked) != 1 ||
		r.Metadata["url"] != here.URL+"/three?x=1" {
		t.Errorf("got %q from %v, asked %d times", r.Output, r.Metadata["url"], len(b.asked))
	}
	b = newBench(t)
	if r := b.run(WebFetch{}, args{"url": here.URL + "/away"}); r.Output != "arrived" || len(b.asked) != 2 ||
		!strings.HasPrefix(b.asked[1].Target, away.URL+"/there") {
		t.Errorf("got %q, asked %+v", r.Output, b.asked)
	}
	newBench(t).fails(WebFetch{}, args{"url": here.URL + "/loop"}, "more than 10 redirects")
	newBench(t).fails(WebFetch{}, args{"url": here.URL + "/file"}, "http:// or https://")

	// Who may not go there does not.
	refused := errors.New("not there")
	reached := false
	silent := site(t, map[string]http.HandlerFunc{"/": func(http.ResponseWriter, *http.Request) { reached = true }})
	here2 := site(t, map[string]http.HandlerFunc{"/": to(func() string { return silent.URL + "/" })})
	_, err := WebFetch{}.Run(t.Context(), agent.Call{Input: input(t, args{"url": here2.URL}), Directory: t.TempDir(),
		Ask: func(_ context.Context, p agent.Permission) error {
			if strings.HasPrefix(p.Target, silent.URL) {
				return refused
			}
			return nil
		}})
	if !errors.Is(err, refused) || reached {
		t.Errorf("error %v, reached %v", err, reached)
	}
}

func TestWebFetch_takesNoOtherAddress(t *testing.T) {
	for address, want := range map[string]string{
		"": "needs the argument", "example.org/a": "http:// or https://", "ftp://example.org": "http:// or https://",
		"file:///etc/passwd": "http:// or https://",
		"http://":            "has no host", "http://a b": "not a valid address", "http://[::1": "not a valid address",
		"https://example.org/\x7f": "not a valid address",
	} {
		b := newBench(t)
		if b.fails(WebFetch{}, args{"url": address}, want); len(b.asked) != 0 {
			t.Errorf("%q: asked for %v", address, b.asked)
		}
	}
	newBench(t).fails(WebFetch{}, args{"url": "http://example.org", "format": "pdf"}, "must be markdown")
	b := newBench(t)
	b.refuses = errors.New("no")
	b.fails(WebFetch{}, args{"url": "http://user:secret@127.0.0.1:1/"}, "no")
	if len(b.asked) != 1 || strings.Contains(b.asked[0].Target, "secret") {
		t.Errorf("asked %+v", b.asked)
	}
}

func TestWebFetch_endsInTime(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	s := site(t, map[string]http.HandlerFunc{"/": hang})
	newBench(t).fails(WebFetch{}, args{"url": s.URL, "timeout": 1}, "took too long")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := soon.Start()
	if _, err := newBench(t).try(ctx, WebFetch{}, args{"url": s.URL}); !errors.Is(err, context.DeadlineExceeded) ||
		began.Took() > 900*time.Millisecond {
		t.Errorf("after %v: %v", began.Took(), err)
	}
}

// An address that is another one by the time of the connection is not connected to.
func TestReach_isHeldWhenItIsConnected(t *testing.T) {
	s := site(t, map[string]http.HandlerFunc{"/": says("text/plain", "in the house")})
	for r, allowed := range map[reach]bool{public: false, private: false, loopback: true, metadata: true} {
		request, err := http.NewRequest(http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := r.transport(request.URL).RoundTrip(request)
		if err == nil {
			response.Body.Close()
		}
		if (err == nil) != allowed || !allowed && !errors.Is(err, errNearer) {
			t.Errorf("agreed to %d: %v, want it connected to: %v", r, err, allowed)
		}
	}
}

func TestReach_ofAddresses(t *testing.T) {
	for text, want := range map[string]reach{
		"127.0.0.1": loopback, "127.9.9.9": loopback, "::1": loopback, "0.0.0.0": loopback, "::": loopback,
		"::ffff:127.0.0.1": loopback,
		"10.1.2.3":         private, "192.168.0.1": private, "172.16.0.1": private, "169.254.169.253": private,
		"fe80::1%eth0": private, "fd00::1": private, "100.64.0.1": private,
		"::ffff:10.0.0.1": private, "8.8.8.8": public, "2001:4860:4860::8888": public, "172.32.0.1": public,
		// What gives out keys.
		"169.254.169.254": metadata, "::ffff:169.254.169.254": metadata, "fd00:ec2::254": metadata,
		"fd20:ce::254": metadata, "100.100.100.200": metadata,
		"192.0.0.192": metadata, "168.63.129.16": metadata, "169.254.170.2": metadata,
		// Networks that are not the web.
		"100.127.255.255": private, "100.128.0.1": public, "198.18.0.1": private, "192.0.0.1": private,
		"240.0.0.1": private, "255.255.255.255": private, "0.1.2.3": private,
		"224.0.0.251": private, "ff02::fb": private, "fc00::1": private, "fe80::1": private, "fec0::1": private,
		"2001:db8::1": private, "100::1": private, "203.0.113.9": private,
		// IPv6 addresses that lead to IPv4 ones: NAT64, within a network, 6to4, Teredo (server,
		// client), compatible, translated, ISATAP.
		"64:ff9b::7f00:1": loopback, "64:ff9b::a00:1": private, "64:ff9b::a9fe:a9fe": metadata,
		"64:ff9b::808:808":   public,
		"64:ff9b:1::808:808": private, "64:ff9b:1::7f00:1": loopback, "64:ff9b:1:2:3:4:a9fe:a9fe": metadata,
		"2002:7f00:1::": loopback, "2002:c0a8:101::1": private, "2002:a9fe:a9fe::1": metadata,
		"2002:808:808::1":             public,
		"2001:0:7f00:1:0:0:f7f7:f7f7": loopback, "2001:0:808:808:0:0:80ff:fffe": loopback,
		"2001:0:808:808:0:0:5601:5601": metadata, "2001:0:808:808:0:0:f7f7:f7f7": public,
		"::10.0.0.1": private, "::127.0.0.1": loopback, "::8.8.8.8": public, "::ffff:0:7f00:1": loopback,
		"::ffff:0:808:808": public,
		"2600::5efe:a00:1": private, "2600::200:5efe:7f00:1": loopback, "2600::5efe:808:808": public,
	} {
		if got := reachOfAddress(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
	for _, host := range []string{"localhost", "a.LOCALHOST", "127.0.0.1", "localhost.", "127.0.0.1.", "127.1",
		"127.0.1", "2130706433", "0x7f000001", "0x7F.1", "0177.0.0.1", "017700000001",
		"１２７.0.0.1", "①②⑦.0.0.1", "::1", "0", "::ffff:127.0.0.1"} {
		if got, err := reachOf(t.Context(), host); got != loopback || err != nil {
			t.Errorf("%s: got %d, %v", host, got, err)
		}
	}
}

// A page on the web that leads to one in the house asks for it by what it is, however it is written
// down.
func TestWebFetch_aRedirectIntoTheHouseSaysSo(t *testing.T) {
	for address, note := range map[string]string{
		"http://169.254.169.254/latest/meta-data/": "this computer's keys",
		"http://[64:ff9b::a9fe:a9fe]/":             "this computer's keys",
		"http://2852039166/":                       "this computer's keys",
		"http://127.1:1/":                          "(this computer)", "http://[2002:7f00:1::]/": "(this computer)",
		"http://10.1/": "(a private network)",
	} {
		s := site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter,
			r *http.Request) {
			http.Redirect(w, r, address, http.StatusFound)
		}})
		refused := errors.New("not there")
		var asked []string
		_, err := WebFetch{}.Run(t.Context(), agent.Call{Input: input(t, args{"url": s.URL}), Directory: t.TempDir(),
			Ask: func(_ context.Context, p agent.Permission) error {
				if asked = append(asked, p.Target); len(asked) > 1 {
					return refused
				}
				return nil
			}})
		if !errors.Is(err, refused) || len(asked) != 2 || !strings.Contains(asked[1], note) {
			t.Errorf("%s: %v; asked %q, want %q in it", address, err, asked, note)
		}
	}
}

func TestMarkdown_noNestingIsTooDeep(t *testing.T) {
	deep := strings.Repeat("<div>", 100_000) + "the bottom" + strings.Repeat("</div>", 100_000)
	for _, page := range []string{deep, strings.Repeat("<b><i>", 50_000) + "the bottom",
		strings.Repeat("<table><tr><td>", 2000) + "the bottom",
		strings.Repeat("<blockquote><ul><li>", 150) + "the bottom"} {
		text, err := (&fetched{kind: "text/html", body: []byte(page)}).text("markdown")
		if err != nil || !strings.Contains(text, "the bottom") {
			t.Errorf("%.30s…: %.100q, %v", page, text, err)
		}
	}
}

// Pages that are made to take long are no Markdown, and are read all the same.
func TestMarkdown_ofALargePageIsItsText(t *testing.T) {
	if testing.Short() {
		t.Skip("it does one thing after the other: -short is for the race detector")
	}
	for _, unit := range []string{"<p>", "<br>", "*_`[", "<b>x</b>"} {
		page := "<h1>The top</h1>" + strings.Repeat(unit, pageBytes/len(unit)-20) + "<p>the bottom"
		text, err := (&fetched{kind: "text/html", body: []byte(page)}).text("markdown")
		if err != nil || !strings.HasPrefix(text, "The top") || !strings.HasSuffix(text, "the bottom") {
			t.Errorf("%s…: %.100q, %v", unit, text, err)
		}
	}
	signs := "<h1>The top</h1>" + strings.Repeat("*_`[", 100<<10) + "<p>the bottom"
	if text, ok := markdown(signs, ""); !ok || !strings.HasPrefix(text, "# The top") ||
		!strings.HasSuffix(text, "the bottom") {
		t.Errorf("of signs: %v, %.100q", ok, text)
	}
}

func FuzzFetched_noPageIsWrong(f *testing.F) {
	for _, seed := range []string{harbour, "<", "<!--", "<script>", "<svg><svg></svg>x", "<pre></pre></pre>", "&#0;",
		"<a href='::'>x</a>", "\xff\xfe<", "<meta charset=utf-16><p>"} {
		f.Add([]byte(seed), "text/html")
	}
	f.Add([]byte("x"), "text/plain; charset=\xff")
	f.Fuzz(func(t *testing.T, body []byte, declared string) {
		for _, format := range []string{"markdown", "text", "html"} {
			g := &fetched{url: "http://example.org/", declared: declared, body: body}
			g.classify()
			text, err := g.text(format)
			if err == nil && !utf8.ValidString(text) {
				t.Errorf("as %s: no UTF-8: %q", format, text)
			}
		}
	})
}
