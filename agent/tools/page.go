package tools

import (
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markdownBytes is how large a page may be that becomes Markdown: what has ever more elements side
// by side takes time that grows with the square of its length, 0.7 s for 512 KB of nothing but <p>.
const markdownBytes = 1 << 20

// markdown is a page of HTML as Markdown, its links complete. It is false for a page that is too
// large for it, and for one that the parser gives up on because it is nested too deep.
func markdown(text, address string) (_ string, ok bool) {
	if len(text) > markdownBytes {
		return "", false
	}
	defer func() {
		if recover() != nil { // whatever somebody wrote
			ok = false
		}
	}()
	// Nothing is escaped: it is read, not rendered, and escaping takes time that grows with the
	// square of a text (23 s for 256 KB of signs).
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	out, err := c.ConvertString(text, converter.WithDomain(address))
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(strings.ToValidUTF8(out, "\uFFFD")), true
}

// silent are elements whose text nobody reads; lines those that begin a new line, and apart those
// before which there is an empty one.
var (
	silent = map[atom.Atom]bool{atom.Script: true, atom.Style: true, atom.Template: true, atom.Noscript: true,
		atom.Iframe: true, atom.Svg: true}
	lines = map[atom.Atom]bool{atom.P: true, atom.Div: true, atom.Br: true, atom.Li: true, atom.Tr: true,
		atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true,
		atom.Section: true, atom.Article: true, atom.Header: true, atom.Footer: true, atom.Nav: true, atom.Ul: true,
		atom.Ol: true, atom.Table: true, atom.Pre: true, atom.Blockquote: true,
		atom.Dt: true, atom.Dd: true, atom.Hr: true, atom.Form: true, atom.Option: true, atom.Main: true,
		atom.Title: true, atom.Aside: true, atom.Figure: true, atom.Figcaption: true, atom.Body: true}
	apart = map[atom.Atom]bool{atom.P: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true,
		atom.H6: true, atom.Table: true, atom.Ul: true, atom.Ol: true, atom.Pre: true}
)

// plainText is what there is to read in a page of HTML: its tags are looked at one by one, so that
// no nesting is too deep.
func plainText(page string) string {
	var b strings.Builder
	var inside atom.Atom // the silent element that we are in
	depth, pre := 0, 0
	last := byte('\n')
	write := func(text string) {
		if b.WriteString(text); text != "" {
			last = text[len(text)-1]
		}
	}
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return tidy(b.String())
		case html.TextToken:
			if inside != 0 {
				continue
			}
			text := string(z.Text())
			if pre == 0 {
				if text = folded(text); last == ' ' || last == '\n' {
					text = strings.TrimPrefix(text, " ")
				}
			}
			write(text)
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			at := atom.Lookup(name)
			switch {
			case inside != 0 && at == inside && kind == html.StartTagToken:
				depth++
			case inside != 0 && at == inside && kind == html.EndTagToken:
				if depth--; depth == 0 {
					inside = 0
				}
			case inside != 0:
			case silent[at] && kind == html.StartTagToken:
				inside, depth = at, 1
			case lines[at] && last != '\n' || at == atom.Br, apart[at] && kind == html.StartTagToken:
				write("\n")
			case (at == atom.Td || at == atom.Th) && last != ' ' && last != '\n':
				write(" ")
			}
			if at == atom.Pre && inside == 0 {
				if kind == html.StartTagToken {
					pre++
				} else if kind == html.EndTagToken && pre > 0 {
					pre--
				}
			}
		}
	}
}

// folded is a text with one blank for each stretch of white space.
func folded(text string) string {
	short := strings.Join(strings.Fields(text), " ")
	if short == "" {
		if text == "" {
			return ""
		}
		return " "
	}
	if strings.ContainsAny(text[:1], " \t\r\n\f") {
		short = " " + short
	}
	if strings.ContainsAny(text[len(text)-1:], " \t\r\n\f") {
		short += " "
	}
	return short
}

// tidy takes blanks from the ends of lines, and leaves one empty line where there are several.
func tidy(text string) string {
	var b strings.Builder
	empty := true
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if strings.TrimSpace(line) == "" {
			if !empty {
				b.WriteByte('\n')
			}
			empty = true
			continue
		}
		empty = false
		b.WriteString(line + "\n")
	}
	return strings.TrimSpace(b.String())
}
