package chromiumtest

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// spokenNode is a node of the tree that a screen reader is given.
type spokenNode struct {
	ID         string      `json:"nodeId"`
	Parent     string      `json:"parentId"`
	Ignored    bool        `json:"ignored"`
	Role       spokenValue `json:"role"`
	Name       spokenValue `json:"name"`
	Children   []string    `json:"childIds"`
	Properties []struct {
		Name  string      `json:"name"`
		Value spokenValue `json:"value"`
	} `json:"properties"`
}

type spokenValue struct {
	Value jsontext.Value `json:"value"`
}

func (v spokenValue) text() string {
	text := strings.TrimSpace(string(v.Value))
	if value, err := jsontext.AppendUnquote(nil, v.Value); err == nil {
		text = strings.TrimSpace(string(value))
	}
	return text
}

// named are the roles that say nothing without a name: controls, landmarks and pictures. A figure
// and a group have what is in them.
var named = map[string]bool{"button": true, "link": true, "combobox": true, "searchbox": true, "textbox": true,
	"checkbox": true, "DisclosureTriangle": true, "region": true, "search": true, "form": true, "navigation": true,
	"image": true}

// Spoken reads the page as a screen reader does, and counts its roles. A control, a landmark or a
// picture without a name fails the test, and so do headings that skip a level or begin with another
// than the first. Headings below a node that outside names are not judged.
func (b *Browser) Spoken(outside func(role, name string) bool) (roles map[string]int) {
	b.T.Helper()
	var tree struct {
		Nodes []spokenNode `json:"nodes"`
	}
	b.Call("Accessibility.getFullAXTree", nil, &tree)
	byID := map[string]*spokenNode{}
	for i := range tree.Nodes {
		byID[tree.Nodes[i].ID] = &tree.Nodes[i]
	}
	roles = map[string]int{}
	level := 0
	var read func(n *spokenNode, judged bool)
	read = func(n *spokenNode, judged bool) {
		role, name := n.Role.text(), n.Name.text()
		if !n.Ignored {
			roles[role]++
			if named[role] && name == "" {
				b.T.Errorf("a %s has no name: %s", role, within(byID, n))
			}
			judged = judged && !(outside != nil && outside(role, name))
			if at := n.level(); role == "heading" && judged {
				if at > level+1 {
					b.T.Errorf("the heading %q skips a level: %d after %d", name, at, level)
				}
				level = at
			}
		}
		for _, id := range n.Children {
			if child := byID[id]; child != nil {
				read(child, judged)
			}
		}
	}
	if len(tree.Nodes) > 0 {
		read(&tree.Nodes[0], true)
	}
	return roles
}

// level is that of a heading.
func (n *spokenNode) level() (level int) {
	for _, p := range n.Properties {
		if p.Name == "level" {
			fmt.Sscan(p.Value.text(), &level)
		}
	}
	return level
}

// within names what a node is in, for a message.
func within(byID map[string]*spokenNode, n *spokenNode) string {
	var path []string
	for up := byID[n.Parent]; up != nil; up = byID[up.Parent] {
		if text := up.Name.text(); !up.Ignored && text != "" {
			path = append(path, fmt.Sprintf("in %s %.60q", up.Role.text(), text))
		}
	}
	return strings.Join(path, ", ")
}
