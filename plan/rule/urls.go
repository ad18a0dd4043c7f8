package rule

import (
	"net/url"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
)

// URLs leaves out an older fetch of a page, or an older search for the same words, when a newer one
// is there. It compares the page in its canonical form together with everything else that was asked
// of it (format, prompt, options). The newer call must have worked, and its output be at least half
// as long: a page that shrank more was refused, or replaced by a notice.
type URLs struct{ Age Age }

// Name is "urls".
func (*URLs) Name() string { return "urls" }

// Find looks at calls that ended well.
func (r *URLs) Find(w Window) Found {
	w = w.Read()
	seen := grow(w, r, func() *fetches { return &fetches{open: map[string][]fetched{}} })
	return w.Propose(r.Name(), r.Age, w.open(seen.found), func(f *Finding) string {
		return w.placeholder(f.Item, Output, "fetched again below")
	})
}

// fetches is what URLs reads off a timeline.
type fetches struct {
	open  map[string][]fetched // by what was asked for: those that nothing newer replaces yet
	found []*Finding
}

// fetched is a fetch, and how long, in bytes, was the longest output that it stands for: its own,
// or one that it replaces.
type fetched struct {
	item    *Item
	longest int
}

func (f *fetches) read(x *Item) {
	if !worked(x) {
		return
	}
	key := fetchOf(x)
	if key == "" {
		return
	}
	now := fetched{x, len(x.Part.State.Output)}
	var open []fetched
	for _, old := range f.open[key] {
		if SameStep(old.item, x) || len(x.Part.State.Output)*2 < old.longest {
			open = append(open, old)
			continue
		}
		now.longest = max(now.longest, old.longest)
		f.found = append(f.found, &Finding{Item: old.item, Field: Output, By: []*Item{x},
			Why: "it was fetched again later"})
	}
	f.open[key] = append(open, now)
}

// fetchOf names what a call asked the network for, "" for other calls.
func fetchOf(x *Item) string {
	name := strings.ToLower(x.Part.Tool)
	if call.FetchesPage(x.Part.Tool) {
		address := Argument(x.Part, "url", "uri")
		if method := Argument(x.Part, "method"); address == "" || method != "" && !strings.EqualFold(method, "GET") {
			return "" // it was sent something, and may have answered to that
		}
		return "url\x00" + name + "\x00" + CanonicalURL(address) + "\x00" + others(x, "url", "uri")
	}
	if call.SearchesWeb(x.Part.Tool) {
		if query := Argument(x.Part, "query", "q", "search_term"); query != "" {
			words := strings.ToLower(strings.Join(strings.Fields(query), " "))
			return "search\x00" + name + "\x00" + words + "\x00" + others(x, "query", "q", "search_term")
		}
	}
	return ""
}

// others are the arguments of a call but these, in a fixed order, for comparing.
func others(x *Item, but ...string) string {
	var all []string
	for name, value := range call.Members(x.Part.State.Input) {
		if !slices.Contains(but, name) && !slices.Contains(volatile, name) && value.Kind() != 'n' {
			value = value.Clone()
			_ = value.Canonicalize()
			all = append(all, name+"="+string(value))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\x00")
}

// CanonicalURL is an address in the form in which two that mean one page are equal: scheme and host
// in lower case, without default port, fragment, trailing slash and dot segments. A fragment that
// is a path or begins with "!" stays: it names a page of its own. What is not an address is
// returned as it is.
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
