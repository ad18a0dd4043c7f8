package winnow

import (
	"github.com/winnowhq/winnow/policy"
	"github.com/winnowhq/winnow/rule"
)

// switches are the last words of the keys that turn rules on and off.
var switches = map[string]string{
	"files": "aggressiveFilePrune", "inputs": "pruneToolInputs", "urls": "pruneSourceUrls", "queries": "stateQuerySupersede", "snapshots": "pruneSnapshots",
	"retries": "pruneRetryParts", "errors": "truncateOldErrors", "code": "pruneUserCodeBlocks", "attachments": "pruneFiles",
	"duplicates": "pruneDuplicates", "todos": "pruneTodos", "idle": "pruneIdle",
}

// Switch is the key of the configuration that turns a rule off under a policy, "" for what no key governs: marks of other products, and what
// somebody asked for.
func Switch(ruleName, policyName string) string {
	if ruleName == (rule.Backward{}).Name() {
		return "compaction.prune"
	}
	if name := switches[ruleName]; name != "" {
		return strategiesOf(policyName) + name
	}
	return ""
}

func strategiesOf(policyName string) string {
	if policyName == policy.Aggressive {
		return "strategies.aggressivePruning."
	}
	return "strategies.balancedPruning."
}

// ageSwitch is the key that says how long a rule leaves a part alone, "" where that is fixed.
func ageSwitch(ruleName, policyName string) string {
	if policyName != policy.Balanced {
		return ""
	}
	switch ruleName {
	case "errors":
		return strategiesOf(policyName) + "errorTurns"
	case "attachments":
		return strategiesOf(policyName) + "fileTurns"
	case "code":
		return strategiesOf(policyName) + "codeBlockTurns"
	}
	return strategiesOf(policyName) + "quietSteps"
}
