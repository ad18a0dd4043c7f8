package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// manual writes the man pages of a program and of its commands.
type manual struct {
	program, version, pages string
}

// help is what a command says of itself.
type help struct {
	name     []string // the words of the command, without the program's
	short    string
	long     string
	sections []section // as they come: Usage, Examples, Flags …
}

type section struct{ title, text string }

// heading is a line such as "Available Commands:".
var heading = regexp.MustCompile(
	`^(Usage|Aliases|Examples|Available Commands|Additional help topics|Flags|Global Flags):$`)

// read takes a help apart. short is what the command above says of it.
func read(name []string, short, text string) help {
	h := help{name: name, short: short}
	text, _, _ = strings.Cut(text, "\nUse \"") // how to get more help
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch n := len(h.sections); {
		case heading.MatchString(line):
			h.sections = append(h.sections, section{title: strings.TrimSuffix(line, ":")})
		case n == 0:
			h.long += line + "\n"
		default:
			h.sections[n-1].text += line + "\n"
		}
	}
	return h
}

// commands are the names of the commands below, with what they do.
func (h help) commands() (names, shorts []string) {
	for _, s := range h.sections {
		if s.title != "Available Commands" {
			continue
		}
		for line := range strings.Lines(s.text) {
			if words := strings.Fields(line); len(words) > 1 {
				names, shorts = append(names, words[0]), append(shorts, strings.Join(words[1:], " "))
			}
		}
	}
	return names, shorts
}

// page writes the page of a command and those of the commands below it.
func (m manual) page(name []string) error {
	return m.write(name, "keep an agent's session inside its context window, without losing anything")
}

func (m manual) write(name []string, short string) error {
	text, err := exec.Command(m.program, append(slices.Clone(name), "--help")...).Output()
	if err != nil {
		return fmt.Errorf("winnow %s --help: %w", strings.Join(name, " "), err)
	}
	h := read(name, short, string(text))
	file := filepath.Join(m.pages, strings.Join(append([]string{"winnow"}, name...), "-")+".1")
	if err := os.WriteFile(file, []byte(h.roff(m.version)), 0o644); err != nil {
		return err
	}
	names, shorts := h.commands()
	for i := range names {
		if names[i] == "help" {
			continue
		}
		if err := m.write(append(slices.Clone(name), names[i]), shorts[i]); err != nil {
			return err
		}
	}
	return nil
}

// roff is the page as man reads it.
func (h help) roff(version string) string {
	title := strings.Join(append([]string{"winnow"}, h.name...), "-")
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"winnow %s\" \"winnow\"\n", quoted(strings.ToUpper(title)), escaped(version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escaped(title), escaped(h.short))
	for _, s := range h.sections {
		if s.title == "Usage" {
			fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n%s.fi\n", verbatim(s.text))
		}
	}
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", paragraphs(h.long))
	for _, s := range h.sections {
		if s.title != "Usage" && strings.TrimSpace(s.text) != "" {
			fmt.Fprintf(&b, ".SH %s\n.nf\n%s.fi\n", strings.ToUpper(s.title), verbatim(s.text))
		}
	}
	see := "winnow(1)"
	if len(h.name) > 1 {
		see = "winnow\\-" + escaped(strings.Join(h.name[:len(h.name)-1], "-")) + "(1)"
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", see)
	return b.String()
}

// paragraphs are texts that are set anew, and what is indented, which is not.
func paragraphs(text string) string {
	var b strings.Builder
	for _, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		b.WriteString(".PP\n")
		set := true
		for line := range strings.Lines(p) {
			if indented := strings.HasPrefix(line, "  "); indented == set {
				b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[indented])
				set = !indented
			}
			b.WriteString(escaped(strings.TrimRight(line, "\n")) + "\n")
		}
		if !set {
			b.WriteString(".fi\n")
		}
	}
	return b.String()
}

func verbatim(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.Trim(text, "\n") + "\n") {
		b.WriteString(escaped(strings.TrimRight(line, "\n")) + "\n")
	}
	return b.String()
}

// escaped is a line of text of which roff obeys nothing.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

func quoted(text string) string { return `"` + escaped(text) + `"` }
