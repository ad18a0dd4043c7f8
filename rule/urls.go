package rule

import (
	"net/url"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/call"
)

// URLs elides an older fetch of a page, or an older search for the same words, when a newer one is there (S002 3).
//
// The sound form compares the page in its canonical form together with everything else that was asked of it (format, prompt, options); the newer
// call must have worked, and its output be no less than half as long: a page that shrank so much was refused, or replaced by a notice.
type URLs struct {
	Letter bool
	Age    Age
}

// Name is "urls".
func (*URLs) Name() string { return "urls" }

func (r *URLs) fresh() *fetches { return newFetches(r.Letter) }

func (r *URLs) remembers(w Window) []reads { return []reads{recollect(w, r, r.fresh)} }

// Find looks at calls that ended well.
func (r *URLs) Find(w Window) Found {
	w = w.Read()
	seen := remember(w, r, r.fresh)
	return w.propose(r.Name(), r.Age, r.Letter, seen.found, func(d *redundant) []Elision {
		if r.Letter {
			return []Elision{{Field: Output, Shown: Superseded}}
		}
		return []Elision{{Field: Output, Shown: w.placeholder(d.old, Output, "fetched again below")}}
	})
}

// fetches is what URLs remembers.
type fetches struct {
	letter bool
	open   map[string][]fetched // by what was asked for: those that nothing newer replaces yet
	tools  map[string]network
	found  []*redundant
}

func newFetches(letter bool) *fetches {
	return &fetches{letter: letter, open: map[string][]fetched{}, tools: map[string]network{}}
}

func (f *fetches) superseded() []*redundant { return f.found }

// fetched is a fetch, and how long, in bytes, was the longest output that it stands for: its own, or one that it replaces.
type fetched struct {
	item    *Item
	longest int
}

func (f *fetches) read(x *Item) {
	if x.Call == nil || !ended(x.Part) || !f.letter && !x.Call.Worked() {
		return
	}
	key := f.key(x)
	if key == "" {
		return
	}
	now := fetched{x, len(x.Part.State.Output)}
	var open []fetched
	for _, old := range f.open[key] {
		if sameStep(old.item, x) || !f.letter && len(x.Part.State.Output)*2 < old.longest {
			open = append(open, old)
			continue
		}
		now.longest = max(now.longest, old.longest)
		f.found = append(f.found, &redundant{old: old.item, by: []*Item{x}, why: "it was fetched again later"})
	}
	f.open[key] = append(open, now)
}

// key names what a call asked the network for, "" for other calls.
func (f *fetches) key(x *Item) string {
	kind, known := f.tools[x.Part.Tool]
	if !known {
		kind = asksNetwork(x.Part.Tool)
		f.tools[x.Part.Tool] = kind
	}
	if kind == asksNothing {
		return ""
	}
	name := strings.ToLower(x.Part.Tool)
	switch kind {
	case asksForPage:
		address := argument(x.Part, "url", "uri")
		if address == "" {
			return ""
		}
		if f.letter {
			return address
		}
		if method := argument(x.Part, "method"); method != "" && !strings.EqualFold(method, "GET") {
			return "" // it was sent something, and may have answered to that
		}
		return "url\x00" + name + "\x00" + CanonicalURL(address) + "\x00" + others(x, "url", "uri")
	case asksForWords:
		query := argument(x.Part, "query", "q", "search_term")
		if query == "" {
			return ""
		}
		if f.letter {
			return "search:" + query
		}
		return "search\x00" + name + "\x00" + strings.ToLower(strings.Join(strings.Fields(query), " ")) + "\x00" + others(x, "query", "q", "search_term")
	}
	return ""
}

// network is what a tool asks the network for.
type network int

const (
	asksNothing network = iota
	asksForPage
	asksForWords
)

func asksNetwork(tool string) network {
	name := strings.ToLower(tool)
	switch {
	case fetcher(call.Name(tool)):
		return asksForPage
	case strings.Contains(name, "search") && call.ContainsAny(name, "web", "google", "ddg", "duckduckgo", "brave", "bing", "tavily"):
		return asksForWords
	}
	return asksNothing
}

// fetcher reports whether a tool gets a page, by its name; some products put the server's name before it: "browser_browser_navigate".
func fetcher(name string) bool {
	return slices.ContainsFunc([]string{"webfetch", "web_fetch", "fetch", "fetch_url", "browser_navigate"}, func(known string) bool {
		return name == known || strings.HasSuffix(name, "_"+known)
	})
}

// others are the arguments of a call but these, in a fixed order, for comparing.
func others(x *Item, but ...string) string {
	var all []string
	for name, value := range members(x.Part.State.Input) {
		if !slices.Contains(but, name) && !slices.Contains(volatile, name) && value.Kind() != 'n' {
			value = value.Clone()
			_ = value.Canonicalize()
			all = append(all, name+"="+string(value))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\x00")
}

// CanonicalURL is an address in the form in which two that mean one page are equal: scheme and host in lower case, without default port, fragment,
// trailing slash and dot segments. A fragment that is a path or begins with "!" stays: it names a page of its own. What is no address is returned as it is.
func CanonicalURL(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" {
		return address
	}
	u = u.ResolveReference(u) // takes out the dot segments, and nothing else
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := u.Port(); u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	if !strings.HasPrefix(u.Fragment, "/") && !strings.HasPrefix(u.Fragment, "!") {
		u.Fragment, u.RawFragment = "", ""
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawPath = strings.TrimSuffix(u.RawPath, "/")
	return u.String()
}
