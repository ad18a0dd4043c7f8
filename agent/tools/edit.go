package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/text/quantity"
)

// Edit puts one text in the place of another in a file.
type Edit struct{}

func (Edit) Name() string           { return "edit" }
func (Edit) Description() string    { return told("edit").Description }
func (Edit) Schema() jsontext.Value { return told("edit").Schema }
func (Edit) Serial()                {} // files are changed

func (t Edit) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	a := argumentsOf(t.Name(), c.Input)
	name := a.need("filePath", "file_path", "path")
	from := a.given("oldString", "old_string")
	to := a.given("newString", "new_string")
	all := a.truth("replaceAll", "replace_all")
	switch {
	case a.err != nil:
		return agent.Result{}, a.err
	case from == "":
		return agent.Result{}, errors.New("oldString is empty: say what is to be replaced, or use write for a whole " +
			"file")
	case from == to:
		return agent.Result{}, errors.New("oldString and newString are the same: there is nothing to change")
	case rule.ContainsPlaceholder(to) && !rule.ContainsPlaceholder(from):
		return agent.Result{}, errPlaceholder
	}
	at, err := permitted(ctx, c, t.Name(), "write", name)
	if err != nil {
		return agent.Result{}, err
	}
	if _, err := regular(at); err != nil {
		return agent.Result{}, err
	}
	old, info, err := before(at)
	if err != nil {
		return agent.Result{}, err
	}
	if info == nil || info.Size() > mostEdited {
		return agent.Result{}, fmt.Errorf("%s is larger than %s bytes: change it with a command", at.shown,
			quantity.Number(mostEdited))
	}
	if what := binary(old[:min(len(old), sniffLength)]); what != "" {
		return agent.Result{}, fmt.Errorf("%s is %s, not text", at.shown, what)
	}
	e := edited(string(old), from, to)
	switch {
	case e.places == 0 && rule.ContainsPlaceholder(from):
		return agent.Result{}, errPlaceholder
	case e.places == 0:
		return agent.Result{}, fmt.Errorf("oldString was not found in %s%s", at.shown, nearly(string(old), from))
	case e.places > 1 && !all:
		return agent.Result{}, fmt.Errorf("oldString was found %d times in %s, in lines %s: take more of the text "+
			"around the one you mean, or set replaceAll", e.places, at.shown, e.where())
	}
	now := e.apply()
	if now == string(old) {
		return agent.Result{}, errors.New("oldString and newString differ in how their lines end alone, and edit " +
			"leaves that as it is: there is nothing to change")
	}
	if err := ctx.Err(); err != nil {
		return agent.Result{}, err
	}
	if err := put(at.path, []byte(now), info); err != nil {
		return agent.Result{}, err
	}
	r := agent.Result{Title: at.shown, Metadata: map[string]any{"matches": e.places, "replaced": e.replaced}}
	r.Output = fmt.Sprintf("Done: replaced %s in %s, at line %s.", quantity.Count(e.replaced, "match"),
		printable(at.shown), e.where())
	if e.replaced > 1 {
		r.Output = fmt.Sprintf("Done: replaced %s in %s, in lines %s.", quantity.Count(e.replaced, "match"),
			printable(at.shown), e.where())
	}
	addDiff(r.Metadata, at, old, []byte(now))
	return r, nil
}

// replacement is an edit of a text.
type replacement struct {
	head, text string // the byte order mark, and the text behind it
	from, to   string // with the line ends of the text
	places     int    // how often from stands in it, places that overlap counted too
	replaced   int    // how many of them do not overlap
}

// edited finds the places. A text whose lines end in CRLF is looked through for lines that end so,
// and what comes in ends so too; one without CRLF takes LF where that is what matched.
func edited(text, from, to string) replacement {
	e := replacement{text: text, from: from, to: to}
	if rest, ok := strings.CutPrefix(text, bom); ok {
		e.head, e.text = bom, rest
		e.from = strings.TrimPrefix(e.from, bom)
		e.to = strings.TrimPrefix(e.to, bom)
	}
	windows := strings.Count(e.text, "\r\n")*2 > strings.Count(e.text, "\n")
	from, to = strings.ReplaceAll(e.from, "\r\n", "\n"), strings.ReplaceAll(e.to, "\r\n", "\n")
	exact := false
	switch crlf := strings.ReplaceAll(from, "\n", "\r\n"); {
	// before the exact text: of "\r\nx" a "\nx" would leave half a line end
	case windows && strings.Contains(e.text, crlf):
		e.from = crlf
	case strings.Contains(e.text, e.from):
		exact = true
	case strings.Contains(e.text, crlf):
		e.from = crlf
	case strings.Contains(e.text, from):
		e.from = from
	}
	switch {
	case strings.Contains(e.from, "\r\n"), windows && !strings.Contains(e.from, "\n"):
		e.to = strings.ReplaceAll(to, "\n", "\r\n")
	case !exact:
		e.to = to
	}
	if e.from == "" {
		return e
	}
	for at := 0; ; {
		i := strings.Index(e.text[at:], e.from)
		if i < 0 {
			break
		}
		e.places++
		at += i + 1
	}
	e.replaced = strings.Count(e.text, e.from)
	return e
}

func (e replacement) apply() string { return e.head + strings.ReplaceAll(e.text, e.from, e.to) }

// where are the numbers of the lines in which the places begin, the first eight of them.
func (e replacement) where() string {
	var numbers []string
	line, at := 1, 0
	for len(numbers) < 8 {
		i := strings.Index(e.text[at:], e.from)
		if i < 0 {
			return strings.Join(numbers, ", ")
		}
		line += strings.Count(e.text[at:at+i], "\n")
		if n := fmt.Sprint(line); len(numbers) == 0 || numbers[len(numbers)-1] != n {
			numbers = append(numbers, n)
		}
		at += i + 1
		line += strings.Count(e.text[at-1:at], "\n")
	}
	if strings.Contains(e.text[at:], e.from) {
		numbers = append(numbers, "…")
	}
	return strings.Join(numbers, ", ")
}

// nearly says why a text may not have been found, where that can be seen.
func nearly(text, from string) string {
	squeezed := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if w := squeezed(from); w != "" && len(text) < 1<<20 && strings.Contains(squeezed(text), w) {
		return ": something there differs from it in blanks or line breaks alone. Read those lines again"
	}
	first, _, _ := strings.Cut(strings.TrimSpace(from), "\n")
	if first = strings.TrimSpace(first); len(first) > 3 {
		if i := strings.Index(text, first); i >= 0 {
			return fmt.Sprintf(": its first line is line %d, but what follows differs. Read those lines "+
				"again", strings.Count(text[:i], "\n")+1)
		}
	}
	return ". Read the file again: it may have changed, or the numbers of the lines were copied"
}
