package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/selfprune"
	"github.com/winnowhq/winnow/look/retrieve"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// tool is one of the server's. Names, descriptions and schemas are sent with every request of an
// agent, so that they are short.
type tool struct {
	name, description string
	schema            jsontext.Value
	call              func(ctx context.Context, c Config, a arguments) (string, error)
}

var tools = []tool{
	{"recall", "Show what was left out of your context, by its handle: [winnow recall HANDLE: …].", jsontext.Value(
		`{"type":"object","properties":{"handle":{"type":"string"},"lines":{"type":"string","description":"such as 120-180"},` +
			`"words":{"type":"string","description":"only lines with them"}},"required":["handle"]}`), recall},
	{"search", "Find words in this session, also in what was left out.", jsontext.Value(
		`{"type":"object","properties":{"words":{"type":"string"}},"required":["words"]}`), search},
	{"context", "What fills your context, what was left out, and handles.",
		jsontext.Value(`{"type":"object","properties":{}}`), describe},
	{"pin", "Keep a part, by its handle, or a text in your context for good.", jsontext.Value(
		`{"type":"object","properties":{"handle":{"type":"string"},"text":{"type":"string"}}}`), pin},
	{compactTool, "The task is finished: compact this session when your turn ends.", jsontext.Value(
		`{"type":"object","properties":{"keep":{"type":"string","description":"what to keep"},` +
			`"session":{"type":"string"}}}`), compact},
}

// compactTool is the name of the tool that not every client is offered.
const compactTool = "compact"

// What one recall gives: as much as clients take. What is longer is read in pieces.
const (
	mostLines = 400
	mostBytes = 32 << 10
)

func recall(ctx context.Context, c Config, a arguments) (string, error) {
	if a["handle"] == "" {
		return "", errors.New("give the handle")
	}
	region, err := retrieve.Lines(a["lines"])
	if err != nil {
		return "", err
	}
	region.Words = strings.Fields(a["words"])
	f, err := c.find(ctx, a["handle"])
	if err != nil {
		return "", err
	}
	if err := c.note(ctx, "read", f.Session.ID, f.Part.ID); err != nil {
		return "", err
	}
	all := f.Everything()
	text, total, err := region.Of(all)
	files := f.Files()
	if err != nil && len(files) == 0 {
		return "", err
	}
	first := retrieve.First(all)
	text = bounded(text, first, total+first-1, region)
	if f.Hidden {
		_ = retrieve.Missed(ctx, c.Engine, f, text) // what cannot be noted is shown all the same
	}
	for _, name := range files {
		text += "\n(With the file " + name + ".)"
	}
	return text, nil
}

// bounded is a region of a text as one answer shows it, with where it goes on. first and last are
// the numbers of the text's lines.
func bounded(text string, first, last int, of retrieve.Region) string {
	lines, bytes := 0, 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		if lines == mostLines || lines > 0 && bytes+len(line) > mostBytes {
			break
		}
		lines, bytes = lines+1, bytes+len(line)
	}
	if bytes == len(text) {
		return text
	}
	note := "(There is more; ask for fewer lines.)"
	if len(of.Words) == 0 {
		from := max(of.From, first)
		next := from + lines
		note = fmt.Sprintf("(Lines %d-%d of %d. Go on with lines %d-.)", from, next-1, last, next)
	}
	return text[:bytes] + "\n" + note
}

// mostHits is how many places a search names.
const mostHits = 10

func search(ctx context.Context, c Config, a arguments) (string, error) {
	id, err := c.current(ctx)
	if err != nil {
		return "", err
	}
	if err := c.note(ctx, "read", id, ""); err != nil {
		return "", err
	}
	searcher, ok := c.Engine.Store().(store.Searcher)
	if !ok {
		return "", errors.New("this store cannot be searched")
	}
	if err := searcher.Index(ctx, nil); err != nil && !errors.Is(err, store.ErrReadOnly) && !errors.Is(err,
		store.ErrLocked) {
		return "", err
	}
	found, err := searcher.Search(ctx, store.Search{Words: a["words"], Session: id, Limit: mostHits})
	if errors.Is(err, store.ErrNoWord) {
		return "", errors.New("give words")
	}
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if found.Scan != nil {
		fmt.Fprintf(&b, "Note: %s.\n", found.Scan)
	}
	if len(found.Hits) == 0 {
		return b.String() + "Nothing in this session has these words.", nil
	}
	for _, h := range found.Hits {
		f, err := retrieve.In(ctx, c.Engine, id, h.Part)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %s", f.Handle, cmp.Or(h.Tool, string(h.Role)))
		if f.Hidden {
			b.WriteString(" (left out)")
		}
		fmt.Fprintf(&b, ": %s\n", strings.Join(strings.Fields(h.Snippet), " "))
	}
	if more := found.Total - len(found.Hits); more > 0 {
		fmt.Fprintf(&b, "And %s more.\n", quantity.Number(more))
	}
	return b.String(), nil
}

func describe(ctx context.Context, c Config, _ arguments) (string, error) {
	id, err := c.current(ctx)
	if err != nil {
		return "", err
	}
	if err := c.note(ctx, "read", id, ""); err != nil {
		return "", err
	}
	return about(ctx, c.Engine, id)
}

// about says what fills the context of a session, what was left out, and the handles.
func about(ctx context.Context, e *winnow.Engine, id string) (string, error) {
	filled, err := winnow.Look(ctx, e, id, fills)
	if err != nil {
		return "", err
	}
	handles, err := selfprune.Call(ctx, e, id, rule.ToolList, nil)
	return filled + handles, err
}

// fills says what fills the window of a session.
func fills(s *report.Session) (string, error) {
	g, err := report.Measure(s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Session %s: %s tokens", s.State.Info.ID, quantity.Number(g.Total))
	if g.Usable > 0 {
		fmt.Fprintf(&b, " of %s usable", quantity.Number(g.Usable))
	}
	b.WriteString(".\n")
	kinds := kindsOf(s)
	kinds["system prompt and tools"] = g.System + g.Tools
	var names []string
	for name, n := range kinds {
		if n > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(kinds[b]-kinds[a], strings.Compare(a, b)) })
	for _, name := range names {
		fmt.Fprintf(&b, "%s  %s\n", quantity.Number(kinds[name]), name)
	}
	if g.ElidedParts > 0 {
		fmt.Fprintf(&b, "Left out: %s of %s.\n", quantity.Count(g.Elided, "token"), quantity.Count(g.ElidedParts,
			"part"))
	}
	if n := len(s.Log) - len(s.View.Window()); n > 0 {
		fmt.Fprintf(&b, "Folded into the summary: %s.\n", quantity.Count(n, "message"))
	}
	return b.String(), nil
}

// kindsOf is what the messages of the window take as they are shown, in tokens by kind.
func kindsOf(s *report.Session) map[string]int {
	kinds := map[string]int{}
	window := s.View.Window()
	for i := range window {
		m := &window[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			size := view.Part(p, s.State.Ledger, s.Facts)
			kinds[view.KindToolInput] += size.Input
			kinds[view.KindToolOutput] += size.Output
			kinds[view.KindFile] += size.Files
			if size.Text > 0 {
				kinds[view.Kind(m, p)] += size.Text
			}
		}
	}
	return kinds
}

// compact notes that the session is to be compacted when the agent's turn has ended: never within
// it, where the agent's next step needs what it has just read.
func compact(ctx context.Context, c Config, a arguments) (string, error) {
	id, err := c.current(ctx)
	if a["session"] != "" {
		id, err = c.named(a["session"])
	}
	if err != nil {
		return "", err
	}
	state, err := c.Engine.Store().State(ctx, id)
	if err != nil {
		return "", err
	}
	client, _ := report.Client(state.Info)
	if !c.Compact(client) {
		return "", errors.New(client + " compacts this session by itself")
	}
	if err := c.note(ctx, "compact", id, ""); err != nil {
		return "", err
	}
	if _, err := c.Engine.Compact(ctx, id, winnow.CompactOptions{AtTurnEnd: true, Focus: a["keep"]}); err != nil {
		return "", err
	}
	if client == "" && c.Alone {
		return "Noted. Session " + id + " is compacted when an agent with winnow's plugin, or winnow run, ends a " +
			"turn of it; nothing else does. The user can do it now: winnow compact " + id + ".", nil
	}
	return "Noted. Session " + id + " is compacted when your turn ends. Finish your answer.", nil
}

// named is the session that a call names, if the caller may have it.
func (c Config) named(id string) (string, error) {
	if c.Session != "" && id != c.Session {
		return "", errors.New("only session " + c.Session + " is served")
	}
	return id, nil
}

func pin(ctx context.Context, c Config, a arguments) (string, error) {
	var id string
	what := rule.Pin{By: rule.ByAgent}
	if (a["handle"] == "") == (a["text"] == "") {
		return "", errors.New("give either a handle or a text")
	}
	if a["handle"] != "" {
		f, err := c.find(ctx, a["handle"])
		if err != nil {
			return "", err
		}
		id, what.Part = f.Session.ID, f.Part.ID
	} else {
		var err error
		if id, err = c.current(ctx); err != nil {
			return "", err
		}
		what.Text = a["text"]
	}
	if err := c.note(ctx, "pin", id, what.Part); err != nil {
		return "", err
	}
	_, err := c.Engine.Pin(ctx, id, what)
	if err != nil && winnow.CodeOf(err) != winnow.Already {
		return "", err
	}
	return "Pinned.", nil
}
