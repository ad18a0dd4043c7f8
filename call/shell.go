package call

import (
	"path"
	"strings"
)

// Step is one command of a shell text.
type Step struct {
	// Words are the program and its arguments, quotes taken off. Patterns and variables stand in them as they were written.
	Words []string
	// Writes is set when its output goes into a file.
	Writes bool
	// After is the separator behind it: "&&", "||", ";" (a line's end too), "|", "&", or "" at the end of the text.
	After string
}

// Steps are the commands of a shell text in their order, nested ones not among them. Where errors go and what a command is fed is left out.
func Steps(text string) []Step { return stepsOf(splitShell(text)) }

func stepsOf(all []simple) []Step {
	steps := make([]Step, len(all))
	for i, s := range all {
		steps[i] = Step{Words: s.words, Writes: len(s.outputs)+len(s.appends) > 0, After: s.after}
	}
	return steps
}

// simple is one command of a shell text: its words, where its output goes, and what it is fed.
type simple struct {
	words    []string
	outputs  []string // files of ">" redirections
	appends  []string // files of ">>" redirections
	document string   // the here-document
	after    string   // the separator behind it: "&&", "||", ";", "|", "&" or ""
}

func splitShell(text string) []simple {
	text = Bound(text)
	var all []simple
	var now simple
	word := shellWord{text: text}
	redirect := "" // the redirection whose target comes next
	var ends []string
	pending := 0 // bodies that begin behind this line
	endWord := func() {
		if !word.begun {
			return
		}
		w := word.take()
		switch redirect {
		case ">":
			now.outputs = append(now.outputs, w)
		case ">>":
			now.appends = append(now.appends, w)
		case "<":
		case "<<":
			ends = append(ends, w)
			pending++
		default:
			if now.words == nil {
				now.words = make([]string, 0, 6)
			}
			now.words = append(now.words, w)
		}
		redirect = ""
	}
	endCommand := func(after string) {
		endWord()
		if len(now.words) > 0 || len(now.outputs) > 0 || len(now.appends) > 0 {
			now.after = after
			all = append(all, now)
		}
		now = simple{}
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] != '\n' {
				word.add(i, i+1)
			}
		case c == '\'':
			end := strings.IndexByte(text[i+1:], '\'')
			if end < 0 {
				end = len(text) - i - 1
			}
			word.add(i+1, i+1+end)
			i += end + 1
		case c == '"':
			word.begun = true
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("\"\\$`\n", text[i+1]) >= 0 {
					i++
				}
				word.add(i, i+1)
			}
		case c == ' ' || c == '\t' || c == '\r':
			endWord()
		case c == '#' && !word.begun:
			for i < len(text) && text[i] != '\n' {
				i++
			}
			i--
		case c == '\n':
			endCommand(";")
			for ; pending > 0 && i+1 <= len(text); pending-- {
				body, next := document(text, i+1, ends[len(ends)-pending])
				if len(all) > 0 {
					all[len(all)-1].document = body
				}
				i = next - 1
			}
		case c == '>' || c == '<':
			if w := word.string(); word.begun && (w == "2" || w == "1" || w == "&") {
				word = shellWord{text: text}
				if w == "2" {
					redirect = "<" // where errors go is of no interest
				}
			}
			errors := redirect == "<"
			endWord()
			op := string(c)
			for i+1 < len(text) && (text[i+1] == c || text[i+1] == '-' && op == "<<") {
				i++
				if text[i] != '-' && len(op) < 3 {
					op += string(c)
				}
			}
			if i+1 < len(text) && text[i+1] == '&' { // 2>&1
				i++
				op = "<"
			}
			if errors && op != "<<" || op == "<<<" {
				op = "<"
			}
			redirect = op
		case c == '&' && i+1 < len(text) && text[i+1] == '>':
			endWord()
			word.add(i, i+1)
		case c == '&' || c == '|' || c == ';':
			op := string(c)
			if i+1 < len(text) && text[i+1] == c {
				op += string(c)
				i++
			}
			endCommand(op)
		case (c == '(' || c == ')' || c == '{' || c == '}') && !word.begun:
		default:
			word.add(i, i+1)
		}
		if len(all) > 400 { // no command that a model writes has more; a hostile one is cut
			return all
		}
	}
	endCommand("")
	return all
}

// document is the here-document that begins at start, and the position behind its last line.
func document(text string, start int, end string) (body string, next int) {
	at := min(start, len(text))
	for at < len(text) {
		stop := strings.IndexByte(text[at:], '\n')
		line := text[at:]
		if stop >= 0 {
			line = text[at : at+stop]
		}
		if strings.TrimSpace(line) == end {
			return text[min(start, len(text)):at], at + len(line)
		}
		if stop < 0 {
			return text[start:], len(text)
		}
		at += stop + 1
	}
	return text[min(start, len(text)):], len(text)
}

// command understands a shell command: that it ran, and which files it plainly touched.
func command(text, workdir, cwd string) []Action {
	if text == "" {
		return []Action{{Op: Run, Exact: true}}
	}
	if workdir != "" {
		cwd = workdir
	}
	did := []Action{{Op: Run, Command: text, Exact: true}}
	// A patch that was sent as a word of its own has lost its quotes.
	if at := strings.Index(text, "*** Begin Patch"); at >= 0 && !strings.Contains(text[:at], "\n") && !strings.Contains(text[:at], "<<") {
		return append(did, patched(text, cwd)...)
	}
	return append(did, touched(text, cwd, 0)...)
}

func touched(text, cwd string, depth int) []Action {
	var did []Action
	add := func(a Action) {
		if a.Path != "" && len(did) < 60 {
			did = append(did, a)
		}
	}
	file := func(op Op, name string) {
		if PlainFile(name) {
			add(Action{Op: op, Path: Clean(name, cwd)})
		}
	}
	for _, s := range splitShell(text) {
		words := unwrap(s.words)
		for _, name := range s.outputs {
			if PlainFile(name) {
				a := Action{Op: Create, Path: Clean(name, cwd), New: s.document, Added: lines(s.document)}
				if len(words) == 0 || base(words[0]) != "cat" || s.document == "" {
					a.New, a.Added = "", 0
				}
				add(a)
			}
		}
		for _, name := range s.appends {
			if PlainFile(name) {
				add(Action{Op: Edit, Path: Clean(name, cwd), New: s.document, Added: lines(s.document)})
			}
		}
		if len(words) == 0 || words[0] == "" {
			continue
		}
		program, args := base(words[0]), words[1:]
		if program == "git" && len(args) > 1 && (args[0] == "rm" || args[0] == "mv") {
			program, args = args[0], args[1:]
		}
		switch program {
		case "cd", "pushd":
			if len(args) > 0 && !strings.ContainsAny(args[0], "$`*") {
				cwd = Clean(args[0], cwd)
			}
		case "bash", "sh", "zsh":
			if len(args) > 1 && strings.HasPrefix(args[0], "-") && strings.HasSuffix(args[0], "c") && depth < 2 {
				did = append(did, touched(args[1], cwd, depth+1)...)
			}
		case "apply_patch", "applypatch":
			patch := s.document
			if patch == "" && len(args) > 0 {
				patch = args[0]
			}
			did = append(did, patched(patch, cwd)...)
		case "cat", "head", "tail", "nl", "less", "more", "bat":
			for _, name := range operands(args, "n", "c", "r", "l") {
				file(Read, name)
			}
		case "tee":
			for _, name := range operands(args) {
				file(Create, name)
			}
		case "sed", "perl":
			for _, a := range stream(program, args, cwd) {
				add(a)
			}
		case "rm", "unlink":
			for _, name := range operands(args) {
				file(Delete, name)
			}
		case "mv":
			if names := operands(args); len(names) == 2 && PlainFile(names[0]) && PlainFile(names[1]) {
				to := names[1]
				if strings.HasSuffix(to, "/") || path.Ext(to) == "" && path.Ext(names[0]) != "" { // into a folder
					to += "/" + path.Base(names[0])
				}
				add(Action{Op: Move, Path: Clean(names[0], cwd), To: Clean(to, cwd)})
			}
		case "cp":
			if names := operands(args); len(names) == 2 {
				file(Create, names[1])
			}
		case "touch":
			for _, name := range operands(args) {
				file(Create, name)
			}
		}
	}
	return did
}

// stream understands sed and perl: in place they edit, else they read.
func stream(program string, args []string, cwd string) []Action {
	inPlace, scripted := false, false
	script := ""
	var names []string
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w == "-e" || w == "-f" || w == "--expression":
			scripted = true
			if i++; i < len(args) {
				script = args[i]
			}
		case strings.HasPrefix(w, "--in-place"), strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "i"):
			inPlace = true
			if program == "perl" && strings.HasSuffix(w, "e") {
				scripted = true
				if i++; i < len(args) {
					script = args[i]
				}
			} else if w == "-i" && i+1 < len(args) && args[i+1] == "" {
				i++ // the empty suffix of BSD's sed
			}
		case strings.HasPrefix(w, "-"):
		case !scripted:
			script, scripted = w, true
		default:
			names = append(names, w)
		}
	}
	if program == "perl" && !inPlace {
		return nil
	}
	op := Read
	if inPlace {
		op = Edit
	}
	var did []Action
	for _, name := range names {
		if PlainFile(name) {
			a := Action{Op: op, Path: Clean(name, cwd)}
			if inPlace {
				a.New = script
			}
			did = append(did, a)
		}
	}
	return did
}

// operands are the words that are no options; the options named in valued take the next word with them.
func operands(args []string, valued ...string) []string {
	var names []string
	for i := 0; i < len(args); i++ {
		w := args[i]
		if strings.HasPrefix(w, "-") && len(w) > 1 {
			for _, v := range valued {
				if w == "-"+v {
					i++
				}
			}
			continue
		}
		names = append(names, w)
	}
	return names
}

// PlainFile reports whether a word of a shell command is surely the name of a file: no variables, no patterns, no devices.
func PlainFile(word string) bool {
	return word != "" && word != "-" && word != "." && word != ".." && len(word) < 400 && !strings.ContainsAny(word, "$`*?<>{}()|;=\"'!,\n\x00") &&
		!strings.HasPrefix(word, "/dev/") && !strings.HasPrefix(word, "&") && !strings.Contains(word, "://") && !AllDigits(word)
}

func AllDigits(word string) bool { return strings.Trim(word, "0123456789+-") == "" }

// base is the name of a program without its folder.
func base(word string) string { return word[strings.LastIndexByte(word, '/')+1:] }

// unwrap takes off what only accompanies a command: assignments, sudo, time, npx.
func unwrap(words []string) []string {
	for len(words) > 0 {
		w := words[0]
		switch {
		case strings.Contains(w, "=") && !strings.HasPrefix(w, "-") && !strings.Contains(w[:strings.IndexByte(w, '=')], "/"):
			words = words[1:]
		case w == "sudo", w == "time", w == "nohup", w == "env", w == "exec", w == "command", w == "npx", w == "bunx", w == "then", w == "do", w == "if", w == "!", w == "while", w == "else":
			words = words[1:]
		case w == "timeout" && len(words) > 2:
			words = words[1:]
			for len(words) > 1 && strings.HasPrefix(words[0], "-") {
				words = words[1:]
			}
			words = words[1:]
		case (w == "uv" || w == "poetry" || w == "pipenv" || w == "rye" || w == "hatch") && len(words) > 2 && words[1] == "run":
			words = words[2:]
		case (w == "pnpm" || w == "yarn" || w == "bundle") && len(words) > 2 && words[1] == "exec":
			words = words[2:]
		default:
			return words
		}
	}
	return words
}
