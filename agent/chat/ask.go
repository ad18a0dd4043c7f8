package chat

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/chat/internal/editor"
	"github.com/winnowhq/winnow/agent/permission"
)

// question is a permission that somebody is asked for.
type question struct {
	want   agent.Permission
	answer chan error // takes one
	title  string     // of the session that it comes from
	child  bool       // that is one of a sub-agent

	words  editor.Editor // what the model is told with a refusal
	typing bool
	from   int  // the first line of the target that is seen
	read   int  // how many of its lines were seen in one go from the first
	lines  int  // that it has, as the screen is now
	rows   int  // of them that are on the screen
	width  int  // of the screen that they were counted for
	nudged bool // somebody would allow it before they saw all of it
}

// unseen is how many lines of what is asked about nobody has seen.
func (q *question) unseen() int { return max(0, q.lines-q.read) }

// questions are those that wait for an answer, and what was answered for the rest of the session.
type questions struct {
	waiting []*question
	shown   *question // the one on the screen
	since   time.Time // when it came up
	grants  grants
}

// show notes that the first question is on the screen.
func (qs *questions) show(now time.Time) {
	var first *question
	if len(qs.waiting) > 0 {
		first = qs.waiting[0]
	}
	if first != qs.shown {
		qs.shown, qs.since = first, now
	}
}

// withdrawn is a question that nobody waits for any more.
type withdrawn struct{ *question }

// haste is how long after another key a key answers no question that has come up between the two:
// it was meant for something else.
const haste = 600 * time.Millisecond

// ask puts a permission to the person, and waits.
func (m *chat) ask(ctx context.Context, p agent.Permission) error {
	if m.questions.grants.allow(p) {
		return nil
	}
	q := &question{want: p, answer: make(chan error, 1)}
	if p.SessionID != "" {
		if state, err := m.config.Engine.Store().State(ctx, p.SessionID); err == nil {
			q.title = state.Info.Title
		}
	}
	m.feed.push(q)
	select {
	case err := <-q.answer:
		return err
	case <-ctx.Done():
	case <-m.ctx.Done():
	}
	m.feed.push(withdrawn{q})
	return context.Canceled
}

// asked queues a question up.
func (m *chat) asked(q *question) tea.Cmd {
	if m.questions.grants.allow(q.want) { // granted while it was on its way
		q.answer <- nil
		return nil
	}
	q.child = q.want.SessionID != "" && q.want.SessionID != m.session.id
	m.questions.waiting = append(m.questions.waiting, q)
	return nil
}

func (qs *questions) withdraw(q *question) {
	if i := slices.Index(qs.waiting, q); i >= 0 {
		qs.waiting = append(qs.waiting[:i:i], qs.waiting[i+1:]...)
	}
}

// answerKey answers the first question.
func (m *chat) answerKey(k tea.KeyPressMsg, before time.Time) tea.Cmd {
	q := m.questions.waiting[0]
	name := k.String()
	if q.typing {
		switch name {
		case "enter":
			m.questions.decide(denied(q.want, q.words.Value()))
		case "esc":
			q.typing = false
		default:
			q.words.Key(k)
		}
		return nil
	}
	if m.questions.shown != q { // it was not on the screen when the key was pressed
		return nil
	}
	if before.After(m.questions.since.Add(-haste)) && m.keyboard.typed.Sub(before) < haste && name != "esc" {
		return nil
	}
	q.nudged = false
	switch name {
	case "y", "Y", "1", "a", "A", "2":
		if q.unseen() > 0 {
			q.nudged = true
			return nil
		}
	}
	switch name {
	case "y", "Y", "1":
		m.questions.decide(nil)
	case "a", "A", "2":
		m.questions.grants.add(q.want)
		m.questions.decide(nil)
		for rest := m.questions.waiting; len(rest) > 0; rest = rest[1:] {
			if m.questions.grants.allow(rest[0].want) {
				rest[0].answer <- nil
				m.questions.withdraw(rest[0])
			}
		}
	case "n", "N", "3":
		m.questions.decide(denied(q.want, ""))
	case "w", "W", "4":
		q.typing = true
	case "esc":
		if m.work != nil {
			m.work.stop()
		} else {
			m.questions.decide(denied(q.want, ""))
		}
	case "up":
		q.from--
	case "down":
		q.from++
	case "space":
		q.from += max(1, q.rows)
	case "pgup", "pgdown":
		m.scroll(name)
	}
	return nil
}

// decide answers the first question.
func (qs *questions) decide(err error) {
	q := qs.waiting[0]
	qs.waiting = qs.waiting[1:]
	q.answer <- err
}

func (q *question) paste(text string) {
	if q.typing {
		q.words.Paste(text)
	}
}

// denied is what the model is told.
func denied(p agent.Permission, words string) error {
	text := "the user did not allow this: " + p.Action + " " + p.Target + ". Do not try it in another way"
	if words = strings.TrimSpace(words); words != "" {
		return errors.New(text + ". They say: " + words)
	}
	return errors.New(text + "; go on without it, or tell them why it is needed")
}

// grants are what was allowed for the rest of the session.
type grants struct {
	mu    sync.Mutex
	known []grant
}

// grant allows an action of a tool on targets that begin alike.
type grant struct {
	tool, action, target string

	folder string // of a command, where that is not the session's
	note   string // that is added to an address which is near
}

// grantOf is what "for the session" would allow: the same command with further arguments,
// everything in the folder that is read, a host's addresses, else the very same thing.
func grantOf(p agent.Permission) grant {
	g := grant{tool: p.Tool, action: p.Action, target: p.Target, folder: p.Folder}
	switch p.Action {
	case "read":
		if folder := filepath.Dir(p.Target); filepath.IsAbs(p.Target) && folder != filepath.Dir(folder) {
			g.target = folder + string(filepath.Separator)
		}
	case "fetch":
		g.note = noteOf(p.Target)
		if scheme, rest, found := strings.Cut(p.Target, "://"); found {
			if host, _, more := strings.Cut(rest, "/"); more && host != "" {
				g.target = scheme + "://" + host + "/"
			}
		}
	}
	return g
}

func (g *grants) add(p agent.Permission) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known = append(g.known, grantOf(p))
}

func (g *grants) clear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known = nil
}

func (g *grants) allow(p agent.Permission) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.known {
		if one.covers(p) {
			return true
		}
	}
	return false
}

// covers reports whether a permission is one that was given before.
func (g grant) covers(p agent.Permission) bool {
	if g.tool != p.Tool || g.action != p.Action || g.folder != p.Folder {
		return false
	}
	if p.Target == g.target {
		return true
	}
	switch p.Action {
	case "run":
		more, longer := strings.CutPrefix(p.Target, g.target+" ")
		// Further arguments, but no further command.
		return longer && !strings.ContainsAny(more, ";&|<>$`(){}\n\r\\*?!#")
	case "read":
		if !strings.HasSuffix(g.target, string(filepath.Separator)) {
			return false
		}
		really, err := permission.Resolve(p.Target)
		folder, err2 := permission.Resolve(filepath.Clean(g.target))
		return err == nil && err2 == nil && permission.Within(folder, really)
	case "fetch":
		return strings.HasSuffix(g.target, "/") && strings.HasPrefix(p.Target, g.target) && g.note == noteOf(p.Target)
	}
	return false
}

// noteOf is what is added to an address: that it is on this computer, or in a private network. A
// person who agreed to a host on the web has not agreed to that, though its name may lead there
// later.
func noteOf(address string) string {
	_, note, _ := strings.Cut(address, " ")
	return note
}

// String says what a grant allows beyond what is asked, for people.
func (g grant) String() string {
	switch {
	case g.action == "run":
		return " (also with further arguments)"
	case strings.HasSuffix(g.target, "/"):
		return " to " + g.action + " what is below " + g.target
	}
	return ""
}
