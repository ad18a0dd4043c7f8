package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/cmd/internal/change"
	"github.com/winnowhq/winnow/cmd/internal/importing"
	"github.com/winnowhq/winnow/cmd/internal/simulation"
	"github.com/winnowhq/winnow/cmd/internal/survey"
	"github.com/winnowhq/winnow/cmd/internal/workbench"
	"github.com/winnowhq/winnow/gateway/admin"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/internal/schema"
	"github.com/winnowhq/winnow/store/report"
)

// docs/json.md is made from the types of the documents, and from the comments of their fields.
func TestJSON_theDocumentationIsMadeFromTheTypes(t *testing.T) {
	page, err := schema.Members(outside.Root(t),
		fronted{}, inspection{}, survey.FolderInspection{}, pruning{}, viewed{}, compaction{}, queued{},
		explained{}, report.Explanation{}, change.Document{}, recalled{}, dismissal{}, handleList{}, discardPreview{},
		change.ByHandDocument{}, importing.Document{}, exported{}, listing{}, report.Relayed{}, searched{},
		shown{}, workbench.Reversion{}, configured{}, configSet{}, configListed{}, configGot{}, configUnset{},
		configEdited{}, survey.Computer{}, costed{}, protecting{}, modelList{}, adviceDocument{},
		simulation.Document{}, workbench.Happened{}, workbench.Ran{}, versioned{}, continued{}, rescued{},
		originalList{}, originalsPruned{}, collected{}, archiving{}, shrinking{}, archivedList{}, unarchived{}, tokenMade{},
		tokenList{}, admin.Shown{}, admin.List{}, admin.Removed{},
		tenant.Erasure{}, admin.Made{}, admin.Tokens{}, admin.Audited{}, migrated{}, storeCopied{},
		soundServe{}, installation{}, offers{}, anchored{}, diagnosis{}, repaired{}, winnow.Event{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(outside.Root(t), "docs", "json.md")
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(outside.Read(t, path)); got != page {
		t.Error("docs/json.md is not what the types say: go test ./cmd/internal/command -run JSON -update")
	}
	sections := map[string]string{}
	for _, section := range strings.Split(page, "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		sections[title] = body
	}
	for _, event := range []agent.EventType{
		agent.StepStarted, agent.Delta, agent.Restarted, agent.Answered, agent.CallStarted,
		agent.CallProgress, agent.CallEnded, agent.Observed, agent.TurnEnded, agent.Waiting,
		agent.TitleFailed, agent.Noticed,
	} {
		if !strings.Contains(sections["run"], "`"+string(event)+"`") {
			t.Errorf("the event %s of the loop is not described", event)
		}
	}
	for _, event := range []winnow.EventType{
		winnow.Compacted, winnow.CompactionStarted, winnow.CompactionDelta, winnow.CompactionFailed,
		winnow.ElisionCommitted, winnow.ElisionUndone, winnow.BudgetOverflow, winnow.BudgetWarning,
		winnow.UsageRecorded, winnow.MessageAppended, winnow.PartUpdated,
	} {
		if !strings.Contains(sections["Events"], "`"+string(event)+"`") {
			t.Errorf("the event %s is not described", event)
		}
	}
}
