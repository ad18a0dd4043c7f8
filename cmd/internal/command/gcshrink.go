package command

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/archive"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// shrinking is the JSON document of gc --shrink.
type shrinking struct {
	DryRun bool        `json:"dryRun"` // whether nothing was changed
	Folder string      `json:"folder"` // the folder of the archive
	Kinds  []deadBytes `json:"kinds"`  // the bytes that may be dead, by product and kind
	// Sessions that were shrunk, or would be; then without "path", "hash" and the bytes of the
	// compressed file.
	Shrunk []archive.Session `json:"shrunk"`
	Kept   []notArchived     `json:"kept"`   // sessions that may have dead bytes and stay as they are
	Before int64             `json:"before"` // bytes of the files of "shrunk" before
	After  int64             `json:"after"`  // their bytes afterwards
	Stored int64             `json:"stored"` // bytes of the compressed files; 0 with "--dry-run"
}

// deadBytes are the bytes of a kind in the sessions of a product.
type deadBytes struct {
	Product string `json:"product"` // the product
	Kind    string `json:"kind"`    // "progress", "snapshots", "pictures" or "copied"
	Bytes   int64  `json:"bytes"`   // bytes of the kind
	Taken   int64  `json:"taken"`   // bytes that were taken out, or would be
	Reason  string `json:"reason"`  // why the others stay, a clause; empty if none do
}

// stays are the reasons for which bytes of a kind stay in a file.
var stays = map[string]string{
	format.Progress:  "it is in use, or other records or the cost of a sub-agent need it",
	format.Snapshots: "it is in use",
	format.Pictures:  "an agent sends them again, or may go back to them",
	"copied":         "a fork reads its own copy when it resumes",
}

// runShrink takes dead bytes out of session files.
func runShrink(ctx context.Context, a *cli.App, f gcFlags, found []discover.Found, problems []discover.Problem) error {
	kept, err := output.Archive(a)
	if err != nil {
		return err
	}
	kept.Unseen = f.force
	found = slices.DeleteFunc(found, func(s discover.Found) bool { return !gcWants(s.Project, f) })
	shares, more, err := source.Search(a).Shares(ctx, found)
	if err != nil {
		return err
	}
	doc := shrinking{DryRun: f.dry, Folder: kept.Folder(), Shrunk: []archive.Session{}, Kept: []notArchived{}}
	var failed []error
	for _, p := range append(problems, more...) {
		failed = append(failed, p)
	}
	likely, recent := shrinkable(a, found, shares)
	bad, err := doc.shrink(ctx, a, kept, likely)
	if err != nil {
		return err
	}
	failed = append(failed, bad...)
	doc.Kept = append(doc.Kept, recent...)
	doc.Kinds = doc.kinds(found, shares)
	if err := a.Tell(doc, func() { doc.show(a) }); err != nil {
		return err
	}
	switch {
	case len(failed) > 0:
		return cli.Partly{Failed: failed}
	case len(doc.Shrunk) == 0:
		return cli.Nothing("no session was shrunk: none has dead bytes and is not in use")
	}
	return nil
}

// shrink shrinks sessions, or measures them, and returns the failures.
func (doc *shrinking) shrink(ctx context.Context, a *cli.App, kept archive.Archive,
	likely []discover.Found) (failed []error, err error) {
	if doc.DryRun {
		doc.Kept, failed, err = eachFound(ctx, a, likely, "measuring", func(s discover.Found, now session.Millis) error {
			return doc.measure(kept, s, now)
		})
		return failed, err
	}
	if len(likely) == 0 {
		return nil, nil // the archive is made when something comes into it
	}
	doc.Kept, failed, err = inArchive(ctx, a, kept, likely, "shrinking", func(s discover.Found, now session.Millis) error {
		done, err := kept.Shrink(ctx, s, now)
		if err == nil {
			doc.add(done)
		}
		return err
	})
	return failed, err
}

// shrinkable are the sessions that may have dead bytes, and those of them that may be in use.
func shrinkable(a *cli.App, found []discover.Found, shares []discover.Shares) (likely []discover.Found,
	recent []notArchived) {
	for i, s := range found {
		bytes := shares[i].Progress + shares[i].Snapshots + shares[i].Pictures
		switch {
		case bytes == 0 || !s.OneFile() || !archive.Shrinkable(s.Product):
		case a.Env.Now().Sub(s.Updated) < archive.Least:
			recent = append(recent, notArchived{s.Source, string(inplace.Fresh), "it was written to in the last hour"})
		default:
			likely = append(likely, s)
		}
	}
	return likely, recent
}

// measure adds a session as it would be shrunk.
func (doc *shrinking) measure(kept archive.Archive, s discover.Found, now session.Millis) error {
	taken, err := kept.Dead(s)
	if err != nil {
		return err
	}
	done := archive.Session{Receipt: archive.Receipt{Source: s.Source, Product: s.Product, ID: s.ID, Parent: s.Parent,
		Project: s.Project, Title: s.Title, Size: s.Bytes, Modified: s.Updated, Time: now,
		Parts: &archive.Parts{Taken: taken, Size: s.Bytes}}}
	for _, n := range taken {
		done.Parts.Size -= n
	}
	doc.add(done)
	return nil
}

func (doc *shrinking) add(s archive.Session) {
	doc.Shrunk = append(doc.Shrunk, s)
	doc.Before, doc.After, doc.Stored = doc.Before+s.Size, doc.After+s.Parts.Size, doc.Stored+s.Bytes
}

// kinds adds up the bytes that may be dead.
func (doc *shrinking) kinds(found []discover.Found, shares []discover.Shares) []deadBytes {
	type key struct{ product, kind string }
	all, taken := map[key]int64{}, map[key]int64{}
	for i, s := range found {
		for kind, n := range map[string]int64{format.Progress: shares[i].Progress, format.Snapshots: shares[i].Snapshots,
			format.Pictures: shares[i].Pictures, "copied": shares[i].Copied} {
			all[key{s.Product, kind}] += n
		}
	}
	for _, s := range doc.Shrunk {
		for kind, n := range s.Parts.Taken {
			taken[key{s.Product, kind}] += n
		}
	}
	list := []deadBytes{}
	for of, n := range all {
		if n == 0 {
			continue
		}
		d := deadBytes{Product: of.product, Kind: of.kind, Bytes: n, Taken: taken[of]}
		if d.Taken < n-n/100 { // a new parent may be longer by a few bytes
			d.Reason = stays[of.kind]
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(x, y deadBytes) int {
		return cmp.Or(cmp.Compare(y.Taken, x.Taken), cmp.Compare(y.Bytes, x.Bytes), strings.Compare(x.Product, y.Product),
			strings.Compare(x.Kind, y.Kind))
	})
	return list
}

func (doc shrinking) show(a *cli.App) {
	if len(doc.Kinds) > 0 {
		word := "taken out"
		if doc.DryRun {
			word = "dead"
		}
		rows := [][]string{{"product", "kind", "size", word, "the rest stays because"}}
		for _, k := range doc.Kinds {
			rows = append(rows, []string{visible.Line(k.Product), k.Kind, bytesOf(k.Bytes), bytesOf(k.Taken), k.Reason})
		}
		a.Table([]int{-11, -9, 7, 9}, rows)
	}
	showKept(a, doc.Kept)
	number := quantity.Plural(len(doc.Shrunk), "session", "sessions")
	sizes := quantity.Bytes(int(doc.Before)) + " to " + quantity.Bytes(int(doc.After))
	switch {
	case len(doc.Shrunk) == 0:
	case doc.DryRun:
		a.Printf("\n%s would be shrunk from %s; nothing was changed\n", number, sizes)
	default:
		a.Printf("\n%s shrunk from %s; the bytes taken out are %s in %s\n"+
			"winnow restore SESSION puts them back, winnow gc --undo all of this run\n", number, sizes,
			quantity.Bytes(int(doc.Stored)), visible.Text(doc.Folder))
	}
}
