package command

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/cmd/internal/change"
	"github.com/winnowhq/winnow/cmd/internal/importing"
	"github.com/winnowhq/winnow/cmd/internal/simulation"
	"github.com/winnowhq/winnow/cmd/internal/survey"
	"github.com/winnowhq/winnow/cmd/internal/workbench"
	"github.com/winnowhq/winnow/gateway/admin"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/store/report"
)

// TestJSONDocumentation_namesEveryMember keeps docs/json.md true: what a document has stands in the
// section of its command, or in the section of the type that it is made of.
func TestJSONDocumentation_namesEveryMember(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		sections[strings.TrimSpace(title)] = body
	}
	documents := map[string]any{
		"winnow": fronted{}, "inspect": inspection{}, "inspect FOLDER": survey.FolderInspection{}, "prune": pruning{}, "view": viewed{}, "compact": compaction{}, "compact --queue": queued{}, "explain": explained{}, "explain PART": report.Explanation{},
		"undo, redo, restore, pin": change.Document{}, "recall": recalled{}, "dismiss": dismissal{}, "handles": handleList{}, "discard, distill": change.ByHandDocument{}, "import": importing.Document{}, "export": exported{}, "list": listing{}, "status": report.Relayed{}, "search": searched{}, "show": shown{}, "revert": workbench.Reversion{}, "config": configured{}, "config set": configSet{}, "config add": configListed{}, "config get": configGot{}, "config unset": configUnset{}, "config edit": configEdited{},
		"ls": survey.Computer{}, "cost": costed{}, "protect": protecting{}, "models": modelList{}, "advise": adviceDocument{}, "replay": simulation.Document{}, "run": []any{workbench.Happened{}, workbench.Ran{}}, "version": versioned{}, "originals": originalList{}, "originals prune": originalsPruned{}, "serve token add": tokenMade{}, "serve token list, remove": tokenList{},
		"tenant add, set, show": admin.Shown{}, "tenant list": admin.List{}, "tenant remove": admin.Removed{}, "tenant erase, tenant person erase, session delete": tenant.Erasure{}, "tenant token add, rotate": admin.Made{}, "tenant token list, revoke": admin.Tokens{}, "tenant audit": admin.Audited{},
		"store migrate": migrated{}, "store copy": storeCopied{}, "serve --check": soundServe{}, "install, uninstall": installation{}, "anchor": anchored{}, "doctor": diagnosis{}, "repair": repaired{}, "Events": winnow.Event{},
	}
	for title, document := range documents {
		body, ok := sections[title]
		if !ok {
			t.Errorf("docs/json.md has no section %q", title)
			continue
		}
		var names []string
		if several, ok := document.([]any); ok {
			for _, d := range several {
				names = append(names, members(reflect.TypeOf(d), "", map[reflect.Type]bool{})...)
			}
		} else {
			names = members(reflect.TypeOf(document), "", map[reflect.Type]bool{})
		}
		for _, name := range names {
			// A member of a shared type is described where the type is.
			last := name[strings.LastIndexByte(name, '.')+1:]
			if !strings.Contains(body, "`"+name+"`") && !strings.Contains(sections["Shared pieces"], "`"+last+"`") {
				t.Errorf("section %q does not name `%s`", title, name)
			}
		}
	}
	for _, event := range []agent.EventType{
		agent.StepStarted, agent.Delta, agent.Restarted, agent.Answered, agent.CallStarted, agent.CallProgress, agent.CallEnded, agent.Observed, agent.TurnEnded, agent.Waiting, agent.TitleFailed, agent.Noticed,
	} {
		if !strings.Contains(sections["run"], "`"+string(event)+"`") {
			t.Errorf("the event %s of the loop is not described", event)
		}
	}
	for _, event := range []winnow.EventType{
		winnow.Compacted, winnow.CompactionStarted, winnow.CompactionDelta, winnow.CompactionFailed, winnow.ElisionCommitted, winnow.ElisionUndone,
		winnow.BudgetOverflow, winnow.BudgetWarning, winnow.UsageRecorded, winnow.MessageAppended, winnow.PartUpdated,
	} {
		if !strings.Contains(sections["Events"], "`"+string(event)+"`") {
			t.Errorf("the event %s is not described", event)
		}
	}
}

// members are the dotted names of everything that a document can hold; lists count as what is in
// them.
func members(t reflect.Type, prefix string, within map[reflect.Type]bool) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t != reflect.TypeFor[jsontext.Value]() {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || within[t] || t == reflect.TypeFor[time.Time]() || strings.HasSuffix(t.PkgPath(), "/session") {
		return nil // the log itself is documented by the format that it follows
	}
	within[t] = true
	defer delete(within, t)
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if f.Anonymous && name == "" {
			names = append(names, members(f.Type, prefix, within)...)
			continue
		}
		if name == "" {
			name = f.Name
		}
		names = append(names, prefix+name)
		names = append(names, members(f.Type, prefix+name+".", within)...)
	}
	return names
}
