package page

import (
	"html/template"
	"strings"
)

// prose sets the Markdown of a summary: headings, lists, tables, quotations, code and paragraphs;
// the rest is text as it is. It links nowhere and shows no picture. Everything is escaped; only the
// tags written here are tags.
func prose(text string) template.HTML {
	var p proseWriter
	fenced := ""
	for l := range strings.SplitSeq(visible(text), "\n") {
		l = strings.TrimRight(l, " \t")
		bare := strings.TrimLeft(l, " \t")
		switch {
		case fenced != "" && strings.HasPrefix(bare, fenced):
			fenced = ""
			p.open("")
		case fenced != "":
			p.b.WriteString(template.HTMLEscapeString(l) + "\n")
		case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"):
			fenced = bare[:3]
			p.open("pre")
		case bare == "":
			p.open("")
		case heading(bare) > 0:
			n := heading(bare)
			p.open("")
			tag := "h4"
			if n > 2 {
				tag = "h5"
			}
			title := strings.TrimSpace(strings.TrimRight(bare[n:], "#"))
			p.b.WriteString("<" + tag + ">" + inline(title) + "</" + tag + ">")
		case strings.HasPrefix(bare, "- "), strings.HasPrefix(bare, "* "), strings.HasPrefix(bare, "• "):
			p.open("ul")
			_, item, _ := strings.Cut(bare, " ")
			deep := ""
			if len(l)-len(bare) >= 2 {
				deep = ` class="deep"`
			}
			p.b.WriteString("<li" + deep + ">" + inline(item))
		case ordinal(bare) > 0:
			p.open("ol")
			n := ordinal(bare)
			number := strings.TrimLeft(bare[:n-1], "0")
			p.b.WriteString(`<li value="` + number + `">` + inline(strings.TrimSpace(bare[n:])))
		case strings.HasPrefix(bare, "|") && strings.HasSuffix(bare, "|") && len(bare) > 1:
			p.open("table")
			if strings.Trim(bare, "|-: ") == "" { // the line below the heads
				break
			}
			p.b.WriteString("<tr>")
			for _, cell := range cells(bare) {
				p.b.WriteString("<td>" + inline(cell))
			}
			p.b.WriteString("\n")
		case strings.HasPrefix(bare, ">"):
			p.open("blockquote")
			p.b.WriteString(inline(strings.TrimPrefix(bare[1:], " ")) + "\n")
		case (p.tag == "ul" || p.tag == "ol") && len(l) > len(bare): // an item goes on
			p.b.WriteString("\n" + inline(bare))
		default:
			p.open("p")
			p.b.WriteString(inline(bare) + "\n")
		}
	}
	p.open("")
	return template.HTML(p.b.String())
}

// proseWriter keeps one block open.
type proseWriter struct {
	b   strings.Builder
	tag string
}

func (p *proseWriter) open(tag string) {
	if tag == p.tag {
		return
	}
	if p.tag != "" {
		p.b.WriteString("</" + p.tag + ">\n")
	}
	if tag != "" {
		p.b.WriteString("<" + tag + ">")
	}
	p.tag = tag
}

func heading(l string) int {
	n := len(l) - len(strings.TrimLeft(l, "#"))
	if n > 0 && n <= 6 && n < len(l) && l[n] == ' ' {
		return n
	}
	return 0
}

// ordinal is how long the number of an item is, with the sign behind it: "12. " or "3) ".
func ordinal(l string) int {
	n := len(l) - len(strings.TrimLeft(l, "0123456789"))
	sign := n+1 < len(l) && (l[n] == '.' || l[n] == ')') && l[n+1] == ' '
	if n > 0 && n < 5 && sign && strings.Trim(l[:n], "0") != "" {
		return n + 1
	}
	return 0
}

// cells are those of a table's row. A bar behind a backslash, or in code, does not end
// a cell.
func cells(row string) []string {
	var out []string
	from, code := 1, false
	for i := 1; i < len(row); i++ {
		switch {
		case row[i] == '`':
			code = !code
		case row[i] == '|' && (!code && row[i-1] != '\\' || i == len(row)-1):
			out = append(out, strings.TrimSpace(strings.ReplaceAll(row[from:i], `\|`, "|")))
			from = i + 1
		}
	}
	return out
}

// inline sets code and bold type.
func inline(text string) string {
	var b strings.Builder
	for i, piece := range strings.Split(text, "`") {
		if i%2 == 1 && strings.Count(text, "`")%2 == 0 {
			b.WriteString("<code>" + template.HTMLEscapeString(piece) + "</code>")
			continue
		}
		if i > 0 && strings.Count(text, "`")%2 == 1 {
			b.WriteByte('`')
		}
		words := strings.Split(piece, "**")
		for j, w := range words {
			if j%2 == 1 && len(words)%2 == 1 {
				b.WriteString("<strong>" + template.HTMLEscapeString(w) + "</strong>")
				continue
			}
			if j > 0 && len(words)%2 == 0 {
				b.WriteString("**")
			}
			b.WriteString(template.HTMLEscapeString(w))
		}
	}
	return b.String()
}
