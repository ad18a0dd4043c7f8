package tools

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/permission"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/text/plainfile"
	"github.com/winnowhq/winnow/text/quantity"
)

const (
	mostSkills     = 100     // that are told of: each stands in every request
	skillBytes     = 1 << 20 // of one file
	skillLine      = 240     // characters of what is told of one
	skillHeadBytes = 16 << 10
)

// Skills are instructions for kinds of work, as they were found when they were looked for: what is
// told of them must not change during a session.
type Skills struct{ found []skill }

// skill is one of them.
type skill struct {
	name, about string
	path        string // of its SKILL.md
	own         bool   // from a folder that the user named, not from the working folder
}

// FindSkills looks for files NAME/SKILL.md in the skill folders of a working folder
// (.winnow/skills, .claude/skills, .opencode/skill, .opencode/skills, .agents/skills) and in the
// user's own folders. Of several with one name the first counts. What cannot be read is passed
// over.
func FindSkills(directory string, own ...string) *Skills {
	s := &Skills{}
	if at, err := filepath.Abs(directory); err == nil {
		directory = at
	}
	for _, folder := range []string{".winnow/skills", ".claude/skills", ".opencode/skill", ".opencode/skills",
		".agents/skills"} {
		s.add(filepath.Join(directory, filepath.FromSlash(folder)), directory)
	}
	for _, folder := range own {
		s.add(folder, "")
	}
	slices.SortFunc(s.found, func(a, b skill) int { return cmp.Compare(a.name, b.name) })
	s.found = s.found[:min(len(s.found), mostSkills)]
	return s
}

// add looks for skills in a folder. Where a link leads out of another folder, "" for none, the
// skill is told by the name of its folder alone: what it says is not read before somebody was
// asked.
func (s *Skills) add(folder, within string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		at := filepath.Join(folder, e.Name(), "SKILL.md")
		if info, err := os.Stat(at); err != nil || !info.Mode().IsRegular() {
			continue
		}
		text := ""
		if within == "" || leads(at, within) {
			if text, err = readUpTo(at, skillHeadBytes); err != nil {
				continue
			}
		}
		head, body := frontMatter(text)
		one := skill{name: oneLine(cmp.Or(head["name"], e.Name()), 64), path: at, own: within == ""}
		if one.about = oneLine(head["description"], skillLine); one.about == "" {
			first, _, _ := strings.Cut(strings.TrimLeft(body, "#\n "), "\n")
			one.about = oneLine(first, skillLine)
		}
		if !slices.ContainsFunc(s.found, func(other skill) bool { return other.name == one.name }) {
			s.found = append(s.found, one)
		}
	}
}

// leads reports whether a path lies in a folder when links are followed.
func leads(name, folder string) bool {
	at, err := permission.Resolve(name)
	home, failed := permission.Resolve(folder)
	return err == nil && failed == nil && permission.Within(home, at)
}

// Names are the skills that there are, sorted.
func (s *Skills) Names() []string {
	var names []string
	for _, one := range s.found {
		names = append(names, one.name)
	}
	return names
}

func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	return call.Cut(text, most)
}

func readUpTo(name string, most int64) (string, error) {
	f, _, err := plainfile.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	return strings.ReplaceAll(strings.TrimPrefix(string(text), bom), "\r\n", "\n"), err
}

// frontMatter takes the block between two lines of dashes off the beginning of a text, and reads
// its members that are texts: on their line, in quotes or not, or in the indented lines below.
func frontMatter(text string) (head map[string]string, body string) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return nil, text
	}
	block, body, ok := strings.Cut("\n"+rest, "\n---")
	if !ok {
		return nil, text
	}
	if _, after, found := strings.Cut(body, "\n"); found {
		body = after
	} else {
		body = ""
	}
	head = map[string]string{}
	name := ""
	for line := range strings.SplitSeq(block, "\n") {
		if name != "" && line != strings.TrimLeft(line, " \t") {
			head[name] = strings.TrimSpace(head[name] + " " + strings.TrimSpace(line))
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(key); !ok || name == "" || strings.HasPrefix(name, "#") {
			name = ""
			continue
		}
		value = strings.TrimSpace(value)
		if strings.HasPrefix(value, ">") || strings.HasPrefix(value, "|") {
			value = ""
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		head[name] = value
	}
	return head, body
}

// Skill loads the instructions of a skill.
type Skill struct{ Skills *Skills }

func (Skill) Name() string { return "skill" }

// Description lists the skills, so that the model knows when to load one.
func (t Skill) Description() string {
	var b strings.Builder
	b.WriteString(told("skill").Description)
	for _, one := range t.Skills.found {
		b.WriteString("\n- " + one.name)
		if one.about != "" {
			b.WriteString(": " + one.about)
		}
	}
	if len(t.Skills.found) == 0 {
		b.WriteString(" none.")
	}
	return b.String()
}

func (Skill) Schema() jsontext.Value { return told("skill").Schema }

func (t Skill) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	a := argumentsOf(t.Name(), c.Input)
	name := a.need("name", "skill")
	if a.err != nil {
		return agent.Result{}, a.err
	}
	i := slices.IndexFunc(t.Skills.found, func(one skill) bool {
		return strings.EqualFold(one.name,
			strings.TrimSpace(name))
	})
	if i < 0 {
		return agent.Result{}, fmt.Errorf("there is no skill %s; there are: %s", oneLine(name, 64),
			strings.Join(t.Skills.Names(), ", "))
	}
	one := t.Skills.found[i]
	if one.own {
		c.Ask = func(context.Context, agent.Permission) error { return nil }
	} // else a link in a folder that somebody else made may lead anywhere
	at, err := permitted(ctx, c, t.Name(), "read", one.path)
	if err != nil {
		return agent.Result{}, err
	}
	info, err := regular(at)
	if err != nil {
		return agent.Result{}, err
	}
	if info.Size() > skillBytes {
		return agent.Result{}, fmt.Errorf("%s has %s bytes; instructions have %s at most", at.shown,
			quantity.Number(int(info.Size())), quantity.Number(skillBytes))
	}
	text, err := readUpTo(at.path, skillBytes)
	if err != nil {
		return agent.Result{}, err
	}
	_, body := frontMatter(text)
	body = strings.TrimSpace(strings.ToValidUTF8(body, "\uFFFD"))
	if body == "" {
		return agent.Result{}, fmt.Errorf("the skill %s says nothing", one.name)
	}
	return agent.Result{
		Title:    one.name,
		Output:   body + "\n\n(Files that it names are in " + printable(filepath.Dir(at.shown)) + ".)",
		Metadata: map[string]any{"name": one.name, "dir": filepath.Dir(at.path)},
	}, nil
}
