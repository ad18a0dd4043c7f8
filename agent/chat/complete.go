package chat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/agent/chat/internal/editor"
	"github.com/winnowhq/winnow/look/tui"
)

// input is the line that is typed. It offers the commands that begin as it does, and the files of
// the folder behind an @.
type input struct {
	editor.Editor
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

func (in *input) reset() { in.at, in.begun = 0, false }

// mention is what stands behind the @ that is being typed: from the @ to the cursor.
func (in *input) mention() (token string, ok bool) {
	before := in.Word()
	at := strings.LastIndexByte(before, '@')
	if at < 0 || at > 0 && !strings.ContainsRune("([{\"'`", rune(before[at-1])) {
		return "", false
	}
	return before[at+1:], true
}

// offers are the commands or files that may be meant: no command once there is a space.
func (in *input) offers() []offer {
	if token, ok := in.mention(); ok {
		if "@"+token == in.dismissed {
			return nil
		}
		return in.filesLike(token)
	}
	text := string(in.Typed())
	if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsAny(text, " \n") ||
		text == in.dismissed {
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
func (in *input) filesLike(token string) []offer {
	if in.found != nil && in.token == token {
		return in.found
	}
	from := in.fitting
	if in.found == nil || !strings.HasPrefix(token, in.token) {
		from = make([]*file, len(in.files))
		for i := range in.files {
			from[i] = &in.files[i]
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
	in.token, in.fitting, in.found = token, fitting, []offer{}
	for _, one := range best {
		in.found = append(in.found, offer{name: "@" + one.name})
	}
	return in.found
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

func (in *input) open() bool { return len(in.offers()) > 0 }

func (in *input) dismiss() {
	if token, ok := in.mention(); ok {
		in.dismissed = "@" + token
		return
	}
	in.dismissed = string(in.Typed())
}

// put puts an offer into the line, with what has to follow it.
func (in *input) put(one offer) {
	if token, ok := in.mention(); ok {
		name := one.name
		if !strings.HasSuffix(name, "/") {
			name += " "
		}
		in.Replace(len([]rune(token))+1, name)
		return
	}
	name, _, _ := strings.Cut(one.name, " ")
	in.Set(name + " ")
}

// completeNext puts what is offered into the line, if it is one alone; else the first tab chooses
// the first, and further ones go on.
func (m *chat) completeNext(direction int) {
	fitting := m.input.offers()
	if len(fitting) == 0 {
		return
	}
	if len(fitting) == 1 {
		m.input.put(fitting[0])
		m.input.reset()
		return
	}
	if !m.input.begun {
		m.input.begun, m.input.at = true, 0
		if direction < 0 {
			m.input.at = len(fitting) - 1
		}
		return
	}
	m.input.at = (m.input.at + direction + len(fitting)) % len(fitting)
}

// take puts what was chosen with tab into the line, and reports whether more is to be typed before
// it can be sent.
func (in *input) take() (waits bool) {
	fitting := in.offers()
	if !in.begun || in.at >= len(fitting) {
		return false
	}
	one := fitting[in.at]
	_, file := in.mention()
	in.put(one)
	in.reset()
	if !file && !one.waits {
		in.Set(strings.TrimSuffix(in.Value(), " "))
		return false
	}
	return true
}

// drawOffers draws what may be meant.
func (m *chat) drawOffers() (lines []string) {
	fitting := m.input.offers()
	from := 0
	if m.input.begun {
		from = max(0, m.input.at-offered+1)
	}
	for i := from; i < min(len(fitting), from+offered); i++ {
		mark, look := "  ", m.style.Dim
		if m.input.begun && i == m.input.at {
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
