package policy_test

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/session"
)

// reader is a model that reads a view from its oldest message to its newest, and remembers what it last knew of every line of every file. It knows the
// products' formats from what a disk of ruletest prints, and shares nothing with the packages that it judges.
type reader struct{ files map[string]*known }

// known is what a reader knows of one file: what views showed, and the changes since that no view showed.
type known struct {
	lines   map[int]line // by number
	length  int          // of the file when its end was last seen, -1 before that
	at      int          // how many changes were made before the end was seen
	changes []string     // since the newest view of the whole file, as their arguments tell them
	gone    bool
}

// line is a line's newest view: its text, and how many of the changes came before it.
type line struct {
	text  string
	after int
}

// read reads messages.
func read(messages []session.Message) *reader {
	r := &reader{files: map[string]*known{}}
	for i := range messages {
		for j := range messages[i].Parts {
			if p := &messages[i].Parts[j]; p.Type == session.ToolPart && p.State != nil && p.State.Status == session.Completed && !strings.Contains(string(p.State.Metadata), `"exit":1`) {
				r.call(p)
			}
		}
	}
	return r
}

func (r *reader) file(name string) *known {
	if !path.IsAbs(name) {
		name = ruletest.Folder + "/" + name
	}
	name = path.Clean(name)
	if r.files[name] == nil {
		r.files[name] = &known{lines: map[int]line{}, length: -1}
	}
	return r.files[name]
}

// whole is what is known once all of a file was seen.
func (k *known) whole(lines []string) {
	*k = known{lines: map[int]line{}, length: len(lines)}
	k.part(1, lines)
}

// part is what is known once some lines were seen.
func (k *known) part(from int, lines []string) {
	k.gone = false
	for i, text := range lines {
		k.lines[from+i] = line{text, len(k.changes)}
	}
}

// ends is known once the end of the file was seen: so many lines, and no more.
func (k *known) ends(length int) {
	k.length, k.at = length, len(k.changes)
	for n := range k.lines {
		if n > length {
			delete(k.lines, n)
		}
	}
}

func (r *reader) call(p *session.Part) {
	var a map[string]any
	if json.Unmarshal(p.State.Input, &a) != nil {
		return
	}
	text := func(key string) string { s, _ := a[key].(string); return s }
	number := func(key string) int { n, _ := a[key].(float64); return int(n) }
	name := text("file_path") + text("filePath") + text("path")
	switch p.Tool {
	case "Read", "read":
		r.printed(name, p.State.Output, max(1, number("offset")), number("limit"), p.Tool == "read" && a["path"] != nil)
	case "Write", "write":
		if content := text("content"); strings.Contains(content, "[winnow ") {
			r.file(name).whole(nil) // what is in it now was not seen
			r.file(name).length = -1
		} else {
			r.file(name).whole(split(content))
		}
	case "Edit", "edit":
		k := r.file(name)
		k.changes = append(k.changes, text("old_string")+text("oldString")+text("oldText")+" → "+text("new_string")+text("newString")+text("newText"))
	case "apply_patch":
		r.patch(text("input"))
	case "bash":
		r.shell(text("command"), p.State.Output)
	}
}

// split gives the lines of a text.
func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

var (
	withNumber = regexp.MustCompile(`^ *(\d+)(→|\t|\| |: )(.*)$`)
	more       = regexp.MustCompile(`\n\n\[\d+ more lines in file\. Use offset=\d+ to continue\]$`)
	ranges     = regexp.MustCompile(`^sed -n '(\d+),(\d+|\$)p' (.*)$`)
)

// printed is what a reading tool prints. Lines without numbers begin at the line that was asked for.
func (r *reader) printed(name, output string, from, limit int, bare bool) {
	k := r.file(name)
	if strings.HasPrefix(output, "[winnow ") || strings.HasPrefix(output, "[auto-superseded") || strings.HasPrefix(output, "<system-reminder>") {
		return
	}
	if bare {
		shown := more.ReplaceAllString(output, "")
		lines := split(shown)
		switch end := shown == output; {
		case end && from == 1:
			k.whole(lines)
		case end:
			k.part(from, lines)
			k.ends(from + len(lines) - 1)
		default: // the notice follows the last line, be it empty, behind one that is empty
			k.part(from, strings.Split(shown, "\n"))
		}
		return
	}
	r.numbers(k, output, limit)
}

// numbers are lines with their numbers, and a notice below them.
func (r *reader) numbers(k *known, output string, limit int) {
	var lines []string
	first, end, phantom := 0, false, false
	for _, text := range strings.Split(output, "\n") {
		switch m := withNumber.FindStringSubmatch(text); {
		case m != nil:
			n, _ := strconv.Atoi(m[1])
			if first == 0 {
				first = n
			}
			if n != first+len(lines) {
				panic("numbers in disorder: " + output)
			}
			lines = append(lines, m[3])
			phantom = m[2] == "→" || m[2] == "\t"
		case strings.HasPrefix(text, "(End of file"):
			end = true
		}
	}
	if first == 0 {
		return
	}
	if phantom && (limit == 0 || len(lines) < limit) {
		// It ends here, and the empty line stands for the newline at the end of the file.
		end = true
		lines = lines[:len(lines)-1]
	}
	k.part(first, lines)
	if end {
		if first == 1 {
			k.whole(lines)
		} else {
			k.ends(first + len(lines) - 1)
		}
	}
}

func (r *reader) patch(text string) {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if name, ok := strings.CutPrefix(l, "*** Add File: "); ok {
			var content []string
			for _, l := range lines[i+1:] {
				added, ok := strings.CutPrefix(l, "+")
				if !ok {
					break
				}
				content = append(content, added)
			}
			r.file(name).whole(content)
			if strings.Contains(text, "[winnow ") {
				r.file(name).length = -1
			}
		}
		if name, ok := strings.CutPrefix(l, "*** Update File: "); ok {
			k := r.file(name)
			k.changes = append(k.changes, strings.Join(lines[i+1:], "\n"))
		}
	}
}

func (r *reader) shell(command, output string) {
	words := strings.Fields(command)
	name := words[len(words)-1]
	if words[0] == "rm" {
		r.file(name).whole(nil)
		r.file(name).gone = true
		return
	}
	if strings.HasPrefix(output, "[winnow ") || strings.HasPrefix(output, "[auto-superseded") {
		return
	}
	k, lines := r.file(name), split(output)
	switch m := ranges.FindStringSubmatch(command); {
	case m != nil:
		from, _ := strconv.Atoi(m[1])
		k.part(from, lines)
		if to, err := strconv.Atoi(m[2]); len(lines) > 0 && (err != nil || len(lines) < to-from+1) {
			k.ends(from + len(lines) - 1)
		}
	case words[0] == "head":
		k.part(1, lines)
		if n, _ := strconv.Atoi(words[2]); len(lines) < n {
			k.whole(lines)
		}
	case words[0] == "tail":
		from, _ := strconv.Atoi(strings.TrimPrefix(words[2], "+"))
		k.part(from, lines)
		if len(lines) > 0 {
			k.ends(from + len(lines) - 1)
		}
	case words[0] == "nl" || len(words) == 3:
		var bare []string
		for _, l := range lines {
			bare = append(bare, withNumber.FindStringSubmatch(l)[3])
		}
		k.whole(bare)
	case words[0] == "cat":
		k.whole(lines)
	}
}

// String tells what is known: of each file its length, the changes that no view of it has seen, and its lines, each with how many changes came later.
func (r *reader) String() string {
	var all []string
	for name, k := range r.files {
		if len(k.lines)+len(k.changes) == 0 && k.length < 0 && !k.gone {
			continue // nothing but failures
		}
		numbers := slices.Sorted(maps.Keys(k.lines))
		// Once every line was seen, whole or in pieces, the changes before all of these views are of no interest.
		oldest := 0
		if seen := slices.DeleteFunc(slices.Clone(numbers), func(n int) bool { return n > k.length }); len(seen) == k.length {
			oldest = k.at
			for _, n := range seen {
				oldest = min(oldest, k.lines[n].after)
			}
		}
		text := fmt.Sprintf("%s length %d, %d changes later, gone %v, changes %q", name, k.length, len(k.changes)-k.at, k.gone, k.changes[oldest:])
		if k.length < 0 {
			text = fmt.Sprintf("%s gone %v, changes %q", name, k.gone, k.changes[oldest:])
		}
		for _, n := range numbers {
			text += fmt.Sprintf("\n  %d %q, %d changes later", n, k.lines[n].text, len(k.changes)-k.lines[n].after)
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// content is what a file holds as far as all of it is known: the newest whole view with the changes since. ok is false where the reader cannot say.
func (k *known) content() (lines []string, ok bool) {
	if k.length < 0 || len(k.changes) > 0 {
		return nil, false
	}
	for n := 1; n <= k.length; n++ {
		l, there := k.lines[n]
		if !there {
			return nil, false
		}
		lines = append(lines, l.text)
	}
	return lines, true
}
