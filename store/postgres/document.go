package postgres

import (
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/internal/words"
)

// A tsvector holds places up to 16383, 256 of a word, and a megabyte in all: a part with more is
// cut into pieces. Each begins with the last words of the one before, so that every phrase is whole
// in one.
const (
	mostPlaces  = 16_000
	mostOfAWord = 250
	mostBytes   = 400_000
	overlap     = 64 // words: no phrase of a query is longer
)

// weights of the columns: words.Said, words.Asked, words.Answered.
const weights = "ABC"

// documents returns what is indexed of a part: tsvectors as text, none if it has no words. kept is
// the text that is kept for it beside the log. size is how much text it has.
func documents(tenant string, p *session.Part, kept string) (pieces []string, size int) {
	d := documenter{tenant: tenant, places: map[string][]byte{}, counts: map[string]int{}}
	for _, f := range words.Fields(p, kept) {
		size += len(f.Text)
		d.at++ // a gap: no phrase goes from one field into the next
		for w := range words.Of(f.Text) {
			d.add(string(w.Text), weights[f.Column])
		}
		d.recent = d.recent[:0]
	}
	d.end()
	return d.pieces, size
}

type weighted struct {
	word   string
	weight byte
}

type documenter struct {
	tenant string
	pieces []string
	places map[string][]byte // by word, as text
	counts map[string]int
	at     int // the last place
	bytes  int
	recent []weighted // the newest words of the field
}

func (d *documenter) add(word string, weight byte) {
	if d.at >= mostPlaces || d.bytes >= mostBytes || d.counts[word] >= mostOfAWord {
		d.end()
		for _, w := range d.recent {
			d.put(w.word, w.weight)
		}
	}
	d.put(word, weight)
	if d.recent = append(d.recent, weighted{word, weight}); len(d.recent) > 2*overlap {
		d.recent = append(d.recent[:0], d.recent[len(d.recent)-overlap:]...)
	}
}

func (d *documenter) put(word string, weight byte) {
	d.at++
	places := d.places[word]
	if len(places) == 0 {
		d.bytes += len(word)
	} else {
		places = append(places, ',')
	}
	d.places[word] = append(strconv.AppendInt(places, int64(d.at), 10), weight)
	d.counts[word]++
	d.bytes += 2
}

// end ends a piece.
func (d *documenter) end() {
	if len(d.places) == 0 {
		return
	}
	var b strings.Builder
	if d.tenant != "" {
		b.WriteString(quoted(tenantWord(d.tenant)))
	}
	for word, places := range d.places {
		b.WriteString(" " + quoted(word) + ":")
		b.Write(places)
	}
	d.pieces = append(d.pieces, b.String())
	clear(d.places)
	clear(d.counts)
	d.at, d.bytes = 0, 0
}

// tenantWord stands in all documents of a tenant, so that the index finds only those. No word of a
// text has such a character.
func tenantWord(tenant string) string { return "@" + tenant }

// quoted is a word as tsvectors and tsqueries are written.
func quoted(word string) string {
	return "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(word) + "'"
}

// query is a term as a tsquery.
func query(t words.Term) string {
	var b strings.Builder
	for i, word := range t.Words {
		if i > 0 {
			b.WriteString(" <-> ")
		}
		b.WriteString(quoted(word))
	}
	if t.Prefix {
		b.WriteString(":*")
	}
	return b.String()
}
