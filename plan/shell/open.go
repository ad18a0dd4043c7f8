package shell

import (
	"strings"
)

// How far texts in texts are followed, and how many bytes of them in all.
const (
	mostTexts = 5
	mostBytes = 4 * Longest
)

// open reads the commands that a command runs: of a text that it hands to a shell, of its own
// words.
func (w *walker) open(c *Command, a around) {
	if len(w.script.Commands) == 0 {
		return
	}
	self := len(w.script.Commands) - 1
	words := Unwrap(c.Words)
	program := Base(words[0].Text)
	a.group = max(a.group, Braced)
	perhaps := a
	perhaps.when = Perhaps
	switch program {
	case "eval":
		w.script.Commands[self].Opened = w.run(joined(words[1:]), a)
	case "trap":
		if len(words) > 2 {
			w.run(words[1].Text, perhaps)
		}
	case "env": // Unwrap has stopped at it: env -S text
		w.run(split(words), a)
	case "find":
		w.found(words, perhaps)
	case "xargs", "parallel":
		w.words(unwrapped(words, feeders), perhaps)
	case "watch", "su", "script", "hyperfine", "nix-shell", "ssh", "adb", "vagrant":
		w.handed(program, words, perhaps)
	default:
		if IsShell(program) {
			w.shell(self, words, a)
		} else if inner := unwrapped(words, elsewhere); inner != nil {
			a.remote = true
			w.words(inner, a)
		}
	}
}

// split is the text that env -S takes apart.
func split(words []Word) string {
	for i, word := range words {
		text, found := strings.CutPrefix(word.Text, "--split-string=")
		if !found && splits(word.Text) {
			_, text, found = strings.Cut(word.Text, "S")
			found = found && !strings.HasPrefix(word.Text, "--")
		}
		switch {
		case found && text != "":
			return text + " " + joined(words[i+1:])
		case splits(word.Text):
			return joined(words[i+1:])
		}
	}
	return ""
}

// shell reads what a shell is asked to run: its argument, its here-document, what the program
// before it prints.
func (w *walker) shell(self int, words []Word, a around) {
	text, found, stdin := Asked(words)
	if found {
		a.env, a.piped = w.inner(a.env), false
		w.script.Commands[self].Opened = w.run(text, a)
		return
	}
	if !stdin {
		return
	}
	a.env = w.inner(a.env)
	if doc := w.script.Commands[self].Document(); doc != nil {
		a.piped = false
		w.script.Commands[self].Opened = w.run(doc.Document, a)
	} else if text, ok := w.printed(self); ok && a.piped {
		a.piped = false
		w.run(text, a)
	}
}

// printed is what the command before one prints, where its words say so.
func (w *walker) printed(self int) (string, bool) {
	if self == 0 {
		return "", false
	}
	before := &w.script.Commands[self-1]
	if before.After != "|" || len(before.Words) == 0 {
		return "", false
	}
	switch Base(before.Words[0].Text) {
	case "echo", "printf":
		return strings.NewReplacer(`\n`, "\n", `\t`, "\t", "%s", " ").Replace(joined(before.Words[1:])), true
	case "cat", "tee":
		if doc := before.Document(); doc != nil {
			return doc.Document, true
		}
	}
	return "", false
}

// run reads a text that is run where the command is. It is false for one that is not understood:
// then it is not known what the command does.
func (w *walker) run(text string, a around) bool {
	*w.opened += len(text)
	if w.depth >= mostTexts || *w.opened > mostBytes || len(text) > Longest {
		w.script.cut = true
		return false
	}
	for _, lang := range dialects {
		file, err := parse(text, lang)
		if err != nil {
			continue
		}
		in := &walker{text: text, script: w.script, depth: w.depth + 1, opened: w.opened}
		in.list(file.Stmts, a)
		return true
	}
	return false
}

// words reads a program that a command runs.
func (w *walker) words(words []Word, a around) {
	if len(words) == 0 {
		return
	}
	if w.depth >= mostTexts {
		w.script.cut = true
		return
	}
	in := *w
	in.depth++
	c := Command{Words: words}
	in.add(c, a)
	in.open(&c, a)
}

// found reads the programs of find's -exec and their like.
func (w *walker) found(words []Word, a around) {
	for i := 1; i < len(words); i++ {
		switch words[i].Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			from := i + 1
			for i++; i < len(words) && words[i].Text != ";" && words[i].Text != "+"; i++ {
			}
			w.words(words[min(from, len(words)):i], a)
		}
	}
}

// handed reads the text that a program hands to a shell in its own way.
func (w *walker) handed(program string, words []Word, a around) {
	text := ""
	option := func(names ...string) {
		for i, word := range words {
			for _, name := range names {
				if word.Text == name && i+1 < len(words) {
					text = words[i+1].Text
				}
			}
		}
	}
	switch program {
	case "watch":
		text = joined(unwrapped(words, feeders))
	case "hyperfine":
		for _, word := range words[1:] {
			if strings.Contains(word.Text, " ") {
				w.run(word.Text, a)
			}
		}
		return
	case "su", "script":
		option("-c", "--command", "-qc", "-ec", "-lc")
	case "nix-shell":
		option("--run", "--command")
	case "vagrant":
		option("-c", "--command")
		a.remote = true
	case "adb":
		a.remote = true
		if len(words) > 2 && words[1].Text == "shell" {
			text = joined(words[2:])
		}
	case "ssh":
		a.remote = true
		text = joined(unwrapped(words, feeders))
		if text == "" {
			if doc := w.script.Commands[len(w.script.Commands)-1].Document(); doc != nil {
				text = doc.Document
			}
		}
	}
	if text != "" {
		w.run(text, a)
	}
}

func joined(words []Word) string {
	var text strings.Builder
	for i, word := range words {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(word.Text)
	}
	return text.String()
}
