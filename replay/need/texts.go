package main

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/policy"
	"github.com/winnowhq/winnow/replay"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// never is a step that does not come.
const never = math.MaxInt

// text is an output or the arguments of a call, with all that ever happened to it. Steps count from 0.
type text struct {
	elision rule.Elision // that leaves it out
	op      call.Op      // what the call did first
	input   bool
	failed  bool
	lists   bool // names of files or lines that were looked for, by whatever tool
	tokens  int  // that leaving it out saves
	made    int  // step

	quoted []int // steps that repeat a line of it in the arguments of a call, as the rule sees it
	needed []int // steps that quote it, as regrets are counted
	edited []int // later steps that changed a file that it shows or changes
	read   []int // later steps that read such a file
	// covered is the step from which on newer parts show all of it.
	covered int
}

// texts are those of a session that can be left out, in the order of the log.
type texts struct {
	all   []*text
	steps int
	step  []int // by position in the log: that of the newest answer up to there, -1 before the first
	turn  []int // by step
}

// newTexts follows a session once, as the rules see it.
func newTexts(t *replay.Trace) *texts {
	log := t.Session().Messages
	x := &texts{step: make([]int, len(log))}
	f := follower{
		texts: x, facts: rule.NewFacts(counter), guard: &rule.Guard{Tools: policy.Defaults().ProtectedTools, Paths: policy.Defaults().ProtectedPaths, Least: policy.DefaultLeast},
		handles: &rule.Handles{}, known: map[rule.Key]*text{}, covered: map[rule.Key]int{}, idle: &rule.Idle{Outputs: 1, Inputs: 1},
		redundant: []rule.Rule{&rule.Files{}, &rule.Inputs{}, &rule.Duplicates{}},
	}
	calls, turn := []fileCall(nil), 0
	for i := range log {
		m := &log[i]
		if m.Role != session.Assistant {
			if m.Written() {
				turn++
			}
			if x.step[i] = -1; i > 0 {
				x.step[i] = x.step[i-1]
			}
			continue
		}
		x.step[i] = x.steps
		if slices.ContainsFunc(m.Parts, func(p session.Part) bool { return p.Type == session.ToolPart && !p.State.Final() }) {
			x.step[i]-- // the rules wait for the call to end
		}
		x.turn = append(x.turn, turn)
		if m.Path != nil && m.Path.Cwd != "" {
			f.cwd = m.Path.Cwd
		}
		calls = append(calls, f.calls(m)...)
		f.look(log[:i+1], x.step[i])
		x.steps++
	}
	for key, at := range f.covered {
		if k := f.known[key]; k != nil {
			k.covered = at
		}
	}
	for n := range t.Needs() {
		if k := f.known[rule.Key{Part: n.Part, Field: n.Field}]; k != nil && n.Quotations >= replay.Quotations {
			k.needed = append(k.needed, n.Step)
		}
	}
	x.relate(calls)
	slices.SortFunc(x.all, func(a, b *text) int {
		return cmp.Or(cmp.Compare(a.made, b.made), strings.Compare(a.elision.Part, b.elision.Part), strings.Compare(string(a.elision.Field), string(b.elision.Field)))
	})
	return x
}

// follower sees a session step by step.
type follower struct {
	texts     *texts
	facts     *rule.Facts
	guard     *rule.Guard
	handles   *rule.Handles
	cwd       string
	known     map[rule.Key]*text
	covered   map[rule.Key]int
	idle      *rule.Idle // of one step: what it does not find was quoted in the newest
	redundant []rule.Rule
	made      map[string]int        // step, by message
	did       map[string]*rule.Call // by part
}

// fileCall is what a call did to files.
type fileCall struct {
	step    int
	part    string
	paths   []string
	changes bool
	reads   bool
	worked  bool
}

// calls notes those of an answer.
func (f *follower) calls(m *session.Message) []fileCall {
	if f.made == nil {
		f.made, f.did = map[string]int{}, map[string]*rule.Call{}
	}
	f.made[m.ID] = f.texts.steps
	var all []fileCall
	for j := range m.Parts {
		p := &m.Parts[j]
		if p.Type != session.ToolPart || p.State == nil || !p.State.Final() {
			continue
		}
		c := f.facts.Call(p, f.cwd)
		f.did[p.ID] = c
		one := fileCall{step: f.texts.steps, part: p.ID, worked: c.Worked()}
		for _, a := range c.Actions {
			if a.Path != "" && (a.Op.Changes() || a.Op == call.Read) {
				one.paths = append(one.paths, a.Path)
			}
			one.changes = one.changes || a.Op.Changes()
			one.reads = one.reads || a.Op == call.Read
		}
		for _, v := range c.Shown.Views {
			one.paths = append(one.paths, v.Path)
			one.reads = one.reads || string(v.Field) == string(rule.Output) && !one.changes
		}
		slices.Sort(one.paths)
		if one.paths = slices.Compact(one.paths); len(one.paths) > 0 {
			all = append(all, one)
		}
	}
	return all
}

// look asks the rules after a step, the newest that they see.
func (f *follower) look(log []session.Message, now int) {
	f.handles.Name(log)
	w := rule.Window{Messages: log, Facts: f.facts, Guard: f.guard, Handles: f.handles}.Read()
	for _, r := range f.redundant {
		for _, e := range r.Find(w).Elisions {
			if _, known := f.covered[e.Key()]; !known {
				f.covered[e.Key()] = now
			}
		}
	}
	lying := map[rule.Key]bool{}
	for _, e := range f.idle.Find(w).Elisions {
		lying[e.Key()] = true
		if f.known[e.Key()] == nil {
			x := f.text(e)
			for k := x.made + 1; k < now; k++ {
				x.quoted = append(x.quoted, k) // it was quoted in each step until now, else it had been found before
			}
			f.known[e.Key()] = x
			f.texts.all = append(f.texts.all, x)
		}
	}
	for key, x := range f.known {
		if !lying[key] {
			x.quoted = append(x.quoted, now)
		}
	}
}

func (f *follower) text(e rule.Elision) *text {
	x := &text{elision: e, op: call.Other, input: e.Field == rule.Input, tokens: e.Saves, made: f.made[e.Message], covered: never}
	c := f.did[e.Part]
	if c == nil {
		return x
	}
	x.failed = !c.Worked()
	if len(c.Actions) > 0 {
		x.op = c.Actions[0].Op
	}
	x.lists = x.op == call.Search
	if text := c.Command(); text != "" && !x.input {
		if main := call.Main(call.Invocations(text)); main != nil {
			x.lists = slices.Contains([]string{"ls", "find", "fd", "tree", "grep", "rg", "ag", "git grep", "git ls-files", "git status"}, main.Name)
		}
	}
	return x
}

// relate finds what later calls did to the files of each text.
func (x *texts) relate(calls []fileCall) {
	of := map[string][]string{}
	for _, c := range calls {
		of[c.part] = c.paths
	}
	for _, t := range x.all {
		paths := of[t.elision.Part]
		if len(paths) == 0 {
			continue
		}
		for _, c := range calls {
			if c.step <= t.made || !c.worked || !slices.ContainsFunc(c.paths, func(p string) bool { return slices.Contains(paths, p) }) {
				continue
			}
			switch {
			case c.changes:
				t.edited = append(t.edited, c.step)
			case c.reads:
				t.read = append(t.read, c.step)
			}
		}
	}
}

// lying is a text as it is after a step.
type lying struct {
	*text
	now  int
	idle int // steps since it was made or quoted
	refs int // steps that quoted it
	// edited and read are the steps since a file of it was changed, and since it was read again, never when it was not.
	edited, read int
	covered      bool
	turns        int // that began since it was made or quoted
}

// at is how a text lies after a step, which is not before it was made.
func (x *texts) at(t *text, now int) lying {
	l := lying{text: t, now: now, refs: until(t.quoted, now), covered: t.covered <= now, edited: never, read: never}
	last := t.made
	if l.refs > 0 {
		last = t.quoted[l.refs-1]
	}
	l.idle, l.turns = now-last, x.turn[now]-x.turn[last]
	if n := until(t.edited, now); n > 0 {
		l.edited = now - t.edited[n-1]
	}
	if n := until(t.read, now); n > 0 {
		l.read = now - t.read[n-1]
	}
	return l
}

// until is how many of ascending steps are not after one.
func until(steps []int, now int) int {
	n, _ := slices.BinarySearch(steps, now+1)
	return n
}

// neededAfter is the first step after one that needs a text, never when none does.
func (t *text) neededAfter(now int) int {
	if n := until(t.needed, now); n < len(t.needed) {
		return t.needed[n]
	}
	return never
}
