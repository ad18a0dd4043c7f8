package permission

import (
	"regexp"
	"slices"
	"strings"
)

var sedScript = regexp.MustCompile(`^(?:(?:\s|;)*(?:` + sedAddress + `(?:,` + sedAddress + `)?\s*!?\s*)?` +
	`(?:[pdqQ=nNDgGhHxlPF]|s` + sedPattern + `[gpiIm0-9]*)?\s*(?:;|\n|$))*$`)

const (
	sedAddress = `(?:[0-9]+(?:~[0-9]+)?|\$|\+[0-9]+|~[0-9]+|/(?:[^/\\\n]|\\[^\n])+/I?)`
	sedPattern = `(?:/(?:[^/\\\n]|\\[^\n])*/(?:[^/\\\n]|\\[^\n])*/|` +
		`\|(?:[^|\\\n]|\\[^\n])*\|(?:[^|\\\n]|\\[^\n])*\||#(?:[^#\\\n]|\\[^\n])*#(?:[^#\\\n]|\\[^\n])*#|` +
		`,(?:[^,\\\n]|\\[^\n])*,(?:[^,\\\n]|\\[^\n])*,)`
)

// sedQuiet are long options that change nothing of what sed may do.
var sedQuiet = []string{"--quiet", "--silent", "--regexp-extended", "--separate", "--unbuffered", "--null-data",
	"--posix", "--sandbox", "--debug"}

// sedAsks finds what may write or run something: every script but those that plainly do not, and
// the options for files.
func sedAsks(words []string) int {
	scripted := false
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch script, long := strings.CutPrefix(w, "--expression="); {
		case long:
			if scripted = true; !sedScript.MatchString(script) {
				return i
			}
		case slices.Contains(sedQuiet, w):
		case strings.HasPrefix(w, "-") && len(w) > 1 && strings.Trim(strings.TrimSuffix(w[1:], "e"), "nErsuz") == "":
			if strings.HasSuffix(w, "e") {
				if i++; i >= len(words) || !sedScript.MatchString(words[i]) {
					return min(i, len(words)-1)
				}
				scripted = true
			}
		case strings.HasPrefix(w, "-") && len(w) > 1:
			return i
		case !scripted:
			if scripted = true; !sedScript.MatchString(w) {
				return i
			}
		}
	}
	return -1
}

// awkAsks finds programs that may run, read or write something else, and options for files.
func awkAsks(words []string) int {
	scripted := false
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-F" || w == "-v":
			i++
		case strings.HasPrefix(w, "-F") || strings.HasPrefix(w, "-v"):
		case strings.HasPrefix(w, "-") && len(w) > 1:
			return i
		case !scripted:
			scripted = true
			text := strings.NewReplacer("||", " ", ">=", " ").Replace(w)
			if strings.ContainsAny(text, "|>@") || strings.Contains(text, "system") ||
				strings.Contains(text, "getline") {
				return i
			}
		}
	}
	return -1
}
