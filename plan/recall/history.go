package recall

import (
	"slices"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// History is everything in a log that must not be forgotten.
type History struct {
	Calls    []call.Call // of the log
	AllCalls []call.Call // of the log and its tail
	Files    []File
	Failures []Failure
	Skills   []Skill
	Todos    []Todo
	Values   []Value
	Rules    []Constraint
	Remarks  []Remark
	Question Question // that the tail, or else the log, ends with
	Waiting  bool     // Question waits for the user
}

// Read collects the history of a log. The tail is the messages that follow the log and stay
// verbatim: they settle what the log left open, but their own files, skills, failures and remarks
// are visible anyway. handed are messages whose carry-overs hand on instructions from before the
// log. Both may be empty.
//
// texts has what was read before; nil: nothing.
func Read(texts *Texts, handed, log, tail []session.Message) History {
	if texts == nil {
		texts = &Texts{}
	}
	whole := log
	if len(tail) > 0 {
		whole = slices.Concat(log, tail)
	}
	h := History{Todos: Todos(whole), Values: texts.values(whole),
		Rules: texts.Constraints(slices.Concat(handed, whole)), Remarks: texts.remarks(log)}
	h.Question, h.Waiting = Pending(whole)
	h.Calls, h.AllCalls = call.Parted(whole, len(log))
	h.Files, h.Skills = Files(h.Calls), Skills(h.Calls)
	h.Failures = slices.DeleteFunc(Failures(whole, h.AllCalls), func(f Failure) bool { return f.At >= len(h.Calls) })
	return h
}
