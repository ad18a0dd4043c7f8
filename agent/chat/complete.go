package chat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/agent/chat/internal/editor"
	"github.com/winnowhq/winnow/look/tui"
)

// completion offers the commands that begin as what is typed does, and the files of the folder
// behind an @.
type completion struct {
	at        int    // the one that is chosen, −1 none
	dismissed string // for this text nothing is offered
	begun     bool

	files   []file // of the folder
	listed  bool   // they were asked for, for this @
	token   string // what stands behind the @, when found was looked for
	found   []offer
	fitting []*file // all that fit the token
}

// file is a file of the folder, or a folder in it.
type file struct {
	name, lower string
	base, depth int // where its last word begins, and how many folders it is in
}

func fileOf(name string) file {
	bare := strings.TrimSuffix(name, "/")
	return file{name, strings.ToLower(name), strings.LastIndexByte(bare, '/') + 1, strings.Count(bare, "/")}
}

// offer is something that may be meant.
type offer struct {
	name, help string
	waits      bool // it needs an argument before it can be sent
}

// mostFound is how many files are offered.
const mostFound = 50

func (c *completion) reset() { c.at, c.begun = 0, false }

// mention is what stands behind the @ that is being typed: from the @ to the cursor.
func mention(e *editor.Editor) (token string, ok bool) {
	before := e.Word()
	at := strings.LastIndexByte(before, '@')
	if at < 0 || at > 0 && !strings.ContainsRune("([{\"'`", rune(before[at-1])) {
		return "", false
	}
	return before[at+1:], true
}

// offers are the commands or files that may be meant: no command once there is a space.
func (c *completion) offers(e *editor.Editor) []offer {
	if token, ok := mention(e); ok {
		if "@"+token == c.dismissed {
			return nil
		}
		return c.filesLike(token)
	}
	text := string(e.Typed())
	if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsAny(text, " \n") ||
		text == c.dismissed {
		return nil
	}
	var fitting []offer
	for _, one := range commands() {
		if strings.HasPrefix("/"+one.Name, strings.ToLower(text)) {
			fitting = append(fitting, offer{strings.TrimSpace("/" + one.Name + " " + one.Arguments), one.Help,
				one.Arguments != "" && !strings.HasPrefix(one.Arguments, "[")})
		}
	}
	return fitting
}

// filesLike are the files whose names have the letters of a token in their order, the best first.
// What fits a longer token fits its beginning, so only that is looked at as somebody types.
func (c *completion) filesLike(token string) []offer {
	if c.found != nil && c.token == token {
		return c.found
	}
	from := c.fitting
	if c.found == nil || !strings.HasPrefix(token, c.token) {
		from = make([]*file, len(c.files))
		for i := range c.files {
			from[i] = &c.files[i]
		}
	}
	type ranked struct {
		*file
		rank int
	}
	before := func(a, b ranked) int {
		if n := cmp.Or(a.rank-b.rank, a.depth-b.depth, len(a.name)-len(b.name)); n != 0 {
			return n
		}
		return strings.Compare(a.name, b.name)
	}
	var best []ranked
	fitting := make([]*file, 0, len(from))
	lower := strings.ToLower(token)
	for _, f := range from {
		one := ranked{f, likeness(f, lower)}
		if one.rank < 0 {
			continue
		}
		fitting = append(fitting, f)
		if len(best) == mostFound && before(one, best[mostFound-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, one, before)
		best = slices.Insert(best, at, one)
		best = best[:min(len(best), mostFound)]
	}
	c.token, c.fitting, c.found = token, fitting, []offer{}
	for _, one := range best {
		c.found = append(c.found, offer{name: "@" + one.name})
	}
	return c.found
}

// likeness is how well a file fits what is typed of it, 0 best; −1 where it does not fit.
func likeness(f *file, typed string) int {
	path, base := f.lower, f.lower[min(f.base, len(f.lower)):]
	switch {
	case strings.HasPrefix(path, typed):
		return 0
	case strings.HasPrefix(base, typed):
		return 1
	case strings.Contains(base, typed):
		return 2
	case strings.Contains(path, typed):
		return 3
	}
	for _, r := range typed {
		at := strings.IndexRune(path, r)
		if at < 0 {
			return -1
		}
		path = path[at+1:]
	}
	return 4
}

func (c *completion) open(e *editor.Editor) bool { return len(c.offers(e)) > 0 }

func (c *completion) dismiss(e *editor.Editor) {
	if token, ok := mention(e); ok {
		c.dismissed = "@" + token
		return
	}
	c.dismissed = string(e.Typed())
}

// put puts an offer into the line, with what has to follow it.
func (c *completion) put(e *editor.Editor, one offer) {
	if token, ok := mention(e); ok {
		name := one.name
		if !strings.HasSuffix(name, "/") {
			name += " "
		}
		e.Replace(len([]rune(token))+1, name)
		return
	}
	name, _, _ := strings.Cut(one.name, " ")
	e.Set(name + " ")
}

// completeNext puts what is offered into the line, if it is one alone; else the first tab chooses
// the first, and further ones go on.
func (m *chat) completeNext(direction int) {
	fitting := m.complete.offers(&m.editor)
	if len(fitting) == 0 {
		return
	}
	if len(fitting) == 1 {
		m.complete.put(&m.editor, fitting[0])
		m.complete.reset()
		return
	}
	if !m.complete.begun {
		m.complete.begun, m.complete.at = true, 0
		if direction < 0 {
			m.complete.at = len(fitting) - 1
		}
		return
	}
	m.complete.at = (m.complete.at + direction + len(fitting)) % len(fitting)
}

// take puts what was chosen with tab into the line, and reports whether more is to be typed before
// it can be sent.
func (c *completion) take(e *editor.Editor) (waits bool) {
	fitting := c.offers(e)
	if !c.begun || c.at >= len(fitting) {
		return false
	}
	one := fitting[c.at]
	_, file := mention(e)
	c.put(e, one)
	c.reset()
	if !file && !one.waits {
		e.Set(strings.TrimSuffix(e.Value(), " "))
		return false
	}
	return true
}

// drawOffers draws what may be meant.
func (m *chat) drawOffers() (lines []string) {
	fitting := m.complete.offers(&m.editor)
	from := 0
	if m.complete.begun {
		from = max(0, m.complete.at-offered+1)
	}
	for i := from; i < min(len(fitting), from+offered); i++ {
		mark, look := "  ", m.style.Dim
		if m.complete.begun && i == m.complete.at {
			mark, look = "› ", m.style.Accent
		}
		text := draw.Clean(fitting[i].name)
		if fitting[i].help != "" {
			text = draw.Fit(text, 18) + " " + fitting[i].help
		}
		lines = append(lines, draw.Paint(look, tui.Cut(mark+text, m.width)))
	}
	return lines
}
