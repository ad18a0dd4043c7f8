package policy

import (
	"strings"

	"github.com/winnowhq/winnow/plan/schedule"
)

// Unread says why a policy takes no notice of a key of the configuration, "" where it does. The
// schedule is the one in force; "" is the policy's own. A key may also be the group of several.
func Unread(key, policyName, scheduleName string) string {
	reader := ""
	for _, name := range []string{Aggressive, Balanced} {
		if strings.HasPrefix(key+".", group(name)) {
			reader = name
		}
	}
	switch key {
	case "compaction.keep", "compaction.coldFold", "compaction.userMessages", "compaction.reserved":
		reader = Balanced
	case "compaction.minimum":
		if scheduleName == "" {
			scheduleName = own(policyName)
		}
		if Sound(policyName) && scheduleName != (schedule.Eager{}).Name() {
			return "under " + policyName + " only the schedule eager reads it"
		}
	}
	if reader == "" || reader == policyName || reader == Balanced && Sound(policyName) {
		return ""
	}
	if reader == Balanced {
		return "only the policies careful, balanced and thrifty read it"
	}
	return "only the policy " + reader + " reads it"
}
