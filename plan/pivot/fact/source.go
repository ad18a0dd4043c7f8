package fact

import (
	"bytes"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Source is what a text may refer to. It grows with the session, and each added part is read once.
// It keeps the session's strings instead of copies, and one entry of about 40 bytes for each
// different word. Use NewSource to create one.
type Source struct {
	texts  []piece
	groups []group
	words  table
	counts map[int]bool   // lengths of lists in calls
	lines  map[int]bool   // lines of texts in calls
	calls  int            // how many there were
	called map[string]int // how many there were of a tool
	known  figures
	files  map[string]bool
	home   string // the folder of the session
	where  string // the folder that the last command went to
	date   int64  // the day of the last message, since 1970
	seen   map[string]bool
	parsed map[int][]simple // the commands of texts that were looked at for some
}

// piece is one text of the source.
type piece struct {
	text  string
	group int32
	input bool // the input of a call
	slash bool // it contains a backslash
}

// group is what belongs together: a call with its result, or a text.
type group struct {
	first, end int      // texts[first:end]
	folders    []string // in which it ran
}

// NewSource returns an empty source.
func NewSource() *Source {
	return &Source{words: table{}, counts: map[int]bool{}, lines: map[int]bool{}, called: map[string]int{},
		files: map[string]bool{}, seen: map[string]bool{}, parsed: map[int][]simple{}}
}

// AddText adds a text that is not a message: an earlier summary, the working folder, a listing of
// it. What Mark struck is left out.
func (s *Source) AddText(text string) {
	s.begin("")
	s.add(withoutStruck(text), false)
}

// AddFolder adds the folder that later paths are relative to, if a message does not name its own.
func (s *Source) AddFolder(folder string) {
	s.home = folder
	s.begin(folder)
	s.add(folder, false)
}

// AddMessage adds everything that a message says: texts and reasoning, file names, calls with their
// input, output and errors; of an earlier summary only what is not struck. It keeps the strings of
// the message and does not change it.
func (s *Source) AddMessage(m *session.Message) {
	cwd := ""
	if m.Path != nil {
		cwd = m.Path.Cwd
		s.once(m.Path.Cwd)
		s.once(m.Path.Root)
	}
	s.once(m.Agent)
	s.once(m.Answers().String())
	if day := int64(m.Time.Created) / 86_400_000; day != s.date && day > 0 {
		s.date = day
		s.AddText(dateOf(day))
	}
	s.values(m.Error, false)
	for i := range m.Parts {
		if p := &m.Parts[i]; m.IsSummary() && strings.Contains(p.Text, "(unconfirmed") {
			s.begin(cwd)
			s.add(withoutStruck(p.Text), false)
		} else {
			s.part(p, cwd)
		}
	}
}

// once adds a short text that is the same in most messages.
func (s *Source) once(text string) {
	if text != "" && !s.seen[text] {
		s.seen[text] = true
		s.AddText(text)
	}
}

func (s *Source) part(p *session.Part, cwd string) {
	s.begin(cwd)
	s.add(p.Text, false)
	s.add(p.Filename, false)
	if !strings.HasPrefix(p.URL, "data:") {
		s.add(p.URL, false)
	}
	s.values(p.Source, false)
	s.add(p.Snapshot, false)
	s.add(p.Hash, false)
	for _, name := range p.Files {
		s.add(name, false)
		s.files[name] = true
	}
	for _, text := range []string{p.Name, p.Prompt, p.Description, p.Agent} {
		s.add(text, false)
	}
	s.values(p.Error, false)
	if p.State == nil {
		return
	}
	st := p.State
	s.calls++
	s.called[p.Tool]++
	s.add(p.Tool, false)
	s.values(st.Input, true)
	s.add(st.Raw, true)
	s.add(st.Title, false)
	s.add(st.Output, false)
	s.add(st.Error, false)
	s.values(st.Metadata, false)
	for i := range st.Attachments {
		s.add(st.Attachments[i].Filename, false)
	}
	// A command that changes the folder does so from where it ran. If the log does not say where
	// commands run, later commands start where it ended.
	g := &s.groups[len(s.groups)-1]
	at := ""
	if len(g.folders) > 0 {
		at = g.folders[0]
	} else if s.where != "" {
		at = s.where
		g.folders = []string{at}
	}
	for _, t := range s.texts[g.first:] {
		if !t.input {
			continue
		}
		for _, folder := range changes(t.text) {
			if at != "" && initial(folder) != '/' && initial(folder) != '~' && !(len(folder) > 1 && folder[1] == ':') {
				folder = path.Join(at, folder)
			}
			at = folder
			g.folders = append(g.folders, folder)
		}
	}
	s.where = at
}

// changes returns the folders that a command goes to.
func changes(command string) []string {
	if !strings.Contains(command, "cd ") {
		return nil
	}
	var folders []string
	for _, one := range commands(command) {
		if len(one.words) == 2 && one.words[0] == "cd" && one.words[1] != "-" {
			folders = append(folders, slashes(one.words[1]))
		}
	}
	return folders
}

// begin opens a group for the texts added next.
func (s *Source) begin(folder string) {
	g := group{first: len(s.texts), end: len(s.texts)}
	if folder == "" {
		folder = s.home
	}
	if folder != "" {
		g.folders = []string{slashes(folder)}
	}
	if n := len(s.groups); n > 0 && s.groups[n-1].first == s.groups[n-1].end {
		s.groups[n-1] = g // nothing came of the last one
		return
	}
	s.groups = append(s.groups, g)
}

// add adds a text to the open group.
func (s *Source) add(text string, input bool) {
	if text == "" {
		return
	}
	if strings.IndexByte(text, 0x1b) >= 0 {
		text = plain(text)
	}
	for atom := range atoms(text) {
		s.words.set(atom, len(s.texts))
		s.inside(atom)
	}
	if input {
		if n := strings.Count(text, "\n"); n > 0 {
			s.lines[n] = true
			if text[len(text)-1] != '\n' {
				s.lines[n+1] = true
			}
		}
	}
	s.texts = append(s.texts, piece{text, int32(len(s.groups) - 1), input, strings.IndexByte(text, '\\') >= 0})
	s.groups[len(s.groups)-1].end = len(s.texts)
}

// inside records figures and hashes that are only part of a word: 23 in v23 and 23ms, 17 and 20 in
// 17T20, the first digits of a commit.
func (s *Source) inside(word string) {
	n := len(s.texts)
	if first := min(1, len(word)); len(word) <= 12 && (isDigit(initial(word)) || isDigit(initial(word[first:]))) &&
		strings.IndexByte(word, '_') < 0 {
		for i := 0; i < len(word); {
			from := i
			for i < len(word) && isDigit(word[i]) {
				i++
			}
			if i-from >= 2 && i-from < len(word) {
				s.words.set(word[from:i], n)
			}
			if i == from {
				i++
			}
		}
	}
	if len(word) > shortest && isHash(word) {
		for k := shortest; k <= longest && k < len(word); k++ {
			s.words.set(word[:k], n)
		}
	}
}

// shortest and longest are the lengths to which hashes are cut.
const shortest, longest = 7, 12

// values adds the names, texts and numbers of a JSON value, unescaped.
func (s *Source) values(v jsontext.Value, input bool) {
	if len(v) == 0 {
		return
	}
	if len(s.groups) == 0 {
		s.begin("")
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(v), session.ReadOptions())
	var short strings.Builder // names and short values share one text
	name := ""
	for {
		token, err := dec.ReadToken()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.add(string(v), input) // not JSON, or cut short: as it is
			}
			break
		}
		switch kind, length := dec.StackIndex(dec.StackDepth()); {
		case token.Kind() == ']':
			continue
		case token.Kind() == '"' && kind == '{' && length%2 == 1:
			name = token.String()
			short.WriteString(name)
			short.WriteByte(' ')
		case token.Kind() == '"':
			text := token.String()
			if strings.Contains(name, "path") || strings.Contains(name, "Path") || name == "file" {
				s.files[text] = true
			}
			if len(text) > 60 || strings.Contains(text, "\n") || input {
				s.add(text, input)
			} else {
				short.WriteString(text)
				short.WriteByte('\n')
			}
		case token.Kind() == '0':
			short.WriteString(token.String())
			short.WriteByte('\n')
		}
	}
	s.add(short.String(), false)
	if input {
		var lists map[string]jsontext.Value
		if json.Unmarshal(v, &lists, session.ReadOptions()) == nil {
			for _, list := range lists {
				var items []jsontext.Value
				if list.Kind() == '[' && json.Unmarshal(list, &items, session.ReadOptions()) == nil {
					s.counts[len(items)] = true
				}
			}
		}
	}
}
