package session

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What means nothing in a title, and what a person wrote.
var (
	// unnamed are titles that products give to sessions without one, and their notes.
	unnamed = regexp.MustCompile(`^(New|Child|Untitled)( session| chat| conversation)?( ?- ?\d{4}-\d\d-\d\d\S*)?$|` +
		`^Caveat: The messages below were generated|^This session is being continued from a previous|` +
		`^AGENTS\.md instructions for `)
	// inserted stands for what is attached, or notes an interruption.
	inserted = regexp.MustCompile(`\[(Image|Pasted text|Request interrupted)\b[^\]]*\]`)
	greeting = regexp.MustCompile(`(?i)^(hi|hello|hey|hallo|hola|bonjour|good (morning|afternoon|evening))` +
		`( there| all| everyone| claude| codex| gemini| opencode| agent)?([^\pL\pN]*$|\s*[,.!:;?–—-]+\s+)`)
	element = regexp.MustCompile(`^</?([A-Za-z][\w:.-]*)(\s[^<>]*)?>`)
	// asking are the elements in which products put the request of a person.
	asking = regexp.MustCompile(`^(user_?-?(query|prompt|message|request|input|task)|task|prompt|request|question)$`)
	path   = regexp.MustCompile(`^(@\S+|@?(~|\.\.?)?/\S*[/.]\S*|[A-Za-z]:\\.*|[\w.@~-]+([/\\][\w.@~-]+)+|` +
		`[\w-]+\.[A-Za-z]{1,5}(:\d+)*)$`)
)

const (
	// titleRunes is how long a title is at most: it stands on one line of a terminal.
	titleRunes = 80
	// titleBytes is how much of a text is looked at. What a product puts before a request, such as
	// the instructions of a project, is shorter.
	titleBytes = 256 << 10
)

// Called is the title of a session for people: the one that its product or a person gave, else the
// first words of the user that mean something, "" if there are none.
func Called(info Info, messages []Message) string {
	if given := strings.Join(strings.Fields(info.Title), " "); given != "" &&
		!unnamed.MatchString(given) && (!element.MatchString(given) || strings.HasPrefix(given, "</")) {
		return given
	}
	for i := range messages {
		if title := messages[i].title(); title != "" {
			return title
		}
	}
	return ""
}

// title is the first words of a message of the user's that mean something.
func (m *Message) title() string {
	if !m.Written() {
		return ""
	}
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == TextPart && !p.Synthetic && !p.Ignored {
			if title := Title(p.Text); title != "" {
				return title
			}
		}
	}
	return ""
}

// Title is the first words of a text that mean something, on one line of at most 80 characters. A
// greeting, a slash command, a path alone and what a product inserts mean nothing: of a text that
// is nothing else the title is "".
func Title(text string) string {
	if len(text) > titleBytes {
		text = text[:titleBytes]
	}
	text = strings.ToValidUTF8(text, "")
	if _, request, ok := strings.Cut(text, "## My request for Codex:"); ok {
		text = request // the extension of an editor tells before it which files are open
	}
	for {
		text = strings.TrimSpace(text)
		if text == "" {
			return ""
		}
		if rest, ok := cutElement(text); ok {
			text = rest
			continue
		}
		line, rest, _ := strings.Cut(text, "\n")
		if said := meaning(line); said != "" {
			return oneLine(said + "\n" + rest)
		}
		text = rest
	}
}

// meaning is what of a line means something, "" if nothing does.
func meaning(line string) string {
	line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#>*-•=`~ "))
	line = strings.TrimSpace(inserted.ReplaceAllString(line, ""))
	line = greeting.ReplaceAllString(line, "")
	words := strings.Fields(line)
	switch {
	case !strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
		return ""
	case unnamed.MatchString(line), everyPath(words):
		return ""
	case isSlashCommand(words[0]):
		const sentence = 3 // words: fewer are a model, a number or a switch
		if len(words)-1 < sentence {
			return ""
		}
		return strings.Join(words[1:], " ")
	}
	return line
}

// cutElement cuts off the element of XML that a text begins with, but for what a person wrote in it.
func cutElement(text string) (rest string, ok bool) {
	tag := element.FindStringSubmatch(text)
	if tag == nil {
		return "", false
	}
	rest = text[len(tag[0]):]
	inner, after, closed := strings.Cut(rest, "</"+tag[1]+">")
	switch name := strings.ToLower(tag[1]); {
	case !closed || strings.HasPrefix(tag[0], "</"):
		return rest, true
	case asking.MatchString(name):
		return inner + "\n" + after, true
	case name == "command-args" && len(strings.Fields(inner)) > 2:
		return inner + "\n" + after, true
	}
	return after, true
}

// oneLine joins the words of a text, as far as a title goes.
func oneLine(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		at := strings.Index(line, "<system-reminder")
		if at >= 0 {
			line = line[:at]
		}
		if b.Len() > 0 && (strings.HasPrefix(line, "```") || element.MatchString(line)) {
			break
		}
		for _, word := range strings.Fields(line) {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(word)
		}
		if at >= 0 || b.Len() > utf8.UTFMax*titleRunes {
			break
		}
	}
	if runes := []rune(b.String()); len(runes) > titleRunes {
		return strings.TrimSpace(string(runes[:titleRunes-1])) + "…"
	}
	return b.String()
}

// isSlashCommand reports whether a word is a command of a product such as /init or /mcp:login.
func isSlashCommand(word string) bool {
	return len(word) > 1 && word[0] == '/' && !strings.ContainsAny(word[1:], `/.\`)
}

// everyPath reports whether words are paths of files alone.
func everyPath(words []string) bool {
	for _, word := range words {
		word = strings.Trim(word, "\"'`(),;")
		if !path.MatchString(word) || strings.Contains(word, "://") {
			return false
		}
	}
	return true
}
