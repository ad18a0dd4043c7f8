package sqlite

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// large is the size in bytes from which a text is kept apart: compressed, and once for each
// content. A row of the table part that is longer takes pages of its own, which are half empty:
// recorded sessions take 15 % less than with 4096 (and 26 % less than in version 1), while
// appending outputs of 2,000 bytes costs a quarter more.
const large = 1024

// pieceSize is the length of the pieces of a file, in bytes. A file that grew keeps all pieces but
// the last, and a piece is long enough to compress as well as the whole.
const pieceSize = window

// content is a large text on its way into the store.
type content struct {
	text   string
	hash   [sha256.Size]byte
	codec  codec
	packed []byte // the text compressed, nil if the store already had it
}

func newContent(text string) content { return content{text: text, hash: sha256.Sum256([]byte(text))} }

// place is a text of a part that may be kept apart. One of its two pointers is set.
type place struct {
	name string
	text *string
	json *jsontext.Value
}

func (p place) len() int {
	if p.text != nil {
		return len(*p.text)
	}
	return len(*p.json)
}

// take empties the place.
func (p place) take() (text string) {
	if p.text != nil {
		text, *p.text = *p.text, ""
	} else {
		text, *p.json = string(*p.json), nil
	}
	return text
}

func (p place) put(text []byte) {
	if p.text != nil {
		*p.text = string(text)
	} else {
		*p.json = text
	}
}

// places returns the places of a part. Their names are stored in the database.
func places(p *session.Part) []place {
	found := []place{{name: "text", text: &p.Text}, {name: "metadata", json: &p.Metadata}, {name: "url", text: &p.URL},
		{name: "prompt", text: &p.Prompt}, {name: "unknown", json: &p.Unknown}}
	if s := p.State; s != nil {
		found = append(found, place{name: "output", text: &s.Output}, place{name: "error", text: &s.Error},
			place{name: "input", json: &s.Input},
			place{name: "raw", text: &s.Raw}, place{name: "result", json: &s.Metadata},
			place{name: "other", json: &s.Unknown})
		for i := range s.Attachments {
			found = append(found, place{name: "attachments/" + strconv.Itoa(i), text: &s.Attachments[i].URL})
		}
	}
	return found
}

// hasLarge reports whether a part has a text to keep apart, without the cost of listing its places.
func hasLarge(p *session.Part) bool {
	if max(len(p.Text), len(p.Metadata), len(p.URL), len(p.Prompt), len(p.Unknown)) >= large {
		return true
	}
	s := p.State
	if s == nil {
		return false
	}
	for i := range s.Attachments {
		if len(s.Attachments[i].URL) >= large {
			return true
		}
	}
	return max(len(s.Output), len(s.Error), len(s.Input), len(s.Raw), len(s.Metadata), len(s.Unknown)) >= large
}

// split returns a part without its large texts, and these texts with their places. It does not
// change the part of the caller.
func split(p session.Part) (rest session.Part, apart []apartRow) {
	if !hasLarge(&p) {
		return p, nil
	}
	if p.State != nil {
		state := *p.State
		state.Attachments = append([]session.Part(nil), state.Attachments...)
		if p.State.Attachments != nil && state.Attachments == nil {
			state.Attachments = []session.Part{} // nil and empty differ
		}
		p.State = &state
	}
	for _, at := range places(&p) {
		if at.len() >= large {
			apart = append(apart, apartRow{at.name, newContent(at.take())})
		}
	}
	return p, apart
}

// join puts a text back into its place.
func join(p *session.Part, field string, text []byte) error {
	for _, at := range places(p) {
		if at.name == field {
			at.put(text)
			return nil
		}
	}
	return errors.New("a part has no place for its large text: " + field)
}

// keep returns the number of a content, and writes it if the store does not have it yet.
func (t *transaction) keep(c *content) (num int64, err error) {
	err = t.read(`SELECT num FROM content WHERE hash = ?`, []any{c.hash[:]}, &num)
	if !errors.Is(err, sql.ErrNoRows) {
		return num, err
	}
	if c.packed == nil { // the store had it when we looked, and has deleted it since
		if c.codec, c.packed, err = t.packer.compress([]byte(c.text)); err != nil {
			return 0, err
		}
	}
	result, err := t.run(`INSERT INTO content (hash, size, codec, data) VALUES (?, ?, ?, ?)`, c.hash[:], len(c.text), int(c.codec), c.packed)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// drop deletes those of some contents that are no longer used.
func (t *transaction) drop(nums []int64) error {
	for _, num := range nums {
		err := t.exec(`DELETE FROM content WHERE num = ?1 AND NOT EXISTS (SELECT 1 FROM part WHERE content = ?1)
			AND NOT EXISTS (SELECT 1 FROM apart WHERE content = ?1)
			AND NOT EXISTS (SELECT 1 FROM piece WHERE content = ?1)
			AND NOT EXISTS (SELECT 1 FROM kept WHERE content = ?1)`, num)
		if err != nil {
			return err
		}
	}
	return nil
}

// contents returns the numbers of contents that a query names.
func (t *transaction) contents(query string, args ...any) (nums []int64, err error) {
	return column[int64](t.query(query, args...))
}
