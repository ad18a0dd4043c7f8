package command

import (
	"cmp"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/cmd/internal/survey"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// showHits prints hits for people, grouped by session, that of the best hit first.
func showHits(a *cli.App, doc searched) {
	var order []string
	groups := map[string][]searchHit{}
	for _, h := range doc.Hits {
		if groups[h.Session] == nil {
			order = append(order, h.Session)
		}
		groups[h.Session] = append(groups[h.Session], h)
	}
	for i, id := range order {
		if i > 0 {
			a.Printf("\n")
		}
		showFoundSession(a, groups[id][0])
		for _, h := range groups[id] {
			showHit(a, h)
		}
	}
	if doc.Total > len(doc.Hits) {
		a.Printf("\n%s of %s; --limit shows more\n", quantity.Number(len(doc.Hits)),
			quantity.Plural(doc.Total, "hit", "hits"))
	}
	if doc.Scan != nil && len(doc.Hits) > 0 {
		a.Printf("\n%s\n", store.Scan(*doc.Scan))
	}
	if doc.Behind > 0 && len(doc.Hits) > 0 {
		a.Printf("\n%s not searched: the store cannot be written now, and its index lacks them\n",
			quantity.Plural(doc.Behind, "message was", "messages were"))
	}
}

// styled is a text with a style, if there are colours.
func styled(a *cli.App, style, text string) visible.Span {
	if !a.Paint().Color {
		style = ""
	}
	return visible.Span{Style: style, Text: text}
}

// showFoundSession is the line above the hits of a session.
func showFoundSession(a *cli.App, h searchHit) {
	id, age := visible.Line(h.Session), ""
	if h.updated > 0 {
		age = quantity.Age(a.Env.Now().Sub(timeOf(h.updated)))
	}
	product := cmp.Or(h.Origin, h.client)
	if product != "" && strings.HasPrefix(h.Session, product+":") {
		product = "" // its word says so
	}
	about := sessionLine(a, runewidth.StringWidth(id)+2, h.Title, survey.FolderName(h.Directory), product, age)
	_ = a.Out.Spans(styled(a, "1", id), styled(a, "", "  "+about+"\n")) // a failed write is remembered
}

// showHit prints where a hit is, and its snippet.
func showHit(a *cli.App, h searchHit) {
	line := []string{string(h.Role)}
	if h.Tool != "" {
		line[0] = h.Tool + " " + h.Field
	}
	if t := source.When(h.Time); t != "" {
		line = append(line, t)
	}
	if h.Seen != seenWhole && h.Seen != "" {
		line = append(line, strings.Replace(h.Seen, seenElided, "left out", 1))
	}
	if !strings.HasPrefix(h.Part, h.Message) { // else it names the message, too
		line = append(line, h.Message)
	}
	a.Printf("  %s  %s\n", visible.Line(strings.Join(line, "  ")), visible.Line(h.Part))
	text := brokenAtWords(h.Snippet, a.Env.Width-len(snippetIndent))
	snippet, at := []visible.Span{styled(a, "", snippetIndent)}, 0
	piece := func(style string, end int) {
		snippet = append(snippet, styled(a, style, strings.ReplaceAll(text[at:end], "\n", "\n"+snippetIndent)))
		at = end
	}
	for _, m := range h.Marks {
		piece("", m[0])
		piece("1;33", m[1])
	}
	piece("", len(text))
	_ = a.Out.Spans(append(snippet, styled(a, "", "\n"))...)
}

const snippetIndent = "    "

// brokenAtWords puts line breaks in place of spaces, so that no line of words is wider than the columns;
// with none it changes nothing.
func brokenAtWords(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	b, space, width := []byte(text), -1, 0
	for i, r := range text {
		width += runewidth.RuneWidth(r)
		if r == ' ' {
			space = i
		}
		if width <= columns || space < 0 {
			continue
		}
		b[space], width = '\n', 0
		if space < i {
			width = runewidth.StringWidth(text[space+1:i]) + runewidth.RuneWidth(r)
		}
		space = -1
	}
	return string(b)
}
