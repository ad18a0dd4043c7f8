package snapshot

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/winnowhq/winnow/session"
)

const (
	// longText is how many bytes a file may have for a diff to hold its text: of a larger one its
	// patch says more.
	longText = 64 << 10
	// longPatch is how many bytes the patch of one file may have.
	longPatch = 128 << 10
	// allTexts bounds the texts and patches of one diff together, as it is kept in a session.
	allTexts = 1 << 20
)

// change is what differs between two trees in one path.
type change struct {
	name             string
	oldMode, newMode string // "000000" where there is nothing
	oldID, newID     string
	status           byte // A, D, M, T
	added, deleted   int
	binary           bool
}

// Diff says what became of each file between two snapshots, in the order of their names (S001,
// FileDiff). Texts of more than 64 KiB are left out, and texts that are not UTF-8; in a large diff,
// the later files have only counts. Patch gives all of it.
func (r *Repository) Diff(ctx context.Context, from, to string) ([]session.FileDiff, error) {
	changes, err := r.changes(ctx, from, to)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	patch, err := r.diff(ctx, from, to, "--patch")
	if err != nil {
		return nil, err
	}
	sections := sectionsOf(patch, changes)
	texts, err := r.texts(ctx, changes)
	if err != nil {
		return nil, err
	}
	var files []session.FileDiff
	room := allTexts
	for i, c := range changes {
		f := session.FileDiff{
			File:      strings.ToValidUTF8(c.name, "\uFFFD"),
			Additions: c.added, Deletions: c.deleted, Status: statuses[c.status],
		}
		if p := sections[i]; !c.binary && len(p) <= min(longPatch, room) && utf8.ValidString(p) {
			f.Patch = p
			room -= len(p)
		}
		before, after := texts[c.oldID], texts[c.newID]
		valid := utf8.ValidString(before) && utf8.ValidString(after)
		if size := len(before) + len(after); !c.binary && size <= room && valid {
			f.Before, f.After = before, after
			room -= size
		}
		files = append(files, f)
	}
	return files, nil
}

// statuses are the words for git's letters.
var statuses = map[byte]string{'A': "added", 'D': "deleted", 'M': "modified", 'T': "modified"}

// Patch is the whole difference between two snapshots, as git writes it.
func (r *Repository) Patch(ctx context.Context, from, to string) (string, error) {
	out, err := r.diff(ctx, from, to, "--patch")
	return string(out), err
}

func (r *Repository) diff(ctx context.Context, from, to string, args ...string) ([]byte, error) {
	for _, tree := range []string{from, to} {
		if err := r.has(ctx, tree); err != nil {
			return nil, err
		}
	}
	always := []string{"diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--full-index"}
	return r.run(ctx, nil, slices.Concat(always, args, []string{from, to})...)
}

// has reports whether a snapshot is in the repository, as an error.
func (r *Repository) has(ctx context.Context, tree string) error {
	if len(tree) != 40 || strings.Trim(tree, "0123456789abcdef") != "" {
		return fmt.Errorf("%q is not a snapshot, which is a hash of 40 digits", tree)
	}
	if _, err := r.run(ctx, nil, "cat-file", "-e", tree+"^{tree}"); err != nil {
		if ctx.Err() != nil || !strings.Contains(err.Error(), "Not a valid object name") {
			return err
		}
		return fmt.Errorf("snapshot %s of %s is not kept here: "+
			"another program took it, or its repository was removed", tree, r.folder)
	}
	return nil
}

// changes are what differs between two trees.
func (r *Repository) changes(ctx context.Context, from, to string) ([]change, error) {
	if from == to {
		return nil, r.has(ctx, from)
	}
	out, err := r.diff(ctx, from, to, "-z", "--raw", "--numstat")
	if err != nil {
		return nil, err
	}
	return changesOf(out)
}

// changesOf reads what git diff-tree prints of changes.
func changesOf(out []byte) ([]change, error) {
	var changes []change
	at := map[string]int{}
	raw := ""
	for field := range split(out) {
		switch {
		case raw != "":
			var c change
			var letter string
			_, err := fmt.Sscanf(raw, ":%s %s %s %s %s", &c.oldMode, &c.newMode, &c.oldID, &c.newID, &letter)
			if err != nil {
				return nil, fmt.Errorf("git diff-tree: %q: %w", raw, err)
			}
			c.name, c.status, raw = field, letter[0], ""
			at[c.name] = len(changes)
			changes = append(changes, c)
		case strings.HasPrefix(field, ":"):
			raw = field
		default:
			counts := strings.SplitN(field, "\t", 3)
			if len(counts) != 3 {
				continue
			}
			i, ok := at[counts[2]]
			if !ok {
				continue
			}
			changes[i].binary = counts[0] == "-"
			added, _ := strconv.Atoi(counts[0])
			deleted, _ := strconv.Atoi(counts[1])
			changes[i].added, changes[i].deleted = changes[i].added+added, changes[i].deleted+deleted
		}
	}
	return changes, nil
}

// sectionsOf cuts a patch of all of them.
func sectionsOf(out []byte, changes []change) []string {
	// A line of a patch that is not of a heading begins with a blank, a sign or a backslash.
	const heading = "diff --git "
	var pieces []string
	for line := range bytes.Lines(out) {
		if bytes.HasPrefix(line, []byte(heading)) {
			pieces = append(pieces, "")
		}
		if n := len(pieces); n > 0 && len(pieces[n-1]) <= longPatch {
			pieces[n-1] += string(line)
		}
	}
	sections := make([]string, len(changes))
	for i, c := range changes {
		n := 1
		if c.status == 'T' {
			n = 2 // one kind goes and another comes
		}
		if len(pieces) < n {
			break
		}
		sections[i], pieces = strings.Join(pieces[:n], ""), pieces[n:]
	}
	return sections
}

// texts reads the files of changes that are not too large, by id.
func (r *Repository) texts(ctx context.Context, changes []change) (map[string]string, error) {
	var ids []string
	for _, c := range changes {
		if !c.binary {
			ids = append(ids, c.oldID, c.newID)
		}
	}
	in := strings.NewReader(strings.Join(ids, "\n") + "\n")
	sizes, err := r.run(ctx, in, "cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)")
	if err != nil {
		return nil, err
	}
	ids = ids[:0]
	for line := range strings.Lines(string(sizes)) {
		var id, kind string
		var size int
		if n, _ := fmt.Sscan(line, &id, &kind, &size); n == 3 && kind == "blob" && size <= longText {
			ids = append(ids, id)
		}
	}
	texts := map[string]string{}
	err = r.blobs(ctx, ids, func(id string, data []byte) error { texts[id] = string(data); return nil })
	return texts, err
}

// blobs hands on the contents of files, in order.
func (r *Repository) blobs(ctx context.Context, ids []string, take func(id string, data []byte) error) error {
	for some := range slices.Chunk(ids, 64) { // not the contents of a whole tree in memory
		out, err := r.run(ctx, strings.NewReader(strings.Join(some, "\n")+"\n"), "cat-file", "--batch")
		if err != nil {
			return err
		}
		if err := blobsOf(out, some, take); err != nil {
			return err
		}
	}
	return nil
}

// blobsOf hands on the files that git cat-file prints.
func blobsOf(out []byte, ids []string, take func(id string, data []byte) error) error {
	in := bytes.NewBuffer(out)
	for _, want := range ids {
		head, err := in.ReadString('\n')
		var id, kind string
		var size int
		if _, scan := fmt.Sscan(head, &id, &kind, &size); err != nil || scan != nil || size < 0 || size >= in.Len() {
			head = strings.TrimSpace(head)
			return fmt.Errorf("snapshots: file %s cannot be read: %q: %w", want, head, io.ErrUnexpectedEOF)
		}
		if err := take(want, in.Next(size)); err != nil {
			return err
		}
		in.Next(1) // a line end
	}
	return nil
}
