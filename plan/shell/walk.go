package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// walker collects the commands of a tree.
type walker struct {
	text   string
	script *Script
	bodies map[string]*syntax.Stmt // of functions
	inside map[string]bool         // functions that are being read
	depth  int                     // texts around this one
	opened *int                    // bytes of all texts that were read
}

// around is what the commands of a piece of the tree have in common.
type around struct {
	after   string // the separator behind the piece
	when    When
	group   Group
	env     int
	negated bool
	hidden  bool // in a substitution
	remote  bool // elsewhere
	piped   bool // it reads what the command before it prints
}

func read(text string, stmts []*syntax.Stmt) *Script {
	w := &walker{text: text, script: &Script{Outer: []int{0}}, opened: new(int)}
	w.list(stmts, around{})
	return w.script
}

func (w *walker) list(stmts []*syntax.Stmt, a around) {
	for i, s := range stmts {
		in := a
		if i < len(stmts)-1 || a.after == "" && s.Semicolon.IsValid() {
			in.after = ";"
		}
		w.stmt(s, in)
	}
}

// inner is an environment that begins in another one.
func (w *walker) inner(env int) int {
	w.script.Outer = append(w.script.Outer, env)
	return len(w.script.Outer) - 1
}

func (w *walker) stmt(s *syntax.Stmt, a around) {
	if s == nil || w.script.cut {
		return
	}
	if s.Background || s.Coprocess || s.Disown {
		a.after = "&"
	}
	if s.Negated {
		a.negated = true
	}
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		w.call(s, call, a)
		return
	}
	if s.Cmd != nil {
		w.compound(s, a)
	}
	if redirects := w.redirects(s.Redirs, a); len(redirects) > 0 {
		w.add(Command{Redirects: redirects}, a)
	}
}

func (w *walker) compound(s *syntax.Stmt, a around) {
	in := a
	in.group = max(a.group, Branch)
	in.negated = false
	perhaps := in
	perhaps.when = Perhaps
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		w.binary(c, a)
	case *syntax.Block:
		a.group = max(a.group, Braced)
		w.list(c.Stmts, a)
	case *syntax.Subshell:
		a.group, a.env = max(a.group, Braced), w.inner(a.env)
		w.list(c.Stmts, a)
	case *syntax.IfClause:
		for first := true; c != nil; c, first = c.Else, false {
			cond := in
			if !first {
				cond = perhaps
			}
			if cond.after = ";"; len(c.Cond) > 0 {
				w.list(c.Cond, cond)
			}
			w.list(c.Then, perhaps)
		}
	case *syntax.WhileClause:
		cond := in
		cond.after = ";"
		w.list(c.Cond, cond)
		w.list(c.Do, perhaps)
	case *syntax.ForClause:
		switch loop := c.Loop.(type) {
		case *syntax.WordIter:
			for _, word := range loop.Items {
				w.substitutions(word, a)
			}
		default:
			w.substitutions(loop, a)
		}
		w.list(c.Do, perhaps)
	case *syntax.CaseClause:
		w.substitutions(c.Word, a)
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				w.substitutions(p, a)
			}
			w.list(item.Stmts, perhaps)
		}
	case *syntax.FuncDecl:
		w.function(c)
	case *syntax.TimeClause:
		a.group = max(a.group, Branch) // it prints more than the command does
		w.stmt(c.Stmt, a)
	case *syntax.CoprocClause:
		a.group, a.env, a.after = max(a.group, Braced), w.inner(a.env), "&"
		w.stmt(c.Stmt, a)
	case *syntax.TestClause:
		w.keyword("[[", c, a)
	case *syntax.ArithmCmd:
		w.keyword("((", c, a)
	case *syntax.LetClause:
		w.keyword("let", c, a)
	case *syntax.DeclClause:
		w.declare(c, a)
	default:
		w.keyword("?", c, a)
	}
}

// binary reads a list or a pipeline. They lean to the left, however long they are.
func (w *walker) binary(c *syntax.BinaryCmd, a around) {
	type link struct {
		stmt *syntax.Stmt
		op   syntax.BinCmdOperator // before it
	}
	var chain []link
	var first *syntax.Stmt
	for {
		chain = append(chain, link{c.Y, c.Op})
		left, ok := c.X.Cmd.(*syntax.BinaryCmd)
		if first = c.X; !ok || len(c.X.Redirs) > 0 || c.X.Negated {
			break
		}
		c = left
	}
	chain = append(chain, link{stmt: first})
	slices.Reverse(chain)
	env := a.env
	for i, l := range chain {
		in := a
		in.negated, in.piped = false, false
		if i+1 < len(chain) {
			in.after = chain[i+1].op.String()
		}
		if in.after == "|&" {
			in.after = "|"
		}
		piped := l.op == syntax.Pipe || l.op == syntax.PipeAll
		if piped || in.after == "|" && i+1 < len(chain) {
			in.env, in.piped = w.inner(env), piped
		}
		if in.when = a.when; i > 0 {
			switch l.op {
			case syntax.AndStmt:
				a.when = max(a.when, Succeeding)
			case syntax.OrStmt:
				a.when = Perhaps
			}
			in.when = a.when
		}
		w.stmt(l.stmt, in)
	}
}

// function notes what a function does: it runs when it is called.
func (w *walker) function(c *syntax.FuncDecl) {
	names := c.Names
	if c.Name != nil {
		names = append(names, c.Name)
	}
	for _, name := range names {
		if w.bodies == nil {
			w.bodies, w.inside = map[string]*syntax.Stmt{}, map[string]bool{}
		}
		if w.script.defined == nil {
			w.script.defined = map[string]bool{}
		}
		w.bodies[name.Value], w.script.defined[name.Value] = c.Body, true
	}
}

// Defines reports whether the text makes a function of this name.
func (s *Script) Defines(name string) bool { return s.defined[name] }

// Functions reports whether the text makes any function.
func (s *Script) Functions() bool { return len(s.defined) > 0 }

func (w *walker) call(s *syntax.Stmt, c *syntax.CallExpr, a around) {
	command := Command{Source: w.text[min(int(s.Position.Offset()), len(w.text)):min(int(s.End().Offset()),
		len(w.text))]}
	for _, assign := range c.Assigns {
		w.substitutions(assign, a)
		command.Assigns = append(command.Assigns, w.assign(assign))
	}
	if len(c.Args) > 0 {
		command.Words = make([]Word, len(c.Args))
	}
	for i, arg := range c.Args {
		w.substitutions(arg, a)
		command.Words[i] = w.word(arg)
	}
	command.Redirects = w.redirects(s.Redirs, a)
	w.add(command, a)
	if len(command.Words) == 0 {
		return
	}
	w.open(&command, a)
	name := command.Words[0].Text
	if body := w.bodies[name]; body != nil && !w.inside[name] {
		w.inside[name] = true
		a.group, a.when, a.negated = Branch, Perhaps, false
		w.stmt(body, a)
		delete(w.inside, name)
	}
}

// keyword is a command of the language that is not a program.
func (w *walker) keyword(name string, node syntax.Node, a around) {
	w.substitutions(node, a)
	w.add(Command{Words: []Word{{Text: name, kind: special}}, Keyword: true}, a)
}

// declare is export, local, declare and their like.
func (w *walker) declare(c *syntax.DeclClause, a around) {
	command := Command{Words: []Word{{Text: c.Variant.Value}}, Keyword: true}
	for _, assign := range c.Args {
		w.substitutions(assign, a)
		switch {
		case assign.Name == nil && assign.Value != nil:
			command.Words = append(command.Words, w.word(assign.Value))
		case assign.Name != nil:
			command.Assigns = append(command.Assigns, w.assign(assign))
		}
	}
	w.add(command, a)
}

func (w *walker) assign(c *syntax.Assign) Assign {
	var a Assign
	if c.Name != nil {
		a.Name = c.Name.Value
	}
	switch {
	case c.Value != nil:
		a.Value = w.word(c.Value)
	case c.Array != nil || c.Index != nil:
		a.Value = Word{kind: special}
	}
	return a
}

func (w *walker) redirects(list []*syntax.Redirect, a around) []Redirect {
	if len(list) == 0 {
		return nil
	}
	all := make([]Redirect, 0, len(list))
	for _, c := range list {
		r := Redirect{Op: c.Op.String()}
		if c.N != nil {
			r.FD = c.N.Value
		}
		if c.Word != nil {
			w.substitutions(c.Word, a)
			r.Target = w.word(c.Word)
		}
		switch c.Op {
		case syntax.WordHdoc:
			r.Document, r.Verbatim = r.Target.Text+"\n", r.Target.Fixed()
		case syntax.Hdoc, syntax.DashHdoc:
			if c.Hdoc != nil {
				w.substitutions(c.Hdoc, a)
				r.Document, r.Verbatim = w.document(c)
			}
		}
		all = append(all, r)
	}
	return all
}

// substitutions reads the commands that run so that what they print is put into a piece of the
// tree.
func (w *walker) substitutions(node syntax.Node, a around) {
	if word, ok := node.(*syntax.Word); ok && plain(word) {
		return
	}
	a.after, a.group, a.negated, a.hidden, a.piped = "", Inserted, false, true, false
	syntax.Walk(node, func(node syntax.Node) bool {
		var stmts []*syntax.Stmt
		switch c := node.(type) {
		case *syntax.CmdSubst:
			stmts = c.Stmts
		case *syntax.ProcSubst:
			stmts = c.Stmts
		default:
			return true
		}
		in := a
		in.env = w.inner(a.env)
		w.list(stmts, in)
		return false
	})
}

// plain reports whether nothing is put into a word.
func plain(word *syntax.Word) bool {
	for _, part := range word.Parts {
		switch part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		default:
			return false
		}
	}
	return true
}

func (w *walker) add(c Command, a around) {
	if len(w.script.Commands) >= mostCommands {
		w.script.cut = true
		return
	}
	c.After, c.When, c.Group, c.Env, c.Negated, c.Shown = a.after, a.when, a.group, a.env, a.negated, !a.hidden
	c.Depth, c.Remote = w.depth, a.remote
	w.script.Commands = append(w.script.Commands, c)
}
