package pi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
)

// newEntry is an entry as it is written, its members in the product's order.
type newEntry struct {
	Type      string         `json:"type"`
	Version   int            `json:"version,omitzero"`
	ID        string         `json:"id,omitzero"`
	ParentID  jsontext.Value `json:"parentId,omitzero"`
	Timestamp string         `json:"timestamp"`

	Cwd        string         `json:"cwd,omitzero"`
	Name       string         `json:"name,omitzero"`
	CustomType string         `json:"customType,omitzero"`
	Message    jsontext.Value `json:"message,omitzero"`

	Summary      *string  `json:"summary,omitzero"`
	FirstKept    string   `json:"firstKeptEntryId,omitzero"`
	FirstIndex   *int     `json:"firstKeptEntryIndex,omitzero"`
	TokensBefore *int     `json:"tokensBefore,omitzero"`
	Details      *touched `json:"details,omitzero"`

	Winnow *entries.Mark `json:"winnow,omitzero"`
}

// appender writes entries, each the child of the one before.
type appender struct {
	out    *bytes.Buffer
	linear bool
	leaf   string // id of the newest entry, "" for none
	used   map[string]bool
	parsed int            // how many entries the product has seen so far
	first  map[string]ref // message id → its first entry
	err    error
}

// ref names an entry: by id, and by position in files without ids.
type ref struct {
	id     string
	parsed int
}

// newAppender begins a file of about this size.
func newAppender(size int) *appender {
	return &appender{out: bytes.NewBuffer(make([]byte, 0, size)), used: map[string]bool{}, first: map[string]ref{}}
}

// newID is a short id for an entry, made from a name that stays the same, so that writing twice
// gives the same bytes.
func (a *appender) newID(name string) string {
	sum := sha256.Sum256([]byte(name))
	long := hex.EncodeToString(sum[:])
	for at := 0; at+8 <= len(long); at++ {
		if id := long[at : at+8]; !a.used[id] {
			a.used[id] = true
			return id
		}
	}
	a.used[long] = true
	return long
}

// write writes one entry; the name is what its id is made from. It returns how the entry is
// referred to.
func (a *appender) write(name string, at session.Millis, e newEntry) ref {
	e.Timestamp = jsonl.Stamp(at)
	here := ref{parsed: a.parsed}
	if !a.linear && e.Type != sessionEntry {
		e.ID = a.newID(name)
		e.ParentID = jsonl.OrNull(a.leaf)
		if e.FirstKept == itself {
			e.FirstKept = e.ID
		}
		a.leaf, here.id = e.ID, e.ID
	}
	text, err := json.Marshal(e, session.ReadOptions())
	if err != nil {
		a.err = err
		return here
	}
	if n := a.out.Len(); n > 0 && a.out.Bytes()[n-1] != '\n' {
		a.out.WriteByte('\n')
	}
	a.out.Write(text)
	a.out.WriteByte('\n')
	a.parsed++
	return here
}

// itself stands for the id of the entry that is being written.
const itself = "\x00"

// grow writes the new messages of a log as entries: a marker and its summary together as the
// product's compaction, everything else as messages of the product.
func (a *appender) grow(change format.Change) {
	log := change.Session.Messages
	has := func(id string) bool { _, ok := a.first[id]; return ok }
	entries.Grow(change, has, func(marker, summary int) { a.compaction(log, marker, summary) }, func(m *session.Message) {
		switch {
		case m.Marker() != nil || m.IsSummary():
			a.kept(m)
		case m.Role == session.User && slices.ContainsFunc(m.Parts, sent):
			a.user(m)
		case m.Role == session.Assistant:
			a.assistant(m)
		default:
			a.kept(m)
		}
	})
}

// sent reports whether a part of a user message is for the model.
func sent(p session.Part) bool {
	return p.Type == session.FilePart || p.Type == session.TextPart && !p.Ignored
}

// kept writes a message that the product has no form for, as an entry that takes no part in the
// conversation.
func (a *appender) kept(m *session.Message) {
	a.first[m.ID] = a.write(m.ID, m.Time.Created, newEntry{Type: customEntry, CustomType: "winnow",
		Winnow: &entries.Mark{Message: m}})
}

// compaction writes a pivot as the product's compaction entry.
func (a *appender) compaction(log []session.Message, marker, summary int) {
	texts, native, at := entries.Texts(&log[summary])
	text := strings.Join(texts, "\n\n")
	tokens := jsonl.PromptBefore(log[:marker])
	e := newEntry{Type: compactionEntry, Summary: &text, TokensBefore: &tokens, Details: filesTouched(log[:marker])}
	kept, ok := a.first[log[marker].Marker().TailStartID]
	switch {
	case a.linear && ok:
		e.FirstIndex = &kept.parsed
	case a.linear:
		index := a.parsed // the entry itself: nothing is kept
		e.FirstIndex = &index
	case ok:
		e.FirstKept = kept.id
	default:
		e.FirstKept = itself // found nowhere before the entry: nothing is kept
	}

	e.Winnow = &entries.Mark{}
	e.Winnow.Fold(&log[marker], &log[summary], native, at)
	if len(texts) > 1 {
		for _, text := range texts {
			e.Winnow.Cuts = append(e.Winnow.Cuts, len(text))
		}
	}
	here := a.write(log[marker].ID, log[marker].Time.Created, e)
	a.first[log[marker].ID], a.first[log[summary].ID] = here, here
}

// touched is what the product notes of a compaction: files that were read and not changed, and
// files that were changed.
type touched struct {
	ReadFiles     []string `json:"readFiles"`
	ModifiedFiles []string `json:"modifiedFiles"`
}

func filesTouched(log []session.Message) *touched {
	t := &touched{ReadFiles: []string{}, ModifiedFiles: []string{}}
	for i := range log {
		for j := range log[i].Parts {
			p := &log[i].Parts[j]
			var input struct {
				Path     string `json:"path"`
				FilePath string `json:"filePath"`
			}
			if p.State == nil || json.Unmarshal(p.State.Input, &input, session.ReadOptions()) != nil {
				continue
			}
			list := &t.ModifiedFiles
			switch p.Tool {
			case "read":
				list = &t.ReadFiles
			case "write", "edit":
			default:
				continue
			}
			if path := input.Path + input.FilePath; path != "" && !slices.Contains(*list, path) {
				*list = append(*list, path)
			}
		}
	}
	changed := func(path string) bool { return slices.Contains(t.ModifiedFiles, path) }
	t.ReadFiles = slices.DeleteFunc(t.ReadFiles, changed)
	return t
}
