package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/view"
	"github.com/winnowhq/winnow/visible"
)

// searched is the JSON document of search.
type searched struct {
	Words  string      `json:"words"`
	Total  int         `json:"total"`           // hits without the limit
	Behind int         `json:"behind,omitzero"` // messages that were not looked in: the store cannot be written now, and its index lacks them
	Hits   []searchHit `json:"hits"`            // the best first
	// Damaged says, a sentence each, which hits cannot be shown because what is stored of them is damaged.
	Damaged []string `json:"damaged,omitzero"`
}

// searchHit is a part in which the words were found.
type searchHit struct {
	Session   string           `json:"session"`
	Title     string           `json:"title"`
	Directory string           `json:"directory,omitzero"`
	Origin    string           `json:"origin,omitzero"` // format that the session was imported from
	Message   string           `json:"message"`
	Role      session.Role     `json:"role"`
	Part      string           `json:"part"`
	Type      session.PartType `json:"type"`
	Tool      string           `json:"tool,omitzero"`
	Time      session.Millis   `json:"time"`
	Field     string           `json:"field"`         // "text", "input", "output", "error"
	Kept      bool             `json:"kept,omitzero"` // the log has the beginning and the end of that text alone; all of it is kept beside it
	Seen      string           `json:"seen"`          // "whole", "elided", "folded"; "" when its session is damaged
	Snippet   string           `json:"snippet"`
	Marks     [][2]int         `json:"marks"` // byte offsets in the snippet
	Score     float64          `json:"score"`
}

// Whether the model still sees what was found.
const (
	seenWhole  = "whole"
	seenElided = "elided" // less of it, or a line that stands for it
	seenFolded = "folded" // a summary stands for it
)

func (a *app) searchCommand() *cobra.Command {
	var q store.Search
	var role, since string
	cmd := &cobra.Command{
		Use:   `search "WORDS"`,
		Short: "Find words in everything that is stored",
		Long: `search finds the parts in which all the words occur: what was said, what tools were called with, what they answered. Several
words between quotation marks must stand side by side; a * at the end of a word lets it go on. Case and accents do not count, and signs
separate words, so that a path, or an identifier with underscores, is found by its pieces, side by side; a name such as parseQuery is one
word. No other sign has a meaning.

What the model no longer sees, or never saw because it was too long to be sent, is found too. ` + "`elided`" + ` says that less of the part is shown, ` + "`folded`" + ` that a summary stands for it.`,
		Example: `  winnow search connection refused
  winnow search '"permission denied"' --tool bash --since 7d
  winnow search 'parseQuer*' --product claude-code --limit 5`,
		Args: between(1, -1, "words"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			q.Words, q.Role = strings.Join(args, " "), session.Role(role)
			if q.Role != "" && q.Role != session.User && q.Role != session.Assistant {
				return usage("--role is %s or %s, not %q", session.User, session.Assistant, role)
			}
			if q.Product != "" && !slices.Contains(all.Names(), q.Product) {
				return usage("there is no product %q; there are %s", q.Product, strings.Join(all.Names(), ", "))
			}
			if q.Since, err = sinceWhen(since, a.env.Now()); err != nil {
				return err
			}
			if q.Limit < 1 {
				return usage("--limit is a number from 1 on, not %d", q.Limit)
			}
			return a.runSearch(cmd.Context(), q)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Session, "session", "", "only in this session, named by its id or the beginning of it")
	flags.StringVar(&q.Product, "product", "", "only in sessions of this product, for example claude-code")
	flags.StringVar(&q.Tool, "tool", "", "only in calls of this tool")
	flags.StringVar(&role, "role", "", "only in messages of this role: user, assistant")
	flags.StringVar(&since, "since", "", "only in messages from this time on: 2026-01-31, 2026-01-31T12:00, or 90m, 36h, 7d, 4w ago")
	flags.IntVar(&q.Limit, "limit", store.DefaultLimit, "how many hits at most")
	complete(cmd, "product", all.Names()...)
	complete(cmd, "role", string(session.User), string(session.Assistant))
	return cmd
}

// sinceWhen reads a moment, or how long ago it was. A date without a zone is in the zone of the clock.
func sinceWhen(text string, now time.Time) (session.Millis, error) {
	if text == "" {
		return 0, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return session.Millis(t.UnixMilli()), nil
		}
	}
	var n float64
	var unit string
	if _, err := fmt.Sscanf(text, "%f%s", &n, &unit); err == nil && n >= 0 {
		for name, length := range map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
			if unit == name {
				return session.Millis(float64(now.UnixMilli()) - n*float64(length.Milliseconds())), nil
			}
		}
	}
	return 0, usage("--since is a date such as 2026-01-31 or 2026-01-31T12:00, or a time ago such as 90m, 36h, 7d, 4w, not %q", text)
}

func (a *app) runSearch(ctx context.Context, q store.Search) error {
	if _, err := a.settings(); err != nil {
		return err
	}
	doc := searched{Words: q.Words, Hits: []searchHit{}}
	kept, err := a.openToSearch(ctx)
	if errors.Is(err, errNoStore) {
		if a.json {
			if err := a.print(doc); err != nil {
				return err
			}
		}
		return hinted{nothing{"there is no store yet"}, "`winnow import FILE` puts a session there"}
	}
	if err != nil {
		return err
	}
	defer kept.Close()
	if q.Session != "" {
		if q.Session, err = findSession(ctx, kept, q.Session); err != nil {
			return err
		}
	}
	searcher, ok := kept.(store.Searcher)
	if !ok {
		return errors.New("this store cannot be searched")
	}
	say, done := a.counting()
	err = searcher.Index(ctx, func(done, all int) { say("indexing %s of %s messages", quantity.Number(done), quantity.Number(all)) })
	done()
	if err != nil && !errors.Is(err, store.ErrReadOnly) && !errors.Is(err, store.ErrLocked) {
		return err
	}
	found, err := searcher.Search(ctx, q)
	if errors.Is(err, store.ErrNoWord) {
		return usage("there is no word in %q: a word has letters or digits", q.Words)
	}
	if err != nil {
		return err
	}
	doc.Total, doc.Behind = found.Total, found.Behind
	if doc.Hits, err = hitsOf(ctx, kept, found.Hits); err != nil {
		return err
	}
	for _, err := range found.Damaged {
		doc.Damaged = append(doc.Damaged, err.Error())
	}
	if a.json {
		if err := a.print(doc); err != nil {
			return err
		}
	} else {
		a.showHits(doc)
	}
	if len(found.Damaged) > 0 {
		return partly{hits: found.Damaged}
	}
	if len(doc.Hits) == 0 {
		n := nothing{fmt.Sprintf("%q is nowhere in what is stored", q.Words)}
		if doc.Behind > 0 {
			n.reason += fmt.Sprintf("; %s were not looked in", plural(doc.Behind, "message", "messages"))
		}
		return n
	}
	return nil
}

// openToSearch opens the store so that its index can follow, or only for reading where it must not be written.
func (a *app) openToSearch(ctx context.Context) (store.Store, error) {
	kept, err := a.openStore(ctx, changing)
	if errors.Is(err, store.ErrReadOnly) {
		return a.openStore(ctx, reading)
	}
	return kept, err
}

// hitsOf adds to hits whether the model still sees them.
func hitsOf(ctx context.Context, kept store.Store, found []store.Hit) ([]searchHit, error) {
	hits := []searchHit{}
	type sight struct {
		ledger rule.Ledger
		window map[string]bool // ids of the messages that count now
		broken bool            // not all of it can be read
	}
	sights := map[string]sight{}
	for _, h := range found {
		s, known := sights[h.Session.ID]
		if !known {
			state, err := kept.State(ctx, h.Session.ID)
			broken := errors.Is(err, store.ErrCorrupt)
			if err != nil && !broken {
				return nil, err
			}
			messages := kept.Messages
			if sketcher, ok := kept.(store.Sketcher); ok {
				messages = sketcher.Sketch // a session of a hundred megabytes need not be read for one hit
			}
			var log []session.Message
			for m, err := range messages(ctx, h.Session.ID) {
				if errors.Is(err, store.ErrCorrupt) {
					broken = true
					break
				}
				if err != nil {
					return nil, err
				}
				log = append(log, m)
			}
			slices.Reverse(log)
			s = sight{state.Ledger, map[string]bool{}, broken}
			for _, m := range view.Window(log, state.Undone) {
				s.window[m.ID] = true
			}
			sights[h.Session.ID] = s
		}
		hit := searchHit{Session: h.Session.ID, Title: h.Session.Title, Directory: h.Session.Directory, Origin: h.Origin, Message: h.Message, Role: h.Role,
			Part: h.Part, Type: h.Type, Tool: h.Tool, Time: h.Time, Field: h.Field, Kept: h.Kept, Seen: seenWhole, Snippet: h.Snippet, Marks: h.Marks, Score: h.Score}
		switch {
		case s.broken:
			hit.Seen = ""
		case !s.window[h.Message]:
			hit.Seen = seenFolded
		case h.Kept, s.ledger.Has(rule.Key{Part: h.Part, Field: rule.Whole}), s.ledger.Has(rule.Key{Part: h.Part, Field: rule.Field(h.Field)}):
			hit.Seen = seenElided
		}
		if hit.Marks == nil {
			hit.Marks = [][2]int{}
		}
		hits = append(hits, hit)
	}
	return hits, nil
}

// showHits prints for people: where, then the snippet.
func (a *app) showHits(doc searched) {
	color := a.paint().Color
	paint := func(code, text string) visible.Span {
		if !color {
			code = ""
		}
		return visible.Span{Style: code, Text: text}
	}
	for i, h := range doc.Hits {
		if i > 0 {
			a.printf("\n")
		}
		what := string(h.Role)
		if h.Tool != "" {
			what = h.Tool + " " + h.Field
		}
		head := []visible.Span{paint("1", visible.Line(h.Session))}
		if title := rule.Shorten(visible.Line(cmp.Or(h.Title, h.Directory)), 60); title != "" {
			head = append(head, paint("", "  "+title))
		}
		a.spans(append(head, paint("", "\n")))
		line := []string{what}
		if t := when(h.Time); t != "" {
			line = append(line, t)
		}
		if h.Seen != seenWhole && h.Seen != "" {
			line = append(line, h.Seen)
		}
		a.printf("  %s  %s\n", visible.Line(strings.Join(append(line, h.Message), "  ")), visible.Line(h.Part))
		snippet, at := []visible.Span{paint("", "  ")}, 0
		for _, m := range h.Marks {
			snippet = append(snippet, paint("", h.Snippet[at:m[0]]), paint("1;33", h.Snippet[m[0]:m[1]]))
			at = m[1]
		}
		a.spans(append(snippet, paint("", h.Snippet[at:]+"\n")))
	}
	if doc.Total > len(doc.Hits) {
		a.printf("\n%s of %s; --limit shows more\n", quantity.Number(len(doc.Hits)), plural(doc.Total, "hit", "hits"))
	}
	if doc.Behind > 0 && len(doc.Hits) > 0 {
		a.printf("\n%s not looked in: the store cannot be written now, and its index lacks them\n", plural(doc.Behind, "message was", "messages were"))
	}
}
