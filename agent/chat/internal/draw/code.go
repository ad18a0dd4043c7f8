package draw

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// language is what is coloured of a language: words, comments and strings. It is not parsed; what
// is coloured wrongly can still be read.
type language struct {
	names    string // as they stand behind the fence
	words    string
	comment  string // that lasts to the end of the line; several with spaces between
	from, to string // of a comment over lines
	quotes   string // that end with the line
	long     string // quotes over lines, with spaces between
	fold     bool   // words in any case
}

var languages = []language{
	{names: "go golang", comment: "//", from: "/*", to: "*/", quotes: `"'`, long: "`",
		words: "break case chan const continue default defer else fallthrough for func go goto if import " +
			"interface map package range return select struct switch type var nil true false iota any error " +
			"string int bool byte rune"},
	{names: "python py python3", comment: "#", quotes: `"'`, long: `""" '''`,
		words: "and as assert async await break class continue def del elif else except finally for from global " +
			"if import in is lambda nonlocal not or pass raise return try while with yield None True False " +
			"self match case"},
	{names: "javascript js jsx typescript ts tsx mjs", comment: "//", from: "/*", to: "*/", quotes: `"'`, long: "`",
		words: "abstract as async await break case catch class const continue default delete do else enum " +
			"export extends false finally for from function get if implements import in instanceof interface " +
			"let new null of private protected public readonly return set static super switch this throw " +
			"true try type typeof undefined var void while yield"},
	{names: "rust rs", comment: "//", from: "/*", to: "*/", quotes: `"`,
		words: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop " +
			"match mod move mut pub ref return self Self static struct super trait true type unsafe use " +
			"where while"},
	{names: "c h cpp c++ cc hpp java cs csharp c# kotlin kt swift scala dart objc php", comment: "//", from: "/*",
		to: "*/", quotes: `"'`,
		words: "abstract auto bool boolean break case catch char class const constexpr continue default delete " +
			"do double else enum extends extern false final finally float fn for foreach fun func function " +
			"goto guard if implements import in include inline int interface internal is let long namespace " +
			"new nil null nullptr object operator override package private protected public return self " +
			"short signed sizeof static struct super switch template this throw throws true try typedef " +
			"typename union unsigned using val var virtual void volatile when while"},
	{names: "bash sh shell zsh fish console shellsession make makefile dockerfile", comment: "#", quotes: `"'`,
		words: "if then else elif fi for while until do done case esac in function return exit export local set " +
			"unset source alias cd echo FROM RUN COPY ENV CMD ENTRYPOINT WORKDIR ARG EXPOSE USER"},
	{names: "ruby rb elixir ex", comment: "#", quotes: `"'`,
		words: "alias and begin break case class def defmodule do else elsif end ensure false fn for if in " +
			"module next nil not or raise require rescue return self super then true unless until when while " +
			"yield"},
	{names: "json jsonc json5", comment: "//", from: "/*", to: "*/", quotes: `"`, words: "true false null"},
	{names: "yaml yml toml ini conf", comment: "#", quotes: `"'`, words: "true false null yes no on off"},
	{names: "sql sqlite postgresql mysql", comment: "--", from: "/*", to: "*/", quotes: `'"`, fold: true,
		words: "add all alter and as asc begin between by case check column commit constraint create cross " +
			"default delete desc distinct drop else end exists foreign from full group having if in index " +
			"inner insert into is join key left like limit not null offset on or order outer primary " +
			"references returning right rollback select set table then union unique update using values view " +
			"when where with"},
	{names: "lua haskell hs", comment: "--", quotes: `"'`,
		words: "and break case class data do else elseif end false for function if import in instance let local " +
			"module nil not of or repeat return then true type until where while"},
	{names: "html xml svg vue", from: "<!--", to: "-->", quotes: `"`},
	{names: "css scss less", from: "/*", to: "*/", quotes: `"'`, words: "important media import keyframes root"},
}

// languageOf is the language that a fence names, nil for one that is not known.
func languageOf(fence string) *language {
	name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(fence)), " ")
	name, _, _ = strings.Cut(strings.Trim(name, "{}."), ",")
	for i := range languages {
		if name != "" && strings.Contains(" "+languages[i].names+" ", " "+name+" ") {
			return &languages[i]
		}
	}
	return nil
}

// code colours a block of code, line by line.
type code struct {
	name  string
	of    *language
	until string // what ends the comment or the string that a line before began, "" outside
	look  Look   // of that
}

func codeOf(fence string) code {
	name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(fence)), " ")
	return code{name: name, of: languageOf(fence)}
}

// line colours one cleaned line.
func (c *code) line(text string, s Style) []run {
	switch {
	case !s.Color:
		return []run{{text: text}}
	case c.name == "diff" || c.name == "patch":
		return []run{{text: text, look: changeLook(text, s)}}
	case c.of == nil:
		return []run{{text: text, look: s.Code}}
	}
	var runs []run
	plain := Look("")
	add := func(piece string, look Look) {
		if piece != "" {
			runs = append(runs, run{text: piece, look: look})
		}
	}
	from := 0
	for i := 0; i < len(text); {
		n, look := c.token(text, i, s)
		if n == 0 {
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
			continue
		}
		add(text[from:i], plain)
		add(text[i:i+n], look)
		i += n
		from = i
	}
	add(text[from:], plain)
	return runs
}

func changeLook(text string, s Style) Look {
	switch {
	case strings.HasPrefix(text, "+++"), strings.HasPrefix(text, "---"), strings.HasPrefix(text, "@@"):
		return s.Dim
	case strings.HasPrefix(text, "+"):
		return s.Added
	case strings.HasPrefix(text, "-"):
		return s.Removed
	}
	return Look("")
}

// token is how long what begins at a place is, and how it looks; 0 for what has no look of its own.
func (c *code) token(text string, i int, s Style) (int, Look) {
	rest := text[i:]
	if c.until != "" {
		look := c.look
		if end := strings.Index(rest, c.until); end >= 0 {
			n := end + len(c.until)
			c.until = ""
			return n, look
		}
		return len(rest), look
	}
	if c.of.from != "" && strings.HasPrefix(rest, c.of.from) {
		return c.begin(rest, c.of.from, c.of.to, s.Dim)
	}
	for mark := range strings.FieldsSeq(c.of.comment) {
		if strings.HasPrefix(rest, mark) && (mark != "#" || i == 0 || text[i-1] == ' ') {
			return len(rest), s.Dim
		}
	}
	for mark := range strings.FieldsSeq(c.of.long) {
		if strings.HasPrefix(rest, mark) {
			return c.begin(rest, mark, mark, s.Text)
		}
	}
	first, _ := utf8.DecodeRuneInString(rest)
	switch before, _ := utf8.DecodeLastRuneInString(text[:i]); {
	case strings.ContainsRune(c.of.quotes, first):
		return quoted(rest), s.Text
	case i > 0 && (wordRune(before)):
		return 0, s.Dim
	case unicode.IsDigit(first):
		return wordLength(rest), s.Figure
	case wordRune(first):
		n := wordLength(rest)
		word := rest[:n]
		if c.of.fold {
			word = strings.ToLower(word)
		}
		if strings.Contains(" "+c.of.words+" ", " "+word+" ") {
			return n, s.Keyword
		}
	}
	return 0, s.Dim
}

// begin is a comment or a string that may go on in the lines that follow.
func (c *code) begin(rest, from, to string, look Look) (int, Look) {
	if end := strings.Index(rest[len(from):], to); end >= 0 {
		return len(from) + end + len(to), look
	}
	c.until, c.look = to, look
	return len(rest), look
}

// quoted is how long a string is that ends with its line at the latest; 0 for a quote that nothing
// closes, as in "don't".
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return 0
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func wordLength(text string) int {
	if n := strings.IndexFunc(text, func(r rune) bool { return !wordRune(r) }); n >= 0 {
		return n
	}
	return len(text)
}
