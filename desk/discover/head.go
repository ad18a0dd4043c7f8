package discover

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/cline"
	"github.com/winnowhq/winnow/format/geminicli"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/format/openhands"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/plainfile"
)

// Find reads the first 8 KiB of a file, which hold the folder and the first words of most sessions,
// and where they do not, the first 64 KiB: what formats are told by.
const (
	glanceBytes = 8 << 10
	headBytes   = 64 << 10
)

// head says what the beginning of a file tells. It is nil for files that are not sessions.
func (s *Search) head(p Place, path string, at location) (found *Found, err error) {
	defer guard(&err)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return s.glance(p, path)
	}
	file, info, err := plainfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() == 0 {
		return nil, nil // begun, and nothing said
	}
	f := &Found{
		Product: p.Product, Source: path, Parent: parentOf(p, path), Bytes: info.Size(), Updated: info.ModTime(),
		path: path, root: p.Path,
	}
	if p.Product == geminicli.Name {
		f.Project, f.Parent = p.gemini.place(path)
	}
	if p.Product == cline.Name {
		f.ofCline()
	}
	if s.Cache.recall(f) {
		return f, nil
	}
	if f.Project != "" && !at.is(f.Project) {
		return nil, nil
	}
	if f.Project == "" && at != nil {
		if named, err := at.named(file); err != nil || !named {
			return nil, err
		}
	}
	glance, err := io.ReadAll(io.LimitReader(file, glanceBytes))
	if err != nil {
		return nil, err
	}
	if f.understand(p, glance) && f.ID != "" && f.Project != "" && f.Title != "" {
		return f, nil
	}
	rest, err := io.ReadAll(io.LimitReader(file, headBytes-glanceBytes))
	if err != nil {
		return nil, err
	}
	if !f.understand(p, append(glance, rest...)) {
		return nil, nil // another of the product's files
	}
	return f, nil
}

// glance says what the first events of an OpenHands conversation tell.
func (s *Search) glance(p Place, path string) (*Found, error) {
	folder, ok := openhands.Conversation(path)
	if !ok {
		return nil, nil
	}
	f := &Found{
		Product: p.Product, Source: path, Bytes: folder.Size(), Updated: folder.Modified(), path: path, folder: true,
	}
	if s.Cache.recall(f) {
		return f, nil
	}
	if above := filepath.Dir(path); filepath.Base(above) == openhands.SubAgents {
		if of, ok := openhands.Conversation(filepath.Dir(above)); ok {
			f.Parent = of.ID()
		}
	}
	doc, err := folder.Glance(headBytes)
	if err != nil {
		f.ID = folder.ID()
		return f, nil // the whole may say more; if it does not, Measure has the error
	}
	f.ID, f.Project, f.Title = doc.Session.Info.ID, doc.Session.Info.Directory, titleOf(doc)
	return f, nil
}

// understand takes what the beginning of a file says of its session; false is the beginning of no
// session.
func (f *Found) understand(p Place, head []byte) bool {
	head, err := all.Plain(head)
	if err != nil {
		return false
	}
	head = bytes.TrimPrefix(head[:min(len(head), headBytes)], []byte("\ufeff"))
	lines := ending(".jsonl", ".jsonl.gz")(f.path)
	if n := bytes.LastIndexByte(head, '\n'); n > 0 && int64(len(head)) < f.Bytes && lines {
		head = head[:n+1] // whole ones
	}
	reader := all.Detect(head)
	if reader == nil {
		return false
	}
	if p.Product != "gemini-cli" && p.Product != "openhands" {
		f.Product = reader.Name()
	}
	// The reader of the format takes a part of a file for a file that was cut: what the part says
	// of the session is said.
	doc, err := reader.Read(head)
	if err != nil {
		return true // the whole may say more; if it does not, Measure has the error
	}
	info := doc.Session.Info
	if p.Product == cline.Name {
		f.ID, f.Title = cmp.Or(info.ID, f.ID), cmp.Or(f.Title, titleOf(doc))
		return doc.Counts.Entries > 0 // else it was begun, and nothing said
	}
	f.ID, f.Title = info.ID, titleOf(doc)
	if p.Product == geminicli.Name {
		f.Project = cmp.Or(f.Project, info.Directory) // of the chat itself: folders that were added to it
		return int64(len(head)) < f.Bytes || slices.ContainsFunc(doc.Session.Messages, func(m session.Message) bool {
			return m.Role == session.Assistant || m.Written() // else it was begun, and nothing said
		})
	}
	f.Project = info.Directory
	if f.Parent != "" { // the entries of a sub-agent bear the id of the session that it works for
		f.Parent, f.ID = info.ID, strings.TrimSuffix(filepath.Base(f.path), ".jsonl")
	}
	return true
}

// titleOf is the title of a session.
func titleOf(doc *format.Document) string {
	return session.Called(doc.Session.Info, doc.Session.Messages)
}

// parentOf tells the files of Claude Code's sub-agents by their names, agent-<id>.jsonl; they are
// in <session>/subagents, and were beside the sessions in earlier versions. It returns the folder's
// session, or anything that is not "" until the file says.
func parentOf(p Place, path string) string {
	if p.Product != "claude-code" || !strings.HasPrefix(filepath.Base(path), "agent-") {
		return ""
	}
	return filepath.Base(filepath.Dir(filepath.Dir(path)))
}

// listStores lists the sessions of OpenCode's stores. A session that was carried over from the
// files into the database is listed once, as the database has it.
func (s *Search) listStores(ctx context.Context, p Place, paths []string) (found []Found, problems []Problem) {
	seen := map[string]bool{}
	for _, path := range paths {
		sessions, err := s.listStore(ctx, p, path)
		if err != nil {
			problems = append(problems, Problem{path, err})
			continue
		}
		for _, f := range sessions {
			if !seen[f.ID] {
				seen[f.ID] = true
				found = append(found, f)
			}
		}
	}
	return found, problems
}

func (s *Search) listStore(ctx context.Context, p Place, path string) (found []Found, err error) {
	defer guard(&err)
	store, err := opencodedb.Open(path)
	if err != nil {
		return nil, err
	}
	sessions, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	var sizes map[string]int64
	if !s.NamesOnly {
		if sizes, err = store.Sizes(ctx); err != nil {
			return nil, err
		}
	}
	for _, l := range sessions {
		f := Found{
			Product: p.Product, Source: opencodedb.Name(path, l.ID), ID: l.ID, Parent: l.ParentID,
			Project: cmp.Or(l.Directory, l.Project),
			Title:   session.Called(session.Info{Title: l.Title}, nil), Bytes: sizes[l.ID],
			Updated: time.UnixMilli(int64(l.Updated)), path: path, session: l.ID,
			Measurement: Measurement{Messages: max(0, l.Messages),
				Tokens:   l.Tokens.Prompt() + l.Tokens.Output + l.Tokens.Reasoning,
				Measured: l.Messages == 0}, // nothing is left to measure
		}
		if l.Cost > 0 {
			f.Cost = &l.Cost // the product's own sum, for where the messages say nothing
		}
		found = append(found, f)
	}
	return found, nil
}
