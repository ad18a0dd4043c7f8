package page

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// heading names a part: what it is, and what it is about.
func (d *document) heading(m *session.Message, p *session.Part, x *report.Part) (what, text string) {
	switch p.Type {
	case session.ToolPart:
		return line(p.Tool, 40), line(d.near(uncut(x.Target, p)), 200)
	case session.TextPart:
		kind := view.Kind(m, p)
		if n, _ := p.Note(); n.Carry {
			kind = "carried over"
		}
		if p.Ignored {
			kind = "note"
		}
		return kind, line(p.Text, 200)
	case session.ReasoningPart:
		return "reasoning", line(p.Text, 200)
	case session.FilePart:
		return "file", strings.TrimSpace(line(p.Filename, 120) + " " + line(p.Mime, 60))
	case session.SubtaskPart:
		return "subtask", line(cmp.Or(p.Description, p.Prompt), 200)
	case session.AgentPart:
		return "agent", line(p.Name, 120)
	case session.PatchPart:
		return "patch", line(strings.Join(p.Files, ", "), 200)
	case session.SnapshotPart:
		return "snapshot", line(p.Snapshot, 60)
	case session.StepFinishPart:
		return "step", finished(p)
	case session.CompactionPart:
		return "marker", "compact here"
	case session.RetryPart:
		return "retry", line(failure(p.Error), 200)
	}
	return line(string(p.Type), 40), ""
}

// uncut is what a call was about where its name for people was cut: the end of a path says more
// than its beginning.
func uncut(target string, p *session.Part) string {
	beginning, cut := strings.CutSuffix(target, "…")
	if !cut || p.State == nil {
		return target
	}
	dec := jsontext.NewDecoder(bytes.NewReader(p.State.Input), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	if first, err := dec.ReadToken(); err != nil || first.Kind() != '{' {
		return target
	}
	for dec.PeekKind() == '"' {
		if dec.SkipValue() != nil {
			break
		}
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		if value.Kind() != '"' || len(value) > 1000 {
			continue
		}
		if text, err := jsontext.AppendUnquote(nil, value); err == nil &&
			strings.HasPrefix(strings.Join(strings.Fields(string(text)), " "), beginning) {
			return string(text)
		}
	}
	return target
}

// failure returns the name and the message of an error, as far as it has them.
func failure(text []byte) string {
	var e struct {
		Name    string `json:"name"`
		Message string `json:"message"`
		Data    struct {
			Message string `json:"message"`
		} `json:"data"`
	}
	if json.Unmarshal(text, &e, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return string(text)
	}
	message := cmp.Or(e.Data.Message, e.Message)
	if e.Name != "" && message != "" {
		message = ": " + message
	}
	return cmp.Or(e.Name+message, string(text))
}

// near shortens what a call was about: paths below the session's folder begin there, and that a
// command goes there first is not said.
func (d *document) near(target string) string {
	folder := strings.TrimSuffix(d.c.Session.Info.Directory, "/")
	if len(folder) < 2 {
		return target
	}
	target = strings.TrimPrefix(target, "cd "+folder+" && ")
	return strings.ReplaceAll(target, folder+"/", "")
}

// finished says what the provider reported of a step.
func finished(p *session.Part) string {
	facts := []string{}
	if p.Reason != "" {
		facts = append(facts, line(p.Reason, 40))
	}
	if u := p.Tokens; u != nil {
		cached := ", of it " + quantity.Number(u.Cache.Read) + " from the cache"
		facts = append(facts, "prompt "+quantity.Number(u.Prompt())+cached,
			"answer "+quantity.Number(u.Output+u.Reasoning))
	}
	if p.Cost != nil && *p.Cost > 0 {
		facts = append(facts, quantity.Dollars(*p.Cost))
	}
	return strings.Join(facts, ", ")
}
