package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// plain makes the simplest texts there are, which files hold too seldom to be learned from: what
// people write to an agent and what it answers, comments without their code, one word or sentence
// or sign again and again.
func plain(kinds []kind) []kind {
	random := rand.New(rand.NewPCG(7, 4))
	comments := comments(kinds)
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	fill := func(form string) string {
		for {
			before, rest, found := strings.Cut(form, "{")
			if !found {
				return form
			}
			slot, after, _ := strings.Cut(rest, "}")
			form = before + pick(slots[slot]) + after
		}
	}
	message := func() string {
		var b strings.Builder
		for range 1 + random.IntN(4) {
			b.WriteString(fill(pick(forms)) + " ")
		}
		return strings.TrimSpace(b.String())
	}
	words := strings.Fields(strings.Join(forms, " ") + " " + strings.Join(comments[:min(len(comments), 400)], " "))
	var short []string
	for _, w := range words {
		if w = strings.Trim(w, "(){}.,;:!?\"'`*-"); len(w) > 0 &&
			strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			short = append(short, w)
		}
	}
	letters := strings.Split("abcdefghijklmnopqrstuvwxyz", "")
	makers := []struct {
		kind string
		text func() string
	}{
		{"chat", func() string { return message() + "\n\n" }},
		{"sentences", func() string { return message() + " " }},
		{"capitals", func() string {
			return strings.ToUpper(pick([]string{message() + " ", pick(comments), pick(short) + "\n"}))
		}},
		{"comments", func() string { return pick(comments) }},
		{"one-sentence", func() string { return strings.Repeat(message()+pick([]string{" ", "\n"}), 30) }},
		{"one-word", func() string { return strings.Repeat(pick(short)+pick([]string{" ", " ", " ", "\n"}), 500) }},
		{"one-line", func() string {
			return strings.Repeat(fmt.Sprintf("%s%d %s %s\n", pick([]string{"Count", "Item", "line", "Test", "value"}),
				random.IntN(10), pick(short), pick(short)), 150)
		}},
		{"words", func() string { return pick(short) + " " }},
		{"single-letters", func() string { return pick(letters) + " " }},
	}
	var out []kind
	for _, m := range makers {
		k := kind{name: m.kind}
		for i := range 40 {
			var b strings.Builder
			for b.Len() < 4000 {
				b.WriteString(m.text())
			}
			k.files = append(k.files, file{fmt.Sprint(m.kind, i), b.String()})
		}
		out = append(out, k)
	}
	for _, set := range []struct{ kind, of string }{
		{"runs-letter", "axefoAX"}, {"runs-sign", "-=*#_./~+<>|!"}, {"runs-space", "  "}, {"runs-tab", "\t\t"},
		{"runs-line", "\n"},
	} {
		k := kind{name: set.kind}
		for i, r := range set.of {
			for _, n := range []int{40, 120, 4000} {
				text := strings.Repeat(string(r), n)
				if n < 4000 {
					text = strings.Repeat(text+"\n"+pick(short)+"\n", 1+4000/n)
				}
				k.files = append(k.files, file{fmt.Sprint(set.kind, i, n), text})
			}
		}
		out = append(out, k)
	}
	return out
}

// comments returns the comments of the Go source among kinds, as plain text.
func comments(kinds []kind) []string {
	var out []string
	for _, k := range kinds {
		if k.name != "go" {
			continue
		}
		for _, f := range k.files {
			var b strings.Builder
			for line := range strings.Lines(f.text) {
				line = strings.TrimSpace(line)
				if rest, ok := strings.CutPrefix(line, "// "); ok {
					b.WriteString(rest + "\n")
				} else if b.Len() > 0 {
					if b.Len() > 80 {
						out = append(out, b.String())
					}
					b.Reset()
				}
			}
		}
	}
	return out
}

// forms are sentences as they go between a person and an agent; slots fill them.
var forms = []string{
	"Please {do} the {thing} in {file} and run the tests again.",
	"Can you {do} {file}? It should {do} the {thing} before it {does} the {thing}.",
	"The {thing} {does} the {thing} and then {does} it back.",
	"I think the {thing} is wrong because the {thing} {does} the {adj} {thing} twice.",
	"I'll look at the {thing} first, then {do} the {thing}.",
	"Done. The {adj} {thing} now {does} the {thing}, and all {n} tests pass.",
	"Let me {do} {file} to see how the {thing} {does} the {thing}.",
	"There are {n} places where the {thing} {does} a {adj} {thing}; I've changed two of them.",
	"No, don't {do} the {thing}. Just {do} the {thing} and tell me what you found.",
	"That didn't work: the {thing} still {does} the {adj} {thing}.",
	"We need a {adj} {thing} that {does} every {thing} without a {thing}.",
	"It is {adj}, so we can {do} it later.",
	"What happens when the {thing} is empty or the {thing} isn't {adj}?",
	"This function {does} the {thing} if the {thing} is {adj}, otherwise it returns an error.",
	"Now everything is {adj} and the {thing} {does} what you asked for.",
	"You're right, the {thing} was {adj}. I have fixed it.",
}

var slots = map[string][]string{
	"do": {"fix", "read", "check", "update", "remove", "rename", "move", "write", "open", "change", "test", "review",
		"build", "find", "explain", "clean up", "refactor", "split", "merge"},
	"does": {"reads", "writes", "checks", "returns", "keeps", "holds", "counts", "drops", "opens", "closes", "updates",
		"sends", "waits for", "removes", "parses", "loads", "prints"},
	"thing": {"parser", "file", "bug", "test", "function", "server", "value", "key", "list", "message", "error",
		"cache", "user", "session", "request", "database", "table", "button", "page", "config", "build", "result",
		"loop", "log", "option", "name", "path", "branch", "commit", "word", "number", "report", "client"},
	"adj": {"new", "old", "small", "empty", "wrong", "correct", "slow", "simple", "large", "missing", "first", "last",
		"broken", "unused", "main", "safe", "ready"},
	"file": {"main.go", "the readme", "config.json", "src/app.ts", "the test file", "server.py", "this file",
		"index.html", "the Makefile", "utils.js"},
	"n": {"two", "three", "12", "4", "some", "many", "250"},
}
