package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// searched is the JSON document of search.
type searched struct {
	Words string `json:"words"` // the query
	// How many parts were found; "hits" has as many as "--limit" allows.
	Total int `json:"total"`
	// Messages that were not searched: they are not in the index, and the store cannot be written
	// now.
	Behind int `json:"behind,omitzero"`
	// The extent of the search in a store without a search index ("gateway.searchIndex").
	Scan *searchScan `json:"scan,omitzero"`
	Hits []searchHit `json:"hits"` // the best first, and of equally good ones the newest
	// Which hits cannot be shown because their data is damaged, a sentence each; the exit code is
	// then 4.
	Damaged []string `json:"damaged,omitzero"`
}

// searchScan is how far a search read that had no index.
type searchScan struct {
	Messages int  `json:"messages"` // how many of the newest messages were read instead
	All      bool `json:"all"`      // whether there are no more
}

// searchHit is a part in which the words were found.
type searchHit struct {
	// Id of the session; with "--everywhere" its name on the command line.
	Session   string `json:"session"`
	Source    string `json:"source,omitzero"`    // with "--everywhere": where the session is
	Title     string `json:"title"`              // title of the session
	Directory string `json:"directory,omitzero"` // the folder in which the agent worked
	// The format that the session was imported from.
	Origin  string           `json:"origin,omitzero"`
	Message string           `json:"message"`       // id of the message
	Role    session.Role     `json:"role"`          // role of the message
	Part    string           `json:"part"`          // id of the part
	Type    session.PartType `json:"type"`          // type of the part
	Tool    string           `json:"tool,omitzero"` // for a tool part: the tool
	Time    session.Millis   `json:"time"`          // time of the message
	Field   string           `json:"field"`         // where it was found: "text", "input", "output" or "error"
	// Whether the log has only the beginning and the end of that output, and the words are in the
	// whole text that is kept beside the log.
	Kept bool `json:"kept,omitzero"`
	// Whether the model sees it: "whole"; "elided" if it is left out or shortened; "folded" if a
	// summary replaces it; empty if its session is damaged.
	Seen    string `json:"seen"`
	Snippet string `json:"snippet"` // the surroundings on one line
	// Pairs of byte offsets in "snippet" (UTF-8) that enclose the words.
	Marks [][2]int `json:"marks"`
	// How well it matches, more is better; comparable only within one search.
	Score   float64        `json:"score"`
	updated session.Millis // its session
	client  string         // whose requests were relayed
}

// Whether the model still sees what was found.
const (
	seenWhole  = "whole"
	seenElided = "elided" // less of it, or a placeholder
	seenFolded = "folded" // a summary replaced it
)

func searchCommand(a *cli.App) *cobra.Command {
	var q store.Search
	var role, since string
	var everywhere bool
	cmd := &cobra.Command{
		Use:   `search "WORDS"`,
		Short: "Find words in all sessions",
		Long: `search finds the parts in which all the words occur: what was said, what tools were
called with, what they answered. Several words between quotation marks must be side by side; a * at
the end of a word matches any ending. Case and accents do not count, and signs separate words, so that
a path, or an identifier with underscores, is found by its pieces, side by side; a name such as
parseQuery is one word. No other sign has a meaning.

What the model no longer sees, or never saw because it was too long to be sent, is found too:
"left out" says that less of the part is shown (in JSON: elided), "folded" that a summary replaced it.

The hits are grouped by session, that of the best hit first.

It searches winnow's own store, which has an index of everything that was imported, relayed or said in
it; with gateway.searchIndex false it has none, and the newest 5,000 messages are read. With
--everywhere, or while there is no store, it reads the sessions of all agents where they keep them,
each time anew.`,
		Example: `  winnow search connection refused
  winnow search '"permission denied"' --tool bash --since 7d
  winnow search connection refused --everywhere --since 7d
  winnow search 'parseQuer*' --product claude-code --limit 5`,
		Args: cli.Between(1, -1, "words"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			q.Words, q.Role = strings.Join(args, " "), session.Role(role)
			if q.Role != "" && q.Role != session.User && q.Role != session.Assistant {
				return cli.Usage("--role must be %s or %s, not %q", session.User, session.Assistant, role)
			}
			products := all.Names()
			if everywhere {
				products = discover.Products()
			}
			if q.Product != "" && !slices.Contains(products, q.Product) {
				return cli.Usage("unknown product %q; use %s", q.Product, strings.Join(products, ", "))
			}
			if q.Since, err = sinceWhen(since, a.Env.Now()); err != nil {
				return err
			}
			if q.Limit < 1 {
				return cli.Usage("--limit must be at least 1, not %d", q.Limit)
			}
			if everywhere {
				return runSearchEverywhere(cmd.Context(), a, q)
			}
			return runSearch(cmd.Context(), a, q)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&everywhere, "everywhere", false,
		"in what coding agents have kept on this computer, without an import")
	flags.StringVar(&q.Session, "session", "", "only in this session, named by its id or the beginning of it")
	flags.StringVar(&q.Product, "product", "", "only in sessions of this product, for example claude-code")
	flags.StringVar(&q.Tool, "tool", "", "only in calls of this tool")
	flags.StringVar(&role, "role", "", "only in messages of this role: user, assistant")
	flags.StringVar(&since, "since", "",
		"only in messages from this time on: 2026-01-31, 2026-01-31T12:00, or 90m, 36h, 7d, 4w ago")
	flags.IntVar(&q.Limit, "limit", store.DefaultLimit, "how many hits at most")
	cli.Complete(cmd, "product", all.Names()...)
	cli.Complete(cmd, "role", string(session.User), string(session.Assistant))
	return cmd
}

// sinceWhen reads a moment, or how long ago it was. A date without a zone is in the zone of the
// clock.
func sinceWhen(text string, now time.Time) (session.Millis, error) {
	if text == "" {
		return 0, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05",
		"2006-01-02 15:04", time.DateTime} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return session.Millis(t.UnixMilli()), nil
		}
	}
	var n float64
	var unit string
	if _, err := fmt.Sscanf(text, "%f%s", &n, &unit); err == nil && n >= 0 {
		const day = 24 * time.Hour
		units := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": day, "w": 7 * day}
		if length := units[unit]; length > 0 {
			return session.Millis(float64(now.UnixMilli()) - n*float64(length.Milliseconds())), nil
		}
	}
	return 0, cli.Usage("--since must be a date such as 2026-01-31 or 2026-01-31T12:00, "+
		"or a time ago such as 90m, 36h, 7d, 4w, not %q", text)
}

func runSearch(ctx context.Context, a *cli.App, q store.Search) error {
	if _, err := a.Settings(); err != nil {
		return err
	}
	doc := searched{Words: q.Words, Hits: []searchHit{}}
	kept, err := openToWrite(ctx, a, source.Changing)
	if errors.Is(err, source.ErrNoStore) && a.StoreFile == "" && a.Env.Getenv("WINNOW_STORE") == "" && q.Session == "" {
		return runSearchEverywhere(ctx, a, q)
	}
	if errors.Is(err, source.ErrNoStore) {
		if err := a.Tell(doc, func() {}); err != nil {
			return err
		}
		return cli.Hint(cli.Nothing("there is no store yet"), "`winnow search WORDS --everywhere` reads the sessions "+
			"where agents keep them; `winnow import FILE` puts one there")
	}
	if err != nil {
		return err
	}
	defer kept.Close()
	if q.Session != "" {
		if q.Session, err = source.FindSession(ctx, kept, q.Session); err != nil {
			return err
		}
	}
	searcher, ok := kept.(store.Searcher)
	if !ok {
		return errors.New("this store cannot be searched")
	}
	say, done := a.Counting()
	err = searcher.Index(ctx, func(done, all int) {
		say(done, all, "indexing %s of %s messages", quantity.Number(done), quantity.Number(all))
	})
	done()
	if err != nil && !errors.Is(err, store.ErrReadOnly) && !errors.Is(err, store.ErrLocked) {
		return err
	}
	found, err := searcher.Search(ctx, q)
	if errors.Is(err, store.ErrNoWord) {
		return cli.Usage("there is no word in %q: a word has letters or digits", q.Words)
	}
	if err != nil {
		return err
	}
	doc.Total, doc.Behind, doc.Scan = found.Total, found.Behind, (*searchScan)(found.Scan)
	if doc.Hits, err = hitsOf(ctx, kept, found.Hits); err != nil {
		return err
	}
	for _, err := range found.Damaged {
		doc.Damaged = append(doc.Damaged, err.Error())
	}
	if err := a.Tell(doc, func() { showHits(a, doc) }); err != nil {
		return err
	}
	if len(found.Damaged) > 0 {
		return cli.Partly{Hits: found.Damaged}
	}
	if len(doc.Hits) == 0 {
		reason := fmt.Sprintf("%q is nowhere in what is stored", q.Words)
		if found.Scan != nil {
			reason += "; " + found.Scan.String()
		}
		if doc.Behind > 0 {
			reason += fmt.Sprintf("; %s not searched", quantity.Plural(doc.Behind, "message was", "messages were"))
		}
		return cli.Hint(cli.Nothing(reason), "`winnow search WORDS --everywhere` reads the sessions where agents keep them")
	}
	return nil
}

// openToWrite opens the store, so that its index can follow, say; only for reading where it must
// not be written.
func openToWrite(ctx context.Context, a *cli.App, want source.Access) (store.Store, error) {
	kept, err := source.OpenStore(ctx, a, want)
	if errors.Is(err, store.ErrReadOnly) {
		return source.OpenStore(ctx, a, source.Reading)
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
		hit := searchHit{Session: h.Session.ID, Title: h.Session.Title, Directory: h.Session.Directory,
			Origin: h.Origin, Message: h.Message, Role: h.Role, Part: h.Part, Type: h.Type, Tool: h.Tool, Time: h.Time,
			Field: h.Field,
			Kept:  h.Kept, Seen: seenWhole, Snippet: h.Snippet, Marks: h.Marks, Score: h.Score,
			updated: h.Session.Time.Updated}
		hit.client, _ = report.Client(h.Session)
		gone := func(field rule.Field) bool { return s.ledger.Has(rule.Key{Part: h.Part, Field: field}) }
		switch {
		case s.broken:
			hit.Seen = ""
		case !s.window[h.Message]:
			hit.Seen = seenFolded
		case h.Kept, gone(rule.Whole), gone(rule.Field(h.Field)):
			hit.Seen = seenElided
		}
		if hit.Marks == nil {
			hit.Marks = [][2]int{}
		}
		hits = append(hits, hit)
	}
	return hits, nil
}
