package tools

import (
	"path"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/call"
)

// command decides about a shell command: about each of its pieces where it plainly is made of such, and the strictest verdict counts. A command that
// runs outside the working folder is not allowed by words alone.
func (p Policy) command(want agent.Permission) Verdict {
	all, plain := pieces(want.Target)
	if !plain {
		all = []piece{{text: want.Target}}
	}
	verdict := Verdict("")
	for _, one := range all {
		v := p.last(want, Ask, func(r Rule) bool {
			switch {
			case r.Verdict != Allow:
				return starts(r.Target, one)
			case !want.Inside:
				return false
			case strings.TrimSpace(r.Target) == strings.TrimSpace(want.Target):
				return true
			}
			return one.words != nil && prefix(strings.Fields(r.Target), one.words)
		})
		if verdict == "" || v.stricter(verdict) {
			verdict = v
		}
	}
	return verdict
}

// piece is one command of a text: its words where it is a plain one.
type piece struct {
	text  string
	words []string
}

// pieces cuts a text at &&, ||, ;, | and line ends that are not quoted. It is not plain where one of the pieces is more than a program with its arguments.
func pieces(text string) (all []piece, plain bool) {
	if len(text) > call.Examined {
		return nil, false
	}
	start := 0
	end := func(at int) bool {
		one := strings.TrimSpace(text[start:at])
		if one == "" {
			return true
		}
		words, ok := call.Simple(one)
		all = append(all, piece{one, words})
		return ok
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			i++
		case '\'', '"':
			for i++; i < len(text) && text[i] != c; i++ {
				if c == '"' && text[i] == '\\' {
					i++
				}
			}
			if i >= len(text) {
				return nil, false
			}
		case ';', '\n', '|', '&':
			double := i+1 < len(text) && text[i+1] == c
			if c == '&' && !double {
				if i > 0 && text[i-1] == '>' { // 2>&1
					continue
				}
				return nil, false // something goes on behind
			}
			if !end(i) {
				return nil, false
			}
			if double && c != '\n' {
				i++
			}
			start = i + 1
		}
	}
	if !end(len(text)) || len(all) == 0 {
		return nil, false
	}
	return all, true
}

// prefix reports whether words begin as a rule says, * standing for anything in a word. A * at the end is for any words, none too.
func prefix(rule, words []string) bool {
	if n := len(rule); n > 1 && rule[n-1] == "*" {
		rule = rule[:n-1]
	}
	if len(rule) == 0 || len(rule) > len(words) {
		return false
	}
	for i, w := range rule {
		if !wild(w, words[i]) {
			return false
		}
	}
	return true
}

// starts reports whether a piece, or a command in it, begins as a rule says that keeps from something. It takes a program for itself in whatever folder.
func starts(target string, one piece) bool {
	rule := strings.Fields(target)
	if one.words != nil && begun(rule, one.words) {
		return true
	}
	return nested(rule, one.text, 0)
}

// mostWords is how many words of one command are looked at for another one.
const mostWords = 64

// nested looks at the commands of a text, at those that a shell in it is asked to run, and at those in substitutions.
func nested(rule []string, text string, depth int) bool {
	if depth > 3 {
		return false
	}
	for _, s := range call.Steps(text) {
		words := make([]string, min(len(s.Words), mostWords))
		for i := range words {
			words[i] = strings.Trim(s.Words[i], "$()`{}")
		}
		// What accompanies a command is not known in all its forms: every word may begin one behind a program that runs others.
		for i := range words {
			if (i == 0 || runsOthers(words[:i])) && begun(rule, words[i:]) {
				return true
			}
		}
		if slices.ContainsFunc(words, runsText) {
			for _, w := range s.Words {
				if strings.ContainsAny(w, " \t\n") && nested(rule, w, depth+1) {
					return true
				}
			}
		}
	}
	if put := strings.Split(substitutions.Replace(text), "\x00"); len(put) > 1 {
		return slices.ContainsFunc(put, func(piece string) bool { return nested(rule, piece, depth+1) })
	}
	return false
}

// substitutions are where the shell runs a command inside of another one.
var substitutions = strings.NewReplacer("$(", "\x00", "<(", "\x00", ">(", "\x00", "`", "\x00", ")", "\x00")

// runsText reports whether a word is a program that runs a text which it is given.
func runsText(word string) bool {
	switch path.Base(word) {
	case "sh", "bash", "zsh", "dash", "ksh", "fish", "eval", "su", "ssh", "watch", "parallel", "timeout", "xargs":
		return true
	}
	return false
}

// begun is prefix for a program that may be named with its folder, and with options before its subcommand.
func begun(rule, words []string) bool {
	if len(words) == 0 || len(rule) == 0 {
		return false
	}
	bare := append([]string{path.Base(words[0])}, words[1:]...)
	if prefix(rule, words) || prefix(rule, bare) {
		return true
	}
	if len(rule) < 2 || strings.HasPrefix(rule[1], "-") {
		return false
	}
	for i := 1; i < len(bare); i++ { // git -C folder push
		if !strings.HasPrefix(bare[i], "-") && prefix(rule, append([]string{bare[0]}, bare[i:]...)) && strings.HasPrefix(bare[1], "-") {
			return true
		}
	}
	return false
}

// runsOthers reports whether words are those of a program that runs another one, with its options, or assignments.
func runsOthers(words []string) bool {
	switch path.Base(words[0]) {
	case "sudo", "doas", "env", "time", "nohup", "exec", "command", "timeout", "nice", "ionice",
		"xargs", "setsid", "stdbuf", "find", "if", "then", "else", "do", "while",
		"until", "!", "npx", "eval", "busybox", "watch", "parallel":
		return true
	}
	for _, w := range words {
		if name, _, ok := strings.Cut(w, "="); !ok || strings.HasPrefix(w, "-") || strings.Contains(name, "/") {
			return false
		}
	}
	return true
}
