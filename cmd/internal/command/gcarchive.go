package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/archive"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// archiving is the JSON document of gc --archive.
type archiving struct {
	DryRun bool   `json:"dryRun"` // whether nothing was changed
	Folder string `json:"folder"` // the folder of the archive
	// Sessions that were archived and removed from their place, or would be; then without "path",
	// "hash" and the bytes of the compressed file.
	Archived []archive.Session `json:"archived"`
	Kept     []notArchived     `json:"kept"`   // sessions that are old enough but stay
	Bytes    int64             `json:"bytes"`  // bytes of the files of "archived"
	Stored   int64             `json:"stored"` // bytes of their compressed files; 0 with "--dry-run"
}

// notArchived is a session that is left in its place.
type notArchived struct {
	Source string `json:"source"` // the path of its file
	Code   string `json:"code"`   // the reason in a word, such as "open", "recent", "torn" or "failed"
	Reason string `json:"reason"` // the reason, a sentence
}

// archivedList is the JSON document of gc --archived.
type archivedList struct {
	Folder string `json:"folder"` // the folder of the archive
	// The archived sessions, and with "parts" those with archived parts, the newest run first.
	Sessions []archive.Session `json:"sessions"`
}

// unarchived is the JSON document of gc --undo, and of restore with an archived session.
type unarchived struct {
	DryRun   bool              `json:"dryRun"`   // whether nothing was changed
	Restored []archive.Session `json:"restored"` // sessions that are in their place again, or would be
	Kept     []notArchived     `json:"kept"`     // sessions that could not be brought back; they stay archived
}

// runArchive archives old sessions.
func runArchive(ctx context.Context, a *cli.App, f gcFlags, old []discover.Found, problems []discover.Problem) error {
	kept, err := output.Archive(a)
	if err != nil {
		return err
	}
	kept.Unseen = f.force
	doc := archiving{DryRun: f.dry, Folder: kept.Folder(), Archived: []archive.Session{}, Kept: []notArchived{}}
	partly := cli.Partly{}
	for _, p := range problems {
		partly.Failed = append(partly.Failed, p)
	}
	if f.dry {
		for _, s := range old {
			doc.Archived = append(doc.Archived, archive.Session{Receipt: archive.Receipt{Source: s.Source,
				Product: s.Product, ID: s.ID, Parent: s.Parent, Project: s.Project, Title: s.Title, Size: s.Bytes,
				Modified: s.Updated}})
			doc.Bytes += s.Bytes
		}
	} else if len(old) > 0 {
		failed, err := doc.archive(ctx, a, kept, old)
		if err != nil {
			return err
		}
		partly.Failed = append(partly.Failed, failed...)
	}
	if err := a.Tell(doc, func() { doc.show(a) }); err != nil {
		return err
	}
	switch {
	case len(partly.Failed) > 0:
		return partly
	case len(doc.Archived) == 0:
		return cli.Nothing("no session was archived: none is older than " + f.older + " and not in use")
	}
	return nil
}

// archive archives sessions, and returns the failures.
func (doc *archiving) archive(ctx context.Context, a *cli.App, kept archive.Archive,
	old []discover.Found) (failed []error, err error) {
	doc.Kept, failed, err = inArchive(ctx, a, kept, old, "archiving", func(f discover.Found, now session.Millis) error {
		s, err := kept.Put(ctx, f, now)
		if err == nil {
			doc.Archived = append(doc.Archived, s)
			doc.Bytes, doc.Stored = doc.Bytes+s.Size, doc.Stored+s.Bytes
		}
		return err
	})
	return failed, err
}

// inArchive changes sessions with the archive, and returns those that were left alone and the
// failures.
func inArchive(ctx context.Context, a *cli.App, kept archive.Archive, list []discover.Found, doing string,
	do func(f discover.Found, now session.Millis) error) (left []notArchived, failed []error, err error) {
	release, unfinished, err := kept.Open()
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	for _, problem := range unfinished {
		a.Warn("%v", problem)
	}
	return eachFound(ctx, a, list, doing, do)
}

// eachFound does something with sessions, and returns those that were left alone and the failures.
func eachFound(ctx context.Context, a *cli.App, list []discover.Found, doing string,
	do func(f discover.Found, now session.Millis) error) (left []notArchived, failed []error, err error) {
	left = []notArchived{}
	say, done := a.Counting()
	defer done()
	now := session.Millis(a.Env.Now().UnixMilli())
	for i, f := range list {
		say(i, len(list), "%s %s of %s sessions", doing, quantity.Number(i+1), quantity.Number(len(list)))
		err := do(f, now)
		var refusal *inplace.Refusal
		switch {
		case ctx.Err() != nil:
			return left, nil, ctx.Err()
		case errors.As(err, &refusal):
			left = append(left, notArchived{f.Source, string(refusal.Code), refusal.Reason})
		case err != nil && !errors.Is(err, archive.ErrAlive):
			left = append(left, notArchived{f.Source, "failed", err.Error()})
			failed = append(failed, fmt.Errorf("%s: %w", f.Source, err))
		}
	}
	return left, failed, nil
}

func (doc archiving) show(a *cli.App) {
	showArchived(a, doc.Archived)
	showKept(a, doc.Kept)
	number := quantity.Plural(len(doc.Archived), "session", "sessions")
	switch {
	case len(doc.Archived) == 0:
	case doc.DryRun:
		a.Printf("\n%s would be archived, %s, unless a program has them open; nothing was changed\n", number,
			quantity.Bytes(int(doc.Bytes)))
	default:
		a.Printf("\n%s archived: %s are now %s in %s\n"+
			"winnow restore SESSION brings one back, winnow gc --undo all of this run\n", number,
			quantity.Bytes(int(doc.Bytes)), quantity.Bytes(int(doc.Stored)), visible.Text(doc.Folder))
	}
}

// shownArchived is how many sessions are listed for people; --json has all of them.
const shownArchived = 30

func showArchived(a *cli.App, list []archive.Session) {
	if len(list) == 0 {
		return
	}
	words := archivedWords(list)
	now := a.Env.Now()
	rows := [][]string{{"session", "age", "size", "project: title"}}
	for i, s := range list[:min(len(list), shownArchived)] {
		title := visible.Line(s.Title)
		if s.Project != "" {
			title = visible.Line(homely(a, s.Project)) + ": " + title
		}
		if s.Parts != nil {
			title = "(parts) " + title
		}
		if s.Restored != 0 {
			title = "(restored) " + title
		}
		rows = append(rows, []string{visible.Line(words[i]), quantity.Age(now.Sub(s.Modified)),
			quantity.Bytes(int(s.Size)), runewidth.Truncate(title, 60, "…")})
	}
	a.Table([]int{-20, 5, 7}, rows)
	sayMore(a, len(list))
}

func sayMore(a *cli.App, all int) {
	if more := all - shownArchived; more > 0 {
		a.Printf("%s; --json lists all\n", quantity.Plural(more, "more session", "more sessions"))
	}
}

// archivedWords are the words that restore takes for archived sessions.
func archivedWords(list []archive.Session) []string {
	found := make([]discover.Found, len(list))
	for i, s := range list {
		found[i] = discover.Found{Product: s.Product, ID: cmp.Or(s.ID, s.Source)}
	}
	return source.Words(found, found)
}

// shownKept is how many sessions that were left alone for one reason are listed for people.
const shownKept = 5

func showKept(a *cli.App, kept []notArchived) {
	count := map[string]int{}
	for _, k := range kept {
		if count[k.Code]++; count[k.Code] <= shownKept {
			a.Printf("left alone: %s: %s (%s)\n", visible.Line(k.Source), visible.Line(k.Reason), visible.Line(k.Code))
		}
	}
	for _, code := range slices.Sorted(maps.Keys(count)) {
		if more := count[code] - shownKept; more > 0 {
			a.Printf("left alone: %s (%s)\n", quantity.Plural(more, "more session", "more sessions"), visible.Line(code))
		}
	}
	if count[string(inplace.Unseen)] > 0 {
		a.Printf("if no agent is running, --force takes them all the same\n")
	}
}

// runArchived lists archived sessions, or brings those of the newest run back.
func runArchived(ctx context.Context, a *cli.App, f gcFlags) error {
	kept, err := output.Archive(a)
	if err != nil {
		return err
	}
	kept.Unseen = f.force
	list, failed := kept.Everything()
	if f.undo {
		run := archive.NewestRun(list)
		if len(run) == 0 && failed == nil {
			return cli.Nothing("no archived session is left to bring back")
		}
		return errors.Join(failed, bringBack(ctx, a, kept, run, f.dry))
	}
	list = slices.DeleteFunc(list, func(s archive.Session) bool {
		return !gcWants(s.Project, f) || f.product != "" && s.Product != f.product
	})
	doc := archivedList{Folder: kept.Folder(), Sessions: append([]archive.Session{}, list...)}
	if err := a.Tell(doc, func() {
		showArchived(a, list)
		if len(list) > 0 {
			a.Printf("\nwinnow restore SESSION brings one back\n")
		}
	}); err != nil {
		return err
	}
	switch {
	case failed != nil:
		return cli.Partly{Failed: []error{failed}}
	case len(list) == 0:
		return cli.Nothing("no session is archived")
	}
	return nil
}

// restoreArchived brings back the archived session that a word names.
func restoreArchived(ctx context.Context, a *cli.App, word string, force bool) error {
	kept, err := output.Archive(a)
	if err != nil {
		return err
	}
	kept.Unseen = force
	list, failed := kept.Everything()
	named := archive.Named(list, word)
	if len(named) == 0 {
		named = archive.Named(list, a.Path(word))
	}
	if len(named) == 0 {
		return errors.Join(cli.Hint(cli.Usage("winnow restore takes SRC and at least one PART; "+
			"no archived session is named %q", word), "`winnow gc --archived` lists the archived sessions"), failed)
	}
	sessions := map[string]bool{}
	for _, s := range named {
		if s.Parent == "" {
			sessions[s.Product+":"+s.ID] = true
		}
	}
	if len(sessions) > 1 {
		return cli.Usage("%q names %s; write more of the id", word,
			quantity.Plural(len(sessions), "archived session", "archived sessions"))
	}
	return bringBack(ctx, a, kept, named, false)
}

// bringBack brings archived sessions back to their places.
func bringBack(ctx context.Context, a *cli.App, kept archive.Archive, list []archive.Session, dry bool) (err error) {
	doc := unarchived{DryRun: dry, Restored: []archive.Session{}, Kept: []notArchived{}}
	var failed []error
	if dry {
		doc.Restored = append(doc.Restored, list...)
	} else {
		release, left, err := kept.Open()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		for _, problem := range left {
			a.Warn("%v", problem)
		}
		now := session.Millis(a.Env.Now().UnixMilli())
		say, done := a.Counting()
		defer done()
		for i, s := range list {
			say(i, len(list), "restoring %s of %s sessions", quantity.Number(i+1), quantity.Number(len(list)))
			err := kept.Restore(ctx, &s, now)
			var refusal *inplace.Refusal
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.As(err, &refusal):
				doc.Kept = append(doc.Kept, notArchived{s.Source, string(refusal.Code), refusal.Reason})
				failed = append(failed, err)
			case err != nil:
				doc.Kept = append(doc.Kept, notArchived{s.Source, "failed", err.Error()})
				failed = append(failed, err)
			default:
				doc.Restored = append(doc.Restored, s)
			}
		}
	}
	if err := a.Tell(doc, func() { doc.show(a) }); err != nil {
		return err
	}
	if len(failed) > 0 {
		return cli.Partly{Failed: failed}
	}
	return nil
}

func (doc unarchived) show(a *cli.App) {
	for _, s := range doc.Restored[:min(len(doc.Restored), shownArchived)] {
		a.Printf("%s\n", visible.Line(s.Source))
	}
	showKept(a, doc.Kept)
	sayMore(a, len(doc.Restored))
	word := "in place again; the archived copies stay"
	if doc.DryRun {
		word = "would be brought back; nothing was changed"
	}
	if n := len(doc.Restored); n > 0 {
		a.Printf("%s %s\n", quantity.Plural(n, "session", "sessions"), word)
	}
	const cleanup = 30 * 24 * time.Hour // the default of Claude Code's cleanupPeriodDays
	if slices.ContainsFunc(doc.Restored, func(s archive.Session) bool {
		return s.Product == "claude-code" && s.Parts == nil && a.Env.Now().Sub(s.Modified) > cleanup
	}) {
		a.Printf("Before you start Claude Code, raise its cleanupPeriodDays (30): it deletes older sessions\n")
	}
}
