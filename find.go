package winnow

import "github.com/winnowhq/winnow/session"

// find is the part that a name stands for, and its message: the id of a part, of a call, or a handle. Both are nil when it names nothing. Everything
// that takes a part finds it so.
func (l *live) find(name string) (*session.Message, *session.Part) {
	if m, p := session.FindPart(l.log, name); p != nil {
		return m, p
	}
	l.handles.Name(l.log)
	if part := l.handles.Part(name); part != "" {
		return session.FindPart(l.log, part)
	}
	return nil, nil
}
