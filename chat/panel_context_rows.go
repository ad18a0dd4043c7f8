package chat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/report"
)

// contextRow is a part, a group of parts, or what every request begins with.
type contextRow struct {
	key     string
	name    string
	part    *report.Part // nil of a group and of what is no part
	members []*report.Part
	inside  bool // it stands under its group
	tokens  int  // as the model sees it
	elided  int
	step    int // of the newest of it
}

func (p *contextPanel) row() *contextRow {
	if p.at < len(p.rows) {
		return &p.rows[p.at]
	}
	return nil
}

func (p *contextPanel) chosen() string {
	if row := p.row(); row != nil {
		return row.key
	}
	return ""
}

// arrange makes the rows anew, and stays on the one with a key where it is still there.
func (p *contextPanel) arrange(stay string) {
	var rows []contextRow
	if p.filter == "" && p.group == eachPart {
		for _, b := range []struct {
			name   string
			tokens int
		}{{"system prompt", p.gauge.System}, {"tools", p.gauge.Tools}} {
			if b.name == "system prompt" && !p.gauge.Split {
				b.name = "system prompt and tools"
			}
			if b.tokens > 0 {
				rows = append(rows, contextRow{key: "begins:" + b.name, name: b.name, tokens: b.tokens, step: -1})
			}
		}
	}
	groups := map[string]int{}
	for i := range p.parts {
		x := &p.parts[i]
		if !p.matches(x.Handle, x.Part, partName(x), p.stateOf(x), string(x.Zone)) {
			continue
		}
		one := contextRow{key: "part:" + x.Part, name: partName(x), part: x, tokens: x.Shown, elided: max(0, x.Tokens-x.Shown), step: x.Step}
		if len(x.Elisions) == 0 {
			one.elided = 0
		}
		if p.group == eachPart {
			rows = append(rows, one)
			continue
		}
		name := groupName(x, p.group)
		at, known := groups[name]
		if !known {
			at = len(rows)
			groups[name] = at
			rows = append(rows, contextRow{key: "group:" + name, name: name})
		}
		g := &rows[at]
		g.members, g.tokens, g.elided, g.step = append(g.members, x), g.tokens+one.tokens, g.elided+one.elided, max(g.step, one.step)
	}
	slices.SortStableFunc(rows, p.compare)
	if p.group != eachPart {
		rows = p.unfold(rows)
	}
	p.rows = rows
	if at := slices.IndexFunc(rows, func(r contextRow) bool { return stay != "" && r.key == stay }); at >= 0 {
		p.at = at
	} else if stay == "" {
		p.at, p.top = 0, 0
	}
	p.at = max(0, min(p.at, len(rows)-1))
}

func (p *contextPanel) compare(a, b contextRow) int {
	switch p.order {
	case byElided:
		return cmp.Or(cmp.Compare(b.elided, a.elided), cmp.Compare(b.tokens, a.tokens))
	case byAge:
		return cmp.Compare(b.step, a.step)
	}
	return cmp.Compare(b.tokens, a.tokens)
}

// unfold puts the parts of open groups under them.
func (p *contextPanel) unfold(groups []contextRow) []contextRow {
	var rows []contextRow
	for _, g := range groups {
		rows = append(rows, g)
		if !p.open[g.key] {
			continue
		}
		var inside []contextRow
		for _, x := range g.members {
			one := contextRow{key: "part:" + x.Part, name: partName(x), part: x, inside: true, tokens: x.Shown, step: x.Step}
			if len(x.Elisions) > 0 {
				one.elided = max(0, x.Tokens-x.Shown)
			}
			inside = append(inside, one)
		}
		slices.SortStableFunc(inside, p.compare)
		rows = append(rows, inside...)
	}
	return rows
}

// partName says what a part is, on one line.
func partName(x *report.Part) string {
	if x.Tool != "" {
		return strings.TrimSpace(oneLine(x.Tool) + " " + oneLine(x.Target))
	}
	if target := oneLine(x.Target); target != "" {
		return x.Type + " " + target
	}
	return x.Type
}

func groupName(x *report.Part, by grouping) string {
	switch target := oneLine(x.Target); {
	case x.Tool == "":
		return x.Type
	case by == byTarget && target != "":
		return target
	}
	return oneLine(x.Tool)
}

// stateOf says how a part is shown, and who decided it.
func (p *contextPanel) stateOf(x *report.Part) string {
	switch {
	case len(x.Elisions) > 0:
		return "elided " + oneLine(x.Rule)
	case x.Pinned:
		return "pinned"
	case len(x.Candidates) > 0:
		return "could go " + oneLine(x.Rule)
	case x.Kept != nil:
		return "kept " + string(x.Kept.By)
	case x.Zone == report.Summary, x.Zone == report.Talk:
		return string(x.Zone)
	}
	return "shown"
}
