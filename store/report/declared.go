package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Declared is what a session's info knows of the tools that its requests declare.
type Declared struct {
	// Tools are the tools that the newest request declared, with the estimated tokens of each
	// declaration.
	Tools map[string]int `json:"declared"`
	// Called are the tools that were called, in the order of their first calls.
	Called []string `json:"called"`
}

// DeclaredMember is the member of a session's info that has it.
const DeclaredMember = "tools"

// DeclaredIn reads what a session's info knows; the zero value if that is nothing.
func DeclaredIn(info session.Info) Declared {
	var known struct {
		Tools Declared `json:"tools"`
	}
	if len(info.Unknown) == 0 || json.Unmarshal(info.Unknown, &known, jsontext.AllowInvalidUTF8(true)) != nil {
		return Declared{}
	}
	return known.Tools
}

// Value is the member of a session's info.
func (d Declared) Value() jsontext.Value {
	d.Called = append([]string{}, d.Called...)
	text, err := json.Marshal(d, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return jsontext.Value("null")
	}
	return text
}

// HasCalled reports whether a tool was called. Calls of tools in a namespace have the name alone.
func (d Declared) HasCalled(name string) bool {
	_, alone, spaced := cutLast(name, "__")
	return slices.Contains(d.Called, name) || spaced && slices.Contains(d.Called, alone)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Server is the MCP server of a tool by its name, "" for tools of the product itself, and for names
// that do not say it: "mcp__SERVER__TOOL" of Claude Code, Codex and Qwen Code, "mcp_SERVER_TOOL" of
// Gemini CLI.
func Server(tool string) string {
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		server, _, _ := strings.Cut(rest, "__")
		return server
	}
	if rest, ok := strings.CutPrefix(tool, "mcp_"); ok {
		server, _, _ := strings.Cut(rest, "_")
		return server
	}
	return ""
}

// UncalledTool is a tool that was declared and never called.
type UncalledTool struct {
	Name   string `json:"name"`   // name of the tool
	Tokens int    `json:"tokens"` // tokens of its declaration, estimated
}

// Toolset are the tools that one client declares of one MCP server, or of its own.
type Toolset struct {
	Client string `json:"client,omitzero"` // name of the client without its version
	// The MCP server; without one the tools are the client's own, or their names do not say it.
	Server   string `json:"server,omitzero"`
	Sessions int    `json:"sessions"` // sessions that declared one of the tools
	Requests int    `json:"requests"` // requests of these sessions
	Tools    int    `json:"declared"` // how many tools were declared
	// The tools that no session of the client called, the largest first.
	Uncalled []UncalledTool `json:"uncalled"`
	Tokens   int            `json:"tokens"` // tokens of all declarations that were not called
	// US dollars for carrying them, read from the provider's cache or written to it.
	Cost  float64 `json:"cost"`
	Share float64 `json:"share"` // the same as a share of the bill of these sessions
	// Costs are the shares of the sessions in Cost.
	Costs []float64 `json:"-"`

	billed float64
}

// Uncalled are the tools that were declared and not called, and what to do about them.
type Uncalled struct {
	// Tools that requests declared and no session of the same client ever called, by client and MCP
	// server, the dearest first.
	Sets []Toolset `json:"sets"`
	// Names and patterns to put into "gateway.tools.drop": a pattern for an MCP server if no client
	// called one of its tools, and the clients' own tools that five sessions or more did not use. A
	// tool that any client calls is not among them.
	Drop []string `json:"drop"`
}

// UncalledTools finds the tools that the requests of sessions declared since a time, and that no
// session of the same client ever called. price is what a request of a model costs, if that is
// known.
func UncalledTools(accounts []store.Account, since session.Millis, price Price) Uncalled {
	t := toolsets{called: map[string]*Declared{}, sets: map[setKey]*Toolset{}, names: map[setKey]map[string]int{},
		servers: map[string]bool{}}
	for i := range accounts {
		client := product(accounts[i].Info)
		if t.called[client] == nil {
			t.called[client] = &Declared{}
		}
		t.called[client].Called = append(t.called[client].Called, DeclaredIn(accounts[i].Info).Called...)
	}
	for i := range accounts {
		t.add(&accounts[i], since, price)
	}
	all := Uncalled{Sets: t.list()}
	all.Drop = t.drop(all.Sets)
	return all
}

// Price is what a request of a model costs, in US dollars, and whether that is known.
type Price func(model string, u session.Usage) (dollars float64, known bool)

type setKey struct{ client, server string }

// toolsets are tools by client and server while they are collected.
type toolsets struct {
	called  map[string]*Declared // by client
	sets    map[setKey]*Toolset
	names   map[setKey]map[string]int // tokens of each tool, used if it was called
	servers map[string]bool           // of which a tool was called
}

// used stands in the place of the tokens of a tool that was called.
const used = -1

// add adds the tools that one session declares.
func (t *toolsets) add(a *store.Account, since session.Millis, price Price) {
	client := product(a.Info)
	carried := map[setKey]int{}
	for name, tokens := range DeclaredIn(a.Info).Tools {
		k := setKey{client, Server(name)}
		if t.sets[k] == nil {
			t.sets[k], t.names[k] = &Toolset{Client: k.client, Server: k.server}, map[string]int{}
		}
		if t.called[client].HasCalled(name) {
			t.names[k][name], t.servers[k.server] = used, true
			tokens = 0
		} else {
			t.names[k][name] = max(t.names[k][name], tokens)
		}
		carried[k] += tokens
	}
	for k, tokens := range carried {
		t.sets[k].carry(a.Spent, since, tokens, price)
	}
}

// list are the sets with tools that were not called.
func (t *toolsets) list() []Toolset {
	list := []Toolset{}
	for k, set := range t.sets {
		set.Tools = len(t.names[k])
		for name, tokens := range t.names[k] {
			if tokens != used {
				set.Uncalled = append(set.Uncalled, UncalledTool{name, tokens})
				set.Tokens += tokens
			}
		}
		if len(set.Uncalled) == 0 || set.Requests == 0 {
			continue
		}
		slices.SortFunc(set.Uncalled, func(a, b UncalledTool) int {
			return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name))
		})
		if set.billed > 0 {
			set.Share = set.Cost / set.billed
		}
		list = append(list, *set)
	}
	slices.SortFunc(list, func(a, b Toolset) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Client, b.Client),
			cmp.Compare(a.Server, b.Server))
	})
	return list
}

// enough is how many sessions of a client must have had no use for a tool of its own until it is
// said to be worth dropping.
const enough = 5

// drop is what to leave out of those.
func (t *toolsets) drop(sets []Toolset) []string {
	list := []string{}
	add := func(name string) {
		anyone := !isPlain(name)
		for _, of := range t.called {
			anyone = anyone || of.HasCalled(name)
		}
		if !anyone && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for i := range sets {
		s := &sets[i]
		if s.Server != "" && !t.servers[s.Server] && strings.HasPrefix(s.Uncalled[0].Name, "mcp__") {
			if pattern := "mcp__" + s.Server + "__*"; isPlain(s.Server) && !slices.Contains(list, pattern) {
				list = append(list, pattern)
			}
			continue
		}
		for _, tool := range s.Uncalled {
			if s.Server != "" || s.Sessions >= enough {
				add(tool.Name)
			}
		}
	}
	return list
}

// isPlain reports whether a name can stand in a command as it is. Servers choose their tools'
// names.
func isPlain(name string) bool {
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/") == ""
}

// carry adds what a number of tokens at the beginning of a session's prompts cost.
func (s *Toolset) carry(spent []store.Spend, since session.Millis, tokens int, price Price) {
	counted, before := false, s.Cost
	defer func() {
		if counted {
			s.Costs = append(s.Costs, s.Cost-before)
		}
	}()
	for i := range spent {
		r := &spent[i]
		if r.Live == nil || r.Live.Beside || r.Live.Warm || r.Inherited || r.Time < since {
			continue
		}
		if !counted {
			s.Sessions, counted = s.Sessions+1, true
		}
		s.Requests++
		with, known := price(r.Model, r.Usage)
		if !known || r.Usage.Prompt() == 0 {
			continue
		}
		without, _ := price(r.Model, lighter(r.Usage, tokens))
		s.billed += with
		s.Cost += with - without
	}
}

// lighter is a usage without some tokens at the beginning of its prompt, which are the first
// that a cache reads.
func lighter(u session.Usage, tokens int) session.Usage {
	for _, of := range []*int{&u.Cache.Read, &u.Cache.Write, &u.Input} {
		n := min(tokens, *of)
		*of -= n
		tokens -= n
	}
	u.Cache.Write1h = min(u.Cache.Write1h, u.Cache.Write)
	return u
}

// product is the name of a session's client without its version.
func product(info session.Info) string {
	name, _ := Client(info)
	name, _, _ = strings.Cut(name, "/")
	return name
}
